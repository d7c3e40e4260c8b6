//! Selectors: which objects of a list or watch the client wants to see.

pub mod field;
pub mod label;

pub use field::FieldSelector;
pub use label::{LabelSelector, selector_text};
