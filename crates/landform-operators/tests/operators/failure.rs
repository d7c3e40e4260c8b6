//! A failed upgrade leaves the old version running (O17).

use serde_json::{Value, json};

use crate::harness::{World, contains, text};
use crate::operator::{after, config_map, never_ready, owned, version};
use crate::record::Record;

fn broken() -> Value {
    never_ready("etcd", after("etcd", "1.0.0", "2.0.0", json!({})))
}

/// 2.0.0 has failed, and 1.0.0 has taken back what both install.
async fn stands(world: &World) -> Value {
    let failed = world.phase("etcd.v2.0.0", "Failed").await;
    assert_eq!(failed["status"]["reason"], "InstallFailed");
    let old = world
        .until("OperatorVersion", "etcd.v1.0.0", |found| {
            found["status"]["higher"]["reason"] == "UpgradeFailed"
                && found["status"]["phase"] == "Succeeded"
        })
        .await;
    contains(
        &old["status"]["higher"]["message"],
        &["etcd.v2.0.0", "1.0.0 goes on"],
    );
    world
        .until("ConfigMap", "etcd-operator", |found| {
            found["data"]["version"] == "1.0.0"
        })
        .await;
    world.quiet().await;
    world.phase("etcd.v1.0.0", "Succeeded").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o17_the_old_version_goes_on_and_has_its_objects_back() {
    let world = World::new().await;
    world.create(version("etcd", "1.0.0", json!({}))).await;
    let old = world.phase("etcd.v1.0.0", "Succeeded").await;
    let resource = owned(config_map("data", json!({})), json!({"app": "etcd"}), &old);
    world.create(resource).await;
    let record = Record::of(world.api("ConfigMap")).await;
    world.create(broken()).await;
    stands(&world).await;
    record.assert_owned(&["data"]);
    let written: Vec<_> = record
        .about("etcd-operator")
        .iter()
        .map(|event| text(&event.object["data"]["version"]).to_owned())
        .collect();
    assert!(
        written.contains(&"2.0.0".to_owned()),
        "the new one had written it: {written:?}"
    );
    assert!(
        record
            .about("etcd-operator")
            .iter()
            .all(|event| !event.gone)
    );
    let found = world.get("ConfigMap", "data").await;
    assert_eq!(
        found["metadata"]["ownerReferences"][0]["uid"],
        old["metadata"]["uid"]
    );

    // Nothing more happens, and a fix goes on.
    let before = world.revision().await;
    world.quiet().await;
    assert_eq!(world.revision().await, before);
    let fix = json!({"spec": {"install": {"manifests": {"readinessChecks": null}}}});
    world.patch("OperatorVersion", "etcd.v2.0.0", fix).await;
    world.phase("etcd.v2.0.0", "Succeeded").await;
    world.gone("OperatorVersion", "etcd.v1.0.0").await;
    let operator = world.get("ConfigMap", "etcd-operator").await;
    assert_eq!(operator["data"]["version"], "2.0.0");
    record.assert_owned(&["data"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o17_the_app_type_says_so_and_a_rollback_removes_the_failed_version() {
    let world = World::new().await;
    let first = version("etcd", "1.0.0", json!({}));
    world.catalog("tests", vec![first.clone()]).await;
    world.app_type("etcd", json!({"package": "etcd"})).await;
    world.installed("etcd", "Succeeded", "1.0.0").await;
    world.catalog("tests", vec![first.clone(), broken()]).await;
    stands(&world).await;
    let blocked = world.blocked("etcd", "UpgradeFailed").await;
    assert_eq!(blocked["rule"], "O17");
    contains(&blocked["message"], &["2.0.0", "1.0.0 goes on running"]);
    let app_type = world.installed("etcd", "Failed", "1.0.0").await;
    assert_eq!(app_type["status"]["upgradingTo"]["version"], "2.0.0");

    let ask =
        json!({"metadata": {"annotations": {"catalog.landform.dev/rollback-to": "previous"}}});
    world.patch("AppType", "etcd", ask).await;
    world.gone("OperatorVersion", "etcd.v2.0.0").await;
    let app_type = world.installed("etcd", "Succeeded", "1.0.0").await;
    world.quiet().await;
    assert_eq!(app_type["status"]["rolledBackFrom"], "2.0.0");
    assert_eq!(world.names("OperatorVersion").await, ["etcd.v1.0.0"]);
    assert!(world.get("ConfigMap", "etcd-2.0.0").await.is_null());
    let operator = world.get("ConfigMap", "etcd-operator").await;
    assert_eq!(operator["data"]["version"], "1.0.0");
    contains(
        &world.blocked("etcd", "RolledBack").await["unblock"],
        &["landform approve"],
    );

    // A fix under the same version waits for a person, who approves.
    world
        .catalog(
            "tests",
            vec![first, after("etcd", "1.0.0", "2.0.0", json!({}))],
        )
        .await;
    world.quiet().await;
    assert_eq!(world.names("OperatorVersion").await, ["etcd.v1.0.0"]);
    world
        .patch("AppType", "etcd", json!({"spec": {"approved": "2.0.0"}}))
        .await;
    let end = world.installed("etcd", "Succeeded", "2.0.0").await;
    world.gone("OperatorVersion", "etcd.v1.0.0").await;
    assert_eq!(end["status"]["rolledBackFrom"], json!(null));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o4_o17_a_version_that_follows_the_failed_one_is_gone_to() {
    let world = World::new().await;
    let first = version("etcd", "1.0.0", json!({}));
    world.catalog("tests", vec![first.clone()]).await;
    world.app_type("etcd", json!({"package": "etcd"})).await;
    world.installed("etcd", "Succeeded", "1.0.0").await;
    world.catalog("tests", vec![first.clone(), broken()]).await;
    stands(&world).await;
    let mended = after("etcd", "2.0.0", "2.0.1", json!({}));
    world.catalog("tests", vec![first, broken(), mended]).await;
    world.installed("etcd", "Succeeded", "2.0.1").await;
    world.gone("OperatorVersion", "etcd.v2.0.0").await;
    world.gone("OperatorVersion", "etcd.v1.0.0").await;
    let operator = world.get("ConfigMap", "etcd-operator").await;
    assert_eq!(operator["data"]["version"], "2.0.1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o10_a_first_version_that_fails_is_replaced_by_a_higher_one() {
    let world = World::new().await;
    let first = never_ready("etcd", version("etcd", "1.0.0", json!({})));
    world.catalog("tests", vec![first.clone()]).await;
    world.app_type("etcd", json!({"package": "etcd"})).await;
    world.phase("etcd.v1.0.0", "Failed").await;
    world
        .catalog(
            "tests",
            vec![first, after("etcd", "1.0.0", "1.0.1", json!({}))],
        )
        .await;
    world.installed("etcd", "Succeeded", "1.0.1").await;
    world.gone("OperatorVersion", "etcd.v1.0.0").await;
}
