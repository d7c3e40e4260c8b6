//! Subresources: status apart from spec, and scale.

use serde_json::json;

use crate::harness::{Api, DEFINITIONS, WIDGETS, widget, widgets};

#[tokio::test]
async fn status_and_spec_are_written_apart() {
    let api = Api::start().await;
    api.post(DEFINITIONS, widgets()).await.ok();
    let mut sent = widget("a", json!({"size": 1}));
    sent["status"] = json!({"phase": "Sneaky"});
    let made = api.post(WIDGETS, sent).await.ok();
    assert!(
        made.get("status").is_none(),
        "a status can't be created along"
    );
    let path = format!("{WIDGETS}/a");
    let both = json!({"spec": {"size": 2}, "status": {"phase": "Ready"}, "metadata": {"labels": {"a": "b"}}});
    let by_status = api
        .patch(&format!("{path}/status"), "merge", both.clone())
        .await
        .ok();
    assert_eq!(
        (&by_status["spec"]["size"], &by_status["status"]["phase"]),
        (&json!(1), &json!("Ready"))
    );
    assert!(by_status["metadata"].get("labels").is_none());
    let mut by_main = api
        .patch(
            &path,
            "merge",
            json!({"spec": {"size": 3}, "status": {"phase": "No"}}),
        )
        .await
        .ok();
    assert_eq!(
        (&by_main["spec"]["size"], &by_main["status"]["phase"]),
        (&json!(3), &json!("Ready"))
    );
    by_main["status"]["phase"] = json!("Put");
    by_main["spec"]["size"] = json!(4);
    let put = api.put(&format!("{path}/status"), by_main).await.ok();
    assert_eq!(
        (&put["spec"]["size"], &put["status"]["phase"]),
        (&json!(3), &json!("Put"))
    );
    assert_eq!(api.get(&format!("{path}/status")).await.ok(), put);
}

#[tokio::test]
async fn scale_reads_and_writes_replicas_wherever_they_are() {
    let api = Api::start().await;
    api.post(DEFINITIONS, widgets()).await.ok();
    api.post(WIDGETS, widget("a", json!({"size": 1})))
        .await
        .ok();
    let path = format!("{WIDGETS}/a/scale");
    let status = json!({"status": {"replicas": 1, "selector": "app=x"}});
    api.patch(&format!("{WIDGETS}/a/status"), "merge", status)
        .await
        .ok();
    let mut scale = api.get(&path).await.ok();
    assert_eq!(scale["kind"], "Scale");
    assert_eq!(scale["spec"]["replicas"], 2);
    assert_eq!(scale["status"], json!({"replicas": 1, "selector": "app=x"}));
    scale["spec"]["replicas"] = json!(5);
    let answer = api.put(&path, scale.clone()).await.ok();
    assert_eq!(answer["spec"]["replicas"], 5);
    assert_eq!(
        api.put(&path, scale).await.failed().0,
        409,
        "the version has moved on"
    );
    let patched = api
        .patch(&path, "merge", json!({"spec": {"replicas": 7}}))
        .await
        .ok();
    assert_eq!(patched["spec"]["replicas"], 7);
    let widget = api.get(&format!("{WIDGETS}/a")).await.ok();
    assert_eq!(
        (
            &widget["spec"]["replicas"],
            &widget["metadata"]["generation"]
        ),
        (&json!(7), &json!(3))
    );
    assert_eq!(
        api.patch(&path, "merge", json!({"spec": {"replicas": -1}}))
            .await
            .failed()
            .0,
        400
    );
}

#[tokio::test]
async fn what_has_no_such_subresource_is_404() {
    let api = Api::start().await;
    assert_eq!(
        api.get("/api/v1/namespaces/default/configmaps/kube-root-ca.crt/status")
            .await
            .code,
        404
    );
    assert_eq!(
        api.get("/api/v1/namespaces/default/serviceaccounts/default/scale")
            .await
            .code,
        404
    );
    assert_eq!(
        api.get("/api/v1/namespaces/default/serviceaccounts/default/nonsense")
            .await
            .code,
        404
    );
}
