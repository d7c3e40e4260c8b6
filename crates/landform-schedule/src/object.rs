//! What the machine remembers of an object, and of a run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use landform_graph::NodeId;

use crate::command::{Cause, Phase, Reason};
use crate::event::{Role, RunId, Version};

/// Whether an object exists, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Presence {
    /// It is referred to, or its last run hasn't returned.
    #[default]
    Missing,
    Live,
    /// Live, and its reconciler hasn't succeeded under its new name yet.
    Renamed,
    /// Marked for deletion.
    Marked,
}

/// Where an object's run is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Flight {
    #[default]
    None,
    Running,
    /// Told to return, and hasn't yet.
    Cancelled,
    /// As cancelled, and reported as overdue: it holds back nobody but its relatives (R9).
    Stuck,
}

/// One record per node; what few objects have is kept in maps beside.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Object {
    pub(crate) version: Version,
    pub(crate) content: u64,
    pub(crate) presence: Presence,
    pub(crate) role: Role,
    pub(crate) due: Option<Reason>,
    pub(crate) flight: Flight,
    /// The sets of barriers that it is in.
    pub(crate) counted: Option<Phase>,
    /// Whether it is in a queue of objects that may be able to start.
    pub(crate) candidate: bool,
    /// Whether its cycle was reported.
    pub(crate) cyclic: bool,
}

impl Default for Object {
    fn default() -> Self {
        Self {
            version: Version(0),
            content: 0,
            presence: Presence::Missing,
            role: Role::Reconciled,
            due: None,
            flight: Flight::None,
            counted: None,
            candidate: false,
            cyclic: false,
        }
    }
}

impl Object {
    pub(crate) fn exists(&self) -> bool {
        self.presence != Presence::Missing
    }

    /// The phase of the object's next run.
    pub(crate) fn phase(&self) -> Phase {
        match (self.role, self.presence) {
            // Without a run it can't go first: it waits for all that is above it.
            (Role::Passive, _) => Phase::Ordinary,
            (Role::Reconciled, Presence::Marked) => Phase::Delete,
            (Role::Reconciled, Presence::Renamed) => Phase::Rename,
            (Role::Reconciled, Presence::Live | Presence::Missing) => Phase::Ordinary,
        }
    }
}

/// A run that hasn't returned.
#[derive(Clone, Debug)]
pub(crate) struct Run<K> {
    pub(crate) id: RunId,
    pub(crate) reason: Reason,
    pub(crate) phase: Phase,
    pub(crate) cancelled: Option<Cause<K>>,
    /// Whether the run before it failed, or its own time is over: it holds back none but its relatives (R8b).
    pub(crate) aside: bool,
    pub(crate) writes: Writes,
}

/// What a run has written to its own object.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writes {
    /// Requests that are under way.
    pub(crate) under_way: u32,
    /// Changes seen meanwhile that may be this run's own.
    pub(crate) held: Vec<(Version, Reason)>,
    /// The object went meanwhile; this run may have removed it.
    pub(crate) held_gone: bool,
    /// This run has removed its object.
    pub(crate) removed: bool,
}

/// The name that a renamed object's reconciler knows it by.
#[derive(Clone, Debug)]
pub(crate) struct Former<K> {
    pub(crate) name: K,
    /// Whether a run was started under the present name, which may have done half of its work.
    pub(crate) tried: bool,
}

/// An object whose last run failed.
#[derive(Clone, Debug)]
pub(crate) struct Trouble {
    pub(crate) error: Arc<str>,
    /// Failures one after the other since the object last changed.
    pub(crate) failures: u32,
}

/// A timer that is set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timer {
    pub(crate) at_ms: u64,
    pub(crate) reason: Reason,
    /// Whether it has waited for those below once.
    pub(crate) waited: bool,
}

/// What waits for whom beyond the counters.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waiting {
    /// Deletes and renames by the ancestor that they wait for.
    pub(crate) for_ancestor: BTreeMap<NodeId, BTreeSet<NodeId>>,
    /// Those of them whose ancestor is no direct ref: any cut path may free them.
    pub(crate) far: BTreeSet<NodeId>,
}
