//! Everything that a decision about an installation may see.

use landform_api::landscaper::report::ObjectName;
use landform_api::landscaper::{InstallationPhase, Operation};

use super::automatic::Automatic;
use crate::combined::{Standing, combined};

/// An installation, what is around it and what is below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// The time of day, in milliseconds since 1970.
    pub now_ms: u64,
    /// `metadata.generation`.
    pub generation: i64,
    /// `status.observedGeneration`.
    pub observed_generation: Option<i64>,
    /// `status.phase`.
    pub phase: Option<InstallationPhase>,
    /// Whether it is marked for deletion.
    pub marked: bool,
    /// Whether the finalizer holds it.
    pub held: bool,
    /// What the operation annotation asks for.
    pub operation: Option<Operation>,
    /// Whether it is to be left alone.
    pub ignore: bool,
    /// Whether nothing is waited for any more and the update is all that comes next: it may have been
    /// interrupted.
    pub update_begun: bool,
    /// Whether an update by force was begun and has not come to its end.
    pub force_begun: bool,
    /// Whether it was aborted as it is now.
    pub aborted: bool,
    /// Whether an update failed with its present spec and imports: another try would, too.
    pub failed_as_it_is: bool,
    /// Whether a write of its own was refused at its last update, which is tried again.
    pub refused: bool,
    /// The installation that it is nested in.
    pub parent: Option<Parent>,
    /// Nested installations, and the execution.
    pub children: Vec<Child>,
    /// What the spec imports.
    pub imports: Vec<Import>,
    /// Whether the last update had other imports.
    pub imports_differ: bool,
    /// Whether the files of its blueprint, or of one that is nested in it, are others than at the last update.
    pub blueprint_changed: bool,
    /// Installations that it depends on, directly or not.
    pub dependencies: Vec<Dependency>,
    /// Siblings that import what it exports.
    pub importers: Vec<Importer>,
    /// Siblings that had a name first which it exports too (I40b): the sibling, and the name.
    pub rivals: Vec<(String, String)>,
    /// Whether what it deployed is to stay when it goes (I36).
    pub bare: bool,
    /// What of its nested objects, or of what they import, others have deleted or changed (I5b).
    pub lost: Option<String>,
    /// Whether others have deleted or changed what it exports (I5b).
    pub exports_lost: bool,
    /// What it asks to be done again at certain times.
    pub automatic: Automatic,
}

/// The installation that another one is nested in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parent {
    /// Its name.
    pub name: String,
    /// Its phase; none too if it is gone.
    pub phase: Option<InstallationPhase>,
    /// Whether it has failed because of what is nested in it: it has written all of that.
    pub failed_below: bool,
    /// Whether it is marked for deletion.
    pub marked: bool,
    /// Whether it is deleted by force.
    pub forced: bool,
}

/// What a nested object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChildKind {
    /// A nested installation.
    Installation,
    /// The execution.
    Execution,
}

/// A nested object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Child {
    /// What it is.
    pub kind: ChildKind,
    /// Its name in the API.
    pub name: String,
    /// Its phase.
    pub phase: Option<InstallationPhase>,
    /// How it is doing, as far as this one is concerned.
    pub standing: Standing,
    /// What keeps it from going on, if it waits for something.
    pub because: Option<String>,
    /// Whether all that it waits for is a deployer that has not come yet: nothing has begun.
    pub unclaimed: bool,
    /// Whether it is marked for deletion.
    pub marked: bool,
    /// Whether it knows that what it deployed is to stay (I36).
    pub bare: bool,
    /// What the operation annotation asks of it.
    pub operation: Option<Operation>,
    /// The last thing that went wrong with it.
    pub error: Option<String>,
}

/// One thing that is imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// The name of the blueprint's import.
    pub name: String,
    /// The object that it comes from.
    pub object: ObjectName,
    /// Its generation at the last update.
    pub recorded: Option<String>,
    /// What is there now.
    pub present: Present,
}

/// What is there of an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Present {
    /// It can be imported, in this generation.
    Satisfied(String),
    /// The object doesn't exist.
    Missing,
    /// It can't be imported, for a reason that says what to do; nothing is said about whether it exists.
    Unusable(String),
    /// It belongs to an installation from which it can't be imported: neither the parent imports it nor
    /// does a sibling export it.
    NotProvided {
        /// The installation that it belongs to.
        owner: String,
    },
}

/// An installation that this one depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// Its name.
    pub name: String,
    /// Its phase.
    pub phase: Option<InstallationPhase>,
    /// Whether the phase is about its present spec.
    pub up_to_date: bool,
    /// Whether the phase is about its present imports (I10b).
    pub current: bool,
    /// Whether it has been asked to reconcile.
    pub queued: bool,
}

/// A sibling that imports from this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Importer {
    /// Its name.
    pub name: String,
    /// Whether it goes.
    pub going: bool,
    /// Whether it goes and has never deployed anything: it needs nothing any more.
    pub never_deployed_and_going: bool,
    /// Whether it goes, and this one imports from it in turn: none of them can be first.
    pub going_in_circle: bool,
    /// Whether it goes, and has taken down what it could: what is left of it, if anything, couldn't be removed.
    pub gone_as_far_as_possible: bool,
    /// A sibling that exports the same and has not taken it over yet (I40b).
    pub heir: Option<String>,
}

impl Observed {
    /// C3.
    #[must_use]
    pub fn status_up_to_date(&self) -> bool {
        self.observed_generation == Some(self.generation)
    }

    /// The combined standing of nested objects (I10).
    #[must_use]
    pub fn combined(&self) -> Option<Standing> {
        combined(self.children.iter().map(|child| child.standing))
    }

    /// Whether an update or a deletion has to wait for nested objects that are at work (I11, I33). What no deployer has
    /// begun can be changed and deleted.
    #[must_use]
    pub fn is_held_by_work(&self) -> bool {
        let mut children = self.children.iter();
        children.any(|child| child.standing.is_at_work() && !child.unclaimed)
    }

    /// Whether an import is another one than at the last update.
    #[must_use]
    pub fn imports_changed(&self) -> bool {
        let changed = |import: &Import| match &import.present {
            Present::Satisfied(generation) => import.recorded.as_ref() != Some(generation),
            Present::Missing | Present::Unusable(_) | Present::NotProvided { .. } => true,
        };
        self.imports_differ || self.imports.iter().any(changed)
    }

    /// I13.
    #[must_use]
    pub fn update_required(&self) -> bool {
        !self.status_up_to_date()
            || self.imports_changed()
            || self.blueprint_changed
            || self.lost.is_some()
    }
}

impl Child {
    /// Whether it has come to a bad end itself, instead of waiting for one that has.
    pub(super) fn has_ended_badly(&self) -> bool {
        let ended = matches!(self.standing, Standing::Failed | Standing::Aborted);
        ended && self.because.is_none()
    }

    /// Whether it was to go, and that has failed (I35b).
    pub(super) fn removal_failed(&self) -> bool {
        self.marked && self.standing == Standing::Failed
    }
}
