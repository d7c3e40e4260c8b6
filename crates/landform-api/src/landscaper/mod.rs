//! The kinds of `landscaper.gardener.cloud/v1alpha1`, with the field names of Landscaper v0.24.
//!
//! In reading order: the words of the contract ([`keys`], [`names`], [`labels`]), what all three reconciled kinds share
//! ([`phase`], [`report`]), the kinds themselves, and the definitions that an API server needs
//! ([`definition`]).
//!
//! Fields that Landform adds to Landscaper's are `status.waitingOn` of the three reconciled kinds,
//! `status.{templateState,endedGeneration,forceBegun,contextObjects,exportedObjects,warnings}`
//! of an Installation, `status.targetGeneration` of a DeployItem, and `spec.blueprint.path`.

pub mod automatic;
pub mod data;
pub mod definition;
pub mod deploy_item;
pub mod execution;
pub mod further;
pub mod installation;
pub mod keys;
pub mod labels;
pub mod names;
pub mod phase;
pub mod report;

pub use automatic::{AutomaticReconcile, AutomaticReconcileStatus, RepeatedReconcile};
pub use data::{Context, DataObject, Target, TargetSpec};
pub use deploy_item::{DeployItem, DeployItemSpec, DeployItemStatus};
pub use execution::{DeployItemTemplate, Execution, ExecutionSpec, ExecutionStatus};
pub use further::{TargetSync, TargetSyncSpec, TargetSyncStatus};
pub use installation::{Installation, InstallationSpec, InstallationStatus};
pub use phase::{ExecutionPhase, InstallationPhase, Operation};
pub use report::{Condition, ConditionStatus, ErrorCode, LastError, WaitingOn};

use crate::GroupVersionKind;

/// The API group of all these kinds.
pub const GROUP: &str = "landscaper.gardener.cloud";
/// The version of all these kinds.
pub const VERSION: &str = "v1alpha1";
/// Group and version as objects carry them.
pub const API_VERSION: &str = "landscaper.gardener.cloud/v1alpha1";

/// One of the kinds of this group.
#[must_use]
pub fn kind(name: &str) -> GroupVersionKind {
    GroupVersionKind::new(GROUP, VERSION, name)
}
