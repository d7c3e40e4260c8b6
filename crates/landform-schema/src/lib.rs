//! Schemas of objects: what is pruned, defaulted, refused, merged and published.
//!
//! Objects are data and a kind is a schema. One engine ([`Schema`]) serves custom resources, whose
//! schema comes from their definition, and built-in kinds, whose schema comes from tables of our own
//! ([`builtin`]). The crate is pure: no I/O, no clock, no runtime.
//!
//! - [`Schema`]: pruning, defaulting, validation with CEL rules.
//! - [`builtin`]: the kinds that are there from the start.
//! - [`openapi`]: the types as clients read them.
//! - [`merge`]: strategic merge patch and JSON merge patch.

pub mod builtin;
pub mod merge;
pub mod openapi;
mod schema;

pub use schema::Schema;
