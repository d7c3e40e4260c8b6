//! Operators: catalogs, app types and operator versions, with executions and deploy items that install them.
//!
//! Reading order: `wanted.rs` is how tests write catalogs and app types down, `operator.rs` plays the operator
//! that is installed, `world.rs` puts the controllers into a process, `oracle.rs` is what must never happen on
//! the way, and `state.rs` what two runs are compared by.

mod operator;
mod oracle;
mod state;
mod wanted;
mod world;

use landform_api::{catalog, landscaper};

use crate::simulation::{Failure, Template};

pub use wanted::{Adoption, Release, app_type, catalog, named, rollback};
pub use world::OperatorsWorld;

/// The label of what the operator makes.
const LABEL: &str = "etcd";
/// What the operator makes.
const RESOURCES: [&str; 2] = ["data-a", "data-b"];

/// A disk on which the kinds of operators and landscapes are known.
///
/// # Errors
/// When the server refuses one of them.
pub fn template() -> Result<Template, Failure> {
    let mut definitions = landscaper::definition::definitions();
    definitions.extend(catalog::definition::definitions());
    Template::new(&definitions)
}
