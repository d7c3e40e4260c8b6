//! Upgrades of operators, planned.

use serde_json::{Value, json};

use super::harness::{Site, applied, lines};
use crate::Action;

const API: &str = "catalog.landform.dev/v1alpha1";

fn version(number: &str, replaces: Option<&str>, channels: &str) -> Value {
    let map = |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"of": number}});
    json!({
        "apiVersion": API, "kind": "OperatorVersion",
        "metadata": {
            "name": format!("etcd.v{number}"),
            "annotations": {"catalog.landform.dev/channels": channels},
        },
        "spec": {
            "package": "etcd", "version": number, "replaces": replaces,
            "manages": {
                "matchLabels": {"app": "etcd"},
                "kinds": [{"group": "", "version": "v1", "kind": "ConfigMap"}],
            },
            "install": {"manifests": {"objects": [map("etcd-operator")]}},
        },
    })
}

fn app_type(channel: &str) -> Value {
    json!({
        "apiVersion": API, "kind": "AppType",
        "metadata": {"name": "etcd", "namespace": "default"},
        "spec": {"package": "etcd", "channel": channel},
    })
}

#[test]
fn o4_another_channel_brings_another_version() {
    let site = Site::new();
    let catalog = json!({
        "apiVersion": API, "kind": "Catalog", "metadata": {"name": "tests"},
        "spec": {"inline": [
            version("1.0.0", None, "stable,early"),
            version("2.0.0", Some("etcd.v1.0.0"), "early"),
        ]},
    });
    site.apply(vec![catalog, app_type("stable")]);
    let found = site
        .get("apptypes.catalog.landform.dev", "default/etcd")
        .unwrap();
    assert_eq!(
        found["status"]["installed"]["version"], "1.0.0",
        "{found:#}"
    );
    let question = applied(vec![app_type("early")]);
    let plan = site.plan(&question);
    let planned = lines(&plan.changes);
    let created = "Create AppType/etcd > OperatorVersion/etcd.v2.0.0";
    assert!(planned.contains(&created.to_owned()), "{planned:#?}");
    let deployed = plan
        .changes
        .iter()
        .find(|change| change.action == Action::Deploy);
    let deployed = deployed.unwrap();
    assert_eq!(
        deployed.object.path[..2],
        ["AppType/etcd", "OperatorVersion/etcd.v2.0.0"]
    );
    assert_eq!(deployed.target_objects.len(), 1, "{plan:#?}");
    assert!(deployed.target_objects[0].contains("etcd-operator"));
    let gone = "Delete AppType/etcd > OperatorVersion/etcd.v1.0.0";
    assert!(planned.contains(&gone.to_owned()), "{planned:#?}");
    assert!(
        plan.changes
            .iter()
            .all(|change| change.because.as_deref() == Some("AppType/etcd"))
    );
    site.make(&question);
    let found = site
        .get("apptypes.catalog.landform.dev", "default/etcd")
        .unwrap();
    assert_eq!(found["status"]["installed"]["version"], "2.0.0");
}
