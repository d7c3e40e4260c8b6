//! DeployItem: one thing that a deployer brings to a target.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::installation::{KeyReference, ObjectReference};
use super::phase::ExecutionPhase;
use super::report::{Condition, LastError, WaitingOn};

/// What the execution writes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DeployItemSpec {
    /// Which deployer it is for.
    #[serde(rename = "type")]
    pub kind: String,
    /// The Context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Where it goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<ObjectReference>,
    /// What the deployer is told; `(secret)` stands for what depends on a secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<Value>,
    /// The whole configuration as JSON under a key of a Secret, if anything in it is secret. Another key means another
    /// configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_from: Option<KeyReference>,
    /// How long the deployer may take, for instance `10m`; `none` is no end.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = crate::duration::TIMEOUT_PATTERN))]
    pub timeout: Option<String>,
    /// Whether the item is handed out again only when it changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update_on_change_only: Option<bool>,
}

/// What the deployer writes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DeployItemStatus {
    /// Where it stands; none before a deployer took it up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<ExecutionPhase>,
    /// The generation that the phase is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Aspects of its state.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// The last thing that went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<LastError>,
    /// When a deployer last took it up (RFC 3339).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_reconcile_time: Option<String>,
    /// Who took it up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployer: Option<DeployerInformation>,
    /// Which state of the target it was brought to: its uid and generation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_generation: Option<String>,
    /// What the deployer must remember, for instance what it made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_status: Option<Value>,
    /// The Secret with what the item exports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub export_ref: Option<ObjectReference>,
    /// What it waits for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting_on: Vec<WaitingOn>,
}

/// A deployer, as it introduces itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DeployerInformation {
    /// Which of several.
    pub identity: String,
    /// What it is called.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// A deploy item: spec and status without the metadata.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DeployItem {
    /// What the execution writes.
    pub spec: DeployItemSpec,
    /// What the deployer writes.
    pub status: DeployItemStatus,
}
