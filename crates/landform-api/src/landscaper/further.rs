//! Kinds of Landscaper that are no part of a landscape itself. [`TargetSync`] is reconciled; the others are there so
//! that manifests with them apply, and nothing here reads them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::installation::KeyReference;

/// Targets that are kept like the Secrets of a namespace in another cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TargetSync {
    /// What people write.
    pub spec: TargetSyncSpec,
    /// What the reconciler writes.
    pub status: TargetSyncStatus,
}

/// Which Secrets, and how to reach them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TargetSyncSpec {
    /// The namespace of the Secrets in the source cluster.
    pub source_namespace: String,
    /// A Secret of this namespace with a kubeconfig for the source cluster; without a key it is `kubeconfig`.
    pub secret_ref: KeyReference,
    /// Whether there is also a Target for the source cluster itself.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub create_target_to_source: bool,
    /// The name of that Target; without one it is that of the source namespace.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub target_to_source_name: String,
    /// A regular expression that the names of Secrets match somewhere, or `*` for all. Empty matches none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub secret_name_expression: String,
    /// The same for clusters of Gardener, which can't be read here.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub shoot_name_expression: String,
    /// Whether the token in the kubeconfig is replaced every 60 days.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_rotation: Option<TokenRotation>,
}

/// Whether a token is replaced by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TokenRotation {
    /// Whether it is.
    pub enabled: bool,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TargetSyncStatus {
    /// The generation that the rest is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// When anything here last changed (RFC 3339).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_update_time: Option<String>,
    /// What went wrong the last time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub last_errors: Vec<String>,
    /// When the token was last replaced (RFC 3339).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_token_rotation_time: Option<String>,
}

/// A lock of Landscaper's own.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SyncObject {
    /// Who holds what.
    pub spec: SyncObjectSpec,
    /// Nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Value>,
}

/// Who holds what.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SyncObjectSpec {
    /// The pod that holds the lock.
    pub pod_name: String,
    /// The kind of the locked object.
    pub kind: String,
    /// The name of the locked object.
    pub name: String,
    /// When the lock was last renewed.
    pub last_update_time: String,
    /// What the locked object's name begins with.
    pub prefix: String,
}

/// How Landscaper's own pods are.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct LsHealthCheck {
    /// `Ok`, `Failed` or `Init`.
    pub status: String,
    /// When this was last found out.
    pub last_update_time: String,
    /// What is wrong.
    pub description: String,
}

/// Problems that Landscaper could not put anywhere else.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CriticalProblems {
    /// The problems.
    pub spec: CriticalProblemsSpec,
    /// Nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Value>,
}

/// The problems.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CriticalProblemsSpec {
    /// One by one.
    pub critical_problem: Vec<CriticalProblem>,
}

/// One problem.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CriticalProblem {
    /// The pod that had it.
    pub pod_name: String,
    /// When.
    pub creation_time: String,
    /// What it was.
    pub description: String,
}

/// Components, or versions of them, that stand in for others.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ComponentVersionOverwrites {
    /// One by one.
    pub overwrites: Vec<ComponentVersionOverwrite>,
}

/// What stands in for what.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ComponentVersionOverwrite {
    /// What is replaced.
    pub source: ComponentReference,
    /// By what.
    pub substitution: ComponentReference,
}

/// The same in the words of older versions.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ComponentOverwrites {
    /// One by one.
    pub overwrites: Vec<ComponentOverwrite>,
}

/// What stands in for what.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ComponentOverwrite {
    /// What is replaced.
    pub component: ComponentReference,
    /// By what.
    pub target: ComponentReference,
}

/// A component in a repository.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ComponentReference {
    /// Where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository_context: Option<Value>,
    /// Its name.
    pub component_name: String,
    /// Its version.
    pub version: String,
}

/// A deployer that older versions of Landscaper install.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DeployerRegistration {
    /// Which deployer.
    pub spec: DeployerRegistrationSpec,
    /// What came of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Value>,
}

/// Which deployer.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DeployerRegistrationSpec {
    /// The types of deploy items that it takes.
    pub types: Vec<String>,
    /// The installation that it is.
    pub installation_template: Value,
}

/// A place where older versions of Landscaper install deployers.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Environment {
    /// Where.
    pub spec: EnvironmentSpec,
}

/// Where.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct EnvironmentSpec {
    /// The Target that deployers go to.
    pub host_target: Value,
    /// The namespace there.
    pub namespace: String,
    /// How deployers reach Landscaper.
    pub landscaper_cluster_config: Value,
    /// Which Targets deployers serve.
    pub target_selectors: Vec<Value>,
}
