//! Refs, cancellation, timeouts: when a hook is called, and when it is hung up on.

use kube::ResourceExt as _;
use kube::api::{Api, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind as KubeKind};
use landform_engine::view::Relation;
use serde_json::{Value, json};

use super::server::HookServer;
use super::stage::{Stage, soon, spec};
use crate::harness::{GROUP, key};

/// A spec by which calls that are given up are not waited for.
fn without_grace(hook: &HookServer) -> Value {
    json!({"hook": {"url": hook.url(), "grace": "0s"}})
}

#[tokio::test]
async fn r2_r4_dependents_are_called_after_what_they_refer_to() {
    let mut hook = HookServer::start().await;
    let mut stage = Stage::with_url(&hook.url(), json!({})).await;
    stage.world.create("a", json!({"value": 1})).await;
    hook.call_for("a")
        .await
        .answer(json!({"status": {"sum": 1}}));
    stage.success_of("a").await;
    stage
        .world
        .create("b", json!({"refs": ["a", "missing"]}))
        .await;
    let call = hook.call_for("b").await;
    let refs = &call.request["refs"];
    assert_eq!(refs[0]["object"]["status"]["sum"], 1);
    assert_eq!(
        (&refs[0]["kind"], &refs[0]["namespace"]),
        (&json!("Toy"), &json!("default"))
    );
    assert_eq!(
        (&refs[1]["name"], &refs[1]["object"]),
        (&json!("missing"), &json!(null))
    );
    call.answer(json!({}));
    stage.success_of("b").await;

    // A change of `a` brings both, `b` after `a` and with its new status.
    stage.world.update("a", json!({"value": 2})).await;
    let call = hook.call_for("a").await;
    call.answer(json!({"status": {"sum": 2}}));
    let call = hook.call_for("b").await;
    assert_eq!(call.request["reason"], "ref");
    assert_eq!(call.request["refs"][0]["object"]["status"]["sum"], 2);
    call.answer(json!({}));
    stage.success_of("b").await;

    // A ref that was missing appears (R11).
    stage.world.create("missing", json!({})).await;
    hook.call_for("missing").await.answer(json!({}));
    let call = hook.call_for("b").await;
    assert_eq!(
        call.request["refs"][1]["object"]["metadata"]["name"],
        "missing"
    );
}

#[tokio::test]
async fn r5_r9_a_change_by_others_closes_the_request_and_another_one_follows() {
    let mut hook = HookServer::start().await;
    let mut stage = Stage::with_url(&hook.url(), without_grace(&hook)).await;
    stage.world.create("a", json!({"value": 1})).await;
    let call = hook.call_for("a").await;
    stage.world.update("a", json!({"value": 2})).await;
    call.closed().await;
    let call = hook.call_for("a").await;
    assert_eq!(call.request["object"]["spec"]["value"], 2);
    call.answer(json!({"status": {"sum": 2}}));
    stage.success_of("a").await;
    assert_eq!(stage.world.status("a").await, json!({"sum": 2}));
}

#[tokio::test]
async fn r6_a_change_above_closes_the_request_below() {
    let mut hook = HookServer::start().await;
    let mut stage = Stage::with_url(&hook.url(), without_grace(&hook)).await;
    stage.world.create("a", json!({"value": 1})).await;
    hook.call_for("a").await.answer(json!({}));
    stage.success_of("a").await;
    stage.world.create("b", json!({"refs": ["a"]})).await;
    let below = hook.call_for("b").await;
    stage.world.update("a", json!({"value": 2})).await;
    below.closed().await;
    hook.call_for("a").await.answer(json!({}));
    hook.call_for("b").await.answer(json!({}));
    stage.success_of("b").await;
}

#[tokio::test]
async fn a_hook_that_takes_too_long_is_an_error_that_names_it() {
    let mut hook = HookServer::start().await;
    let mut spec = without_grace(&hook);
    spec["timeout"] = json!("50ms");
    let mut stage = Stage::with_url(&hook.url(), spec).await;
    stage.world.create("a", json!({})).await;
    let call = hook.call_for("a").await;
    let error = stage.failure_of("a").await;
    let expected = format!(
        "hook {} for Toy.toys.landform.dev default/a: has not answered after 50ms",
        landform_engine::hooks::shown_url(&hook.url())
    );
    assert_eq!(error, expected);
    call.closed().await;
}

