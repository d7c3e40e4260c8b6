//! Readiness, exports and deletions are waited for.

use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, Patch, PatchParams};
use kube::core::DynamicObject;
use serde_json::{Value, json};

use super::{Both, map, maps, message, spec};

fn deployment() -> Value {
    let labels = json!({"app": "web"});
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "web", "image": "web:1"}]},
            },
        },
    })
}

async fn exported(both: &Both, name: &str) -> Value {
    let secrets: Api<Secret> = Api::default_namespaced(both.world.client.clone());
    let secret = secrets.get(&format!("{name}-export")).await.unwrap();
    serde_json::from_slice(&secret.data.unwrap()["config"].0).unwrap()
}

async fn is_progressing(both: &Both, name: &str) -> DynamicObject {
    let progressing = |item: &DynamicObject| item.data["status"]["phase"] == "Progressing";
    both.world.until(name, progressing).await
}

#[tokio::test]
async fn a_deployment_is_waited_for() {
    let both = Both::new().await;
    let config = json!({"manifests": [{"manifest": deployment()}]});
    both.world.hand_out("web", spec(&config)).await;
    is_progressing(&both, "web").await;
    let deployments = both.target.api("apps", "Deployment", Some("default"));
    let status = json!({"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2});
    let patch = Patch::Merge(json!({"status": status}));
    let params = PatchParams::default();
    let patched = deployments.patch_status("web", &params, &patch).await;
    patched.unwrap();
    both.world.until_phase("web", "Succeeded").await;
    // Defaults that the server put into the list of containers are no change.
    both.target.writes();
    both.again("web", "Succeeded").await;
    assert_eq!(both.target.writes(), [""; 0]);
}

#[tokio::test]
async fn what_is_not_ready_in_time_is_named() {
    let both = Both::new().await;
    let config = json!({
        "manifests": [{"manifest": deployment()}],
        "readinessChecks": {"timeout": "300ms"},
    });
    let item = both.deploy("web", config, "Failed").await;
    let expected = "target there: not ready: Deployment default/web: \
        its controller has not seen the latest change";
    assert_eq!(message(&item), expected);
    let codes = &item.data["status"]["lastError"]["codes"];
    assert_eq!(*codes, json!(["ERR_READINESS_CHECK_TIMEOUT"]));
    both.remove("web").await;
}

#[tokio::test]
async fn default_checks_can_be_turned_off() {
    let both = Both::new().await;
    let config = json!({
        "manifests": [{"manifest": deployment()}],
        "readinessChecks": {"disableDefault": true},
    });
    both.deploy("web", config, "Succeeded").await;
}

#[tokio::test]
async fn custom_checks_are_waited_for() {
    let both = Both::new().await;
    let mut labelled = map("a", json!({"state": "starting"}));
    labelled["metadata"]["labels"] = json!({"app": "web"});
    let config = json!({
        "manifests": [{"policy": "immutable", "manifest": labelled}],
        "readinessChecks": {"custom": [
            {
                "name": "state",
                "resourceSelector": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "a"}],
                "requirements": [
                    {"jsonPath": ".data.state", "operator": "In", "values": [{"value": "ready"}]},
                    {"jsonPath": ".data.problem", "operator": "DoesNotExist"},
                ],
            },
            {
                "name": "labels",
                "labelSelector": {"apiVersion": "v1", "kind": "ConfigMap", "matchLabels": {"app": "web"}},
                "requirements": [
                    {"jsonPath": ".data.state", "operator": "!=", "values": [{"value": "starting"}]},
                ],
            },
        ]},
    });
    both.world.hand_out("web", spec(&config)).await;
    is_progressing(&both, "web").await;
    both.target
        .patch_map("a", json!({"data": {"state": "ready", "problem": "x"}}))
        .await;
    both.target
        .patch_map("a", json!({"data": {"problem": null}}))
        .await;
    both.world.until_phase("web", "Succeeded").await;
}

#[tokio::test]
async fn a_custom_check_that_fails_is_named_without_values() {
    let both = Both::new().await;
    let config = json!({
        "manifests": [{"manifest": map("a", json!({"state": "canary"}))}],
        "readinessChecks": {"timeout": "200ms", "custom": [{
            "name": "state",
            "resourceSelector": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "a"}],
            "requirements": [
                {"jsonPath": ".data.state", "operator": "=", "values": [{"value": "ready"}]},
            ],
        }]},
    });
    let item = both.deploy("web", config, "Failed").await;
    let expected = "target there: not ready: ConfigMap default/a: check state: \
        .data.state is not as required";
    assert_eq!(message(&item), expected);
}

