//! Kinds that aren't served for a while: their objects are there, though no list has them (G12b).

use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, PostParams};
use landform_project::{leaving, preview};
use serde_json::{Value, json};

use crate::harness::{World, definition, map};

fn settings(namespace: &str) -> String {
    format!(
        "apiVersion: landform.dev/v1alpha1\nkind: Project\nspec: {{namespace: {namespace}, grace: 50ms}}\n"
    )
}

fn gadget(name: &str, size: u32) -> Value {
    json!({
        "apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": name}, "spec": {"size": size},
    })
}

fn gadgets(world: &World, namespace: &str) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("example.com", "v1", "Gadget");
    let resource = ApiResource::from_gvk_with_plural(&kind, "gadgets");
    Api::namespaced_with(world.client.clone(), namespace, &resource)
}

async fn uid(world: &World, namespace: &str, name: &str) -> Option<String> {
    let found = gadgets(world, namespace).get_opt(name).await.unwrap();
    found.and_then(|found| found.metadata.uid)
}

async fn foreign(world: &World, namespace: &str) -> Option<String> {
    let object = serde_json::from_value(gadget("foreign", 1)).unwrap();
    let (gadgets, params) = (gadgets(world, namespace), PostParams::default());
    gadgets.create(&params, &object).await.unwrap().metadata.uid
}

fn definition_of(served: bool) -> Value {
    let mut definition = definition("Gadget", "gadgets");
    definition["spec"]["versions"][0]["served"] = json!(served);
    definition
}

/// Whether the kind is served is what the definition says, and waits until the API does so.
async fn set_served(world: &World, served: bool) {
    let versions = definition_of(served)["spec"]["versions"].clone();
    let patch = json!({"spec": {"versions": versions}});
    let name = "gadgets.example.com";
    world.patch("CustomResourceDefinition", name, patch).await;
    is_served(world, served).await;
}

async fn is_served(world: &World, served: bool) {
    let gadgets = gadgets(world, "default");
    while gadgets.list(&Default::default()).await.is_ok() != served {
        tokio::task::yield_now().await;
    }
}

/// A project in the namespace `web` whose files define the kind and two objects of it.
async fn whole() -> World {
    let world = World::new(&[
        ("landform.yaml", &settings("web")),
        ("crd.json", &definition_of(true).to_string()),
        ("a.json", &gadget("a", 1).to_string()),
        ("b.json", &gadget("b", 2).to_string()),
    ])
    .await;
    world.synced(4).await;
    world
}

fn stands_for(status: &Value, part: &str) -> bool {
    let waits = status["waitingOn"].as_array().into_iter().flatten();
    let mut reasons = waits.filter_map(|wait| wait["reason"].as_str());
    reasons.any(|reason| reason.contains(part))
}

#[tokio::test]
async fn g12b_a_namespace_stays_for_objects_of_others_whose_kind_is_not_served() {
    for restart in [false, true] {
        for down in [false, true] {
            let files = [
                ("landform.yaml", &*settings("web")),
                ("m.yaml", &map("m", "1")),
            ];
            let mut world = World::new(&files).await;
            world.synced(2).await;
            world.create(definition_of(true)).await;
            is_served(&world, true).await;
            let before = foreign(&world, "web").await;
            set_served(&world, false).await;
            if restart {
                world.restart().await;
            }
            let goes = leaving(&world.client, "shop").await.unwrap();
            assert!(goes.kept[0].contains("Gadget web/foreign"), "{goes:?}");
            if down {
                world.delete("Project", "shop").await;
                world.gone("Project", "shop").await;
            } else {
                world.write("landform.yaml", &settings("other"));
                let shown = preview(&world.client, &world.path(""), "shop")
                    .await
                    .unwrap();
                assert!(shown.kept[0].contains("Gadget web/foreign"), "{shown:?}");
                world
                    .status(|status| status["keptNamespaces"]["web"].is_string())
                    .await;
            }
            let namespace = world.get("Namespace", "web").await;
            let metadata = &namespace["metadata"];
            assert!(metadata["uid"].is_string() && metadata["deletionTimestamp"].is_null());
            set_served(&world, true).await;
            assert_eq!(
                uid(&world, "web", "foreign").await,
                before,
                "{restart} {down}"
            );
        }
    }
}

/// "They are made anew there, and then deleted where they were": also when they can't be made for a while.
#[tokio::test]
async fn g12b_a_move_to_another_namespace_waits_for_a_kind_that_is_not_served() {
    for restart in [false, true] {
        let mut world = whole().await;
        let before = uid(&world, "web", "a").await;
        world.write("crd.json", &definition_of(false).to_string());
        is_served(&world, false).await;
        world.write("landform.yaml", &settings("other"));
        if restart {
            world.restart().await;
        }
        let moved = |status: &Value| stands_for(status, "Gadget web/a is in it");
        world.status(moved).await;
        assert!(world.get("Namespace", "other").await.is_object());
        let namespace = world.get("Namespace", "web").await;
        assert!(
            namespace["metadata"]["deletionTimestamp"].is_null(),
            "{namespace:#}"
        );
        // Back and served again, everything is as it was.
        world.write("landform.yaml", &settings("web"));
        world.write("crd.json", &definition_of(true).to_string());
        world.synced(4).await;
        assert_eq!(uid(&world, "web", "a").await, before, "{restart}");
        world.write("landform.yaml", &settings("other"));
        world.gone("Namespace", "web").await;
        world.synced(4).await;
        assert!(uid(&world, "other", "a").await.is_some());
    }
}

