//! What the machine is told: the objects as they are seen, and what happened to runs.

use std::fmt;
use std::sync::Arc;

/// What names an object.
pub trait ObjectKey: landform_graph::Key {
    /// The namespace, within which deletes go before renames before ordinary runs (R8). Objects of
    /// the cluster share the empty one.
    fn namespace(&self) -> &str;
}

/// A resourceVersion. Later ones are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u64);

/// A run, from its start until it has returned. Never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(pub u64);

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Whether anybody reconciles an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It has a reconciler.
    Reconciled,
    /// It has none, but others may refer to it: they run when it appears, changes and goes.
    Passive,
}

/// Among whom an object's deletes and renames go first (R8, R8b).
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Order<K> {
    /// Among all objects of the namespace that have this order.
    #[default]
    Strict,
    /// Among what is related to it: by references, by ownership, or by a name that both give.
    Related {
        /// The objects that own it.
        owners: Vec<K>,
        /// The names that it gives to others, and gives up when it goes.
        names: Vec<K>,
    },
    /// Among nothing: neither is it held back, nor does it hold back others.
    Free,
}

/// An object as a list or a watch shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sight<K> {
    /// Its name.
    pub key: K,
    /// Its resourceVersion.
    pub version: Version,
    /// A number that moves when something moved that the reconciler listens to: the generation, or a
    /// hash of it with the annotations that count. A status write leaves it.
    pub content: u64,
    /// The objects that it refers to.
    pub refs: Vec<K>,
    /// Whether it is marked for deletion.
    pub marked: bool,
    /// Whether anybody reconciles it.
    pub role: Role,
    /// Among whom its deletes and renames go first.
    pub order: Order<K>,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<K> {
    /// All objects of a list, at the start or after a watch was lost. Objects that are in the list no
    /// more must be reported as [`Event::Gone`].
    Listed(Vec<Sight<K>>),
    /// A watch shows that an object appeared or changed.
    Seen(Sight<K>),
    /// An object was removed.
    Gone {
        /// Its name.
        key: K,
    },
    /// An object has another name now.
    Renamed {
        /// The name that it had.
        from: K,
        /// Whether another object has that name by now, which is left alone.
        taken: bool,
        /// The object with its new name.
        sight: Sight<K>,
    },
    /// Somebody asks for a run.
    Asked {
        /// The object.
        key: K,
    },
    /// An object that this one owns or watches was changed by somebody else. It must run, but what it
    /// is at isn't stale: a run goes on, and another one follows.
    Related {
        /// The object.
        key: K,
    },
    /// The time of a timer that was set has come.
    TimeReached {
        /// The object.
        key: K,
        /// The time that the timer was set to.
        at_ms: u64,
    },
    /// A run is about to write its own object. Reported before the request is sent.
    WriteBegan {
        /// The run.
        run: RunId,
    },
    /// The request of [`Event::WriteBegan`] is over.
    WriteEnded {
        /// The run.
        run: RunId,
        /// What came back.
        answer: Answer,
    },
    /// A run has returned.
    Finished {
        /// The run.
        run: RunId,
        /// How it went.
        outcome: Outcome,
        /// The time, in the units of all times here.
        now_ms: u64,
    },
    /// A run's time is over, and it hasn't returned yet: from now on it holds back none but its relatives (R8b).
    Late {
        /// The run.
        run: RunId,
    },
    /// A cancelled run has not returned for so long that it is reported.
    Overdue {
        /// The run.
        run: RunId,
    },
}

/// What a run's client got back for a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The object was written and has this version.
    Version(Version),
    /// The object is gone.
    Deleted,
    /// The write was refused, or nobody knows what became of it.
    Nothing,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Without an error.
    Succeeded {
        /// When the object wants to be looked at again.
        retrigger_at_ms: Option<u64>,
    },
    /// With an error.
    Failed {
        /// What people are shown.
        error: Arc<str>,
        /// When it is tried again.
        retry: Retry,
        /// When the object wants to be looked at again all the same (R12b).
        retrigger_at_ms: Option<u64>,
    },
    /// It gave up because it was told to, or because the process ends.
    Cancelled,
}

/// When a failed run is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// After a pause that grows with every failure.
    Backoff,
    /// At this time.
    AtMs(u64),
    /// When something changes: a person must act.
    OnChange,
}
