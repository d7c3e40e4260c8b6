//! The kinds of `catalog.landform.dev/v1alpha1`: catalogs, app types and operator versions.
//!
//! A [`Catalog`] says where versions of operators come from. An [`AppType`] is what a person wants: one
//! operator, kept at a version of a channel or range. An [`OperatorVersion`] is one version of it in the
//! namespace: what it needs, what it brings, and how it is installed.

pub mod app_type;
pub mod definition;
pub mod keys;
pub mod operator_version;
pub mod source;
pub mod strategy;

pub use app_type::{
    AppType, AppTypePhase, AppTypeSpec, AppTypeStatus, Blocked, CatalogSelector, DefinitionPolicy,
    UpgradePolicy,
};
pub use operator_version::{
    AdoptionBy, Definition, OperatorVersion, OperatorVersionSpec, OperatorVersionStatus, Phase,
    Requirement, RequirementStatus, Requirements, UpgradeMode,
};
pub use source::{Catalog, CatalogSpec, CatalogStatus};
pub use strategy::InstallStrategy;

use crate::GroupVersionKind;

/// The API group of all these kinds.
pub const GROUP: &str = "catalog.landform.dev";
/// The version of all these kinds.
pub const VERSION: &str = "v1alpha1";
/// Group and version as objects carry them.
pub const API_VERSION: &str = "catalog.landform.dev/v1alpha1";

/// One of the kinds of this group.
#[must_use]
pub fn kind(name: &str) -> GroupVersionKind {
    GroupVersionKind::new(GROUP, VERSION, name)
}
