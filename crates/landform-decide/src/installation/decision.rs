//! What is decided about an installation.

use landform_api::landscaper::{ErrorCode, InstallationPhase, Operation, WaitingOn};

use super::automatic::Done;
use super::observed::ChildKind;
use crate::Rule;

/// What to do now, and by which rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// The rule that decided.
    pub rule: Option<Rule>,
    /// Carried out in this order, before the status is written.
    pub actions: Vec<Action>,
    /// The phase from now on; none leaves it.
    pub phase: Option<InstallationPhase>,
    /// What it waits for.
    pub waiting_on: Vec<WaitingOn>,
    /// What is wrong.
    pub problem: Option<Problem>,
    /// Carried out after the status was written.
    pub afterwards: Vec<Action>,
    /// Whether there is more to decide at once.
    pub again: bool,
    /// When it is to be looked at again whatever happens, in milliseconds since 1970.
    pub look_ms: Option<u64>,
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The finalizer is added.
    Hold,
    /// The finalizer is removed.
    LetGo,
    /// The operation annotation is removed.
    DropOperation,
    /// It is noted that an update by force begins; the end of that update takes the note back.
    BeginForce,
    /// Imports are collected and checked, nested objects written and those removed that the blueprint no
    /// longer has; then imports and observedGeneration are noted (I15).
    Update {
        /// Whether nested objects are forced too.
        force: bool,
    },
    /// The same before a deletion: when it can't be done, that is reported and the deletion goes on.
    UpdateBeforeDeletion {
        /// Whether it is a deletion by force.
        force: bool,
    },
    /// Nested objects that aren't marked are deleted.
    DeleteNested {
        /// Whether they are forced to.
        force: bool,
    },
    /// Nested objects that are marked hear that what they deployed is to stay (I36).
    KeepOutside,
    /// Nested objects are asked for something.
    Ask(Operation, Vec<(ChildKind, String)>),
    /// What was reconciled automatically is noted, or that a new row begins with the next end.
    NoteAutomatic(Option<Done>),
    /// Exports are made, checked and written (I17).
    Export,
    /// Siblings that import from this one are triggered (I18).
    TriggerImporters,
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What was being done.
    pub operation: &'static str,
    /// As one word.
    pub reason: &'static str,
    /// For people.
    pub message: String,
    /// The kind of error.
    pub code: Option<ErrorCode>,
}
