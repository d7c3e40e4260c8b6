//! When an upgrade happens, and what is in its way (O2, O4, O5).

use serde_json::{Value, json};

use crate::harness::{World, contains};
use crate::operator::{after, version};

/// A world in which 1.0.0 runs, by an app type with more fields.
async fn running(more: Value) -> World {
    let world = World::new().await;
    world
        .catalog("tests", vec![version("etcd", "1.0.0", json!({}))])
        .await;
    let mut spec = json!({"package": "etcd"});
    crate::operator::merge(&mut spec, more);
    world.app_type("etcd", spec).await;
    world.installed("etcd", "Succeeded", "1.0.0").await;
    world
}

async fn gains(world: &World, versions: Vec<Value>) {
    let mut all = vec![version("etcd", "1.0.0", json!({}))];
    all.extend(versions);
    world.catalog("tests", all).await;
}

/// Waits until the installed version names a higher one and why it can't be had.
async fn higher(world: &World, version: &str, reason: &str) -> Value {
    let found = world.until("OperatorVersion", "etcd.v1.0.0", |found| {
        let higher = &found["status"]["higher"];
        higher["version"] == version && higher["reason"] == reason
    });
    found.await["status"]["higher"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o2_o5_manual_waits_for_the_approval_of_each_version() {
    let world = running(json!({"upgradePolicy": "Manual"})).await;
    let second = after("etcd", "1.0.0", "1.1.0", json!({}));
    let third = after("etcd", "1.1.0", "1.2.0", json!({}));
    gains(&world, vec![second, third]).await;
    let blocked = world.blocked("etcd", "NotApproved").await;
    assert_eq!(blocked["rule"], "O5");
    contains(&blocked["unblock"], &["landform approve"]);
    let told = higher(&world, "1.1.0", "NotApproved").await;
    contains(&told["message"], &["1.1.0", "approve"]);
    world.quiet().await;
    assert_eq!(world.names("OperatorVersion").await, ["etcd.v1.0.0"]);

    let approval = json!({"spec": {"approved": "1.1.0"}});
    world.patch("AppType", "etcd", approval).await;
    world.installed("etcd", "Succeeded", "1.1.0").await;
    world.gone("OperatorVersion", "etcd.v1.0.0").await;
    contains(
        &world.blocked("etcd", "NotApproved").await["message"],
        &["1.2.0"],
    );
    world
        .patch("AppType", "etcd", json!({"spec": {"approved": "1.2.0"}}))
        .await;
    let end = world.installed("etcd", "Succeeded", "1.2.0").await;
    assert_eq!(end["status"]["blockedBy"], json!(null));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o5_pinned_stays_until_the_policy_changes() {
    let world = running(json!({"upgradePolicy": "Pinned"})).await;
    gains(&world, vec![after("etcd", "1.0.0", "1.1.0", json!({}))]).await;
    contains(
        &world.blocked("etcd", "Pinned").await["message"],
        &["1.0.0"],
    );
    higher(&world, "1.1.0", "Pinned").await;
    world
        .patch(
            "AppType",
            "etcd",
            json!({"spec": {"upgradePolicy": "Automatic"}}),
        )
        .await;
    world.installed("etcd", "Succeeded", "1.1.0").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o5_an_operator_that_says_so_is_not_replaced() {
    let world = running(json!({})).await;
    let condition = json!({"conditions": [{
        "type": "Upgradeable", "status": "False", "reason": "Backup", "message": "a backup runs",
    }]});
    world
        .patch_status("OperatorVersion", "etcd.v1.0.0", condition)
        .await;
    gains(&world, vec![after("etcd", "1.0.0", "1.1.0", json!({}))]).await;
    let blocked = world.blocked("etcd", "NotUpgradeable").await;
    contains(&blocked["message"], &["a backup runs"]);
    higher(&world, "1.1.0", "NotUpgradeable").await;
    // What a person says wins, in both ways.
    world
        .patch(
            "OperatorVersion",
            "etcd.v1.0.0",
            json!({"spec": {"upgradeable": false}}),
        )
        .await;
    world
        .until("AppType", "etcd", |found| {
            found["status"]["blockedBy"]
                .to_string()
                .contains("spec.upgradeable is false")
        })
        .await;
    world
        .patch(
            "OperatorVersion",
            "etcd.v1.0.0",
            json!({"spec": {"upgradeable": true}}),
        )
        .await;
    world.installed("etcd", "Succeeded", "1.1.0").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o5_the_condition_of_an_operator_opens_the_way_when_it_changes() {
    let world = running(json!({})).await;
    let condition =
        |status: &str| json!({"conditions": [{"type": "Upgradeable", "status": status}]});
    world
        .patch_status("OperatorVersion", "etcd.v1.0.0", condition("False"))
        .await;
    gains(&world, vec![after("etcd", "1.0.0", "1.1.0", json!({}))]).await;
    world.blocked("etcd", "NotUpgradeable").await;
    world
        .patch_status("OperatorVersion", "etcd.v1.0.0", condition("True"))
        .await;
    world.installed("etcd", "Succeeded", "1.1.0").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o4_a_range_holds_versions_back() {
    let world = running(json!({"version": "~1.0.0"})).await;
    let patch = version("etcd", "1.0.1", json!({"skipRange": ">=1.0.0 <1.0.1"}));
    let minor = version("etcd", "1.1.0", json!({"skipRange": ">=1.0.0 <1.1.0"}));
    gains(&world, vec![patch, minor]).await;
    world.installed("etcd", "Succeeded", "1.0.1").await;
    world.quiet().await;
    world.installed("etcd", "Succeeded", "1.0.1").await;
    world
        .patch("AppType", "etcd", json!({"spec": {"version": "^1"}}))
        .await;
    world.installed("etcd", "Succeeded", "1.1.0").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o4_a_range_without_any_version_says_what_there_is() {
    let world = World::new().await;
    world
        .catalog("tests", vec![version("etcd", "1.0.0", json!({}))])
        .await;
    world
        .app_type("etcd", json!({"package": "etcd", "version": "^7"}))
        .await;
    let blocked = world.blocked("etcd", "NoneInRange").await;
    contains(&blocked["message"], &["^7", "1.0.0"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o4_only_the_channel_counts_and_another_one_can_be_chosen() {
    let world = running(json!({"channel": "stable"})).await;
    let mut early = after("etcd", "1.0.0", "2.0.0", json!({}));
    early["metadata"]["annotations"] = json!({"catalog.landform.dev/channels": "early"});
    let mut bridge = version("etcd", "1.0.0", json!({}));
    bridge["metadata"]["annotations"] = json!({"catalog.landform.dev/channels": "stable,early"});
    world.catalog("tests", vec![bridge, early]).await;
    world.quiet().await;
    world.installed("etcd", "Succeeded", "1.0.0").await;
    world
        .patch("AppType", "etcd", json!({"spec": {"channel": "late"}}))
        .await;
    let blocked = world.blocked("etcd", "NoChannel").await;
    contains(&blocked["message"], &["late", "early", "stable"]);
    world
        .patch("AppType", "etcd", json!({"spec": {"channel": "early"}}))
        .await;
    world.installed("etcd", "Succeeded", "2.0.0").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o5_without_a_way_to_the_higher_version_it_is_told() {
    let world = running(json!({})).await;
    gains(&world, vec![version("etcd", "2.0.0", json!({}))]).await;
    let blocked = world.blocked("etcd", "NoPath").await;
    contains(&blocked["message"], &["replaces 1.0.0"]);
    world.quiet().await;
    assert_eq!(world.names("OperatorVersion").await, ["etcd.v1.0.0"]);
    gains(&world, vec![after("etcd", "1.0.0", "2.0.0", json!({}))]).await;
    world.installed("etcd", "Succeeded", "2.0.0").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o5_a_version_that_needs_what_nobody_has_is_not_gone_to() {
    let world = running(json!({})).await;
    let needs = json!({"requirements": {"definitions": [
        {"group": "nobody.example.com", "version": "v1", "kind": "Thing"},
    ]}});
    gains(&world, vec![after("etcd", "1.0.0", "1.1.0", needs)]).await;
    let blocked = world.blocked("etcd", "RequirementsNotMet").await;
    contains(
        &blocked["message"],
        &["1.1.0", "kind Thing v1", "nobody.example.com"],
    );
    let newer = json!({"requirements": {"minServerVersion": "99.0.0"}});
    gains(&world, vec![after("etcd", "1.0.0", "1.1.0", newer)]).await;
    world
        .until("AppType", "etcd", |found| {
            found["status"]["blockedBy"].to_string().contains("99.0.0")
        })
        .await;
    world.quiet().await;
    assert_eq!(world.names("OperatorVersion").await, ["etcd.v1.0.0"]);
}
