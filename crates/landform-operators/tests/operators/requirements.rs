//! What an operator needs, requirement by requirement (O10).

use serde_json::{Value, json};

use crate::harness::{World, contains};
use crate::operator::version;

fn need<'a>(version: &'a Value, kind: &str) -> &'a Value {
    let all = version["status"]["requirements"].as_array().unwrap();
    all.iter().find(|need| need["kind"] == kind).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o10_a_service_account_must_be_there_and_have_its_rights() {
    let world = World::new().await;
    let rules = json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]);
    let needs = json!({"requirements": {"serviceAccounts": [{"name": "runner", "rules": rules}]}});
    world.create(version("etcd", "1.0.0", needs)).await;
    let found = world.phase("etcd.v1.0.0", "Pending").await;
    assert_eq!(need(&found, "ServiceAccount")["status"], "NotPresent");

    let account =
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "runner"}});
    world.create(account).await;
    let found = world
        .until("OperatorVersion", "etcd.v1.0.0", |found| {
            found["status"]["requirements"][0]["status"] == "PresentNotSatisfied"
        })
        .await;
    contains(&need(&found, "ServiceAccount")["message"], &["get secrets"]);

    let group = "rbac.authorization.k8s.io";
    let role = json!({
        "apiVersion": format!("{group}/v1"), "kind": "Role",
        "metadata": {"name": "reader"}, "rules": rules,
    });
    let binding = json!({
        "apiVersion": format!("{group}/v1"), "kind": "RoleBinding", "metadata": {"name": "reader"},
        "roleRef": {"apiGroup": group, "kind": "Role", "name": "reader"},
        "subjects": [{"kind": "ServiceAccount", "name": "runner", "namespace": "default"}],
    });
    world.create(role).await;
    world.create(binding).await;
    let found = world.phase("etcd.v1.0.0", "Succeeded").await;
    assert_eq!(need(&found, "ServiceAccount")["status"], "Present");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o10_a_server_that_is_too_old_is_told_and_installed_to_when_less_is_asked() {
    let world = World::new().await;
    let needs = json!({"requirements": {"minServerVersion": "99.0.0"}});
    world.create(version("etcd", "1.0.0", needs)).await;
    let found = world.phase("etcd.v1.0.0", "Pending").await;
    let entry = need(&found, "ServerVersion");
    assert_eq!(entry["status"], "PresentNotSatisfied");
    contains(&entry["name"], &["99.0.0"]);
    assert!(world.get("Execution", "etcd.v1.0.0").await.is_null());
    let less = json!({"spec": {"requirements": {"minServerVersion": "1.0.0"}}});
    world.patch("OperatorVersion", "etcd.v1.0.0", less).await;
    let found = world.phase("etcd.v1.0.0", "Succeeded").await;
    assert_eq!(need(&found, "ServerVersion")["status"], "Present");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o10_a_package_in_another_version_is_present_and_not_satisfied() {
    let world = World::new().await;
    world.create(version("etcd", "1.0.0", json!({}))).await;
    world.phase("etcd.v1.0.0", "Succeeded").await;
    let needs = json!({"requirements": {"packages": [{"package": "etcd", "range": ">=2.0.0"}]}});
    world.create(version("backup", "1.0.0", needs)).await;
    let found = world.phase("backup.v1.0.0", "Pending").await;
    let entry = need(&found, "Package");
    assert_eq!(entry["status"], "PresentNotSatisfied");
    contains(&entry["message"], &["1.0.0 is here"]);
    world
        .create(version("etcd", "2.0.0", json!({"skipRange": "<2.0.0"})))
        .await;
    let found = world.phase("backup.v1.0.0", "Succeeded").await;
    assert_eq!(need(&found, "Package")["status"], "Present");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o10_a_spec_that_can_not_be_fails_and_says_which_field() {
    let world = World::new().await;
    let mut wrong = version("etcd", "1.0.0", json!({}));
    wrong["spec"]["version"] = json!("one");
    world.create(wrong).await;
    let failed = world.phase("etcd.v1.0.0", "Failed").await;
    assert_eq!(failed["status"]["reason"], "InvalidSpec");
    contains(&failed["status"]["message"], &["spec.version"]);
    world
        .patch(
            "OperatorVersion",
            "etcd.v1.0.0",
            json!({"spec": {"version": "1.0.0"}}),
        )
        .await;
    world.phase("etcd.v1.0.0", "Succeeded").await;
}
