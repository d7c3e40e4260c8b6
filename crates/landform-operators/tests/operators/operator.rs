//! Operators to test with: an operator version that installs two ConfigMaps, and the kind Cluster.

use landform_api::catalog;
use serde_json::{Value, json};

use crate::harness::GROUP;

/// An operator version `PACKAGE.vVERSION`, with more fields of its spec. It installs a ConfigMap
/// `PACKAGE-operator`, which all versions share, and one that only this version has.
pub(crate) fn version(package: &str, version: &str, more: Value) -> Value {
    let mut spec = json!({
        "package": package, "version": version,
        "manages": {
            "matchLabels": {"app": package},
            "kinds": [{"group": "", "version": "v1", "kind": "ConfigMap"}],
        },
        "install": {"manifests": {"objects": [
            config_map(&format!("{package}-operator"), json!({"version": version})),
            config_map(&format!("{package}-{version}"), json!({})),
        ]}},
    });
    merge(&mut spec, more);
    json!({
        "apiVersion": catalog::API_VERSION, "kind": "OperatorVersion",
        "metadata": {"name": format!("{package}.v{version}")}, "spec": spec,
    })
}

/// The next version, which replaces this one.
pub(crate) fn after(package: &str, before: &str, next: &str, more: Value) -> Value {
    let mut object = version(package, next, more);
    object["spec"]["replaces"] = json!(format!("{package}.v{before}"));
    object
}

pub(crate) fn config_map(name: &str, data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

/// A version that is never ready, and says so after a second.
pub(crate) fn never_ready(package: &str, mut object: Value) -> Value {
    let name = format!("{package}-operator");
    object["spec"]["install"]["manifests"]["readinessChecks"] = json!({
        "timeout": "1s",
        "custom": [{
            "name": "never", "timeout": "1s",
            "resourceSelector": [{
                "apiVersion": "v1", "kind": "ConfigMap", "name": name, "namespace": "default",
            }],
            "requirements": [{"jsonPath": ".data.ready", "operator": "exists"}],
        }],
    });
    object
}

/// The name of the kind's definition.
pub(crate) const CLUSTERS: &str = "clusters.etcd.example.com";

/// The definition of the kind Cluster: names of versions with the fields of their spec; the last is stored.
pub(crate) fn clusters(versions: &[(&str, Value)]) -> Value {
    let last = versions.len() - 1;
    let versions = versions.iter().enumerate().map(|(place, (name, fields))| {
        json!({
            "name": name, "served": true, "storage": place == last,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "spec": {"type": "object", "properties": fields},
            }}},
        })
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": CLUSTERS},
        "spec": {
            "group": GROUP, "scope": "Namespaced",
            "names": {"kind": "Cluster", "plural": "clusters", "singular": "cluster", "listKind": "ClusterList"},
            "versions": versions.collect::<Vec<_>>(),
        },
    })
}

/// A spec's fields: it brings Clusters in version v1.
pub(crate) fn owning(definition: &Value) -> Value {
    json!({"owned": [{
        "group": GROUP, "version": "v1", "kind": "Cluster", "definition": definition,
    }]})
}

/// Clusters with a size.
pub(crate) fn sized() -> Value {
    clusters(&[("v1", json!({"size": {"type": "integer"}}))])
}

pub(crate) fn cluster(namespace: &str, name: &str, spec: Value) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "Cluster",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": "etcd"}}, "spec": spec,
    })
}

/// A resource that a version owns as its controller.
pub(crate) fn owned(mut object: Value, labels: Value, owner: &Value) -> Value {
    object["metadata"]["labels"] = labels;
    object["metadata"]["ownerReferences"] = json!([reference(owner, true)]);
    object
}

pub(crate) fn reference(owner: &Value, controller: bool) -> Value {
    json!({
        "apiVersion": owner["apiVersion"], "kind": owner["kind"],
        "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
        "controller": controller, "blockOwnerDeletion": true,
    })
}

pub(crate) fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}
