//! Everything that a decision about an execution may see.

use landform_api::landscaper::{ExecutionPhase, Operation};

/// An execution, and all deploy items that are its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// `metadata.generation`.
    pub generation: i64,
    /// `status.observedGeneration`.
    pub observed_generation: Option<i64>,
    /// `status.phase`.
    pub phase: Option<ExecutionPhase>,
    /// Whether it is marked for deletion.
    pub marked: bool,
    /// Whether the finalizer holds it.
    pub held: bool,
    /// What the operation annotation asks for.
    pub operation: Option<Operation>,
    /// Whether it is to be left alone.
    pub ignore: bool,
    /// Whether what its items deployed is to stay when they go: it says so, or an installation above it (I36).
    pub bare: bool,
    /// Whether it was aborted or interrupted as it is now.
    pub stopped: bool,
    /// Its installation is marked too, and isn't ready to have its nested objects go (I31).
    pub owner_holds: Option<String>,
    /// Whether others have deleted or changed what it has collected from its items (I5b).
    pub exports_lost: bool,
    /// The items of the spec.
    pub wanted: Vec<Wanted>,
    /// The items that exist.
    pub items: Vec<Item>,
}

/// An item of the spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Its name.
    pub name: String,
    /// The items that must have succeeded before.
    pub depends_on: Vec<String>,
}

/// An item that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its name within the execution.
    pub name: String,
    /// Its name in the API.
    pub object: String,
    /// The items that it depends on, as noted when it was written.
    pub depends_on: Vec<String>,
    /// Its generation.
    pub generation: i64,
    /// The generation that its phase is about.
    pub observed_generation: Option<i64>,
    /// Its phase.
    pub phase: Option<ExecutionPhase>,
    /// Whether it is marked for deletion.
    pub marked: bool,
    /// Whether it knows that what it deployed is to stay (I36).
    pub bare: bool,
    /// Whether it says whose it is and what it depends on, as it should: its labels and owner references, which others may
    /// have changed.
    pub is_whole: bool,
    /// Whether it was handed out and not picked up yet.
    pub handed_out: bool,
    /// Whether it was handed out to a deployer elsewhere, and none has come for it yet.
    pub unclaimed: bool,
    /// Whether somebody asks something of it.
    pub operation: Option<Operation>,
    /// What the execution's status keeps of its last update.
    pub stored: Option<Stored>,
    /// The last thing that went wrong with it.
    pub error: Option<String>,
}

/// The generations after the last update of an item (E5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The execution's.
    pub execution: i64,
    /// The item's.
    pub item: i64,
}

impl Observed {
    /// C3.
    #[must_use]
    pub fn status_up_to_date(&self) -> bool {
        self.observed_generation == Some(self.generation)
    }

    /// E1.
    #[must_use]
    pub fn is_completed(&self) -> bool {
        self.phase.is_some_and(ExecutionPhase::is_completed)
    }
}

impl Item {
    /// Whether its phase is about what it is now.
    #[must_use]
    pub fn status_up_to_date(&self) -> bool {
        self.observed_generation == Some(self.generation)
            && !self.handed_out
            && self.operation.is_none()
    }

    /// Whether its work has come to an end.
    #[must_use]
    pub fn is_completed(&self) -> bool {
        self.status_up_to_date() && self.phase.is_some_and(ExecutionPhase::is_completed)
    }
}
