//! What is decided about an execution.

use landform_api::landscaper::{ErrorCode, ExecutionPhase, Operation, WaitingOn};

use crate::Rule;

/// What to do now, and by which rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// The rule that decided; none when nothing had to be decided.
    pub rule: Option<Rule>,
    /// Carried out in this order, before the status is written.
    pub actions: Vec<Action>,
    /// The phase from now on; none leaves it.
    pub phase: Option<ExecutionPhase>,
    /// What it waits for.
    pub waiting_on: Vec<WaitingOn>,
    /// What is wrong.
    pub problem: Option<Problem>,
    /// Carried out after the status was written.
    pub afterwards: Vec<Action>,
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
    /// These items are forgotten to be up to date.
    Outdate(Vec<String>),
    /// These items, by name, are written as the spec has them, and handed out.
    Update(Vec<String>),
    /// These items, by their name in the API, are deleted.
    Delete(Vec<String>),
    /// These items, by their name in the API, are asked for something.
    Ask(Operation, Vec<String>),
    /// These items, by their name in the API, hear that what they deployed is to stay (I36).
    KeepOutside(Vec<String>),
    /// The labels and owner references of these items, by their name in the API, are written as they should be.
    PutRight(Vec<String>),
    /// The exports of all items are collected.
    CollectExports,
}

/// The reason in the error of an execution that was aborted.
pub const ABORTED: &str = "Aborted";
/// The reason in the error of an execution that was interrupted.
pub const INTERRUPTED: &str = "Interrupted";

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// As one word.
    pub reason: &'static str,
    /// For people.
    pub message: String,
    /// The kind of error.
    pub code: Option<ErrorCode>,
}
