//! A definition that leaves the files takes objects along that no removed file stands for: a person must agree.

use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, PostParams};
use landform_api::project::ANNOTATION_APPROVED_DELETIONS;
use serde_json::{Value, json};

use crate::harness::{World, definition, map};

const DEFINITION: &str = "gadgets.example.com";
const SETTINGS: &str =
    "apiVersion: landform.dev/v1alpha1\nkind: Project\nspec: {namespace: web, grace: 50ms}\n";

fn gadget(name: &str) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": name}})
}

fn gadgets(world: &World, namespace: &str) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("example.com", "v1", "Gadget");
    let resource = ApiResource::from_gvk_with_plural(&kind, "gadgets");
    Api::namespaced_with(world.client.clone(), namespace, &resource)
}

/// Somebody else makes one; its uid.
async fn foreign(world: &World, name: &str) -> Option<String> {
    let object = serde_json::from_value(gadget(name)).unwrap();
    let (gadgets, params) = (gadgets(world, "default"), PostParams::default());
    gadgets.create(&params, &object).await.unwrap().metadata.uid
}

async fn uid(world: &World, name: &str) -> Option<String> {
    let found = gadgets(world, "default").get_opt(name).await.unwrap();
    found.and_then(|found| found.metadata.uid)
}

/// A project whose files define the kind, one object of it, and who reconciles it.
async fn world() -> World {
    let reconciler = json!({
        "apiVersion": "landform.dev/v1alpha1", "kind": "Reconciler", "metadata": {"name": "gadgets"},
        "spec": {
            "for": {"group": "example.com", "version": "v1", "kind": "Gadget"},
            "hook": {"command": ["sh", "-c", "echo '{}'"]},
        },
    });
    let world = World::new(&[
        ("landform.yaml", SETTINGS),
        ("crd.json", &definition("Gadget", "gadgets").to_string()),
        ("reconciler.json", &reconciler.to_string()),
        ("a.json", &gadget("a").to_string()),
        ("m.yaml", &map("m", "1")),
    ])
    .await;
    world.synced(5).await;
    world
}

async fn held(world: &World, part: &str) -> Value {
    let is_held = |status: &Value| {
        let others = status["heldDeletions"]["others"][0].as_str();
        status["phase"] == "Held" && others.is_some_and(|others| others.contains(part))
    };
    world.status(is_held).await
}

async fn unmarked(world: &World, kind: &str, name: &str) -> bool {
    let found = world.get(kind, name).await;
    found.is_object() && found["metadata"]["deletionTimestamp"].is_null()
}

async fn agree(world: &World, status: &Value) {
    let token = &status["heldDeletions"]["token"];
    let patch = json!({"metadata": {"annotations": {ANNOTATION_APPROVED_DELETIONS: token}}});
    world.patch("Project", "shop", patch).await;
}

#[tokio::test]
async fn r15_a_definition_asks_before_it_takes_objects_of_others_along() {
    for restart in [false, true] {
        for served in [true, false] {
            let mut world = world().await;
            let before = foreign(&world, "theirs").await;
            world.remove("a.json");
            world.gone_in("web", "a").await;
            if !served {
                let mut unserved = definition("Gadget", "gadgets");
                unserved["spec"]["versions"][0]["served"] = json!(false);
                world.write("crd.json", &unserved.to_string());
                let is_unserved = |found: &Value| found["spec"]["versions"][0]["served"] == false;
                world
                    .until("CustomResourceDefinition", DEFINITION, is_unserved)
                    .await;
            }
            for file in ["crd.json", "reconciler.json", "m.yaml"] {
                world.remove(file);
            }
            let status = held(&world, "Gadget default/theirs").await;
            assert_eq!(status["heldDeletions"]["count"], 1, "{status:#}");
            if restart {
                world.restart().await;
                let touched = json!({"metadata": {"annotations": {"a": "b"}}});
                world.patch("Project", "shop", touched).await;
                held(
                    &world,
                    "with the definition gadgets.example.com goes 1 object",
                )
                .await;
            }
            assert!(unmarked(&world, "CustomResourceDefinition", DEFINITION).await);
            // The object of others needs its hook until it is gone.
            assert!(unmarked(&world, "Reconciler", "gadgets").await);
            if served {
                assert_eq!(uid(&world, "theirs").await, before);
            }
            agree(&world, &status).await;
            world.gone("CustomResourceDefinition", DEFINITION).await;
            world.gone("Reconciler", "gadgets").await;
            world.synced(1).await;
        }
    }
}

#[tokio::test]
async fn r15_consent_is_to_exactly_the_objects_that_were_named() {
    let world = world().await;
    foreign(&world, "theirs").await;
    world.remove("crd.json");
    world.remove("a.json");
    let status = held(&world, "Gadget default/theirs").await;
    let later = foreign(&world, "later").await;
    agree(&world, &status).await;
    let status = held(&world, "Gadget default/later").await;
    assert!(unmarked(&world, "CustomResourceDefinition", DEFINITION).await);
    assert_eq!(uid(&world, "later").await, later);
    agree(&world, &status).await;
    world.gone("CustomResourceDefinition", DEFINITION).await;
    world.synced(3).await;
}

#[tokio::test]
async fn r15_a_held_definition_goes_when_nothing_of_others_is_left() {
    for restart in [false, true] {
        let mut world = world().await;
        foreign(&world, "theirs").await;
        world.remove("crd.json");
        world.remove("a.json");
        held(&world, "Gadget default/theirs").await;
        if restart {
            world.restart().await;
        }
        let theirs = gadgets(&world, "default");
        theirs.delete("theirs", &Default::default()).await.unwrap();
        world.gone("CustomResourceDefinition", DEFINITION).await;
        world.synced(3).await;
    }
}

#[tokio::test]
async fn r15b_a_definition_that_returns_is_held_no_more() {
    let world = world().await;
    let before = foreign(&world, "theirs").await;
    let definition_before = world.get("CustomResourceDefinition", DEFINITION).await;
    world.remove("crd.json");
    // An object that a file still has goes along as well, and its file would be left without it.
    held(&world, "Gadget web/a").await;
    world.write("crd.json", &definition("Gadget", "gadgets").to_string());
    world.synced(5).await;
    assert_eq!(uid(&world, "theirs").await, before);
    let definition_now = world.get("CustomResourceDefinition", DEFINITION).await;
    assert_eq!(
        definition_now["metadata"]["uid"],
        definition_before["metadata"]["uid"]
    );
}
