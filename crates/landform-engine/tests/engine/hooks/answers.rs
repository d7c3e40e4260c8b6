//! What becomes of a hook's answer: status, retrigger times, and what those below are shown of it.

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::server::HookServer;
use super::stage::Stage;

/// Writes a status as another controller would.
async fn foreign_status(stage: &Stage, name: &str, patch: Value) {
    let patch = Patch::Merge(json!({"status": patch}));
    stage
        .world
        .toys()
        .patch_status(name, &PatchParams::default(), &patch)
        .await
        .unwrap();
}

#[tokio::test]
async fn r10_the_answer_replaces_whatever_others_wrote_into_the_status_meanwhile() {
    let table = [
        ("a new field", json!({"other": 1}), json!({"sum": 1})),
        ("the same field", json!({"sum": 7}), json!({"sum": 1})),
        (
            "a field deep inside",
            json!({"deep": {"x": 2, "y": 3}}),
            json!({"deep": {"x": 1}}),
        ),
        (
            "a field goes that stays in the answer",
            json!({"kept": null}),
            json!({"kept": 1}),
        ),
        (
            "a map where the answer has a text",
            json!({"deep": {"x": 2}}),
            json!({"deep": "flat"}),
        ),
        ("everything is dropped", json!({"other": 1}), json!({})),
    ];
    let mut hook = HookServer::start().await;
    let mut stage = Stage::with_url(&hook.url(), json!({})).await;
    stage.world.create("a", json!({"value": 0})).await;
    hook.call_for("a").await.answer(json!({}));
    stage.success_of("a").await;
    for (value, (what, foreign, answer)) in table.into_iter().enumerate() {
        foreign_status(&stage, "a", json!({"kept": 1})).await;
        stage.world.update("a", json!({"value": value + 1})).await;
        let call = hook.call_for("a").await;
        foreign_status(&stage, "a", foreign).await;
        call.answer(json!({"status": answer}));
        stage.success_of("a").await;
        assert_eq!(stage.world.status("a").await, answer, "{what}");
    }
}

#[tokio::test]
async fn r10_a_status_that_is_stored_already_is_not_written() {
    let mut hook = HookServer::start().await;
    let mut stage = Stage::with_url(&hook.url(), json!({})).await;
    stage.world.create("a", json!({"value": 1})).await;
    let call = hook.call_for("a").await;
    foreign_status(&stage, "a", json!({"sum": 1})).await;
    let before = stage.world.toys().get("a").await.unwrap();
    call.answer(json!({"status": {"sum": 1}}));
    stage.success_of("a").await;
    let after = stage.world.toys().get("a").await.unwrap();
    assert_eq!(
        before.metadata.resource_version,
        after.metadata.resource_version
    );
}

#[tokio::test]
async fn r12b_a_time_beside_an_error_is_kept() {
    for error in [
        json!("not yet"),
        json!({"message": "not yet", "retry": false}),
    ] {
        let mut hook = HookServer::start().await;
        let mut stage = Stage::with_url(&hook.url(), json!({})).await;
        stage.world.create("a", json!({})).await;
        let answer = json!({"error": error, "retriggerAfter": "150ms"});
        hook.call_for("a").await.answer(answer);
        assert_eq!(stage.failure_of("a").await, "not yet");
        let call = hook.call_for("a").await;
        assert_eq!(call.request["reason"], "retrigger", "{error}");
        call.answer(json!({}));
        stage.success_of("a").await;
    }
}

#[tokio::test]
async fn r12b_whoever_always_wants_to_run_at_once_starves_nobody() {
    let mut hook = HookServer::start().await;
    let stage = Stage::with_url(&hook.url(), json!({})).await;
    stage.world.create("a", json!({})).await;
    stage.world.create("b", json!({"refs": ["a"]})).await;
    let mut calls = Vec::new();
    // T12: the first time it runs again before what refers to it; after that it rests.
    while calls.last().is_none_or(|name| name != "b") {
        let call = hook.next().await;
        calls.push(call.name().to_owned());
        assert!(calls.len() < 20, "{calls:?}");
        call.answer(json!({"retriggerAfter": 0}));
    }
    assert_eq!(calls[..2], ["a", "a"]);
}

#[tokio::test]
async fn r11_a_hook_sees_how_what_it_refers_to_stands() {
    let mut hook = HookServer::start().await;
    let mut stage = Stage::with_url(
        &hook.url(),
        json!({"refs": [{"path": ".spec.refs[*]"}, {"path": ".spec.maps[*]", "group": "", "version": "v1", "kind": "ConfigMap"}]}),
    )
    .await;
    for (name, answer) in [
        ("well", json!({})),
        (
            "broken",
            json!({"error": {"message": "no license", "retry": false}}),
        ),
        ("waiting", json!({"done": false})),
    ] {
        stage.world.create(name, json!({})).await;
        hook.call_for(name).await.answer(answer);
        stage.end_of(name).await;
    }
    stage.world.create_map("settings", "1").await;
    let spec = json!({"refs": ["well", "broken", "waiting", "nowhere"], "maps": ["settings"]});
    stage.world.create("below", spec).await;
    let call = hook.call_for("below").await;
    let seen: Vec<_> = call.request["refs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| (found["state"].as_str().unwrap(), found["error"].as_str()))
        .collect();
    assert_eq!(
        seen,
        [
            ("ready", None),
            ("failed", Some("no license")),
            ("pending", None),
            ("missing", None),
            ("present", None),
        ]
    );
}

#[tokio::test]
async fn r8b_the_timeout_ends_a_finalize_call_that_hangs() {
    let mut hook = HookServer::start().await;
    let hooked = json!({
        "hook": {"url": hook.url(), "grace": "0s"}, "finalize": true, "timeout": "200ms",
    });
    let mut stage = Stage::with_url(&hook.url(), hooked).await;
    let toys = stage.world.toys();
    stage.world.create("a", json!({})).await;
    hook.call_for("a").await.answer(json!({}));
    stage.success_of("a").await;
    stage.delete(&toys, "a").await;
    let call = hook.call_for("a").await;
    assert_eq!(call.request["deleting"], true);
    let error = stage.failure_of("a").await;
    assert!(error.ends_with("has not answered after 200ms"), "{error}");
    call.closed().await;
    hook.call_for("a").await.answer(json!({}));
    stage.success_of("a").await;
    assert!(toys.get_opt("a").await.unwrap().is_none());
}
