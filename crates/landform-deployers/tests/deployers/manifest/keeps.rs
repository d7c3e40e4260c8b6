//! Items with a schedule are looked after; others cost nothing.

use futures::StreamExt as _;
use kube::runtime::watcher::watch_object;
use serde_json::{Value, json};

use super::{Both, deployers, maps};

/// Waits until a ConfigMap at the target has this data.
async fn until_map(both: &Both, name: &str, data: &Value) {
    let watch = watch_object(both.target.maps(), name);
    let mut watch = std::pin::pin!(watch);
    let seen = async {
        while let Some(found) = watch.next().await {
            let found = found.unwrap();
            if found.is_some_and(|found| found.data["data"] == *data) {
                return;
            }
        }
    };
    let patience = std::time::Duration::from_secs(60);
    tokio::time::timeout(patience, seen).await.unwrap();
}

#[tokio::test]
async fn drift_is_repaired_and_deleted_objects_come_back() {
    let both = Both::new().await;
    let mut config = maps(&[("a", json!({"x": "1"})), ("b", json!({"x": "1"}))]);
    config["continuousReconcile"] = json!({"every": "1s"});
    both.deploy("web", config, "Succeeded").await;
    both.target
        .patch_map("a", json!({"data": {"x": "2"}}))
        .await;
    until_map(&both, "a", &json!({"x": "1"})).await;
    both.target.delete_map("b").await;
    until_map(&both, "b", &json!({"x": "1"})).await;
    // The new object is known as ours: it goes with the item.
    both.remove("web").await;
    assert_eq!(both.target.map("b").await, None);
}

#[tokio::test]
async fn without_a_schedule_a_restart_reads_nothing() {
    let mut both = Both::new().await;
    both.deploy("web", maps(&[("a", json!({"x": "1"}))]), "Succeeded")
        .await;
    let before = both.target.requests();
    both.world.restart(deployers()).await;
    // Another item shows that the engine is at work again; it makes as many requests as the first did.
    both.deploy("other", maps(&[("b", json!({"x": "1"}))]), "Succeeded")
        .await;
    assert_eq!(both.target.requests(), before * 2);
}

#[tokio::test]
async fn a_schedule_that_is_not_due_reads_nothing_after_a_restart() {
    let mut both = Both::new().await;
    let mut config = maps(&[("a", json!({"x": "1"}))]);
    config["continuousReconcile"] = json!({"cron": "0 0 1 1 *"});
    both.deploy("web", config, "Succeeded").await;
    let before = both.target.requests();
    both.world.restart(deployers()).await;
    both.deploy("other", maps(&[("b", json!({"x": "1"}))]), "Succeeded")
        .await;
    assert_eq!(both.target.requests(), before * 2);
}
