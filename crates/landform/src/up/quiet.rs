//! What the engine says of a project: whether anything is still being done, and what has failed.

use std::sync::Arc;

use landform_api::{GroupKind, project};
use landform_engine::view::{Filter, State as Standing};
use landform_engine::{Engine, Key};

use crate::AnyError;

/// What went wrong with objects that have no phase: those of kinds that hooks reconcile.
pub(super) async fn troubles_of_others(engine: Option<&Engine>) -> Result<Troubles, AnyError> {
    let mut troubles = Troubles::default();
    let Some(engine) = engine else {
        return Ok(troubles);
    };
    let everything = Filter {
        limit: usize::MAX,
        ..Filter::default()
    };
    let (objects, _) = engine.objects(everything).await?;
    for found in objects {
        let Some(error) = found.last_error else {
            continue;
        };
        let trouble = format!("{}/{}: {error}", found.object.kind, found.object.name);
        match found.next_run {
            Some(_) => troubles.tried_again.push(trouble),
            None => troubles.final_ones.push(trouble),
        }
    }
    Ok(troubles)
}

/// What is wrong with objects that have no phase.
#[derive(Default)]
pub(super) struct Troubles {
    /// What stays so until a person acts.
    pub(super) final_ones: Vec<String>,
    /// What is tried again by itself.
    pub(super) tried_again: Vec<String>,
}

impl Troubles {
    pub(super) fn is_empty(&self) -> bool {
        self.final_ones.is_empty() && self.tried_again.is_empty()
    }

    pub(super) fn all(self) -> Vec<String> {
        let tried_again = self.tried_again.into_iter();
        let tried_again = tried_again.map(|trouble| format!("{trouble}; it is tried again"));
        self.final_ones.into_iter().chain(tried_again).collect()
    }
}

/// Whether the project was read in this process. Everything is run once after a start, so what is idle was read.
pub(super) async fn is_read(engine: Option<&Engine>, name: &str) -> Result<bool, AnyError> {
    let Some(engine) = engine else {
        return Ok(true);
    };
    let kind = GroupKind {
        group: project::GROUP.to_owned(),
        kind: project::KIND.to_owned(),
    };
    let key = Key::new(Arc::new(kind), "", name);
    let project = engine.object(key).await?;
    Ok(project.is_some_and(|project| project.state == Standing::Idle))
}

/// Whether nothing is being done any more.
pub(super) async fn is_quiet(engine: Option<&Engine>) -> Result<bool, AnyError> {
    let Some(engine) = engine else {
        return Ok(true);
    };
    for state in [Standing::Running, Standing::Pending, Standing::Cancelling] {
        let filter = Filter {
            state: Some(state),
            limit: 1,
            ..Filter::default()
        };
        if !engine.objects(filter).await?.0.is_empty() {
            return Ok(false);
        }
    }
    Ok(true)
}
