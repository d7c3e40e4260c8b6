//! Back to a version that ran before, and not again to the one that was left (O17).

use serde_json::{Value, json};

use crate::harness::{World, contains};
use crate::operator::{after, config_map, owned, reference, version};
use crate::record::Record;

const KEY: &str = "catalog.landform.dev/rollback-to";

/// A world in which an app type went from 1.0.0 to 2.0.0, which owns a resource.
async fn upgraded() -> (World, Vec<Value>) {
    let world = World::new().await;
    let first = version("etcd", "1.0.0", json!({}));
    let second = after("etcd", "1.0.0", "2.0.0", json!({}));
    world.catalog("tests", vec![first.clone()]).await;
    world.app_type("etcd", json!({"package": "etcd"})).await;
    world.installed("etcd", "Succeeded", "1.0.0").await;
    world
        .catalog("tests", vec![first.clone(), second.clone()])
        .await;
    world.installed("etcd", "Succeeded", "2.0.0").await;
    world.gone("OperatorVersion", "etcd.v1.0.0").await;
    let new = world.phase("etcd.v2.0.0", "Succeeded").await;
    let resource = owned(config_map("data", json!({})), json!({"app": "etcd"}), &new);
    world.create(resource).await;
    (world, vec![first, second])
}

async fn ask(world: &World, version: &str) {
    let patch = json!({"metadata": {"annotations": {KEY: version}}});
    world.patch("AppType", "etcd", patch).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o17_a_rollback_brings_the_former_version_back_with_all_resources() {
    for asked in ["previous", "1.0.0"] {
        let (world, mut versions) = upgraded().await;
        let record = Record::of(world.api("ConfigMap")).await;
        ask(&world, asked).await;
        world.gone("OperatorVersion", "etcd.v2.0.0").await;
        let app_type = world.installed("etcd", "Succeeded", "1.0.0").await;
        world.quiet().await;
        assert_eq!(app_type["status"]["rolledBackFrom"], "2.0.0", "{asked}");
        assert_eq!(app_type["metadata"]["annotations"][KEY], json!(null));
        record.assert_owned(&["data"]);
        let back = world.phase("etcd.v1.0.0", "Succeeded").await;
        let found = world.get("ConfigMap", "data").await;
        assert_eq!(
            found["metadata"]["ownerReferences"],
            json!([reference(&back, true)])
        );
        let operator = world.get("ConfigMap", "etcd-operator").await;
        assert_eq!(operator["data"]["version"], "1.0.0");
        contains(
            &world.blocked("etcd", "RolledBack").await["message"],
            &["2.0.0"],
        );

        // The one that was left is not gone to again by itself; a higher one is.
        assert_eq!(world.names("OperatorVersion").await, ["etcd.v1.0.0"]);
        let mut next = after("etcd", "2.0.0", "2.1.0", json!({}));
        next["spec"]["skips"] = json!(["etcd.v1.0.0"]);
        versions.push(next);
        world.catalog("tests", versions).await;
        let end = world.installed("etcd", "Succeeded", "2.1.0").await;
        world.gone("OperatorVersion", "etcd.v1.0.0").await;
        assert_eq!(end["status"]["rolledBackFrom"], json!(null));
        record.assert_owned(&["data"]);
        world.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o17_a_rollback_that_can_not_be_is_told_and_forgotten() {
    let (world, _) = upgraded().await;
    ask(&world, "7.0.0").await;
    let found = world
        .until("AppType", "etcd", |found| {
            found["metadata"]["annotations"][KEY].is_null()
        })
        .await;
    contains(&found["status"]["message"], &["no way back to 7.0.0"]);
    world.quiet().await;
    world.installed("etcd", "Succeeded", "2.0.0").await;
    assert_eq!(world.names("OperatorVersion").await, ["etcd.v2.0.0"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o17_a_rollback_while_resources_are_handed_over_gives_them_back() {
    let world = World::new().await;
    let first = version("etcd", "1.0.0", json!({}));
    let upgrade = json!({"upgrade": {"mode": "managed", "adoption": "operator"}});
    let second = after("etcd", "1.0.0", "2.0.0", upgrade);
    world.catalog("tests", vec![first.clone()]).await;
    world.app_type("etcd", json!({"package": "etcd"})).await;
    world.installed("etcd", "Succeeded", "1.0.0").await;
    let old = world.phase("etcd.v1.0.0", "Succeeded").await;
    let resource = owned(config_map("data", json!({})), json!({"app": "etcd"}), &old);
    world.create(resource).await;
    let record = Record::of(world.api("ConfigMap")).await;
    world.catalog("tests", vec![first, second]).await;
    world.installed("etcd", "Succeeded", "2.0.0").await;
    let both = |found: &Value| found["metadata"]["ownerReferences"][1].is_object();
    world.until("ConfigMap", "data", both).await;
    ask(&world, "1.0.0").await;
    world.gone("OperatorVersion", "etcd.v2.0.0").await;
    world.installed("etcd", "Succeeded", "1.0.0").await;
    world.quiet().await;
    record.assert_owned(&["data"]);
    let found = world.get("ConfigMap", "data").await;
    assert_eq!(
        found["metadata"]["ownerReferences"],
        json!([reference(&old, true)])
    );
    assert_eq!(world.names("OperatorVersion").await, ["etcd.v1.0.0"]);
}
