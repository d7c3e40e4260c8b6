//! Settings that change or vanish, and what becomes of the project's namespace.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, PostParams};
use landform_project::preview;
use serde_json::{Value, json};

use crate::harness::{World, map};

fn settings(spec: &str) -> String {
    format!("apiVersion: landform.dev/v1alpha1\nkind: Project\nspec: {spec}\n")
}

fn maps(world: &World, namespace: &str) -> Api<ConfigMap> {
    Api::namespaced(world.client.clone(), namespace)
}

async fn uid(world: &World, namespace: &str, name: &str) -> Option<String> {
    let found = maps(world, namespace).get_opt(name).await.unwrap();
    found.and_then(|found| found.metadata.uid)
}

async fn foreign(world: &World, namespace: &str) {
    let object = serde_json::from_value(json!({"metadata": {"name": "foreign"}})).unwrap();
    let (maps, params) = (maps(world, namespace), PostParams::default());
    maps.create(&params, &object).await.unwrap();
}

#[tokio::test]
async fn r15b_settings_that_vanish_for_a_moment_move_nothing() {
    let full = settings("{namespace: web, grace: 10m, values: {a: 1}, ignore: [drafts]}");
    let world = World::new(&[("landform.yaml", &full), ("a.yaml", &map("a", "1"))]).await;
    world.synced(2).await;
    let before = uid(&world, "web", "a").await;
    assert!(before.is_some());
    let ways = [
        None,
        Some(String::new()),
        Some("# nothing yet\n".to_owned()),
        Some(settings("{grace: 10m}")),
        Some(settings(
            "{namespace: other, grace: 10m, values: {a: 1}, ignore: [drafts]}",
        )),
        Some(settings("{namespace: web, grace: 10m, ignore: [drafts]}")),
        Some(settings("{namespace: web, grace: 10m, values: {a: 1}}")),
    ];
    for way in ways {
        match &way {
            None => world.remove("landform.yaml"),
            Some(text) => world.write("landform.yaml", text),
        }
        let settling = |status: &Value| {
            let reason = status["waitingOn"][0]["reason"].as_str();
            status["phase"] == "Settling"
                && reason.is_some_and(|reason| reason.starts_with("landform.yaml doesn't say"))
        };
        world.status(settling).await;
        for namespace in ["default", "other"] {
            assert_eq!(uid(&world, namespace, "a").await, None, "{way:?}");
        }
        world.write("landform.yaml", &full);
        world.synced(2).await;
        assert_eq!(uid(&world, "web", "a").await, before, "{way:?}");
    }
}

/// Two times must not race: that of the settings, and that of the objects which others would leave behind.
#[tokio::test]
async fn r15b_settings_that_return_while_objects_are_kept_leave_them_alive() {
    // Without settings the grace is that of the default, so objects are kept for longer.
    let full = settings("{namespace: web, grace: 50ms}");
    let world = World::new(&[("landform.yaml", &full), ("a.yaml", &map("a", "1"))]).await;
    world.synced(2).await;
    let before = uid(&world, "web", "a").await;
    for _ in 0..3 {
        world.remove("landform.yaml");
        let kept = |status: &Value| {
            let reason = status["waitingOn"][0]["reason"].as_str();
            reason.is_some_and(|reason| reason.starts_with("no file has it: it is kept until"))
        };
        world.status(kept).await;
        assert!(uid(&world, "default", "a").await.is_some());
        world.write("landform.yaml", &full);
        world.synced(2).await;
        assert_eq!(uid(&world, "web", "a").await, before);
        assert_eq!(uid(&world, "default", "a").await, None);
    }
}

#[tokio::test]
async fn r15b_settings_that_are_missing_at_a_start_have_the_same_grace() {
    let full = settings("{namespace: web, grace: 10m, values: {a: 1}, ignore: [drafts]}");
    let world = World::new(&[("landform.yaml", &full), ("a.yaml", &map("a", "1"))]).await;
    let mut world = world;
    world.synced(2).await;
    let before = uid(&world, "web", "a").await;
    for way in [None, Some(settings("{namespace: other}"))] {
        world.stop().await;
        match &way {
            None => world.remove("landform.yaml"),
            Some(text) => world.write("landform.yaml", text),
        }
        world.restart().await;
        let settling = |status: &Value| {
            let reason = status["waitingOn"][0]["reason"].as_str();
            reason.is_some_and(|reason| reason.starts_with("landform.yaml doesn't say"))
        };
        world.status(settling).await;
        for namespace in ["default", "other"] {
            assert_eq!(uid(&world, namespace, "a").await, None, "{way:?}");
        }
        world.write("landform.yaml", &full);
        world.synced(2).await;
        assert_eq!(uid(&world, "web", "a").await, before, "{way:?}");
    }
    // What stays away for the grace counts, after a start as well.
    world.write(
        "landform.yaml",
        &settings("{namespace: web, grace: 50ms, values: {a: 1}, ignore: [drafts]}"),
    );
    let short = |status: &Value| status["settings"]["grace"] == "50ms";
    world.status(short).await;
    world.stop().await;
    world.remove("landform.yaml");
    world.restart().await;
    world.gone("Namespace", "web").await;
    assert!(uid(&world, "default", "a").await.is_some());
}

