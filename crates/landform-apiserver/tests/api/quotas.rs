//! `ResourceQuota`: numbers of objects in a namespace.

use landform_apiserver::{Config, Identity, MASTERS};
use serde_json::{Value, json};

use crate::harness::{Api, DEFINITIONS, MAPS, WIDGETS, map, widget, widgets};

const QUOTAS: &str = "/api/v1/namespaces/default/resourcequotas";

fn quota(name: &str, hard: Value) -> Value {
    json!({"metadata": {"name": name}, "spec": {"hard": hard}})
}

/// Waits until a quota's status is this.
async fn status_is(api: &Api, name: &str, expected: &Value) {
    let mut watch = api
        .watch(&format!("{QUOTAS}?fieldSelector=metadata.name%3D{name}"))
        .await;
    while let Some((_, quota)) = watch.next().await {
        if quota["status"] == *expected {
            return;
        }
    }
    panic!("the watch ended");
}

#[tokio::test]
async fn creates_beyond_a_quota_are_refused_and_its_status_says_what_is_used() {
    let api = Api::start().await;
    api.post(DEFINITIONS, widgets()).await.ok();
    // Every namespace has one config map: the server's certificate, where there is one.
    let before = api.get(MAPS).await.ok()["items"].as_array().unwrap().len();
    let hard =
        json!({"configmaps": (before + 2).to_string(), "count/widgets.example.com": 1, "cpu": "2"});
    api.post(QUOTAS, quota("few", hard)).await.ok();
    for name in ["a", "b"] {
        api.post(MAPS, map(name)).await.ok();
    }
    let refused = api.post(MAPS, map("c")).await;
    let limit = before + 2;
    assert_eq!(
        refused.failed(),
        (
            403,
            "Forbidden",
            format!(
                "configmaps \"c\" is forbidden: exceeded quota: few, requested: configmaps=1, used: configmaps={limit}, limited: configmaps={limit}"
            )
            .as_str()
        )
    );
    assert_eq!(
        api.post(&format!("{MAPS}?dryRun=All"), map("c")).await.code,
        403
    );
    api.post(WIDGETS, widget("w", json!({"size": 1})))
        .await
        .ok();
    let message = api.post(WIDGETS, widget("x", json!({"size": 1}))).await;
    let (code, _, message) = message.failed();
    assert_eq!(code, 403);
    assert!(message.contains("count/widgets.example.com=1"), "{message}");
    let status = |maps: usize| {
        json!({
            "hard": {"configmaps": limit.to_string(), "count/widgets.example.com": "1"},
            "used": {"configmaps": maps.to_string(), "count/widgets.example.com": "1"},
        })
    };
    status_is(&api, "few", &status(limit)).await;

    // Updates are no creates; a delete makes room; other namespaces and kinds are free.
    let change = json!({"data": {"a": "2"}});
    let one = format!("{MAPS}/a");
    api.patch(&one, "merge", change).await.ok();
    let elsewhere = "/api/v1/namespaces/kube-system/configmaps";
    api.post(elsewhere, map("c")).await.ok();
    let secret = json!({"metadata": {"name": "s"}});
    api.post("/api/v1/namespaces/default/secrets", secret)
        .await
        .ok();
    api.delete(&format!("{one}?propagationPolicy=Background"))
        .await
        .ok();
    status_is(&api, "few", &status(limit - 1)).await;
    api.post(MAPS, map("c")).await.ok();
    api.delete(&format!("{QUOTAS}/few?propagationPolicy=Background"))
        .await
        .ok();
    api.post(MAPS, map("d")).await.ok();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_creates_at_once_leave_exactly_what_is_allowed() {
    let api = Api::without_background(Config::default()).await;
    let before = api.get(MAPS).await.ok()["items"].as_array().unwrap().len();
    let hard = json!({"count/configmaps": (before + 10).to_string()});
    api.post(QUOTAS, quota("ten", hard)).await.ok();
    let admin = api.by(Identity::new("admin", [MASTERS]));
    let posts = (0..60).map(|number| {
        let admin = admin.clone();
        tokio::spawn(async move {
            // Half of them fail for another reason, after they were counted.
            let name = if number % 2 == 0 {
                format!("m{number}")
            } else {
                "taken".to_owned()
            };
            admin.post(MAPS, map(&name)).await.code
        })
    });
    let codes = futures::future::join_all(posts).await;
    let created = codes.iter().filter(|code| *code.as_ref().unwrap() == 201);
    assert_eq!(created.count(), 10);
    let after = api.get(MAPS).await.ok()["items"].as_array().unwrap().len();
    assert_eq!(after, before + 10);
}

#[tokio::test]
async fn a_limit_that_is_no_number_of_objects_is_refused() {
    let api = Api::without_background(Config::default()).await;
    for hard in [json!({"pods": "-1"}), json!({"count/pods": "1500m"})] {
        let answer = api.post(QUOTAS, quota("bad", hard.clone())).await;
        assert_eq!(answer.failed().0, 422, "{hard}");
    }
}
