//! The error of a cycle or a failed run can be read on the object itself (R7b).

use kube::core::DynamicObject;
use landform_engine::{CONDITION_RECONCILED, RunResult};
use serde_json::{Value, json};

use super::server::HookServer;
use super::stage::{Stage, soon};
use crate::harness::GROUP;

const ANNOTATION: &str = "landform.dev/error";

/// Gives toys a status with conditions as `metav1.Condition` has them.
async fn with_conditions(stage: &Stage) {
    let text = json!({"type": "string"});
    let condition = json!({
        "type": "object",
        "required": ["type", "status", "reason", "message", "lastTransitionTime"],
        "properties": {
            "type": text, "reason": text, "message": text,
            "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
            "lastTransitionTime": {"type": "string", "format": "date-time"},
        },
    });
    let schema = json!({
        "type": "object",
        "properties": {
            "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "status": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                "properties": {"conditions": {"type": "array", "items": condition}},
            },
        },
    });
    let patch = json!([{"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema", "value": schema}]);
    let kind =
        kube::core::GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let resource = kube::core::ApiResource::from_gvk(&kind);
    let definitions: kube::Api<DynamicObject> =
        kube::Api::all_with(stage.world.client.clone(), &resource);
    let patch = kube::api::Patch::Json::<()>(serde_json::from_value(patch).unwrap());
    definitions
        .patch(
            &format!("toys.{GROUP}"),
            &kube::api::PatchParams::default(),
            &patch,
        )
        .await
        .unwrap();
}

async fn toy(stage: &Stage, name: &str) -> DynamicObject {
    stage.world.toys().get(name).await.unwrap()
}

fn annotated(object: &DynamicObject) -> Option<&str> {
    let annotations = object.metadata.annotations.as_ref()?;
    annotations.get(ANNOTATION).map(String::as_str)
}

fn condition(object: &DynamicObject) -> Option<&Value> {
    let conditions = object.data["status"]["conditions"].as_array()?;
    conditions
        .iter()
        .find(|condition| condition["type"] == CONDITION_RECONCILED)
}

#[tokio::test]
async fn r7b_a_failed_run_is_told_in_an_annotation_until_it_is_well_and_costs_no_run() {
    let mut hook = HookServer::start().await;
    let mut stage = Stage::with_url(&hook.url(), json!({})).await;
    stage.world.create("a", json!({"value": 1})).await;
    let broken = json!({"error": {"message": "no license", "retry": false}});
    hook.call_for("a").await.answer(broken.clone());
    stage.failure_of("a").await;
    let first = toy(&stage, "a").await;
    assert_eq!(annotated(&first), Some("no license"));
    // The same error again writes nothing.
    stage.world.update("a", json!({"value": 2})).await;
    let changed = toy(&stage, "a").await;
    hook.call_for("a").await.answer(broken);
    stage.failure_of("a").await;
    let again = toy(&stage, "a").await;
    assert_eq!(
        changed.metadata.resource_version,
        again.metadata.resource_version
    );
    // The next call is that of another object: what was written brought none.
    stage.world.create("b", json!({})).await;
    hook.call_for("b").await.answer(json!({}));
    stage.success_of("b").await;
    stage.world.update("a", json!({"value": 3})).await;
    hook.call_for("a").await.answer(json!({}));
    stage.success_of("a").await;
    assert_eq!(annotated(&toy(&stage, "a").await), None);
}

#[tokio::test]
async fn r7b_where_a_kind_has_conditions_the_error_is_one_beside_the_hooks_own() {
    let mut hook = HookServer::start().await;
    let mut stage = Stage::new().await;
    with_conditions(&stage).await;
    let spec = super::stage::spec(json!({"url": hook.url()}), json!({}));
    stage.reconciler("toys", spec).await;
    stage.world.create("a", json!({"value": 1})).await;
    let theirs = json!({
        "type": "Ready", "status": "False", "reason": "Busy", "message": "busy",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    let status = json!({"sum": 1, "conditions": [theirs]});
    let broken = json!({"status": status, "error": {"message": "no license", "retry": false}});
    hook.call_for("a").await.answer(broken.clone());
    stage.failure_of("a").await;
    let told = toy(&stage, "a").await;
    let ours = condition(&told).unwrap();
    assert_eq!(
        (&ours["status"], &ours["reason"], &ours["message"]),
        (
            &json!("False"),
            &json!("ReconcileFailed"),
            &json!("no license")
        )
    );
    assert_eq!(told.data["status"]["conditions"][0], theirs);
    assert_eq!(told.data["status"]["sum"], 1);
    assert_eq!(annotated(&told), None);
    // The same answer again changes nothing, not even a time.
    stage.world.update("a", json!({"value": 2})).await;
    let before = toy(&stage, "a").await;
    hook.call_for("a").await.answer(broken);
    stage.failure_of("a").await;
    let after = toy(&stage, "a").await;
    assert_eq!(
        before.metadata.resource_version,
        after.metadata.resource_version
    );
    // Well again: exactly what the hook says, or what is left of it when it says nothing.
    stage.world.update("a", json!({"value": 3})).await;
    hook.call_for("a").await.answer(json!({}));
    stage.success_of("a").await;
    assert_eq!(toy(&stage, "a").await.data["status"], status);
}

#[tokio::test]
async fn r7b_a_cycle_is_told_on_its_members_until_it_is_broken() {
    let mut hook = HookServer::start().await;
    let mut stage = Stage::with_url(&hook.url(), json!({})).await;
    stage.world.create("a", json!({"refs": ["b"]})).await;
    hook.call_for("a").await.answer(json!({}));
    stage.success_of("a").await;
    stage.world.create("b", json!({"refs": ["a"]})).await;
    let expected = "it is in a cycle of references and doesn't run: ";
    for name in ["a", "b"] {
        soon(async {
            loop {
                let found = toy(&stage, name).await;
                if annotated(&found).is_some_and(|error| error.starts_with(expected)) {
                    return;
                }
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
    stage.world.update("b", json!({"refs": []})).await;
    hook.call_for("b").await.answer(json!({}));
    hook.call_for("a").await.answer(json!({}));
    assert_eq!(stage.end_of("a").await, RunResult::Succeeded);
    for name in ["a", "b"] {
        assert_eq!(annotated(&toy(&stage, name).await), None, "{name}");
    }
}
