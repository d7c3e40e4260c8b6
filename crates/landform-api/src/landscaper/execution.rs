//! Execution: the deploy items of one installation, in the order of their dependencies.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::installation::{KeyReference, NamedReference, ObjectReference};
use super::phase::ExecutionPhase;
use super::report::{Condition, LastError, WaitingOn};

/// What the installation writes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ExecutionSpec {
    /// The Context, passed on to the deploy items.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// What to deploy.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deploy_items: Vec<DeployItemTemplate>,
    /// Whether all that the items export is kept as a secret, because the blueprint declares a secret export.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub secret_exports: bool,
}

/// A deploy item as the blueprint gives it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DeployItemTemplate {
    /// Its name within the execution.
    pub name: String,
    /// Which deployer it is for, for instance `landscaper.gardener.cloud/kubernetes-manifest`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Where it goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<ObjectReference>,
    /// Labels of the deploy item.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// What the deployer is told; `(secret)` stands for what depends on a secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<Value>,
    /// The whole configuration, if anything in it is secret. Landform writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_from: Option<KeyReference>,
    /// Items that must have succeeded before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// How long the deployer may take, for instance `10m`; `none` is no end.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = crate::duration::TIMEOUT_PATTERN))]
    pub timeout: Option<String>,
    /// Whether the item is handed out again only when it changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update_on_change_only: Option<bool>,
}

/// What the reconciler writes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ExecutionStatus {
    /// Where it stands; none before the first run.
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
    /// The DataObject with the exports of all items.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub export_ref: Option<ObjectReference>,
    /// The deploy items, with their generations after their last update (E5).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deploy_item_refs: Vec<VersionedReference>,
    /// The execution's generation at each item's last update (E5).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exec_generations: Vec<ExecutionGeneration>,
    /// What it waits for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting_on: Vec<WaitingOn>,
}

/// A deploy item with its generation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct VersionedReference {
    /// Its name within the execution.
    pub name: String,
    /// The object.
    #[serde(rename = "ref")]
    pub reference: VersionedObject,
}

/// An object's name and generation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct VersionedObject {
    /// Its name.
    pub name: String,
    /// Its namespace.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Its generation after the last update.
    pub observed_generation: i64,
}

/// The execution's generation when an item was last updated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ExecutionGeneration {
    /// The item's name within the execution.
    pub name: String,
    /// The execution's generation.
    pub observed_generation: i64,
}

/// An execution: spec and status without the metadata.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Execution {
    /// What the installation writes.
    pub spec: ExecutionSpec,
    /// What the reconciler writes.
    pub status: ExecutionStatus,
}

impl From<VersionedReference> for NamedReference {
    fn from(versioned: VersionedReference) -> Self {
        Self {
            name: versioned.name,
            reference: ObjectReference {
                name: versioned.reference.name,
                namespace: versioned.reference.namespace,
            },
        }
    }
}
