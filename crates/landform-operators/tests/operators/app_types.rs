//! An app type gets what the catalogs offer (O1, O2, O4), or says why not.

use serde_json::json;

use crate::harness::{NAMESPACE, World, app_type, contains};
use crate::operator::{after, version};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o1_o4_the_latest_version_is_installed_and_a_higher_one_takes_its_place() {
    let world = World::new().await;
    let first = version("etcd", "1.0.0", json!({}));
    world.catalog("tests", vec![first.clone()]).await;
    world.app_type("etcd", json!({"package": "etcd"})).await;
    let found = world.installed("etcd", "Succeeded", "1.0.0").await;
    assert_eq!(found["status"]["blockedBy"], json!(null));
    let installed = world.phase("etcd.v1.0.0", "Succeeded").await;
    let owner = &installed["metadata"]["ownerReferences"][0];
    assert_eq!(owner["uid"], found["metadata"]["uid"]);
    assert_eq!(owner["controller"], true);

    let second = after("etcd", "1.0.0", "1.1.0", json!({}));
    let third = after("etcd", "1.1.0", "1.2.0", json!({}));
    world.catalog("tests", vec![first, second, third]).await;
    let found = world.installed("etcd", "Succeeded", "1.2.0").await;
    world.gone("OperatorVersion", "etcd.v1.0.0").await;
    world.gone("OperatorVersion", "etcd.v1.1.0").await;
    let history = found["status"]["history"].as_array().unwrap();
    let versions: Vec<_> = history.iter().map(|found| &found["version"]).collect();
    assert_eq!(versions, ["1.0.0", "1.1.0"], "step by step");
    let operator = world.get("ConfigMap", "etcd-operator").await;
    assert_eq!(operator["data"]["version"], "1.2.0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o1_the_app_type_comes_first_and_the_catalog_later() {
    let world = World::new().await;
    world.app_type("etcd", json!({"package": "etcd"})).await;
    let blocked = world.blocked("etcd", "NotOffered").await;
    contains(&blocked["message"], &["etcd"]);
    world
        .catalog("tests", vec![version("etcd", "1.0.0", json!({}))])
        .await;
    world.installed("etcd", "Succeeded", "1.0.0").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o1_a_tie_between_two_catalogs_names_both_and_priority_ends_it() {
    let world = World::new().await;
    world
        .catalog("north", vec![version("etcd", "1.0.0", json!({}))])
        .await;
    world
        .catalog("south", vec![version("etcd", "2.0.0", json!({}))])
        .await;
    world
        .until("Catalog", "north", |found| {
            found["status"]["phase"] == "Ready"
        })
        .await;
    world
        .until("Catalog", "south", |found| {
            found["status"]["phase"] == "Ready"
        })
        .await;
    world.app_type("etcd", json!({"package": "etcd"})).await;
    let blocked = world.blocked("etcd", "NotOffered").await;
    contains(&blocked["message"], &["north", "south"]);
    let selected = json!({"package": "etcd", "catalogs": {"names": ["north"]}});
    world
        .create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}}))
        .await;
    world.create(app_type("other", "etcd", selected)).await;
    let one = |found: &serde_json::Value| found["status"]["installed"]["version"] == "1.0.0";
    world.until_in("other", "AppType", "etcd", one).await;
    world
        .patch("Catalog", "south", json!({"spec": {"priority": 5}}))
        .await;
    world.installed("etcd", "Succeeded", "2.0.0").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o1_facts_alone_can_not_be_installed() {
    let world = World::new().await;
    let facts = [
        json!({"schema": "olm.package", "name": "etcd", "defaultChannel": "stable"}),
        json!({"schema": "olm.channel", "package": "etcd", "name": "stable", "entries": [{"name": "etcd.v1.0.0"}]}),
        json!({
            "schema": "olm.bundle", "package": "etcd", "name": "etcd.v1.0.0", "image": "example.com/etcd:1",
            "properties": [{"type": "olm.package", "value": {"packageName": "etcd", "version": "1.0.0"}}],
        }),
    ];
    world.catalog("tests", facts.to_vec()).await;
    world.app_type("etcd", json!({"package": "etcd"})).await;
    let blocked = world.blocked("etcd", "NotInstallable").await;
    contains(&blocked["message"], &["nothing to install"]);
    assert!(world.names("OperatorVersion").await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o1_of_two_app_types_of_a_package_in_a_namespace_the_older_one_counts() {
    let world = World::new().await;
    world
        .catalog("tests", vec![version("etcd", "1.0.0", json!({}))])
        .await;
    world.app_type("one", json!({"package": "etcd"})).await;
    let one = world.installed("one", "Succeeded", "1.0.0").await;
    // Times of creation have seconds.
    let created = one["metadata"]["creationTimestamp"].clone();
    while world
        .create(app_type(NAMESPACE, "probe", json!({"package": "none"})))
        .await["metadata"]["creationTimestamp"]
        == created
    {
        world.delete("AppType", "probe").await;
        world.gone("AppType", "probe").await;
    }
    world.app_type("another", json!({"package": "etcd"})).await;
    let another = world
        .until("AppType", "another", |found| {
            found["status"]["phase"] == "Failed"
        })
        .await;
    contains(&another["status"]["message"], &["app type one"]);
    world.quiet().await;
    world.installed("one", "Succeeded", "1.0.0").await;
    assert_eq!(world.names("OperatorVersion").await, ["etcd.v1.0.0"]);

    world.delete("AppType", "one").await;
    world.gone("AppType", "one").await;
    let another = world.installed("another", "Succeeded", "1.0.0").await;
    let installed = world.phase("etcd.v1.0.0", "Succeeded").await;
    let owner = &installed["metadata"]["ownerReferences"][0]["uid"];
    assert_eq!(*owner, another["metadata"]["uid"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o1_a_spec_that_can_not_be_is_told_and_put_right() {
    let world = World::new().await;
    world
        .catalog("tests", vec![version("etcd", "1.0.0", json!({}))])
        .await;
    world
        .app_type("etcd", json!({"package": "etcd", "version": "one"}))
        .await;
    let failed = |found: &serde_json::Value| found["status"]["phase"] == "Failed";
    let found = world.until("AppType", "etcd", failed).await;
    contains(&found["status"]["message"], &["spec.version", "one"]);
    world
        .patch("AppType", "etcd", json!({"spec": {"version": "^1"}}))
        .await;
    world.installed("etcd", "Succeeded", "1.0.0").await;
}
