//! Names, references and errors that every part of Landform shares.
//!
//! This crate is pure: it knows no runtime, no socket and no store. Everything else may use it.
//!
//! - [`budget`]: how large a value may be, and how much is said about one.
//! - [`kind`]: how a kind of object is named (group, version, kind, resource).
//! - [`field`]: what is wrong with one field of an object, and where.
//! - [`files`]: names of files that are passed over.
//! - [`jsonpath`]: the dialect of JSONPath that Kubernetes uses.
//! - [`duration`]: lengths of time as people write them.
//! - [`schedule`]: the times at which something is done again.
//! - [`definition`]: definitions of kinds, generated from Rust types.
//! - [`json_schema`]: schemas of manifests for editors, from definitions.
//! - [`catalog`]: catalogs, app types and operator versions.
//! - [`landscaper`]: installations, executions, deploy items and what they exchange.
//! - [`protection`]: what keeps an object from being deleted.
//! - [`words`]: counted nouns for messages, and how long these may be.
//! - [`writer`]: who wrote an object, and who may act for it.
//! - [`keys`]: the finalizers, labels and annotations whose spelling is part of the contract.

pub mod budget;
pub mod catalog;
pub mod definition;
pub mod duration;
pub mod field;
pub mod files;
pub mod json_schema;
pub mod jsonpath;
pub mod keys;
pub mod kind;
pub mod landscaper;
pub mod project;
pub mod protection;
pub mod schedule;
pub mod words;
pub mod writer;

pub use budget::Budget;
pub use field::{FieldError, FieldPath, FieldReason};
pub use kind::{GroupKind, GroupVersionKind, GroupVersionResource};
