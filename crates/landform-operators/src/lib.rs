//! Operators: catalogs, app types and operator versions, kept as people want them.
//!
//! Data flows one way. A [`catalog::Catalogs`] run reads a source and puts it into an index in memory; app
//! types whose package has changed are asked to look again. An [`app_type::AppTypes`] run compares what the
//! catalogs offer with the operator versions that are there, and creates or deletes one of these. An
//! [`operator_version::OperatorVersions`] run installs that version by an Execution, which deployers carry
//! out, and hands over what its predecessors own. [`definition::Definitions`] has the owners of kinds be
//! there. Decisions are in `landform_decide::{app_type, operator_version}`; `docs/operators.md` is for users.
//!
//! # Guarantees
//! - A crash after any single write is repaired by the next run.
//! - A resource that no version owns by uid is never touched. At no moment has a resource that one owns no
//!   owner, or two controllers.
//! - A definition is never changed in a way that drops a stored version, a used field or a valid object.

pub mod adoption;
pub mod app_type;
pub mod catalog;
mod catalogs;
pub mod definition;
mod entitled;
mod facts;
mod index;
mod objects;
pub mod operator_version;
mod shared;
mod strategy;

use std::path::PathBuf;
use std::sync::Arc;

use landform_catalog::Index;
use landform_engine::{Builder, Engine};
use shared::Shared;

/// All reconcilers of operators, and what they share.
#[derive(Clone, Default)]
pub struct Operators {
    shared: Arc<Shared>,
}

impl Operators {
    /// Operators on an engine that is about to be started. Catalogs on disk are below `directory`.
    #[must_use]
    pub fn register(&self, engine: Builder, directory: Option<PathBuf>) -> Builder {
        let shared = &self.shared;
        engine
            .reconciler(catalog::Catalogs::new(shared.clone(), directory))
            .reconciler(definition::Definitions::new(shared.clone()))
            .reconciler(app_type::AppTypes::new(shared.clone()))
            .reconciler(operator_version::OperatorVersions::new(shared.clone()))
    }

    /// To be called as soon as the engine has started.
    pub fn connect(&self, engine: &Engine) {
        self.shared.connect(engine);
    }

    /// Looks something up in what all catalogs offer. Must be quick.
    pub fn look<T>(&self, look: impl FnOnce(&Index) -> T) -> T {
        self.shared.catalogs.look(look)
    }
}
