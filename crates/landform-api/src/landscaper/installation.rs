//! Installation: a product in one place, made of a blueprint and what it is given.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::automatic::{AutomaticReconcile, AutomaticReconcileStatus};
use super::phase::InstallationPhase;
use super::report::{Condition, LastError, ObjectName, WaitingOn};

/// What people, or a parent's blueprint, write.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct InstallationSpec {
    /// The Context with settings that many installations share; without a name it is `default`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The component that the blueprint belongs to. Only what is inline is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub component_descriptor: Option<ComponentDescriptorDefinition>,
    /// What to install.
    pub blueprint: BlueprintDefinition,
    /// Secrets for pulling from registries. Not read yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub registry_pull_secrets: Vec<ObjectReference>,
    /// Where the blueprint's imports come from.
    pub imports: InstallationImports,
    /// Imports that are computed from others.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub import_data_mappings: BTreeMap<String, Value>,
    /// Under which names the blueprint's exports are given to others.
    pub exports: InstallationExports,
    /// Exports that are computed from the blueprint's.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub export_data_mappings: BTreeMap<String, Value>,
    /// When it is reconciled again by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub automatic_reconcile: Option<AutomaticReconcile>,
}

/// Where a component comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ComponentDescriptorDefinition {
    /// A component in a registry.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<Value>,
    /// A component that is written here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inline: Option<Value>,
}

/// Where a blueprint comes from: exactly one of these.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct BlueprintDefinition {
    /// A resource of the component. Not read yet.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<BlueprintReference>,
    /// A blueprint that is written here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inline: Option<InlineBlueprint>,
    /// A directory, or a tar file, on the server's disk, below its directory of blueprints.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// A blueprint in a component.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct BlueprintReference {
    /// The name of the component's resource.
    pub resource_name: String,
}

/// A blueprint as a tree of files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct InlineBlueprint {
    /// Names of files and directories; a string is a file, a map a directory.
    pub filesystem: Value,
}

/// An object's name.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectReference {
    /// Its name.
    pub name: String,
    /// Its namespace; empty is the one of the object that refers to it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
}

/// A key of a Secret or a ConfigMap.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase", default)]
pub struct KeyReference {
    /// The object's name.
    pub name: String,
    /// Its namespace; empty is the installation's, and no other is allowed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The key; without one the whole object is a map.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub key: String,
}

/// All imports of an installation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct InstallationImports {
    /// Values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub data: Vec<DataImport>,
    /// Places to deploy to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<TargetImport>,
    /// Component descriptors. Not read yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub component_descriptors: Vec<Value>,
}

/// One value that is imported, from exactly one place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DataImport {
    /// The name of the blueprint's import.
    pub name: String,
    /// A DataObject: its name at the root, its key in a parent.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub data_ref: String,
    /// A Secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<KeyReference>,
    /// A ConfigMap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map_ref: Option<KeyReference>,
}

/// One target, a list of targets or a map of targets that is imported: exactly one of the other fields says which.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TargetImport {
    /// The name of the blueprint's import.
    pub name: String,
    /// A single target.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub target: String,
    /// A list of targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub targets: Option<Vec<String>>,
    /// A list that the parent imports under this name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub target_list_ref: String,
    /// Targets by keys of one's own choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_map: Option<BTreeMap<String, String>>,
    /// A map that the parent imports under this name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub target_map_ref: String,
}

/// All exports of an installation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct InstallationExports {
    /// Values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub data: Vec<DataExport>,
    /// Targets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<TargetExport>,
}

/// One value that is exported.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DataExport {
    /// The name of the blueprint's export, or a key of the export mappings.
    pub name: String,
    /// The name under which others import it.
    pub data_ref: String,
}

/// One target that is exported.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TargetExport {
    /// The name of the blueprint's export.
    pub name: String,
    /// The name under which others import it.
    pub target: String,
}

/// What the reconciler writes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct InstallationStatus {
    /// Where it stands; none before the first run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<InstallationPhase>,
    /// The generation that the nested objects were last made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Aspects of its state.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// The last thing that went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<LastError>,
    /// A hash of its generation and its imports' generations, at the time of its last exports (I17).
    #[serde(skip_serializing_if = "String::is_empty")]
    pub config_generation: String,
    /// A sum of the blueprint's files at the last update, if the blueprint is named by path (I13).
    #[serde(skip_serializing_if = "String::is_empty")]
    pub blueprint_digest: String,
    /// The imports as they were at the last update (I13).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub imports: Vec<ImportStatus>,
    /// The nested installations.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub installation_refs: Vec<NamedReference>,
    /// The execution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_ref: Option<ObjectReference>,
    /// What executors of the blueprint want to be handed back, by executor; `(secret)` stands for what is secret.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub template_state: BTreeMap<String, Value>,
    /// The whole of that, if anything in it is secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template_state_ref: Option<KeyReference>,
    /// Secrets that were written for deploy items.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub item_secrets: Vec<String>,
    /// Objects that were written for nested installations to import.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub context_objects: Vec<ObjectName>,
    /// Objects that were written as exports.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exported_objects: Vec<ObjectName>,
    /// The generation that was found to have failed, or that somebody aborted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_generation: Option<i64>,
    /// A hash of the imports' generations when it failed or was aborted.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub ended_imports: String,
    /// The sum of the blueprint's files when it failed or was aborted.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub ended_blueprint: String,
    /// Whether an update by force was begun and has not come to its end.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub force_begun: bool,
    /// What looks wrong in what its templates rendered, without being an error.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What it waits for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting_on: Vec<WaitingOn>,
    /// What was reconciled automatically.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub automatic_reconcile_status: Option<AutomaticReconcileStatus>,
}

/// An import as it was at the last update.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ImportStatus {
    /// The name of the blueprint's import.
    pub name: String,
    /// `dataObject`, `target`, `targetList`, `targetMap`, `secret` or `configMap`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The DataObject's name, as the spec gives it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub data_ref: String,
    /// The Target's name, as the spec gives it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub target: String,
    /// The targets of a list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub target_list: Vec<TargetStatus>,
    /// The targets of a map.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub target_map: BTreeMap<String, TargetStatus>,
    /// The Secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<KeyReference>,
    /// The ConfigMap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map_ref: Option<KeyReference>,
    /// The installation that provides it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_ref: Option<ObjectReference>,
    /// Its generation: the exporter's, or a hash of the content.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub config_generation: String,
}

/// A target of a list or a map, as it was at the last update.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TargetStatus {
    /// The Target's name, as the spec gives it.
    pub target: String,
    /// The installation that provides it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_ref: Option<ObjectReference>,
    /// Its generation.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub config_generation: String,
}

/// A nested object: its name in the blueprint, and its name in the API.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase", default)]
pub struct NamedReference {
    /// The name in the blueprint.
    pub name: String,
    /// The object.
    #[serde(rename = "ref")]
    pub reference: ObjectReference,
}

/// An installation: spec and status without the metadata, which every client has types of its own for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Installation {
    /// What people write.
    pub spec: InstallationSpec,
    /// What the reconciler writes.
    pub status: InstallationStatus,
}
