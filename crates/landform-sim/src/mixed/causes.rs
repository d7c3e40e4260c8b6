//! R2: every run has a cause of which the run before it could not know.
//!
//! Between two runs of an object all causes count once. So where every run has a cause, and no cause is lost (the end
//! of a scenario tells that), there are exactly as many runs as R2 asks for.

use std::collections::BTreeMap;
use std::time::Duration;

use landform_engine::{Reason, RunResult};

use super::oracle::FLOOR;
use crate::log::{Log, Seen};

/// Runs of a disturbed simulation that may be without a cause, for each fault that struck: a write whose answer was
/// lost is not known for an own one, and brings a run of the object and of those below it.
const WASTED_PER_FAULT: u64 = 2;

/// What brought runs, besides what the log shows of the objects themselves.
#[derive(Default)]
pub(super) struct Causes {
    /// The last run of each object in this process.
    last: BTreeMap<String, LastRun>,
    /// When people last asked for a run.
    asked: BTreeMap<String, Duration>,
    /// When others last changed something that an object owns.
    owned: BTreeMap<String, Duration>,
    /// The number of runs without a cause.
    wasted: u64,
}

struct LastRun {
    at: Duration,
    generation: u64,
    ended: Ended,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// It goes on under a former name, or gave up: another one follows (R9).
    Early,
    Failed,
    Well,
}

impl Causes {
    pub(super) fn asked_for(&mut self, uid: &str, now: Duration) {
        self.asked.insert(uid.to_owned(), now);
    }

    /// Something that an object owns came, changed or went, and its own run has not done that.
    pub(super) fn owned_moved(&mut self, owner: String, now: Duration) {
        self.owned.insert(owner, now);
    }

    pub(super) fn run_ends(&mut self, uid: &str, result: &RunResult) {
        if let Some(last) = self.last.get_mut(uid) {
            last.ended = match result {
                RunResult::Cancelled => Ended::Early,
                RunResult::Failed(_) => Ended::Failed,
                RunResult::Succeeded | RunResult::Waiting(_) => Ended::Well,
            };
        }
    }

    /// The process is over; in the next one everything runs once.
    pub(super) fn forget(&mut self) {
        self.last.clear();
    }

    /// Whether a run that begins has a cause. `due` is when it has asked to be called again.
    pub(super) fn run_begins(
        &mut self,
        log: &Log,
        uid: &str,
        reason: Reason,
        due: Option<Duration>,
        now: Duration,
    ) -> bool {
        let Some(seen) = log.objects.get(uid) else {
            return true;
        };
        let this = LastRun {
            at: now,
            generation: seen.generation,
            ended: Ended::Early,
        };
        let last = self.last.insert(uid.to_owned(), this);
        let last = last.filter(|last| last.ended != Ended::Early);
        last.is_none_or(|last| self.caused(log, (uid, seen), reason, due, &last, now))
    }

    fn caused(
        &self,
        log: &Log,
        (uid, seen): (&str, &Seen),
        reason: Reason,
        due: Option<Duration>,
        last: &LastRun,
        now: Duration,
    ) -> bool {
        let since = |at: Option<&Duration>| at.is_some_and(|at| *at >= last.at);
        let moved = |name: &String| {
            let named = seen
                .kind
                .map(|kind| (kind, seen.namespace.clone(), name.clone()));
            since(named.and_then(|named| log.moved.get(&named)))
        };
        let kind = seen.kind.unwrap_or_default();
        let appeared = || {
            since(Some(&seen.created))
                || since(log.reconcilers_changed.get(kind))
                || since(log.definitions_changed.as_ref())
        };
        match reason {
            Reason::Marked => since(seen.marked.as_ref()),
            // A rename that isn't done is told again when the object appears.
            Reason::Renamed => since(Some(&seen.named)) || seen.renamed && appeared(),
            Reason::Appeared => appeared(),
            Reason::Changed => seen.generation > last.generation,
            Reason::Asked => since(self.asked.get(uid)),
            Reason::Ref => seen.refs.iter().any(moved),
            Reason::Related => since(self.owned.get(uid)),
            // A time that is past is honoured at once, without the floor.
            Reason::Retrigger => due.is_some_and(|due| due <= now + FLOOR),
            Reason::Retry => last.ended == Ended::Failed,
            // Refs lead to smaller names only; and a run that gave up has ended early.
            Reason::CycleBroken | Reason::GaveUp => false,
        }
    }

    /// A run without a cause.
    pub(super) fn waste(&mut self) {
        self.wasted += 1;
    }

    /// Too many runs without a cause, for this many faults.
    pub(super) fn too_many(&self, faults: u64) -> Option<String> {
        let most = WASTED_PER_FAULT * faults;
        let wasted = self.wasted;
        (wasted > most).then(|| format!("R2: {wasted} runs without a cause, with {faults} faults"))
    }
}
