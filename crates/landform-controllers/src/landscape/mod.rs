//! Landscapes: installations and executions, brought to where they should be.
//!
//! Reading order, which is the order in which things happen:
//! 1. [`facts`] is what is remembered of an installation, [`index`] finds installations and deploy items by
//!    parent, by what they export, by what they import and by execution, without a list.
//! 2. [`installation`] and [`execution`] are the reconcilers: `observe` reads what the decision may see,
//!    `landform_decide` decides, `act` carries out. [`blueprints`] are kept after they were read once.
//! 3. [`objects`] reads and writes the kinds that both need; [`report`] is what a status tells people; [`rename`]
//!    is what happens first when one has another name than before.
//!
//! # Expected flow
//! An installation refers to what it imports, and provides what it exports, so the engine runs it after its
//! siblings and again when something it imports has changed (R2, R4, R6). Changes of nested objects lead to
//! their parent, and the other way round.
//!
//! # Guarantees
//! - Nested objects have names that follow from their parent's uid: after a crash they are found again and
//!   not made twice.
//! - A decision about nested objects is made from a fresh read of them, because this reconciler writes them;
//!   what it knows of siblings is as new as the change that brought the run.
//! - Nothing is taken over that somebody else owns, and nothing is deleted but by uid.

mod belonging;
pub mod blueprints;
mod content;
mod execution;
mod facts;
mod family;
mod index;
mod installation;
mod kept;
mod movement;
mod objects;
mod rename;
mod report;

use std::sync::Arc;

pub use blueprints::{Blueprints, Overlay, plain};
pub use execution::Executions;
pub use installation::{Installations, Outdated};

/// The two reconcilers of a landscape, which share an index.
#[must_use]
pub fn reconcilers(blueprints: impl Into<Arc<Blueprints>>) -> (Installations, Executions) {
    let index = Arc::new(index::Index::default());
    let installations = Installations::new(index.clone(), blueprints.into());
    (installations, Executions::new(index))
}
