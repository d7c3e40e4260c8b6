//! Many deletions at once, and the end of a project.

use landform_api::project::ANNOTATION_APPROVED_DELETIONS;
use serde_json::json;

use crate::harness::{World, map, widget};

#[tokio::test]
async fn r15_more_than_half_of_a_large_project_asks_first() {
    let world = World::new(&[]).await;
    for at in 0..9 {
        world.write(&format!("{at}.yaml"), &map(&format!("m{at}"), "1"));
    }
    world.synced(9).await;
    for at in 0..6 {
        world.remove(&format!("{at}.yaml"));
    }
    world.write("8.yaml", &map("m8", "2"));
    let status = world
        .status(|status| status["phase"] == "Held" && status["heldDeletions"]["count"] == 6)
        .await;
    assert_eq!(status["heldDeletions"]["of"], 9);
    world
        .until("ConfigMap", "m8", |found| found["data"]["a"] == "2")
        .await;
    assert_eq!(world.names("ConfigMap").await.len(), 9);
    let agree =
        |token: &str| json!({"metadata": {"annotations": {ANNOTATION_APPROVED_DELETIONS: token}}});
    world
        .patch("Project", "shop", agree("something else"))
        .await;
    let token = status["heldDeletions"]["token"].as_str().unwrap();
    world.patch("Project", "shop", agree(token)).await;
    world.synced(3).await;
    for at in 0..6 {
        world.gone("ConfigMap", &format!("m{at}")).await;
    }
    assert_eq!(world.names("ConfigMap").await, ["m6", "m7", "m8"]);
}

#[tokio::test]
async fn r15_a_deleted_project_takes_its_objects_with_it() {
    let world = World::new(&[("a.yaml", &map("a", "1")), ("w.yaml", &widget("w", 1))]).await;
    world.synced(2).await;
    world
        .patch(
            "Widget",
            "w",
            json!({"metadata": {"finalizers": ["example.com/slow"]}}),
        )
        .await;
    world.delete("Project", "shop").await;
    let status = world.status(|status| status["phase"] == "Deleting").await;
    assert_eq!(status["waitingOn"][0]["object"]["name"], "w");
    assert_eq!(
        world.names("ConfigMap").await,
        ["a"],
        "the widget may still need it"
    );
    world
        .patch("Widget", "w", json!({"metadata": {"finalizers": null}}))
        .await;
    world.gone("ConfigMap", "a").await;
    world.gone("Project", "shop").await;
}
