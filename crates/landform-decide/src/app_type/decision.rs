//! What is decided about an app type.

use landform_api::catalog::AppTypePhase;
use landform_api::catalog::app_type::{Blocked, Offer};
use landform_api::landscaper::WaitingOn;

use super::observed::Trouble;
use crate::Rule;

/// What to do now, and by which rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The rule that decided.
    pub rule: Rule,
    /// The phase from now on.
    pub phase: AppTypePhase,
    /// Why, for people.
    pub message: String,
    /// Carried out in this order, before the status is written.
    pub actions: Vec<Action>,
    /// Carried out after the status was written.
    pub afterwards: Vec<Action>,
    /// Versions that can be gone to.
    pub next: Vec<Offer>,
    /// What is in the way.
    pub blocked_by: Vec<Blocked>,
    /// A rollback leaves this version from now on.
    pub rolled_back_from: Option<String>,
    /// What it waits for.
    pub waiting_on: Vec<WaitingOn>,
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The finalizer is added.
    Hold,
    /// The finalizer is removed.
    LetGo,
    /// The operator version of this name is created.
    Create {
        /// Its name in the catalog.
        name: String,
        /// The one whose place it takes although that one is higher.
        rollback_of: Option<String>,
    },
    /// The operator version `name` takes the place of `of` again.
    TakeBack {
        /// The one that takes it.
        name: String,
        /// The one that gives it.
        of: String,
    },
    /// These operator versions are deleted.
    Delete(Vec<String>),
    /// The annotation that asked for a rollback is removed, and in the same write the approval that was given
    /// before (`spec.approved`): it would undo the rollback at once.
    ForgetRollback,
    /// The kinds of these names, and all their objects, are deleted.
    DeleteDefinitions(Vec<String>),
    /// The kinds of these names get another owner, or none.
    ReleaseDefinitions(Vec<String>),
}

impl Decision {
    pub(super) fn new(rule: Rule, phase: AppTypePhase, message: impl Into<String>) -> Self {
        Self {
            rule,
            phase,
            message: message.into(),
            actions: Vec::new(),
            afterwards: Vec::new(),
            next: Vec::new(),
            blocked_by: Vec::new(),
            rolled_back_from: None,
            waiting_on: Vec::new(),
        }
    }
}

/// Something that is in the way, with its rule.
pub(super) fn blocked(rule: Rule, trouble: &Trouble) -> Blocked {
    Blocked {
        rule: rule.id().to_owned(),
        reason: trouble.reason.to_owned(),
        message: trouble.message.clone(),
        unblock: trouble.unblock.clone(),
    }
}
