//! An object that gets another name stays the object that it is.

use landform_api::keys::ANNOTATION_RENAMED_FROM;
use serde_json::{Value, json};

use crate::harness::{World, map, widget};

#[tokio::test]
async fn r15_a_renamed_object_keeps_its_state_and_its_reconciler_is_told() {
    let world = World::new(&[("a.yaml", &widget("old", 1)), ("b.yaml", &map("b", "1"))]).await;
    world.synced(2).await;
    let old = world
        .until("Widget", "old", |found| found["status"]["seen"] == true)
        .await;
    let uid = &old["metadata"]["uid"];
    world
        .create(json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "owned", "ownerReferences": [
                {"apiVersion": "example.com/v1", "kind": "Widget", "name": "old", "uid": uid},
            ]},
        }))
        .await;
    let owned = world.get("ConfigMap", "owned").await["metadata"]["uid"].clone();
    world.write("a.yaml", &widget("new", 1));
    let new = world.until("Widget", "new", Value::is_object).await;
    assert_eq!(new["metadata"]["uid"], *uid);
    assert_eq!(new["status"], old["status"]);
    world.gone("Widget", "old").await;
    world
        .until("Widget", "new", |found| {
            found["metadata"]["annotations"]
                .get(ANNOTATION_RENAMED_FROM)
                .is_none()
        })
        .await;
    let told = ("new".to_owned(), Some("old".to_owned()));
    assert!(world.widgets.told.lock().contains(&told));
    let kept = world.get("ConfigMap", "owned").await;
    assert_eq!(kept["metadata"]["uid"], owned);
    assert_eq!(kept["metadata"]["ownerReferences"][0]["name"], "new");
    world.synced(2).await;
}

#[tokio::test]
async fn r15_a_rename_is_found_after_a_restart_too() {
    let mut world = World::new(&[("a.yaml", &widget("old", 1))]).await;
    world.synced(1).await;
    let uid = world.get("Widget", "old").await["metadata"]["uid"].clone();
    world.stop().await;
    world.write("a.yaml", &widget("new", 1));
    world.restart().await;
    let new = world.until("Widget", "new", Value::is_object).await;
    assert_eq!(new["metadata"]["uid"], uid);
    world.gone("Widget", "old").await;
}

#[tokio::test]
async fn r15_a_file_may_tell_the_former_name() {
    let world = World::new(&[("a.yaml", &widget("old", 1))]).await;
    world.synced(1).await;
    let uid = world.get("Widget", "old").await["metadata"]["uid"].clone();
    let renamed = widget("new", 7).replace(
        "{name: new}",
        "{name: new, annotations: {landform.dev/renamed-from: old}}",
    );
    world.write("b.yaml", &renamed);
    world.remove("a.yaml");
    let new = world
        .until("Widget", "new", |found| found["spec"]["size"] == 7)
        .await;
    assert_eq!(new["metadata"]["uid"], uid);
    world.synced(1).await;
}

#[tokio::test]
async fn r15_renaming_onto_a_living_name_is_refused() {
    let world = World::new(&[("a.yaml", &widget("old", 1))]).await;
    world.synced(1).await;
    let somebodys = world.create(json!({
        "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "new"}, "spec": {"size": 9},
    })).await;
    let old = world.get("Widget", "old").await;
    world.write("a.yaml", &widget("new", 1));
    let problem = world.problem("already exists").await;
    assert_eq!(
        (&problem["file"], &problem["line"]),
        (&json!("a.yaml"), &json!(1))
    );
    let now = world.get("Widget", "new").await;
    assert_eq!(
        (&now["spec"], &now["metadata"]["uid"]),
        (&somebodys["spec"], &somebodys["metadata"]["uid"])
    );
    assert_eq!(
        world.get("Widget", "old").await["metadata"]["uid"],
        old["metadata"]["uid"]
    );
    world.delete("Widget", "new").await;
    let renamed = world
        .until("Widget", "new", |found| found["spec"]["size"] == 1)
        .await;
    assert_eq!(renamed["metadata"]["uid"], old["metadata"]["uid"]);
}

#[tokio::test]
async fn r15_what_is_ambiguous_is_deleted_and_made_anew() {
    let world = World::new(&[("a.yaml", &widget("old", 1))]).await;
    world.synced(1).await;
    let uid = world.get("Widget", "old").await["metadata"]["uid"].clone();
    world.write(
        "a.yaml",
        &format!("{}---\n{}", widget("x1", 1), widget("x2", 1)),
    );
    world.gone("Widget", "old").await;
    for name in ["x1", "x2"] {
        let found = world.until("Widget", name, Value::is_object).await;
        assert_ne!(found["metadata"]["uid"], uid);
    }
}
