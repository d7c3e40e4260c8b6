//! How tests write down what a catalog has and what people want.

use landform_api::catalog::{API_VERSION, keys};
use serde_json::{Value, json};

use super::LABEL;
use crate::user::ObjectName;

/// One version of the operator `etcd`.
#[derive(Clone, Debug)]
pub struct Release {
    version: &'static str,
    spec: Value,
}

/// Who hands resources over: mode and adoption of an upgrade.
#[derive(Clone, Copy, Debug)]
pub enum Adoption {
    /// Option 1: Landform adds the owner and adopts.
    Managed,
    /// Option 1: Landform adds the owner, and the operator adopts.
    ManagedByOperator,
    /// Option 2: Landform adopts for the operator.
    Operator,
    /// Option 2: the operator does it all.
    OperatorAlone,
}

impl Release {
    /// A version that installs one object that all versions share and one of its own.
    #[must_use]
    pub fn new(version: &'static str) -> Self {
        let map = |name: String| {
            json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name},
                "data": {"version": version},
            })
        };
        let spec = json!({
            "package": "etcd", "version": version,
            "manages": {
                "matchLabels": {"app": LABEL},
                "kinds": [{"group": "", "version": "v1", "kind": "ConfigMap"}],
            },
            "install": {"manifests": {"objects": [
                map("etcd-operator".to_owned()), map(format!("etcd-{version}")),
            ]}},
        });
        Self { version, spec }
    }

    /// It replaces this version.
    #[must_use]
    pub fn after(mut self, version: &str) -> Self {
        self.spec["replaces"] = json!(format!("etcd.v{version}"));
        self
    }

    /// How it takes over what its predecessor owns.
    #[must_use]
    pub fn taking_over(mut self, adoption: Adoption) -> Self {
        let (mode, adoption) = match adoption {
            Adoption::Managed => ("managed", "landform"),
            Adoption::ManagedByOperator => ("managed", "operator"),
            Adoption::Operator => ("operator", "landform"),
            Adoption::OperatorAlone => ("operator", "operator"),
        };
        self.spec["upgrade"] = json!({"mode": mode, "adoption": adoption});
        self
    }

    /// Its operator should take resources over itself, and never gets to it.
    #[must_use]
    pub fn stalled(self) -> Self {
        let mut stalled = self.taking_over(Adoption::ManagedByOperator);
        stalled.spec["install"]["manifests"]["objects"][1]["data"]["stalled"] = json!("true");
        stalled
    }

    /// It never becomes ready.
    #[must_use]
    pub fn broken(mut self) -> Self {
        self.spec["install"]["manifests"]["readinessChecks"] = json!({
            "timeout": "5s",
            "custom": [{
                "name": "never", "timeout": "5s",
                "resourceSelector": [{
                    "apiVersion": "v1", "kind": "ConfigMap",
                    "name": "etcd-operator", "namespace": "default",
                }],
                "requirements": [{"jsonPath": ".data.ready", "operator": "exists"}],
            }],
        });
        self
    }

    /// It brings the kind Cluster.
    #[must_use]
    pub fn with_kind(mut self) -> Self {
        let fields = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "clusters.etcd.example.com"},
            "spec": {
                "group": "etcd.example.com", "scope": "Namespaced",
                "names": {
                    "kind": "Cluster", "plural": "clusters",
                    "singular": "cluster", "listKind": "ClusterList",
                },
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": fields},
                }],
            },
        });
        self.spec["owned"] = json!([{
            "group": "etcd.example.com", "version": "v1", "kind": "Cluster", "definition": definition,
        }]);
        self
    }

    fn object(&self) -> Value {
        json!({
            "apiVersion": API_VERSION, "kind": "OperatorVersion",
            "metadata": {"name": format!("etcd.v{}", self.version)}, "spec": self.spec,
        })
    }
}

/// A catalog with these versions.
#[must_use]
pub fn catalog(releases: &[Release]) -> Value {
    let releases: Vec<_> = releases.iter().map(Release::object).collect();
    json!({
        "apiVersion": API_VERSION, "kind": "Catalog", "metadata": {"name": "stories"},
        "spec": {"inline": releases},
    })
}

/// Somebody wants etcd, and says what becomes of its kinds when it goes.
#[must_use]
pub fn app_type(definitions: &str) -> Value {
    json!({
        "apiVersion": API_VERSION, "kind": "AppType", "metadata": {"name": "etcd"},
        "spec": {"package": "etcd", "definitions": definitions},
    })
}

/// Somebody wants to go back to a version.
#[must_use]
pub fn rollback(version: &str) -> Value {
    json!({
        "apiVersion": API_VERSION, "kind": "AppType",
        "metadata": {"name": "etcd", "annotations": {keys::ROLLBACK: version}},
        "spec": {"package": "etcd"},
    })
}

/// Names an app type or an operator version.
#[must_use]
pub fn named(kind: &str, name: &str) -> ObjectName {
    ObjectName {
        api_version: API_VERSION.into(),
        kind: kind.into(),
        namespace: "default".into(),
        name: name.into(),
    }
}
