//! What the machine wants done, and why.

use std::fmt;
use std::sync::Arc;

use crate::event::RunId;

/// Something to be done, in the order given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command<K> {
    /// Run the reconciler. A shell with limits may wait with it: the run counts from now on.
    Start {
        /// The run, which must be reported as finished one day.
        run: RunId,
        /// The object.
        key: K,
        /// Why.
        reason: Reason,
        /// Whether this is the run of a delete, of a rename, or an ordinary one.
        phase: Phase,
        /// The name that the object had when its reconciler last succeeded, after a rename.
        former_name: Option<K>,
    },
    /// Tell a run to return as soon as it can.
    Cancel {
        /// The run.
        run: RunId,
        /// Its object.
        key: K,
        /// By whom.
        cause: Cause<K>,
    },
    /// Report [`crate::Event::TimeReached`] at this time. Replaces the object's earlier timer.
    SetTimer {
        /// The object.
        key: K,
        /// When.
        at_ms: u64,
    },
    /// Forget the object's timer.
    ClearTimer {
        /// The object.
        key: K,
    },
    /// Something that people want to see; nothing is to be done.
    Report {
        /// The object.
        key: K,
        /// What.
        report: Report,
    },
}

/// Something that people want to see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// The object must run.
    Queued(Reason),
    /// The object is in a cycle of references and doesn't run; its error is this path.
    Cyclic(Arc<str>),
    /// It is in a cycle no more.
    CycleBroken,
    /// A cancelled run of it doesn't return.
    Stuck(RunId),
}

/// Why an object must run. Of several reasons the first in this order is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// It was marked for deletion.
    Marked,
    /// It has another name.
    Renamed,
    /// It is new, or the process is.
    Appeared,
    /// Its spec or its refs changed.
    Changed,
    /// Somebody asked for it.
    Asked,
    /// It was in a cycle of references.
    CycleBroken,
    /// An object that it refers to has finished a run, appeared, changed or gone.
    Ref,
    /// An object that it owns or watches changed.
    Related,
    /// The time that its last run returned has come.
    Retrigger,
    /// Its last run failed.
    Retry,
    /// Its last run gave up without having been told to.
    GaveUp,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Marked => "marked",
            Self::Renamed => "renamed",
            Self::Appeared => "appeared",
            Self::Changed => "changed",
            Self::Asked => "asked for",
            Self::CycleBroken => "cycle broken",
            Self::Ref => "ref finished",
            Self::Related => "related object changed",
            Self::Retrigger => "retrigger",
            Self::Retry => "retry",
            Self::GaveUp => "gave up",
        })
    }
}

/// By whom a run is cancelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause<K> {
    /// Somebody else changed, marked, renamed, removed or asked for its object.
    Object(Touch),
    /// An object that it refers to, directly or not, must run.
    Ancestor(K),
    /// Its object became part of a cycle.
    Cycle,
}

/// What was done to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Touch {
    /// Its spec or its refs changed.
    Changed,
    /// It was marked for deletion.
    Marked,
    /// It got another name.
    Renamed,
    /// It was removed.
    Gone,
    /// It was removed and created again.
    Recreated,
    /// Somebody asked for it.
    Asked,
}

impl<K: fmt::Display> fmt::Display for Cause<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let touch = match self {
            Self::Ancestor(key) => return write!(f, "by {key}"),
            Self::Cycle => return f.write_str("in a cycle"),
            Self::Object(touch) => touch,
        };
        f.write_str(match touch {
            Touch::Changed => "changed",
            Touch::Marked => "marked",
            Touch::Renamed => "renamed",
            Touch::Gone => "gone",
            Touch::Recreated => "created again",
            Touch::Asked => "asked for",
        })
    }
}

/// The order of runs within a namespace (R8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Runs of objects that are marked for deletion.
    Delete,
    /// First runs of objects with another name.
    Rename,
    /// All others.
    Ordinary,
}
