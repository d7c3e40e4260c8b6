//! The fence: after a call has returned, nothing of it is written any more. And others that write meanwhile.

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

#[tokio::test]
async fn a_write_by_somebody_else_in_between_is_noticed() {
    for strategy in ["update", "patch"] {
        let both = Both::new().await;
        let mut wanted = config("1");
        wanted["updateStrategy"] = json!(strategy);
        both.deploy("web", wanted.clone(), "Succeeded").await;
        both.target.writes();
        both.target.hold();
        wanted["manifests"][0]["manifest"]["data"] = json!({"x": "2"});
        both.world
            .patch("web", json!({"spec": {"config": wanted}}))
            .await;
        until_held(&both, 1).await;
        both.target
            .patch_map("a", json!({"data": {"theirs": "1"}}))
            .await;
        both.target.release();
        both.world.until_phase("web", "Succeeded").await;
        let expected = json!({"x": "2", "theirs": "1"});
        assert_eq!(both.target.map("a").await, Some(expected));
        let writes = if strategy == "update" { 2 } else { 1 };
        assert_eq!(both.target.writes(), vec!["PATCH configmaps a"; writes]);
    }
}

#[tokio::test]
async fn an_object_that_somebody_makes_meanwhile_is_not_taken_over() {
    let both = Both::new().await;
    both.target.hold();
    both.world.hand_out("web", spec(&config("1"))).await;
    until_held(&both, 1).await;
    both.target.make_map("a", json!({"theirs": "1"})).await;
    both.target.release();
    let item = both.world.until_phase("web", "Failed").await;
    assert_eq!(item.data["status"]["lastError"]["reason"], "ForeignObject");
    both.remove("web").await;
    assert_eq!(both.target.map("a").await, Some(json!({"theirs": "1"})));
}

#[tokio::test]
async fn an_object_that_somebody_deletes_meanwhile_is_created_anew() {
    let both = Both::new().await;
    both.deploy("web", config("1"), "Succeeded").await;
    both.target.hold();
    both.world
        .patch("web", json!({"spec": {"config": config("2")}}))
        .await;
    until_held(&both, 1).await;
    both.target.delete_map("a").await;
    both.target.release();
    both.world.until_phase("web", "Succeeded").await;
    assert_eq!(both.target.map("a").await, Some(json!({"x": "2"})));
    both.remove("web").await;
    assert_eq!(both.target.map("a").await, None);
}

#[tokio::test]
async fn o15_o17_an_object_that_another_item_takes_over_meanwhile_is_not_deleted() {
    let both = Both::new().await;
    both.deploy("web", config("1"), "Succeeded").await;
    both.target.hold();
    both.world.delete("web").await;
    // The delete of b is on its way when another item takes b over.
    until_held(&both, 1).await;
    let mark = json!({"landform.dev/deploy-item": "another"});
    both.target
        .patch_map("b", json!({"metadata": {"annotations": mark}}))
        .await;
    both.target.release();
    both.world.until_gone("web").await;
    assert_eq!(both.target.map("b").await, Some(json!({"x": "1"})));
    assert_eq!(both.target.map("a").await, None);
}

#[tokio::test]
async fn an_object_that_others_change_meanwhile_is_deleted_all_the_same() {
    let both = Both::new().await;
    both.deploy("web", config("1"), "Succeeded").await;
    both.target.hold();
    both.world.delete("web").await;
    until_held(&both, 1).await;
    both.target
        .patch_map("b", json!({"data": {"theirs": "1"}}))
        .await;
    both.target.release();
    both.world.until_gone("web").await;
    assert_eq!(both.target.map("b").await, None);
}
