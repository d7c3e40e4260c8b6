//! Wrong specs are refused by the API, with a message that says what is wrong.

use serde_json::{Value, json};

use super::stage::{Stage, spec};

/// A good spec with one field replaced or, by null, removed.
fn with(field: &str, value: Value) -> Value {
    let mut spec = spec(json!({"url": "http://127.0.0.1:1/"}), json!({}));
    if value.is_null() {
        spec.as_object_mut().unwrap().remove(field);
    } else {
        spec[field] = value;
    }
    spec
}

#[tokio::test]
async fn r14_wrong_specs_are_refused() {
    let stage = Stage::new().await;
    let own = json!({"group": "landform.dev", "version": "v1alpha1", "kind": "Reconciler"});
    let twice = json!([{"version": "v1", "kind": "Pod"}, {"version": "v1", "kind": "Pod"}]);
    let table = [
        ("for", json!(null), "spec.for: Required value"),
        (
            "for",
            json!({"kind": "Toy"}),
            "spec.for.version: Required value",
        ),
        ("for", own, "Reconcilers are reconciled by Landform itself"),
        ("hook", json!(null), "spec.hook: Required value"),
        (
            "hook",
            json!({}),
            "exactly one of url and command must be given",
        ),
        (
            "hook",
            json!({"url": "http://a", "command": ["b"]}),
            "exactly one of url and command must be given",
        ),
        (
            "hook",
            json!({"url": "ftp://a"}),
            "url must be an http or https URL",
        ),
        (
            "hook",
            json!({"url": "http:///x"}),
            "url must be an http or https URL",
        ),
        ("hook", json!({"command": []}), "spec.hook.command"),
        (
            "hook",
            json!({"command": [""]}),
            "the program's name is empty",
        ),
        ("timeout", json!("soon"), "spec.timeout"),
        (
            "timeout",
            json!("0s"),
            "must be more than nothing and at most 1h",
        ),
        (
            "timeout",
            json!("2h"),
            "must be more than nothing and at most 1h",
        ),
        ("concurrency", json!(0), "spec.concurrency"),
        ("finalize", json!("yes"), "spec.finalize"),
        (
            "refs",
            json!([{"kind": "Toy"}]),
            "spec.refs[0].path: Required value",
        ),
        ("owns", twice, "a kind is listed twice"),
    ];
    for (field, value, expected) in table {
        let error = stage
            .try_reconciler("wrong", with(field, value.clone()))
            .await;
        let error = error.expect_err(&format!("{field}: {value}")).to_string();
        assert!(error.contains(expected), "{field} {value}: {error}");
    }
    let long = "x".repeat(64);
    let error = stage
        .try_reconciler(&long, with("timeout", json!("1m")))
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("63 characters at most"),
        "{error}"
    );
}

#[tokio::test]
async fn a_good_spec_gets_its_defaults_and_keeps_its_kind() {
    let stage = Stage::new().await;
    let spec = json!({"for": {"version": "v1", "kind": "Secret"}, "hook": {"command": ["true"]}});
    stage.reconciler("good", spec).await;
    let object = stage.reconcilers().get("good").await.unwrap();
    let spec = &object.data["spec"];
    assert_eq!(
        spec["for"],
        json!({"group": "", "version": "v1", "kind": "Secret"})
    );
    assert_eq!(
        (&spec["timeout"], &spec["concurrency"], &spec["finalize"]),
        (&json!("30s"), &json!(8), &json!(false))
    );
    let patch = kube::api::Patch::Merge(json!({"spec": {"for": {"kind": "ConfigMap"}}}));
    let params = kube::api::PatchParams::default();
    let error = stage
        .reconcilers()
        .patch("good", &params, &patch)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("can't be changed"), "{error}");
}
