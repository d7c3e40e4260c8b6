//! Another engine on what is stored: it writes nothing when nothing changed, and notices what did.

use serde_json::json;

use crate::harness::{NAMESPACE, World};
use crate::operator::{after, cluster, config_map, never_ready, owned, owning, sized, version};

async fn silent_restart(world: &mut World) {
    world.quiet().await;
    world.stop().await;
    let before = world.revision().await;
    world.start();
    world.quiet().await;
    assert_eq!(world.revision().await, before, "something was written");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o1_o2_a_restart_writes_nothing_when_nothing_changed() {
    let mut world = World::new().await;
    let first = version("etcd", "1.0.0", owning(&sized()));
    let waiting = after("etcd", "1.0.0", "1.1.0", owning(&sized()));
    world
        .catalog(
            "tests",
            vec![first, waiting, version("plain", "1.0.0", json!({}))],
        )
        .await;
    let manual = json!({"package": "etcd", "upgradePolicy": "Manual", "version": "1.0.0"});
    world.app_type("etcd", manual).await;
    world.app_type("plain", json!({"package": "plain"})).await;
    world.app_type("absent", json!({"package": "absent"})).await;
    world.installed("etcd", "Succeeded", "1.0.0").await;
    world.installed("plain", "Succeeded", "1.0.0").await;
    world
        .patch("AppType", "etcd", json!({"spec": {"version": null}}))
        .await;
    world.blocked("etcd", "NotApproved").await;
    let runs = world.phase("etcd.v1.0.0", "Succeeded").await;
    world
        .create(cluster(NAMESPACE, "shop", json!({"size": 3})))
        .await;
    world
        .create(owned(
            config_map("data", json!({})),
            json!({"app": "etcd"}),
            &runs,
        ))
        .await;
    silent_restart(&mut world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o17_a_restart_writes_nothing_after_a_failed_upgrade() {
    let mut world = World::new().await;
    let first = version("etcd", "1.0.0", json!({}));
    world.catalog("tests", vec![first.clone()]).await;
    world.app_type("etcd", json!({"package": "etcd"})).await;
    world.installed("etcd", "Succeeded", "1.0.0").await;
    let broken = never_ready("etcd", after("etcd", "1.0.0", "2.0.0", json!({})));
    world.catalog("tests", vec![first, broken]).await;
    world.blocked("etcd", "UpgradeFailed").await;
    silent_restart(&mut world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o4_a_catalog_that_changed_while_nobody_looked_is_noticed() {
    let mut world = World::new().await;
    let first = version("etcd", "1.0.0", json!({}));
    let file = world.directory.path().join("etcd.json");
    std::fs::write(&file, first.to_string()).unwrap();
    let spec = json!({"directory": {"path": "etcd.json"}, "interval": "60s"});
    world
        .create(json!({
            "apiVersion": landform_api::catalog::API_VERSION, "kind": "Catalog",
            "metadata": {"name": "tests"}, "spec": spec,
        }))
        .await;
    world.app_type("etcd", json!({"package": "etcd"})).await;
    world.installed("etcd", "Succeeded", "1.0.0").await;
    world.quiet().await;
    world.stop().await;
    let second = after("etcd", "1.0.0", "1.1.0", json!({}));
    std::fs::write(&file, json!([first, second]).to_string()).unwrap();
    world.start();
    world.installed("etcd", "Succeeded", "1.1.0").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o12_o16_an_upgrade_goes_on_in_the_next_engine() {
    let mut world = World::new().await;
    world.create(version("etcd", "1.0.0", json!({}))).await;
    let old = world.phase("etcd.v1.0.0", "Succeeded").await;
    world
        .create(owned(
            config_map("data", json!({})),
            json!({"app": "etcd"}),
            &old,
        ))
        .await;
    world.quiet().await;
    world.stop().await;
    world
        .create(after("etcd", "1.0.0", "2.0.0", json!({})))
        .await;
    world.start();
    world.phase("etcd.v2.0.0", "Succeeded").await;
    world.gone("OperatorVersion", "etcd.v1.0.0").await;
    let data = world.get("ConfigMap", "data").await;
    assert_eq!(
        data["metadata"]["ownerReferences"][0]["name"],
        "etcd.v2.0.0"
    );
}
