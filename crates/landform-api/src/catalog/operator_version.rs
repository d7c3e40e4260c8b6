//! OperatorVersion: one version of an operator in a namespace.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::strategy::InstallStrategy;
use crate::landscaper::{LastError, WaitingOn};

/// What it is, what it needs and how it is installed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct OperatorVersionSpec {
    /// The package that it is a version of.
    pub package: String,
    /// Its version, as semver has it.
    pub version: String,
    /// What it replaces: the name of an operator version, a version, or a range of versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
    /// Names or versions that it may replace as well, and that nobody should go to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skips: Vec<String>,
    /// A range of versions that it may replace as well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skip_range: Option<String>,
    /// What must be there before it is installed.
    #[serde(skip_serializing_if = "Requirements::is_empty")]
    pub requirements: Requirements,
    /// The kinds that it brings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub owned: Vec<Definition>,
    /// The resources that it manages: those that these labels select and that it owns.
    #[serde(skip_serializing_if = "Managed::is_empty")]
    pub manages: Managed,
    /// How it is installed.
    pub install: InstallStrategy,
    /// How its predecessor's resources come to it.
    #[serde(skip_serializing_if = "Upgrade::is_default")]
    pub upgrade: Upgrade,
    /// `false`: no other version may take its place at present. The operator itself may say so as well,
    /// by a condition `Upgradeable` in `status.conditions`; what stands here wins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upgradeable: Option<bool>,
}

/// What must be there before an operator is installed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Requirements {
    /// Kinds that others bring.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub definitions: Vec<KindVersion>,
    /// Other operators.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub packages: Vec<PackageRange>,
    /// Service accounts with rights.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub service_accounts: Vec<ServiceAccountRights>,
    /// The lowest version of the server's API, for instance `1.25.0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_server_version: Option<String>,
}

impl Requirements {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A kind in one version.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase", default)]
pub struct KindVersion {
    /// The API group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
}

/// Another operator in a range of versions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PackageRange {
    /// The package.
    pub package: String,
    /// The versions that will do; all of them when empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub range: String,
}

/// A service account that somebody made, and the rights that it must have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ServiceAccountRights {
    /// Its name.
    pub name: String,
    /// Rules as a Role has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Value>,
}

/// A kind that an operator brings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Definition {
    /// The API group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// The CustomResourceDefinition; without it, it is taken from the catalog.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub definition: Option<Value>,
}

/// Which resources an operator manages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Managed {
    /// Labels that its resources have.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
    /// Kinds besides those that it brings, for instance ConfigMaps.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<KindVersion>,
}

impl Managed {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// How the predecessor's resources come to a version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Upgrade {
    /// Who adds the second owner.
    pub mode: UpgradeMode,
    /// Who makes it the controller and takes the first owner off.
    pub adoption: AdoptionBy,
}

impl Upgrade {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Who adds the new version as an owner.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum UpgradeMode {
    /// Option 1: Landform (O12).
    #[default]
    Managed,
    /// Option 2: the operator, in its adoption loop (O14).
    Operator,
}

/// Who runs the adoption loop.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum AdoptionBy {
    /// Landform, for operators that have none (O14).
    #[default]
    Landform,
    /// The operator itself.
    Operator,
}

/// Where an operator version stands.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum Phase {
    /// Something that it needs is missing, or another version comes first.
    Pending,
    /// All that it needs is there.
    InstallReady,
    /// It is being installed.
    Installing,
    /// It runs.
    Succeeded,
    /// It doesn't, and a person must act.
    Failed,
    /// A successor runs and takes over what it owns.
    Replacing,
    /// It is being taken down.
    Deleting,
}

impl Phase {
    /// Whether nothing moves on by itself: Succeeded, Failed (O5).
    #[must_use]
    pub fn is_final(self) -> bool {
        match self {
            Self::Succeeded | Self::Failed => true,
            Self::Pending
            | Self::InstallReady
            | Self::Installing
            | Self::Replacing
            | Self::Deleting => false,
        }
    }
}

/// What Landform writes, and the condition `Upgradeable` that the operator may write.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct OperatorVersionStatus {
    /// The generation that this is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Where it stands; none before the first run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// Why, as one word.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Why, for people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// When the phase last changed (RFC 3339).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<String>,
    /// Whether installing it has begun.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub begun: bool,
    /// Uid and generation of a failed successor after which it took its objects back (O17).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasserted_for: Option<String>,
    /// Each thing that it needs, and whether it is there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<Requirement>,
    /// Names of versions whose place it took, each with what that one replaced: a latecomer that one of
    /// them replaced is recognised after they are gone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<Replaced>,
    /// A higher version that is there, and why it can't be had (O2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub higher: Option<HigherVersion>,
    /// The last thing that went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<LastError>,
    /// What it waits for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting_on: Vec<WaitingOn>,
    /// What the operator says about itself; the type `Upgradeable` counts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Value>,
}

/// One thing that an operator needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Requirement {
    /// What sort of thing: `Definition`, `Owned`, `Package`, `ServiceAccount`, `ServerVersion`.
    pub kind: String,
    /// Which one.
    pub name: String,
    /// Whether it is there.
    pub status: RequirementStatus,
    /// What is wrong with it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// Whether something that is needed is there.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum RequirementStatus {
    /// It is, and will do.
    Present,
    /// It isn't.
    NotPresent,
    /// It is, and won't do.
    PresentNotSatisfied,
}

/// A version whose place another one took.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Replaced {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it replaced in its turn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub edges: Vec<String>,
}

/// A higher version that can't be had.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct HigherVersion {
    /// Its version.
    pub version: String,
    /// Why not, as one word.
    pub reason: String,
    /// Why not, for people.
    pub message: String,
}

/// An operator version: spec and status without the metadata.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OperatorVersion {
    /// What it is, what it needs and how it is installed.
    pub spec: OperatorVersionSpec,
    /// What became of it.
    pub status: OperatorVersionStatus,
}
