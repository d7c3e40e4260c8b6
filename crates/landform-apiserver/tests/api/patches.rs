//! Patches: JSON patch, merge patch, strategic merge patch.

use serde_json::{Value, json};

use crate::harness::{Api, DEFINITIONS, MAPS, WIDGETS, map, widget, widgets};

fn deployment() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [
                    {"name": "main", "image": "nginx:1"},
                    {"name": "side", "image": "busybox:1"},
                ]},
            },
        },
    })
}

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

#[tokio::test]
async fn a_json_patch_applies_its_operations_or_none() {
    let api = Api::start().await;
    api.post(MAPS, map("a")).await.ok();
    let path = format!("{MAPS}/a");
    let operations = json!([
        {"op": "test", "path": "/data/a", "value": "1"},
        {"op": "add", "path": "/data/b", "value": "2"},
        {"op": "copy", "from": "/data/b", "path": "/data/c"},
        {"op": "remove", "path": "/data/a"},
    ]);
    let patched = api.patch(&path, "json", operations).await.ok();
    assert_eq!(patched["data"], json!({"b": "2", "c": "2"}));
    let failing = json!([
        {"op": "add", "path": "/data/d", "value": "4"},
        {"op": "test", "path": "/data/b", "value": "no"},
    ]);
    let answer = api.patch(&path, "json", failing).await;
    let (code, _, message) = answer.failed();
    assert_eq!(code, 422);
    assert!(
        message.contains("operation 1 of the JSON patch failed"),
        "{message}"
    );
    assert_eq!(api.get(&path).await.ok(), patched);
}

#[tokio::test]
async fn a_json_patch_has_limits() {
    let api = Api::start().await;
    api.post(MAPS, map("a")).await.ok();
    let path = format!("{MAPS}/a");
    let many: Vec<Value> = (0..10_001)
        .map(|_| json!({"op": "test", "path": "/kind", "value": "ConfigMap"}))
        .collect();
    assert_eq!(api.patch(&path, "json", json!(many)).await.failed().0, 413);
    // Each copy doubles the data: without a limit this would be 2^60 bytes.
    let mut bomb = vec![json!({"op": "add", "path": "/data/x", "value": "x".repeat(1000)})];
    for n in 0..60 {
        bomb.push(json!({"op": "copy", "from": "/data", "path": format!("/data/{n}")}));
    }
    assert_eq!(api.patch(&path, "json", json!(bomb)).await.failed().0, 413);
    assert_eq!(
        api.patch(&path, "json", json!({"op": "add"}))
            .await
            .failed()
            .0,
        400
    );
}

#[tokio::test]
async fn a_merge_patch_sets_and_removes() {
    let api = Api::start().await;
    api.post(MAPS, map("a")).await.ok();
    let patch = json!({"data": {"a": null, "b": "2"}});
    assert_eq!(
        api.patch(&format!("{MAPS}/a"), "merge", patch).await.ok()["data"],
        json!({"b": "2"})
    );
    assert_eq!(
        api.patch(&format!("{MAPS}/a"), "merge", json!([1]))
            .await
            .failed()
            .0,
        400
    );
}

#[tokio::test]
async fn a_strategic_merge_patch_merges_containers_by_name() {
    let api = Api::start().await;
    api.post(DEPLOYMENTS, deployment()).await.ok();
    let path = format!("{DEPLOYMENTS}/web");
    let patch = json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "nginx:2"}]}}}});
    let patched = api.patch(&path, "strategic-merge", patch).await.ok();
    let containers = patched["spec"]["template"]["spec"]["containers"]
        .as_array()
        .unwrap();
    let images: Vec<&Value> = containers
        .iter()
        .map(|container| &container["image"])
        .collect();
    assert_eq!(images, ["nginx:2", "busybox:1"]);
    assert_eq!(patched["metadata"]["generation"], 2);
    let patch = json!({"spec": {"template": {"spec": {"containers": [{"name": "side", "$patch": "delete"}]}}}});
    let patched = api.patch(&path, "strategic-merge", patch).await.ok();
    assert_eq!(
        patched["spec"]["template"]["spec"]["containers"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[tokio::test]
async fn custom_resources_have_no_strategic_merge_patch_and_apply_comes_later() {
    let api = Api::start().await;
    api.post(DEFINITIONS, widgets()).await.ok();
    api.post(WIDGETS, widget("a", json!({"size": 1})))
        .await
        .ok();
    let path = format!("{WIDGETS}/a");
    assert_eq!(
        api.patch(&path, "strategic-merge", json!({}))
            .await
            .failed()
            .0,
        415
    );
    let apply = [("content-type", "application/apply-patch+yaml")];
    let answer = api.send(http::Method::PATCH, &path, &apply, "{}").await;
    assert_eq!(answer.failed().0, 415);
    assert!(answer.failed().2.contains("server-side apply"));
}

#[tokio::test]
async fn a_patch_of_what_is_not_there_is_404_and_a_bad_result_is_422() {
    let api = Api::start().await;
    assert_eq!(
        api.patch(&format!("{MAPS}/none"), "merge", json!({}))
            .await
            .failed()
            .0,
        404
    );
    api.post(DEPLOYMENTS, deployment()).await.ok();
    let answer = api
        .patch(
            &format!("{DEPLOYMENTS}/web"),
            "merge",
            json!({"spec": {"replicas": "three"}}),
        )
        .await;
    let (code, _, message) = answer.failed();
    assert_eq!(code, 422);
    assert!(message.contains("spec.replicas"), "{message}");
}

#[tokio::test]
async fn c4_a_version_or_uid_that_is_no_string_is_refused_and_changes_nothing() {
    let api = Api::start().await;
    let path = format!("{MAPS}/a");
    let before = api.post(MAPS, map("a")).await.ok();
    for field in ["resourceVersion", "uid"] {
        for value in [json!(1), json!(["1"]), json!({})] {
            let patch = json!({"metadata": {field: value}, "data": {"x": "1"}});
            let answer = api.patch(&path, "merge", patch).await;
            let (code, _, message) = answer.failed();
            assert_eq!(code, 400, "{message}");
            assert!(message.contains(field), "{message}");
        }
    }
    assert_eq!(api.get(&path).await.ok(), before);
}
