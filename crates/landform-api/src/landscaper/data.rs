//! DataObject, Target and Context: what installations are given, and give.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::installation::{KeyReference, ObjectReference};

/// A value with a name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DataObject {
    /// The value: any JSON. If there is a `secretRef`, `(secret)` stands in it for what is secret.
    pub data: Value,
    /// The whole value as JSON or YAML under a key of a Secret in the same namespace. Landform writes it for values that have
    /// secret parts; who refers to another Secret needs the right to `get` it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<KeyReference>,
}

/// A place to deploy to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Target {
    /// What it is.
    pub spec: TargetSpec,
}

/// What a target is, and how to reach it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TargetSpec {
    /// What kind of place, for instance `landscaper.gardener.cloud/kubernetes-cluster`.
    #[serde(rename = "type")]
    pub kind: String,
    /// How to reach it.
    #[serde(rename = "config", skip_serializing_if = "Option::is_none")]
    pub configuration: Option<Value>,
    /// A Secret with how to reach it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<KeyReference>,
}

/// Settings that many installations share. One that is called `default` is made in each namespace that has
/// installations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Context {
    /// Where components come from. For deployers of yours: Landform reads no registries yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository_context: Option<Value>,
    /// Whether components are read with the OCM library. For deployers of yours.
    #[serde(rename = "useOCM", skip_serializing_if = "Option::is_none")]
    pub use_ocm: Option<bool>,
    /// A ConfigMap with the configuration of OCM. For deployers of yours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ocm_config: Option<ObjectReference>,
    /// Secrets for pulling from registries. For deployers of yours.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub registry_pull_secrets: Vec<ObjectReference>,
    /// Anything else, by keys that look like domains. For deployers of yours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configurations: Option<Value>,
    /// The name of a ComponentVersionOverwrites object. Not read yet.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub component_version_overwrites: String,
    /// Whom to trust, by the names of signatures. Not read yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification_signatures: Option<Value>,
}