#[tokio::test]
async fn exports_are_read_as_soon_as_they_are_there() {
    let both = Both::new().await;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"},
        "stringData": {"password": "hello"},
    });
    let reference = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "later"});
    let config = json!({
        "manifests": [
            {"manifest": map("a", json!({"port": "80", "host": "web"}))},
            {"manifest": secret},
        ],
        "exports": {"exports": [
            {
                "key": "service.port", "jsonPath": ".data.port",
                "fromResource": {"apiVersion": "v1", "kind": "ConfigMap", "name": "a"},
            },
            {"key": "service.later", "jsonPath": ".data.value", "fromResource": reference},
            {
                "key": "password", "jsonPath": ".data", "fromResource": reference,
                "fromObjectRef": {"apiVersion": "v1", "kind": "Secret", "jsonPath": ".data.password"},
            },
        ]},
    });
    both.world.hand_out("web", spec(&config)).await;
    is_progressing(&both, "web").await;
    both.target
        .make_map("later", json!({"value": "now", "name": "s"}))
        .await;
    both.world.until_phase("web", "Succeeded").await;
    let expected = json!({"service": {"port": "80", "later": "now"}, "password": "aGVsbG8="});
    assert_eq!(exported(&both, "web").await, expected);
}

#[tokio::test]
async fn an_export_that_never_comes_is_named() {
    let both = Both::new().await;
    let config = json!({
        "manifests": [{"manifest": map("a", json!({"x": "canary"}))}],
        "exports": {"defaultTimeout": "200ms", "exports": [{"key": "y", "jsonPath": ".data.y"}]},
    });
    let item = both.deploy("web", config, "Failed").await;
    assert_eq!(
        message(&item),
        "target there: export y: ConfigMap default/a has no .data.y"
    );
}

#[tokio::test]
async fn a_deletion_that_is_held_names_the_finalizer_and_goes_on_when_it_is_gone() {
    let both = Both::new().await;
    let mut config = maps(&[("a", json!({})), ("b", json!({}))]);
    config["deleteTimeout"] = json!("200ms");
    both.deploy("web", config, "Succeeded").await;
    let finalizers = |list: Value| json!({"metadata": {"finalizers": list}});
    both.target
        .patch_map("b", finalizers(json!(["example.com/hold"])))
        .await;
    both.world.delete("web").await;
    let item = both
        .world
        .until("web", |item| item.data["status"]["lastError"].is_object())
        .await;
    assert!(
        message(&item).contains("finalizers example.com/hold"),
        "{}",
        message(&item)
    );
    // What came before it is still there: the order is kept.
    assert!(both.target.map("a").await.is_some());
    both.target.patch_map("b", finalizers(Value::Null)).await;
    both.world.until_gone("web").await;
    assert_eq!(both.target.map("a").await, None);
}

#[tokio::test]
async fn an_object_that_is_being_deleted_is_created_anew_when_it_is_gone() {
    let both = Both::new().await;
    both.deploy("web", maps(&[("a", json!({"x": "1"}))]), "Succeeded")
        .await;
    let finalizers = |list: Value| json!({"metadata": {"finalizers": list}});
    both.target
        .patch_map("a", finalizers(json!(["example.com/hold"])))
        .await;
    both.target.delete_map("a").await;
    let operation = json!({"landscaper.gardener.cloud/operation": "reconcile"});
    both.world
        .patch("web", json!({"metadata": {"annotations": operation}}))
        .await;
    is_progressing(&both, "web").await;
    both.target.patch_map("a", finalizers(Value::Null)).await;
    let item = both.world.until_phase("web", "Succeeded").await;
    let live = both.target.maps().get("a").await.unwrap();
    let recorded = &item.data["status"]["providerStatus"]["managedResources"][0]["resource"]["uid"];
    assert_eq!(*recorded, json!(live.metadata.uid));
    assert_eq!(live.data["data"], json!({"x": "1"}));
}

#[tokio::test]
async fn a_target_that_is_lost_before_it_can_be_watched_is_told_soon() {
    // One request of each number is the last: among them is the list with which a watch begins.
    let lost = (0..6).map(|requests| async move {
        let both = Both::new().await;
        let config = json!({"manifests": [{"manifest": deployment()}]});
        both.target.cut_after(requests);
        both.world.hand_out("web", spec(&config)).await;
        let told = both
            .world
            .until("web", |item| item.data["status"]["lastError"].is_object());
        let told = tokio::time::timeout(std::time::Duration::from_secs(30), told).await;
        let told = told.unwrap_or_else(|_| panic!("lost after {requests} requests, and not told"));
        told.data["status"]["lastError"]["operation"].clone()
    });
    let operations = futures::future::join_all(lost).await;
    assert!(operations.contains(&json!("Watch")), "{operations:?}");
}
