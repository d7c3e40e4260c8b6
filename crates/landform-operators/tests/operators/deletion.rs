//! App types and operator versions go, in order, and take with them only what is theirs (O16).

use serde_json::{Value, json};

use crate::harness::{NAMESPACE, World, app_type};
use crate::operator::{CLUSTERS, cluster, config_map, owned, owning, sized, version};
use crate::record::Record;

async fn installed(policy: &str) -> World {
    let world = World::new().await;
    world
        .catalog("tests", vec![version("etcd", "1.0.0", owning(&sized()))])
        .await;
    world
        .app_type("etcd", json!({"package": "etcd", "definitions": policy}))
        .await;
    world.installed("etcd", "Succeeded", "1.0.0").await;
    world
        .create(cluster(NAMESPACE, "shop", json!({"size": 3})))
        .await;
    world
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o16_with_the_policy_keep_kinds_and_their_objects_stay() {
    let world = installed("Keep").await;
    world.delete("AppType", "etcd").await;
    world.gone("AppType", "etcd").await;
    world.quiet().await;
    assert!(world.names("OperatorVersion").await.is_empty());
    assert!(world.names("Execution").await.is_empty());
    assert!(world.get("ConfigMap", "etcd-operator").await.is_null());
    assert!(!world.get("Cluster", "shop").await.is_null());
    let definition = world.get("CustomResourceDefinition", CLUSTERS).await;
    let annotations = &definition["metadata"]["annotations"];
    assert_eq!(annotations["catalog.landform.dev/owner"], json!(null));
    assert_eq!(annotations["catalog.landform.dev/package"], "etcd");
    // It comes back, and the kind is its own again.
    world.app_type("etcd", json!({"package": "etcd"})).await;
    world.installed("etcd", "Succeeded", "1.0.0").await;
    world
        .until("CustomResourceDefinition", CLUSTERS, |found| {
            found["metadata"]["annotations"]["catalog.landform.dev/owner"] == "AppType/default/etcd"
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o16_with_the_policy_delete_kinds_go_first_while_the_operator_is_there() {
    let world = installed("Delete").await;
    let clusters = Record::of(world.api("Cluster")).await;
    let definitions = Record::of(world.api("CustomResourceDefinition")).await;
    let executions = Record::of(world.api("Execution")).await;
    let versions = Record::of(world.api("OperatorVersion")).await;
    world.delete("AppType", "etcd").await;
    world.gone("AppType", "etcd").await;
    world.gone("CustomResourceDefinition", CLUSTERS).await;
    world.quiet().await;
    let (objects, kind) = (clusters.gone_at("shop"), definitions.gone_at(CLUSTERS));
    assert!(objects < kind, "{objects} {kind}");
    let marked = executions
        .about("etcd.v1.0.0")
        .into_iter()
        .find(|event| event.gone || event.object["metadata"]["deletionTimestamp"].is_string());
    assert!(
        kind < marked.unwrap().revision(),
        "the operator went too early"
    );
    assert!(executions.gone_at("etcd.v1.0.0") < versions.gone_at("etcd.v1.0.0"));
    assert!(world.get("ConfigMap", "etcd-operator").await.is_null());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o16_what_a_version_owns_goes_before_its_operator() {
    let world = World::new().await;
    world.create(version("etcd", "1.0.0", json!({}))).await;
    let old = world.phase("etcd.v1.0.0", "Succeeded").await;
    let resource = owned(config_map("data", json!({})), json!({"app": "etcd"}), &old);
    world.create(resource).await;
    // The operator's own finalizer: it must see its resource off.
    let held = json!({"metadata": {"finalizers": ["etcd.example.com/see-off"]}});
    world.patch("ConfigMap", "data", held).await;
    let executions = Record::of(world.api("Execution")).await;
    let maps = Record::of(world.api("ConfigMap")).await;
    world.delete("OperatorVersion", "etcd.v1.0.0").await;
    let marked = |found: &Value| found["metadata"]["deletionTimestamp"].is_string();
    world.until("ConfigMap", "data", marked).await;
    world
        .until("OperatorVersion", "etcd.v1.0.0", |found| {
            found["status"]["waitingOn"]
                .to_string()
                .contains("ConfigMap data")
        })
        .await;
    world.quiet().await;
    let execution = world.get("Execution", "etcd.v1.0.0").await;
    assert!(!marked(&execution) && !execution.is_null());
    world
        .patch(
            "ConfigMap",
            "data",
            json!({"metadata": {"finalizers": null}}),
        )
        .await;
    world.gone("OperatorVersion", "etcd.v1.0.0").await;
    assert!(maps.gone_at("data") < executions.gone_at("etcd.v1.0.0"));
    assert!(world.get("ConfigMap", "etcd-operator").await.is_null());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o16_two_namespaces_share_a_kind_and_the_second_inherits_it() {
    for policy in ["Keep", "Delete"] {
        let world = installed(policy).await;
        let other = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}});
        world.create(other).await;
        let spec = json!({"package": "etcd", "definitions": "Delete"});
        let second = world.create(app_type("other", "etcd", spec)).await;
        world
            .until_in("other", "AppType", "etcd", |found| {
                found["status"]["phase"] == "Succeeded"
            })
            .await;
        world.delete("AppType", "etcd").await;
        world.gone("AppType", "etcd").await;
        let inherited = world.until("CustomResourceDefinition", CLUSTERS, |found| {
            let annotations = &found["metadata"]["annotations"];
            annotations["catalog.landform.dev/owner"] == "AppType/other/etcd"
                && annotations["catalog.landform.dev/owner-uid"] == second["metadata"]["uid"]
        });
        inherited.await;
        assert!(!world.get("Cluster", "shop").await.is_null(), "{policy}");
        let api = world.api_in("other", "AppType");
        api.delete("etcd", &kube::api::DeleteParams::background())
            .await
            .unwrap();
        world.gone("CustomResourceDefinition", CLUSTERS).await;
        world
            .until_in("other", "AppType", "etcd", Value::is_null)
            .await;
        world.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o16_an_app_type_that_never_got_anything_goes_at_once() {
    let world = World::new().await;
    world.app_type("etcd", json!({"package": "etcd"})).await;
    world.blocked("etcd", "NotOffered").await;
    world.delete("AppType", "etcd").await;
    world.gone("AppType", "etcd").await;
}
