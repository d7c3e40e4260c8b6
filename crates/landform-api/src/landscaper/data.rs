//! DataObject, Target and Context: what installations are given, and give.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::installation::{KeyReference, ObjectReference};

/// A value with a name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DataObject {
    /// The value: any JSON.
    pub data: Value,
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

/// Settings that many installations share.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Context {
    /// Where components come from. Not read yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository_context: Option<Value>,
    /// Secrets for pulling from registries. Not read yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub registry_pull_secrets: Vec<ObjectReference>,
    /// Anything else. Not read yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configurations: Option<Value>,
}
