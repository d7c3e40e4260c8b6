//! Objects as data: one generic value for every kind.
//!
//! - [`encode`]: the stored form, and how a revision is put into it without parsing it again.
//! - [`meta`]: reading and writing `metadata` on a value.
//! - [`names`]: which names, labels and annotations are allowed.
//! - [`oversized`]: stored objects that are larger than an object may be.
//! - [`rules`]: what the server does to metadata on create, update and delete.

pub mod encode;
pub mod meta;
pub mod names;
pub mod oversized;
pub mod rules;

use serde_json::{Map, Value};

/// A decoded object. The top level is always a JSON object.
pub type Object = Map<String, Value>;