/// What cannot be made in the new place is kept in the old one.
#[tokio::test]
async fn r15_a_moved_object_goes_only_when_it_is_in_its_new_place() {
    let world = World::new(&[
        ("landform.yaml", &settings("web")),
        ("m.yaml", &map("m", "1")),
    ])
    .await;
    world.synced(2).await;
    let other = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}});
    world.create(other).await;
    let maps: Api<k8s_openapi::api::core::v1::ConfigMap> =
        Api::namespaced(world.client.clone(), "other");
    let taken = json!({"metadata": {"name": "m", "labels": {"landform.dev/project": "theirs"}}});
    let taken = serde_json::from_value(taken).unwrap();
    maps.create(&PostParams::default(), &taken).await.unwrap();
    world.write("landform.yaml", &settings("other"));
    world
        .status(|status| stands_for(status, "ConfigMap other/m must be there first"))
        .await;
    let in_web: Api<k8s_openapi::api::core::v1::ConfigMap> =
        Api::namespaced(world.client.clone(), "web");
    assert!(in_web.get_opt("m").await.unwrap().is_some());
    maps.delete("m", &Default::default()).await.unwrap();
    world.gone("Namespace", "web").await;
    assert!(maps.get_opt("m").await.unwrap().is_some());
}

#[tokio::test]
async fn g12b_what_left_the_files_while_its_kind_was_not_served_goes_afterwards() {
    for restart in [false, true] {
        let mut world = whole().await;
        let before = uid(&world, "web", "b").await;
        world.write("crd.json", &definition_of(false).to_string());
        is_served(&world, false).await;
        world.remove("a.json");
        world.remove("b.json");
        world
            .status(|status| stands_for(status, "its kind isn't served"))
            .await;
        world.write("renamed.json", &gadget("b2", 2).to_string());
        world.problem("isn't served").await;
        if restart {
            world.restart().await;
        }
        let shown = leaving(&world.client, "shop").await.unwrap();
        assert_eq!(shown.objects["Gadget"], ["a", "b"], "{shown:?}");
        world.write("crd.json", &definition_of(true).to_string());
        is_served(&world, true).await;
        world.synced(3).await;
        assert_eq!(uid(&world, "web", "b2").await, before, "{restart}");
        for gone in ["a", "b"] {
            assert_eq!(uid(&world, "web", gone).await, None, "{gone} {restart}");
        }
    }
}

#[tokio::test]
async fn g12b_a_definition_that_serves_nothing_is_where_the_problem_is() {
    for restart in [false, true] {
        let mut world = whole().await;
        world.write("crd.json", &definition_of(false).to_string());
        is_served(&world, false).await;
        world.write("a.json", &gadget("a", 3).to_string());
        if restart {
            world.restart().await;
        }
        let problem = world.problem("isn't served").await;
        assert_eq!(problem["file"], "crd.json", "{problem:#}");
        let status = world.status(|status| status["phase"] == "Incomplete").await;
        assert_eq!(status["problemCount"], 1, "{status:#}");
    }
}

#[tokio::test]
async fn g12b_a_project_that_is_deleted_waits_for_objects_that_it_never_saw() {
    for restart in [false, true] {
        let mut world = whole().await;
        let held = json!({"metadata": {"finalizers": ["example.com/held"]}});
        let patch = kube::api::Patch::Merge(held);
        let of_web = gadgets(&world, "web");
        of_web
            .patch("a", &Default::default(), &patch)
            .await
            .unwrap();
        world.write("crd.json", &definition_of(false).to_string());
        is_served(&world, false).await;
        if restart {
            world.restart().await;
        }
        world.delete("Project", "shop").await;
        world
            .status(|status| stands_for(status, "its kind isn't served"))
            .await;
        set_served(&world, true).await;
        let free = kube::api::Patch::Merge(json!({"metadata": {"finalizers": null}}));
        of_web.patch("a", &Default::default(), &free).await.unwrap();
        world.gone("Project", "shop").await;
        assert!(world.get("Namespace", "web").await.is_null());
    }
}

/// Nothing holds these, and their definition goes: they go with it.
#[tokio::test]
async fn r15_a_definition_takes_objects_with_it_that_nothing_holds() {
    let world = whole().await;
    set_served(&world, false).await;
    world.delete("Project", "shop").await;
    world.gone("Project", "shop").await;
    let name = "gadgets.example.com";
    world.gone("CustomResourceDefinition", name).await;
}

#[tokio::test]
async fn r15_who_takes_a_definition_away_is_shown_what_of_others_goes_with_it() {
    for served in [true, false] {
        let world = whole().await;
        foreign(&world, "default").await;
        world.stop().await;
        set_served(&world, served).await;
        let goes = leaving(&world.client, "shop").await.unwrap();
        let text = "with the definition gadgets.example.com goes 1 object that is not the project's: Gadget default/foreign";
        assert_eq!(goes.taken, [text], "{goes:?}");
        for file in ["crd.json", "a.json", "b.json"] {
            world.remove(file);
        }
        let shown = preview(&world.client, &world.path(""), "shop")
            .await
            .unwrap();
        assert_eq!(shown.taken, [text], "{shown:?}");
    }
}
