//! The contract that every deployer keeps, shown with the mock deployer and with one that lives elsewhere.

use k8s_openapi::api::core::v1::Secret;
use kube::api::Api;
use landform_deployers::DeployItems;
use landform_deployers::mock::{KIND, Mock};
use serde_json::{Value, json};

use crate::harness::{World, annotated, now_ms};

async fn world() -> World {
    World::new(DeployItems::new().with(Mock)).await
}

#[tokio::test]
async fn e12_an_item_is_picked_up_deployed_and_exports_into_a_secret() {
    let world = world().await;
    let config = json!({"export": {"port": 5432}, "providerStatus": {"made": ["a"]}});
    world
        .hand_out("db", json!({"type": KIND, "config": config}))
        .await;
    let item = world.until_phase("db", "Succeeded").await;
    let status = &item.data["status"];
    assert_eq!(
        status["exportRef"],
        json!({"name": "db-export", "namespace": "default"})
    );
    assert_eq!(status["providerStatus"], json!({"made": ["a"]}));
    assert_eq!(status["deployer"]["name"], KIND);
    assert!(status["lastReconcileTime"].is_string());
    assert_eq!(
        item.metadata.finalizers.unwrap(),
        ["finalizer.landscaper.gardener.cloud"]
    );
    let secrets: Api<Secret> = Api::default_namespaced(world.client.clone());
    let secret = secrets.get("db-export").await.unwrap();
    let exported: Value = serde_json::from_slice(&secret.data.unwrap()["config"].0).unwrap();
    assert_eq!(exported, json!({"port": 5432}));
}

#[tokio::test]
async fn e12_a_failed_item_says_why_and_is_deployed_again_when_it_changes() {
    let world = world().await;
    let spec = |phase: &str| json!({"type": KIND, "config": {"phase": phase}});
    world.hand_out("db", spec("Failed")).await;
    let item = world.until_phase("db", "Failed").await;
    let error = &item.data["status"]["lastError"];
    assert_eq!(error["reason"], "ToldToFail");
    assert_eq!(error["codes"], json!(["ERR_CONFIGURATION_PROBLEM"]));
    world.patch("db", json!({"spec": spec("Succeeded")})).await;
    let item = world.until_phase("db", "Succeeded").await;
    assert_eq!(item.data["status"]["lastError"], Value::Null);
}

#[tokio::test]
async fn i4_an_aborted_item_fails_and_goes_on_when_it_is_asked_for() {
    let world = world().await;
    world
        .hand_out(
            "db",
            json!({"type": KIND, "config": {"phase": "Progressing"}}),
        )
        .await;
    world.until_phase("db", "Progressing").await;
    let operation = |word: &str| json!({"metadata": {"annotations": {"landscaper.gardener.cloud/operation": word}}});
    world.patch("db", operation("abort")).await;
    let item = world.until_phase("db", "Failed").await;
    assert_eq!(item.data["status"]["lastError"]["reason"], "Aborted");
    world.patch("db", operation("reconcile")).await;
    world.until_phase("db", "Progressing").await;
}

#[tokio::test]
async fn e10_a_marked_item_is_removed_and_goes() {
    let world = world().await;
    world.hand_out("db", json!({"type": KIND})).await;
    world.until_phase("db", "Succeeded").await;
    world.delete("db").await;
    world.until_gone("db").await;
}

#[tokio::test]
async fn e12_an_item_that_nobody_picks_up_fails_and_names_who_was_expected() {
    let world = world().await;
    world
        .hand_out("chart", json!({"type": "landscaper.gardener.cloud/helm"}))
        .await;
    let item = world
        .until("chart", |item| item.data["status"]["waitingOn"].is_array())
        .await;
    assert_eq!(item.data["status"]["waitingOn"][0]["rule"], "E12");
    assert!(annotated(&item, "landscaper.gardener.cloud/reconcile-time"));
    let long_ago = landform_engine::write_time(now_ms() - 300_000);
    let late = json!({"metadata": {"annotations": {"landscaper.gardener.cloud/reconcile-time": long_ago}}});
    world.patch("chart", late).await;
    let item = world.until_phase("chart", "Failed").await;
    let error = &item.data["status"]["lastError"];
    assert_eq!(error["codes"], json!(["ERR_TIMEOUT"]));
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("landscaper.gardener.cloud/helm") && message.contains("5m"),
        "{message}"
    );
}

#[tokio::test]
async fn e12_an_item_waits_for_its_target() {
    let world = world().await;
    world
        .hand_out("db", json!({"type": KIND, "target": {"name": "here"}}))
        .await;
    let item = world
        .until("db", |item| item.data["status"]["waitingOn"].is_array())
        .await;
    assert_eq!(
        item.data["status"]["waitingOn"][0]["object"]["name"],
        "here"
    );
    let target = json!({
        "apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Target",
        "metadata": {"name": "here"}, "spec": {"type": "landform.dev/this-server"},
    });
    let targets = world.api("Target", "targets");
    let target = serde_json::from_value(target).unwrap();
    targets.create(&Default::default(), &target).await.unwrap();
    let item = world.until_phase("db", "Succeeded").await;
    assert!(item.data["status"]["targetGeneration"].is_string());
}
