//! Everything that a decision about a deploy item may see.

use landform_api::landscaper::{ExecutionPhase, Operation};

/// A deploy item, and the time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// The time of day, in milliseconds since 1970.
    pub now_ms: u64,
    /// `metadata.generation`.
    pub generation: i64,
    /// `status.observedGeneration`.
    pub observed_generation: Option<i64>,
    /// `status.phase`.
    pub phase: Option<ExecutionPhase>,
    /// Whether it is marked for deletion.
    pub marked: bool,
    /// Whether our finalizer holds it.
    pub held: bool,
    /// What the operation annotation asks for.
    pub operation: Option<Operation>,
    /// Whether it is to be left alone.
    pub ignore: bool,
    /// Whether it goes without what it deployed (I36).
    pub without_uninstall: bool,
    /// Whether its status says that it waits for something.
    pub waits: bool,
    /// Whether its last try ended in a way that another one can't change: a person must act, or has stopped it.
    pub given_up: bool,
    /// When it was handed out, or marked for deletion, if no deployer picked it up since.
    pub handed_out_ms: Option<u64>,
    /// When it was told to abort.
    pub abort_asked_ms: Option<u64>,
    /// When it was last picked up.
    pub picked_up_ms: Option<u64>,
    /// Items that exist and depend on it.
    pub needed_by: Vec<Dependent>,
    /// What its execution is about to do.
    pub execution: Execution,
    /// Whether the target is another one than that which it was brought to.
    pub target_changed: bool,
    /// How long the work may take.
    pub timeout_ms: u64,
    /// Who deploys it.
    pub deployer: Deployer,
}

/// An item that depends on another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependent {
    /// Its name in the API.
    pub name: String,
    /// Whether it is marked for deletion.
    pub marked: bool,
}

/// What the execution of a marked item is about to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Execution {
    /// It stays: others have deleted the item, or it is no longer wanted.
    Stays,
    /// It is marked too, and isn't ready to have its items go (I31): its name.
    Holds(String),
    /// It takes its items down, or is gone.
    Goes,
}

/// Who deploys an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deployer {
    /// One that is part of this process; what it is called, for people.
    Ours(String),
    /// One that lives elsewhere; what is known of it, for people.
    Elsewhere(String),
}

impl Observed {
    /// Whether the phase is about the item as it is now (C3).
    #[must_use]
    pub fn status_up_to_date(&self) -> bool {
        self.observed_generation == Some(self.generation) && self.handed_out_ms.is_none()
    }

    /// Whether the work has come to an end.
    #[must_use]
    pub fn is_completed(&self) -> bool {
        self.status_up_to_date() && self.phase.is_some_and(ExecutionPhase::is_completed)
    }
}
