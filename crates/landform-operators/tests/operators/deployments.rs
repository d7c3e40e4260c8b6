//! The install strategy `deployment`: accounts, rights and Deployments by name, health from their status. The
//! test plays the cluster that runs the pods.

use serde_json::{Value, json};

use crate::harness::{World, contains};

/// A version with these Deployments, each of one pod.
fn version(version: &str, replaces: Option<&str>, deployments: &[&str]) -> Value {
    let deployments = deployments.iter().map(|name| {
        json!({"name": name, "spec": {
            "replicas": 1, "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"serviceAccountName": "etcd", "containers": [
                    {"name": "operator", "image": format!("example.com/etcd:{version}")},
                ]},
            },
        }})
    });
    json!({
        "apiVersion": "catalog.landform.dev/v1alpha1", "kind": "OperatorVersion",
        "metadata": {"name": format!("etcd.v{version}")},
        "spec": {
            "package": "etcd", "version": version, "replaces": replaces,
            "install": {"deployment": {
                "permissions": [{"serviceAccountName": "etcd", "rules": [
                    {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]},
                ]}],
                "deployments": deployments.collect::<Vec<_>>(),
            }},
        },
    })
}

/// The cluster runs so many pods of a Deployment, as soon as it has this image.
async fn run_pods(world: &World, name: &str, version: &str, pods: i64) {
    let image = format!("example.com/etcd:{version}");
    let found = world
        .until("Deployment", name, |found| {
            found["spec"]["template"]["spec"]["containers"][0]["image"] == image.as_str()
        })
        .await;
    let status = json!({
        "observedGeneration": found["metadata"]["generation"],
        "replicas": 1, "updatedReplicas": 1, "readyReplicas": pods, "availableReplicas": pods,
    });
    world.patch_status("Deployment", name, status).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o10_permissions_and_deployments_are_made_and_health_is_their_status() {
    let world = World::new().await;
    world.create(version("1.0.0", None, &["etcd"])).await;
    run_pods(&world, "etcd", "1.0.0", 1).await;
    world.phase("etcd.v1.0.0", "Succeeded").await;
    assert!(world.names("ServiceAccount").await.contains(&"etcd".into()));
    let (roles, bindings) = (world.names("Role").await, world.names("RoleBinding").await);
    assert_eq!((roles.len(), &roles), (1, &bindings));
    let binding = world.get("RoleBinding", &bindings[0]).await;
    assert_eq!(binding["subjects"][0]["name"], "etcd", "{binding}");

    // Pods that go, and come back.
    run_pods(&world, "etcd", "1.0.0", 0).await;
    let failed = world.phase("etcd.v1.0.0", "Failed").await;
    contains(
        &failed["status"]["message"],
        &["Deployment etcd", "0 of 1 pods"],
    );
    run_pods(&world, "etcd", "1.0.0", 1).await;
    world.phase("etcd.v1.0.0", "Succeeded").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o16_what_only_the_old_version_had_is_removed() {
    let world = World::new().await;
    world
        .create(version("1.0.0", None, &["etcd", "backup"]))
        .await;
    run_pods(&world, "etcd", "1.0.0", 1).await;
    run_pods(&world, "backup", "1.0.0", 1).await;
    world.phase("etcd.v1.0.0", "Succeeded").await;
    let shared = world.get("Deployment", "etcd").await;
    let account = world.get("ServiceAccount", "etcd").await;

    world
        .create(version("1.1.0", Some("etcd.v1.0.0"), &["etcd"]))
        .await;
    run_pods(&world, "etcd", "1.1.0", 1).await;
    world.gone("OperatorVersion", "etcd.v1.0.0").await;
    world.phase("etcd.v1.1.0", "Succeeded").await;
    assert_eq!(world.names("Deployment").await, ["etcd"]);
    let uid = |object: &Value| object["metadata"]["uid"].clone();
    let now = world.get("Deployment", "etcd").await;
    assert_eq!(uid(&now), uid(&shared), "it was taken over, not made anew");
    let now = world.get("ServiceAccount", "etcd").await;
    assert_eq!(uid(&now), uid(&account));
    assert_eq!(
        world.names("Role").await.len(),
        1,
        "the old rights are gone"
    );

    world.delete("OperatorVersion", "etcd.v1.1.0").await;
    world.gone("OperatorVersion", "etcd.v1.1.0").await;
    assert!(world.names("Deployment").await.is_empty());
    assert!(world.names("Role").await.is_empty());
}