#[tokio::test]
async fn r15b_another_namespace_counts_when_it_has_stayed_for_the_grace() {
    let full = settings("{namespace: web, grace: 50ms}");
    let world = World::new(&[("landform.yaml", &full), ("a.yaml", &map("a", "1"))]).await;
    world.synced(2).await;
    world.write("landform.yaml", &settings("{namespace: shop, grace: 50ms}"));
    // It is the project's and empty by then, so it goes.
    world.gone("Namespace", "web").await;
    assert!(uid(&world, "shop", "a").await.is_some());
    let status = world.synced(2).await;
    assert!(status["keptNamespaces"].is_null(), "{status}");
}

#[tokio::test]
async fn r15_a_namespace_with_objects_of_others_stays_when_the_settings_go() {
    let full = settings("{namespace: web, grace: 50ms}");
    let world = World::new(&[("landform.yaml", &full), ("a.yaml", &map("a", "1"))]).await;
    world.synced(2).await;
    foreign(&world, "web").await;
    world.remove("landform.yaml");
    let status = world
        .status(|status| status["keptNamespaces"]["web"].is_string())
        .await;
    let why =
        "the namespace web stays: it has objects that are not the project's, ConfigMap web/foreign";
    assert_eq!(status["keptNamespaces"], json!({"web": why}));
    let namespace = world.get("Namespace", "web").await;
    let metadata = &namespace["metadata"];
    assert!(metadata["deletionTimestamp"].is_null(), "{namespace:#}");
    assert!(metadata["labels"]["landform.dev/project"].is_null());
    assert!(uid(&world, "web", "foreign").await.is_some());
    assert!(uid(&world, "default", "a").await.is_some());
    assert_eq!(uid(&world, "web", "a").await, None);
    // Wanted again, it is what others have made, and stays theirs.
    world.write("landform.yaml", &full);
    let again = |status: &Value| status["phase"] == "Synced" && status["keptNamespaces"].is_null();
    world.status(again).await;
    assert!(uid(&world, "web", "a").await.is_some());
}

#[tokio::test]
async fn r15_a_deleted_project_takes_only_its_own_namespaces_with_it() {
    let namespace =
        |name: &str| format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}}}\n");
    let world = World::empty().await;
    let there = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "before"}});
    world.create(there).await;
    world.write("landform.yaml", &settings("{namespace: web}"));
    world.write("a.yaml", &map("a", "1"));
    for name in ["before", "own", "used"] {
        world.write(&format!("{name}.yaml"), &namespace(name));
    }
    world.create(crate::harness::manifest()).await;
    world.synced(5).await;
    foreign(&world, "used").await;
    world.delete("Project", "shop").await;
    world.gone("Project", "shop").await;
    for (name, stays) in [
        ("web", false),
        ("own", false),
        ("used", true),
        ("before", true),
    ] {
        let found = world.get("Namespace", name).await;
        let marked = !found["metadata"]["deletionTimestamp"].is_null();
        assert_eq!(found.is_object() && !marked, stays, "{name}: {found:#}");
    }
    assert!(uid(&world, "used", "foreign").await.is_some());
}

#[tokio::test]
async fn r15_a_preview_shows_another_namespace_and_what_stays() {
    let full = settings("{namespace: web}");
    let world = World::new(&[("landform.yaml", &full), ("a.yaml", &map("a", "1"))]).await;
    world.synced(2).await;
    foreign(&world, "web").await;
    world.stop().await;
    world.write("landform.yaml", &settings("{namespace: other}"));
    let found = preview(&world.client, &world.path(""), "shop").await;
    let found = found.unwrap();
    let made: Vec<_> = found.objects.iter().map(|object| named(object)).collect();
    assert_eq!(made, ["Namespace /other", "ConfigMap other/a"]);
    let gone: Vec<_> = found
        .deletions
        .iter()
        .map(|(_, id)| id.to_string())
        .collect();
    assert_eq!(gone, ["ConfigMap web/a"]);
    assert!(found.kept[0].contains("ConfigMap web/foreign"), "{found:?}");
    // Without objects of others it goes, too.
    let maps = maps(&world, "web");
    maps.delete("foreign", &DeleteParams::default())
        .await
        .unwrap();
    let found = preview(&world.client, &world.path(""), "shop").await;
    let found = found.unwrap();
    let gone: Vec<_> = found
        .deletions
        .iter()
        .map(|(_, id)| id.to_string())
        .collect();
    assert_eq!(gone, ["ConfigMap web/a", "Namespace web"]);
    assert!(found.kept.is_empty(), "{found:?}");
}

#[tokio::test]
async fn r15b_a_preview_of_a_renamed_and_changed_object_has_both() {
    let world = World::new(&[("a.yaml", &map("a", "1"))]).await;
    world.synced(1).await;
    world.stop().await;
    let annotation = "metadata:\n  annotations: {landform.dev/renamed-from: a}";
    let renamed = map("b", "2").replacen("metadata:", annotation, 1);
    world.write("a.yaml", &renamed);
    let found = preview(&world.client, &world.path(""), "shop").await;
    let found = found.unwrap();
    assert_eq!(found.renames.len(), 1, "{found:?}");
    let made: Vec<_> = found.objects.iter().map(|object| named(object)).collect();
    assert_eq!(made, ["ConfigMap default/b"]);
    assert_eq!(found.objects[0]["data"]["a"], "2");
    assert!(found.deletions.is_empty(), "{found:?}");
}

fn named(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let metadata = &object["metadata"];
    let namespace = text(&metadata["namespace"]);
    format!(
        "{} {namespace}/{}",
        text(&object["kind"]),
        text(&metadata["name"])
    )
}
