//! Catalogs of operators: what they offer, which version may follow which, and what goes together.
//!
//! This crate is pure. In reading order: [`model`] is a catalog's content after it was read; [`range`]
//! and [`edges`] say what versions mean and which one may replace which; [`index`] joins several
//! catalogs by priority; [`graph`] walks channels; [`resolve`] chooses versions that fit together, or says
//! why none do; [`read`] makes the model from the formats that exist in the wild, and its `from_path` is the
//! only function here that looks at a disk; [`describe`] answers people.

pub mod describe;
pub mod edges;
pub mod facts;
pub mod graph;
pub mod index;
pub mod model;
pub mod range;
pub mod read;
pub mod resolve;
#[cfg(test)]
mod testing;

pub use edges::{Edges, Replaces};
pub use index::{CatalogInput, Index, NoOffering, Offering};
pub use model::{Bundle, Channel, Content, Entry, Package, Payload};
pub use range::Range;
