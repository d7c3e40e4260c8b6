//! The fence: after a call has returned, nothing of it is written any more.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Both, maps, spec};

async fn until_held(both: &Both, writes: usize) {
    let held = async {
        while both.target.held() < writes {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), held)
        .await
        .unwrap();
}

fn config(x: &str) -> Value {
    maps(&[("a", json!({"x": x})), ("b", json!({"x": x}))])
}

#[tokio::test]
async fn a_cancelled_call_waits_for_its_write_and_makes_no_other() {
    let both = Both::new().await;
    both.target.hold();
    both.world.hand_out("web", spec(&config("1"))).await;
    until_held(&both, 1).await;
    both.world
        .patch("web", json!({"spec": {"config": config("2")}}))
        .await;
    // The next call can't begin before the write of this one has ended.
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(both.target.held(), 1);
    both.target.release();
    both.world.until_phase("web", "Succeeded").await;
    let expected = [
        "POST configmaps a",
        "PATCH configmaps a",
        "POST configmaps b",
    ];
    assert_eq!(both.target.writes(), expected);
    assert_eq!(both.target.map("a").await, Some(json!({"x": "2"})));
    assert_eq!(both.target.map("b").await, Some(json!({"x": "2"})));
}

#[tokio::test]
async fn an_aborted_item_is_failed_only_when_its_write_has_ended() {
    let both = Both::new().await;
    both.target.hold();
    both.world.hand_out("web", spec(&config("1"))).await;
    until_held(&both, 1).await;
    let operation = json!({"landscaper.gardener.cloud/operation": "abort"});
    both.world
        .patch("web", json!({"metadata": {"annotations": operation}}))
        .await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let item = both.world.items().get("web").await.unwrap();
    assert_ne!(item.data["status"]["phase"], "Failed");
    both.target.release();
    both.world.until_phase("web", "Failed").await;
    assert_eq!(both.target.writes(), ["POST configmaps a"]);
    both.remove("web").await;
    assert_eq!(both.target.map("a").await, None);
}

#[tokio::test]
async fn a_call_whose_time_is_over_leaves_nothing_to_the_next_one() {
    let both = Both::new().await;
    both.target.hold();
    let mut timed = spec(&config("1"));
    timed["timeout"] = json!("1s");
    both.world.hand_out("web", timed).await;
    until_held(&both, 1).await;
    both.world.until_phase("web", "Failed").await;
    both.world
        .patch(
            "web",
            json!({"spec": {"timeout": "1m", "config": config("2")}}),
        )
        .await;
    // The next call waits for the write that was left behind.
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(both.target.held(), 1);
    both.target.release();
    both.world.until_phase("web", "Succeeded").await;
    let expected = [
        "POST configmaps a",
        "PATCH configmaps a",
        "POST configmaps b",
    ];
    assert_eq!(both.target.writes(), expected);
}
