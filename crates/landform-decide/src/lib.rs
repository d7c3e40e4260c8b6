//! What the controllers decide: one pure function per kind, with the rules in it.
//!
//! Each kind has a folder: `observed.rs` is everything that the decision may see, `decide.rs` the function,
//! `decision.rs` what it returns, `tests.rs` tables in which every rule fires once and is withheld once.
//! `combined.rs` is what installations and executions share: how phases of many become one.

pub mod app_type;
mod combined;
pub mod deploy_item;
pub mod execution;
pub mod installation;
pub mod operator_version;
mod rule;

pub use combined::{Standing, combined, combined_items};
pub use rule::Rule;