#[tokio::test]
async fn r2_a_hook_is_called_again_when_it_wants() {
    let mut hook = HookServer::start().await;
    let mut stage = Stage::with_url(&hook.url(), json!({})).await;
    stage.world.create("a", json!({})).await;
    hook.call_for("a")
        .await
        .answer(json!({"retriggerAfter": "10ms"}));
    let call = hook.call_for("a").await;
    assert_eq!(call.request["reason"], "retrigger");
    call.answer(json!({}));
    stage.success_of("a").await;
}

#[tokio::test]
async fn only_so_many_calls_are_made_at_once() {
    let mut hook = HookServer::start().await;
    let stage = Stage::with_url(&hook.url(), json!({"concurrency": 2})).await;
    for name in ["a", "b", "c"] {
        stage.world.create(name, json!({})).await;
    }
    let first = hook.next().await;
    let second = hook.next().await;
    let summary = soon(async {
        loop {
            let summary = stage.engine.summary().await.unwrap();
            if summary.waiting_for_a_place > 0 {
                return summary;
            }
            tokio::task::yield_now().await;
        }
    });
    let summary = summary.await;
    assert_eq!((summary.running, summary.waiting_for_a_place), (2, 1));
    let names = [first.name().to_owned(), second.name().to_owned()];
    first.answer(json!({}));
    let third = hook.next().await;
    assert!(!names.contains(&third.name().to_owned()), "{names:?}");
}

#[tokio::test]
async fn r2_r8_a_hook_is_told_the_former_name() {
    let mut hook = HookServer::start().await;
    let mut stage = Stage::with_url(&hook.url(), json!({})).await;
    let renamed = json!({"landform.dev/renamed-from": "a"});
    stage.world.create_with("b", renamed, json!({})).await;
    let call = hook.call_for("b").await;
    assert_eq!(call.request["renamedFrom"], "a");
    assert_eq!(call.request["reason"], "renamed");
    call.answer(json!({}));
    stage.success_of("b").await;
}

#[tokio::test]
async fn r8b_a_finalize_hook_that_hangs_keeps_no_reconciler_from_taking_effect() {
    let mut hanging = HookServer::start().await;
    let stage = Stage::new().await;
    stage.world.define("zones", "Zone", "Cluster").await;
    let zones = KubeKind::gvk(GROUP, "v1", "Zone");
    let zones: Api<DynamicObject> =
        Api::all_with(stage.world.client.clone(), &ApiResource::from_gvk(&zones));
    let of_zones = json!({
        "for": {"group": GROUP, "version": "v1", "kind": "Zone"},
        "hook": {"url": hanging.url()}, "finalize": true,
    });
    stage.reconciler("zones", of_zones).await;
    let zone =
        json!({"apiVersion": format!("{GROUP}/v1"), "kind": "Zone", "metadata": {"name": "eu"}});
    let zone = serde_json::from_value(zone).unwrap();
    zones.create(&PostParams::default(), &zone).await.unwrap();
    hanging.call_for("eu").await.answer(json!({}));
    while zones.get("eu").await.unwrap().finalizers().is_empty() {
        tokio::task::yield_now().await;
    }
    stage.delete(&zones, "eu").await;
    let call = hanging.next().await;
    assert_eq!(call.request["deleting"], true);

    // Both are of the whole cluster, so they share a namespace: the one without a name.
    let mut hook = HookServer::start().await;
    let toys = spec(json!({"url": hook.url()}), json!({}));
    stage.reconciler("toys", toys).await;
    stage.world.create("a", json!({})).await;
    hook.call_for("a").await.answer(json!({}));
}

#[tokio::test]
async fn r8b_a_reconciler_says_among_whom_its_deletes_go_first() {
    for (order, waits) in [("Strict", true), ("Related", false)] {
        let mut hook = HookServer::start().await;
        let more = json!({"finalize": true, "order": order});
        let mut stage = Stage::with_url(&hook.url(), more).await;
        for name in ["a", "b"] {
            stage.world.create(name, json!({})).await;
            hook.call_for(name).await.answer(json!({}));
            stage.success_of(name).await;
        }
        stage.delete(&stage.world.toys(), "a").await;
        let going = hook.call_for("a").await;
        stage.world.update("b", json!({"value": 2})).await;
        if waits {
            let pending = async {
                loop {
                    let view = stage.engine.object(key("b")).await.unwrap().unwrap();
                    let on = view.waiting_on.first();
                    if on.is_some_and(|on| on.relation == Relation::Delete) {
                        return;
                    }
                    tokio::task::yield_now().await;
                }
            };
            soon(pending).await;
            going.answer(json!({}));
            hook.call_for("b").await.answer(json!({}));
        } else {
            hook.call_for("b").await.answer(json!({}));
            going.answer(json!({}));
        }
    }
}
