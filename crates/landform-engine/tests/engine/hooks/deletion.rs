//! Objects that are held until the hook says that it is done.

use kube::ResourceExt as _;
use landform_engine::RunResult;
use serde_json::{Value, json};

use super::server::HookServer;
use super::stage::{Stage, map};

fn finalize() -> Value {
    json!({"finalize": true})
}

#[tokio::test]
async fn r8_a_deleted_object_waits_until_the_hook_is_done() {
    let mut hook = HookServer::start().await;
    let mut stage = Stage::with_url(&hook.url(), finalize()).await;
    let toys = stage.world.toys();
    stage.world.create("a", json!({})).await;
    hook.call_for("a")
        .await
        .answer(json!({"owned": [map("m", json!({}))]}));
    stage.success_of("a").await;
    let held = toys.get("a").await.unwrap();
    assert_eq!(held.finalizers(), ["reconciler.landform.dev/toys"]);

    stage.delete(&toys, "a").await;
    let call = hook.call_for("a").await;
    assert_eq!(
        (&call.request["deleting"], &call.request["reason"]),
        (&json!(true), &json!("marked"))
    );
    call.answer(json!({"status": {"phase": "going"}, "retriggerAfter": "10ms"}));
    stage.success_of("a").await;
    let call = hook.call_for("a").await;
    let object = &call.request["object"];
    assert_eq!(object["status"]["phase"], "going");
    call.answer(json!({"error": "not yet"}));
    assert_eq!(stage.failure_of("a").await, "not yet");
    let call = hook.call_for("a").await;
    assert!(
        toys.get_opt("a").await.unwrap().is_some(),
        "held while the hook isn't done"
    );
    call.answer(json!({}));
    stage.success_of("a").await;
    assert!(toys.get_opt("a").await.unwrap().is_none());
}

#[tokio::test]
async fn a_hook_that_is_not_done_waits_for_what_brings_the_next_call() {
    let mut hook = HookServer::start().await;
    let mut stage = Stage::with_url(&hook.url(), finalize()).await;
    let toys = stage.world.toys();
    stage.world.create("a", json!({})).await;
    hook.call_for("a")
        .await
        .answer(json!({"owned": [map("m", json!({}))]}));
    stage.success_of("a").await;
    stage.delete(&toys, "a").await;
    // First its child should go: it is listed no more, and its end brings the next call.
    let call = hook.call_for("a").await;
    assert_eq!(call.request["owned"].as_array().unwrap().len(), 1);
    call.answer(json!({"owned": [], "done": false}));
    let waiting = RunResult::Waiting("the hook says that it isn't done".to_owned());
    assert_eq!(stage.end_of("a").await, waiting);
    let call = hook.call_for("a").await;
    assert_eq!(call.request["owned"], json!([]));
    assert!(toys.get_opt("a").await.unwrap().is_some());
    call.answer(json!({"owned": []}));
    stage.success_of("a").await;
    while toys.get_opt("a").await.unwrap().is_some() {
        stage.success_of("a").await;
    }
}

#[tokio::test]
async fn without_finalize_a_deleted_object_is_not_the_hooks_affair() {
    let mut hook = HookServer::start().await;
    let mut stage = Stage::with_url(&hook.url(), json!({})).await;
    let toys = stage.world.toys();
    stage.world.create("a", json!({})).await;
    hook.call_for("a")
        .await
        .answer(json!({"owned": [map("m", json!({}))]}));
    stage.success_of("a").await;
    assert!(toys.get("a").await.unwrap().finalizers().is_empty());
    stage.delete(&toys, "a").await;
    // The next call is that of another object.
    stage.world.create("b", json!({})).await;
    hook.call_for("b").await.answer(json!({}));
    stage.success_of("b").await;
    assert!(toys.get_opt("a").await.unwrap().is_none());
}

#[tokio::test]
async fn nobody_is_held_when_finalize_is_taken_back_or_the_reconciler_goes() {
    let mut hook = HookServer::start().await;
    let mut stage = Stage::with_url(&hook.url(), finalize()).await;
    let (toys, reconcilers) = (stage.world.toys(), stage.reconcilers());
    stage.world.create("a", json!({})).await;
    hook.call_for("a").await.answer(json!({}));
    stage.success_of("a").await;
    stage
        .patch(&reconcilers, "toys", json!({"spec": {"finalize": false}}))
        .await;
    hook.call_for("a").await.answer(json!({}));
    stage.success_of("a").await;
    assert!(toys.get("a").await.unwrap().finalizers().is_empty());

    stage
        .patch(&reconcilers, "toys", json!({"spec": {"finalize": true}}))
        .await;
    hook.call_for("a").await.answer(json!({}));
    stage.success_of("a").await;
    assert_eq!(toys.get("a").await.unwrap().finalizers().len(), 1);
    stage.delete(&reconcilers, "toys").await;
    stage.success_of("toys").await;
    while reconcilers.get_opt("toys").await.unwrap().is_some() {
        stage.success_of("toys").await;
    }
    assert!(toys.get("a").await.unwrap().finalizers().is_empty());
}
