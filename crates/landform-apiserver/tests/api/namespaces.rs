//! Namespaces: there from the start, terminating while they have content, gone with it.

use serde_json::{Value, json};

use crate::harness::{Api, map};

const NAMESPACES: &str = "/api/v1/namespaces";

#[tokio::test]
async fn a_server_starts_with_the_namespaces_that_clients_expect() {
    let api = Api::start().await;
    for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
        let namespace = api.get(&format!("{NAMESPACES}/{name}")).await.ok();
        assert_eq!(namespace["status"]["phase"], "Active");
        assert_eq!(
            namespace["metadata"]["labels"]["kubernetes.io/metadata.name"],
            name
        );
        assert_eq!(namespace["spec"]["finalizers"], json!(["kubernetes"]));
    }
    let answer = api.delete(&format!("{NAMESPACES}/default")).await;
    assert_eq!(answer.failed().0, 403);
}

#[tokio::test]
async fn a_new_namespace_gets_a_service_account() {
    let api = Api::start().await;
    api.post(NAMESPACES, json!({"metadata": {"name": "x"}}))
        .await
        .ok();
    let mut watch = api.watch(&format!("{NAMESPACES}/x/serviceaccounts")).await;
    assert_eq!(watch.next_name().await, "ADDED default");
}

#[tokio::test]
async fn nothing_is_created_in_a_namespace_that_is_not_there() {
    let api = Api::start().await;
    let path = format!("{NAMESPACES}/nowhere/configmaps");
    let answer = api.post(&path, map("a")).await;
    let said = "namespaces \"nowhere\" not found: create it first, as an object of kind Namespace with apiVersion v1 and this name";
    assert_eq!(answer.failed(), (404, "NotFound", said));
    assert_eq!(answer.value["details"]["kind"], "namespaces");
    // The advice works.
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "nowhere"}});
    api.post(NAMESPACES, namespace).await.ok();
    api.post(&path, map("a")).await.ok();
}

#[tokio::test]
async fn deleting_a_namespace_deletes_its_content_and_says_what_it_waits_for() {
    let api = Api::start().await;
    api.post(NAMESPACES, json!({"metadata": {"name": "x"}}))
        .await
        .ok();
    let maps = format!("{NAMESPACES}/x/configmaps");
    for n in 0..10 {
        api.post(&maps, map(&format!("m{n}"))).await.ok();
    }
    let mut held = map("held");
    held["metadata"]["finalizers"] = json!(["x.io/hold"]);
    api.post(&maps, held).await.ok();
    let marked = api.delete(&format!("{NAMESPACES}/x")).await.ok();
    assert_eq!(marked["status"]["phase"], "Terminating");
    let mut watch = api
        .watch(&format!("{NAMESPACES}?fieldSelector=metadata.name%3Dx"))
        .await;
    loop {
        let (_, namespace) = watch.next().await.unwrap();
        let conditions = namespace["status"]["conditions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let message = |type_: &str| {
            let found = conditions.iter().find(|c: &&Value| c["type"] == type_);
            found
                .map_or("", |c| c["message"].as_str().unwrap())
                .to_owned()
        };
        if message("NamespaceContentRemaining").contains("configmaps has 1 resource instances") {
            assert!(
                message("NamespaceFinalizersRemaining")
                    .contains("x.io/hold in 1 resource instances")
            );
            break;
        }
    }
    let refused = api.post(&maps, map("late")).await;
    assert_eq!(refused.failed().0, 403);
    assert_eq!(
        refused.value["details"]["causes"][0]["reason"],
        "NamespaceTerminating"
    );
    api.patch(
        &format!("{maps}/held"),
        "merge",
        json!({"metadata": {"finalizers": null}}),
    )
    .await
    .ok();
    api.gone(&format!("{NAMESPACES}/x")).await;
    assert_eq!(
        api.get("/api/v1/configmaps?fieldSelector=metadata.namespace%3Dx")
            .await
            .ok()["items"],
        json!([])
    );
}
