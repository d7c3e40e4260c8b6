//! What runs by itself and what doesn't: `spec.automaticReconcile`, and the annotation `reconcile-if-changed`.

use kube::api::PostParams;
use serde_json::{Value, json};

use crate::harness::{Landscape, OPERATION, contains, product, spec, template, text};

const IF_CHANGED: &str = "landscaper.gardener.cloud/reconcile-if-changed";

fn times(object: &Value) -> i64 {
    let status = &object["status"]["automaticReconcileStatus"];
    status["numberOfReconciles"].as_i64().unwrap_or(-1)
}

fn repeated(which: &str, how: Value) -> Value {
    json!({"automaticReconcile": {which: how}})
}

#[tokio::test]
async fn i4_what_succeeded_is_deployed_again_in_intervals_and_not_more_often_than_asked() {
    let mut land = Landscape::new().await;
    let how = json!({"interval": "1s", "numberOfReconciles": 2});
    let rest = repeated("succeededReconcile", how);
    land.install("shop", product("shop", &[], &[]), rest).await;
    let end = |object: &Value| times(object) == 2 && object["status"]["phase"] == "Succeeded";
    let shop = land.until("Installation", "shop", end).await;
    assert_eq!(
        shop["status"]["automaticReconcileStatus"]["onFailed"],
        false
    );
    land.quiet().await;
    assert_eq!(land.recorder.take(), ["deploy shop"; 3]);
    land.restart().await;
    land.quiet().await;
    assert!(land.recorder.take().is_empty());
    // A word of a person begins a new row.
    land.annotate("Installation", "shop", OPERATION, "reconcile")
        .await;
    land.until("Installation", "shop", |object| times(object) < 2)
        .await;
    land.until("Installation", "shop", end).await;
    assert_eq!(land.recorder.take(), ["deploy shop"; 2]);
}

#[tokio::test]
async fn i4_i16b_what_failed_runs_again_in_intervals_and_nothing_else_does() {
    let land = Landscape::new().await;
    let how = json!({"interval": "1s", "numberOfReconciles": 3});
    let rest = repeated("failedReconcile", how);
    let blueprint = json!({"deployExecutions": template("items",
        "deployItems: [{name: good, type: test.dev/recorder}, {name: bad, type: landscaper.gardener.cloud/mock, config: {phase: Failed}}]")});
    land.install("shop", blueprint, rest).await;
    let end = |object: &Value| times(object) == 3 && object["status"]["phase"] == "Failed";
    let shop = land.until("Installation", "shop", end).await;
    assert_eq!(shop["status"]["automaticReconcileStatus"]["onFailed"], true);
    land.quiet().await;
    assert_eq!(times(&land.get("Installation", "shop").await), 3);
    assert_eq!(land.recorder.take(), ["deploy good"], "it had succeeded");

    // Corrected, it succeeds, and the row is over.
    let corrected = json!({"spec": spec(product("good", &[], &[]), json!({}))});
    land.patch("Installation", "shop", corrected).await;
    let shop = land.phase("shop", "Succeeded").await;
    assert!(shop["status"]["automaticReconcileStatus"].is_null());
}

#[tokio::test]
async fn i4_a_schedule_that_can_not_be_read_is_refused_before_anything_is_deployed() {
    let land = Landscape::new().await;
    let table = [
        ("cronSpec", "often", "must have five fields"),
        ("cronSpec", "61 * * * *", "the minute isn't"),
        ("cronSpec", "0 0 31 2 *", "never comes"),
        ("interval", "999ms", "must be at least 1s"),
    ];
    for (at, (field, value, problem)) in table.into_iter().enumerate() {
        let name = format!("shop{at}");
        let rest = repeated("failedReconcile", json!({field: value}));
        land.install(&name, product("shop", &[], &[]), rest).await;
        let place = format!("spec.automaticReconcile.failedReconcile.{field}");
        land.fails(&name, &[&place, problem]).await;
    }
    assert!(land.recorder.take().is_empty());
    // What can be told by its form alone is not even stored.
    for interval in ["abc", "-5s", "5"] {
        let rest = repeated("succeededReconcile", json!({"interval": interval}));
        let object = json!({
            "apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Installation",
            "metadata": {"name": "never"}, "spec": spec(product("shop", &[], &[]), rest),
        });
        let object = serde_json::from_value(object).unwrap();
        let api = land.api("Installation");
        let refused = api.create(&PostParams::default(), &object).await;
        let refused = refused.unwrap_err().to_string();
        contains(&refused, &["spec.automaticReconcile", "interval"]);
    }
}

#[tokio::test]
async fn i4_i13_reconcile_if_changed_is_kept_and_brings_no_run_of_what_is_unchanged() {
    let land = Landscape::new().await;
    land.install("shop", product("shop", &[], &[]), json!({}))
        .await;
    land.phase("shop", "Succeeded").await;
    land.annotate("Installation", "shop", IF_CHANGED, "true")
        .await;
    land.quiet().await;
    land.recorder.take();
    let before = land.get("Installation", "shop").await;
    // A tool that applies its files again and again changes nothing by that.
    for _ in 0..3 {
        land.annotate("Installation", "shop", IF_CHANGED, "true")
            .await;
    }
    land.quiet().await;
    assert_eq!(land.get("Installation", "shop").await, before);
    assert!(land.recorder.take().is_empty());

    let changed = json!({"spec": spec(product("other", &[], &[]), json!({}))});
    land.patch("Installation", "shop", changed).await;
    let after = land.phase("shop", "Succeeded").await;
    assert_eq!(text(&after["metadata"]["annotations"][IF_CHANGED]), "true");
    contains(&land.recorder.take().join(", "), &["deploy other"]);
}
