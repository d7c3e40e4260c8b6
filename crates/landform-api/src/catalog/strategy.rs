//! How an operator is installed.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How an operator is installed. One of the three is given, or none: then there is nothing to install.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct InstallStrategy {
    /// Deployments with their service accounts and rights.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployment: Option<DeploymentStrategy>,
    /// A process on the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessStrategy>,
    /// Any objects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manifests: Option<ManifestsStrategy>,
    /// How long it may take until all is ready, for instance `10m`; `none` is no end.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = crate::duration::TIMEOUT_PATTERN))]
    pub timeout: Option<String>,
}

/// Deployments with their service accounts and rights.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DeploymentStrategy {
    /// Rights in the namespace.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub permissions: Vec<Permission>,
    /// Rights in all namespaces.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cluster_permissions: Vec<Permission>,
    /// The deployments.
    pub deployments: Vec<NamedDeployment>,
}

/// Rights of a service account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Permission {
    /// The service account; it is made if it isn't there.
    pub service_account_name: String,
    /// Rules as a Role has them.
    pub rules: Vec<Value>,
}

/// A Deployment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NamedDeployment {
    /// Its name.
    pub name: String,
    /// Its labels.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub label: BTreeMap<String, String>,
    /// Its spec.
    pub spec: Value,
}

/// A process on the server, with a kubeconfig of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ProcessStrategy {
    /// Rules as a Role has them, for the namespace.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Value>,
    /// Rules as a ClusterRole has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cluster_rules: Vec<Value>,
    /// What the process deployer is told: `command`, `env`, `files`, `readiness`… as
    /// `docs/deployers/process.md` has it.
    pub config: Value,
}

/// Any objects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ManifestsStrategy {
    /// The objects; those without a namespace go to the operator version's.
    pub objects: Vec<Value>,
    /// When they are ready, as `docs/deployers/manifest.md` has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub readiness_checks: Option<Value>,
}
