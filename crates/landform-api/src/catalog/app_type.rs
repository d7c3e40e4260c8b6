//! AppType: an operator that a person wants in a namespace.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::landscaper::WaitingOn;

/// What a person wants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AppTypeSpec {
    /// The package.
    pub package: String,
    /// The channel; the package's default one when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// A version or a range of versions; any when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// When a higher version takes the place of the installed one.
    pub upgrade_policy: UpgradePolicy,
    /// With the policy Manual: upgrades up to this version may happen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved: Option<String>,
    /// Which catalogs count; all when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub catalogs: Option<CatalogSelector>,
    /// What becomes of the operator's kinds, and all objects of them, when this app type is deleted.
    pub definitions: DefinitionPolicy,
}

/// When a higher version takes the place of the installed one.
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
pub enum UpgradePolicy {
    /// As soon as it can.
    #[default]
    Automatic,
    /// When it was approved.
    Manual,
    /// Never.
    Pinned,
}

/// Which catalogs count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CatalogSelector {
    /// By name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// By labels.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
}

/// What becomes of kinds when their app type is deleted.
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
pub enum DefinitionPolicy {
    /// They stay, and so do their objects.
    #[default]
    Keep,
    /// They go, with all their objects, unless another app type of the package is left.
    Delete,
}

/// Where an app type stands.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum AppTypePhase {
    /// Nothing is installed, and it can't be yet.
    Pending,
    /// The first version is being installed.
    Installing,
    /// The version that it should have runs.
    Succeeded,
    /// Another version is taking over.
    Upgrading,
    /// The installed version, or the one that should take over, has failed.
    Failed,
    /// It is being taken down.
    Deleting,
}

/// What became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AppTypeStatus {
    /// The generation that this is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Where it stands; none before the first run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<AppTypePhase>,
    /// Why, for people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// When the phase last changed (RFC 3339).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<String>,
    /// The operator version that runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub installed: Option<Installed>,
    /// The operator version that is about to take its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upgrading_to: Option<Installed>,
    /// Versions that could be gone to from the installed one, the best first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<Offer>,
    /// Why the best of them isn't gone to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocked_by: Vec<Blocked>,
    /// Versions that ran before, the latest last; a rollback goes back along them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Installed>,
    /// The version that a rollback left: it isn't gone to again by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rolled_back_from: Option<String>,
    /// Of the package, as the catalogs had it when this was decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub catalog_digest: Option<String>,
    /// What it waits for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting_on: Vec<WaitingOn>,
}

/// An operator version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Installed {
    /// The name of the OperatorVersion.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// A version that is offered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Offer {
    /// The name of the version in the catalog.
    pub name: String,
    /// The version.
    pub version: String,
    /// The catalog that it is from.
    pub catalog: String,
    /// What the catalog says against it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub deprecation: String,
}

/// Something that is in the way of an upgrade.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase", default)]
pub struct Blocked {
    /// The rule, for instance `O5`.
    pub rule: String,
    /// As one word.
    pub reason: String,
    /// For people.
    pub message: String,
    /// What would unblock it.
    pub unblock: String,
}

/// An app type: spec and status without the metadata.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AppType {
    /// What a person wants.
    pub spec: AppTypeSpec,
    /// What became of it.
    pub status: AppTypeStatus,
}
