//! The last things that happened, for people and for tests (R13).

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use landform_schedule::{Phase, Reason, RunId};

use crate::key::Key;

/// Something that happened to an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceEntry {
    /// When: milliseconds since 1970.
    pub at_ms: u64,
    /// The object.
    pub key: Key,
    /// What.
    pub event: TraceEvent,
}

/// What can happen to an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceEvent {
    /// It must run.
    Queued(Reason),
    /// It runs.
    Started {
        /// The run.
        run: RunId,
        /// Why.
        reason: Reason,
        /// A delete, a rename or an ordinary run.
        phase: Phase,
    },
    /// Its run was told to return.
    Cancelled {
        /// The run.
        run: RunId,
        /// By whom.
        by: String,
    },
    /// Its run has returned.
    Finished {
        /// The run.
        run: RunId,
        /// How.
        result: RunResult,
        /// After so long.
        took_ms: u64,
    },
    /// Its cancelled run doesn't return.
    Stuck(RunId),
    /// It is part of a cycle of references, which is this one.
    Cyclic(Arc<str>),
    /// It is part of a cycle no more.
    CycleBroken,
    /// It doesn't exist any more.
    Gone,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunResult {
    /// Without an error.
    Succeeded,
    /// Without an error, and it waits for this.
    Waiting(String),
    /// With this error.
    Failed(Arc<str>),
    /// Because it was told to.
    Cancelled,
}

impl RunResult {
    /// One word for it, as in metrics.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Waiting(_) => "waiting",
            Self::Failed(_) => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for TraceEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Queued(reason) => write!(f, "queued: {reason}"),
            Self::Started { run, reason, phase } => match phase {
                Phase::Ordinary => write!(f, "started run {run}: {reason}"),
                Phase::Delete => write!(f, "started run {run} of its delete: {reason}"),
                Phase::Rename => write!(f, "started run {run} of its rename: {reason}"),
            },
            Self::Cancelled { run, by } => write!(f, "cancelled run {run}: {by}"),
            Self::Finished {
                run,
                result,
                took_ms,
            } => {
                write!(
                    f,
                    "finished run {run} after {took_ms} ms: {}",
                    result.word()
                )?;
                match result {
                    RunResult::Waiting(what) => write!(f, " for {what}"),
                    RunResult::Failed(error) => write!(f, ": {error}"),
                    RunResult::Succeeded | RunResult::Cancelled => Ok(()),
                }
            }
            Self::Stuck(run) => write!(f, "run {run} ignores that it was cancelled"),
            Self::Cyclic(path) => write!(f, "in a cycle: {path}"),
            Self::CycleBroken => f.write_str("in a cycle no more"),
            Self::Gone => f.write_str("is gone"),
        }
    }
}

/// Is told everything at the moment it happens.
pub type Observer = Arc<dyn Fn(&TraceEntry) + Send + Sync>;

/// The last entries.
pub(crate) struct Trace {
    entries: VecDeque<TraceEntry>,
    keep: usize,
    observer: Option<Observer>,
}

impl Trace {
    pub(crate) fn new(keep: usize, observer: Option<Observer>) -> Self {
        Self {
            entries: VecDeque::new(),
            keep,
            observer,
        }
    }

    pub(crate) fn add(&mut self, entry: TraceEntry) {
        if let Some(observer) = &self.observer {
            observer(&entry);
        }
        if self.entries.len() >= self.keep {
            self.entries.pop_front();
        }
        self.entries.push_back(entry);
    }

    /// Newest first.
    pub(crate) fn newest(&self) -> impl Iterator<Item = &TraceEntry> {
        self.entries.iter().rev()
    }
}
