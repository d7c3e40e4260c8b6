//! How much history is kept: enough for watches to resume, never without bound.
//!
//! The decision is made here from plain values; the writer of each backend carries it out, a
//! bounded step after each batch, so that no commit waits for a big clean-up.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::state::State;
use crate::{Event, Revision};

/// When the oldest history is dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryLimits {
    /// So many events are kept whatever their age, unless a hard limit is reached.
    pub keep_events: usize,
    /// So old must an event be to be dropped, unless a hard limit is reached.
    pub keep_for: Duration,
    /// Never more events than this (after the batch that crossed it is cleaned up).
    pub max_events: usize,
    /// Never more bytes of superseded values than this, as above.
    pub max_superseded_bytes: u64,
}

impl Default for HistoryLimits {
    fn default() -> Self {
        Self {
            keep_events: 10_000,
            keep_for: Duration::from_secs(5 * 60),
            max_events: 200_000,
            max_superseded_bytes: 64 << 20,
        }
    }
}

/// At least so many events may be dropped in one step, even if few were written.
const SMALLEST_STEP: usize = 256;

/// Marks are set this far apart: the age of an event is known this exactly.
const BETWEEN_MARKS: Duration = Duration::from_secs(1);

/// Decides what to drop, and remembers when revisions were written.
pub(crate) struct History {
    limits: HistoryLimits,
    /// Which revision was the newest when, oldest first; bounded by `keep_for / BETWEEN_MARKS`.
    marks: VecDeque<(Instant, Revision)>,
    /// Revisions up to this one are older than `keep_for`.
    aged: Revision,
    /// Revisions up to this one were asked to go.
    asked: Revision,
}

impl History {
    pub(crate) fn new(limits: HistoryLimits) -> Self {
        Self {
            limits,
            marks: VecDeque::new(),
            aged: Revision::ZERO,
            asked: Revision::ZERO,
        }
    }

    pub(crate) fn limits(&self) -> &HistoryLimits {
        &self.limits
    }

    /// Asks for the history up to a revision to be dropped, step by step.
    pub(crate) fn ask(&mut self, before: Revision) {
        self.asked = self.asked.max(before);
    }

    /// Revisions up to this one are old enough to go.
    pub(crate) fn aged(&self) -> Revision {
        self.aged
    }

    /// Whether something that was asked for is still to be dropped.
    pub(crate) fn is_behind(&self, state: &State) -> bool {
        self.asked > state.compacted
    }

    /// Drops what the limits say: at most about twice what was just written, so that the cost
    /// follows the writes. Returns the dropped events.
    pub(crate) fn step(
        &mut self,
        state: &mut State,
        written: usize,
        now: Instant,
    ) -> Vec<Arc<Event>> {
        self.mark(state.revision, now);
        let budget = SMALLEST_STEP.max(2 * written);
        let mut dropped = Vec::new();
        while dropped.len() < budget && self.oldest_must_go(state) {
            dropped.append(&mut state.drop_oldest());
        }
        // What was asked for may lie between two events, or beyond the last one.
        if state
            .oldest_revision()
            .is_none_or(|oldest| oldest > self.asked)
        {
            state.compacted = state.compacted.max(self.asked.min(state.revision));
        }
        dropped
    }

    fn oldest_must_go(&self, state: &State) -> bool {
        state.oldest_revision().is_some_and(|oldest| {
            let events = state.log.len();
            oldest <= self.asked
                || events > self.limits.max_events
                || state.superseded_bytes > self.limits.max_superseded_bytes
                || (events > self.limits.keep_events && oldest <= self.aged)
        })
    }

    fn mark(&mut self, newest: Revision, now: Instant) {
        while let Some((_, revision)) = self
            .marks
            .pop_front_if(|(at, _)| now.duration_since(*at) >= self.limits.keep_for)
        {
            self.aged = revision;
        }
        let due = self
            .marks
            .back()
            .is_none_or(|(at, _)| now.duration_since(*at) >= BETWEEN_MARKS);
        if due {
            self.marks.push_back((now, newest));
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::{Bucket, Compare, Key, Op, Txn};

    const LIMITS: HistoryLimits = HistoryLimits {
        keep_events: 10,
        keep_for: Duration::from_secs(60),
        max_events: 100,
        max_superseded_bytes: 1_000,
    };

    /// Writes one key again and again at given seconds, and returns how many events are kept.
    fn kept(writes: impl IntoIterator<Item = (u64, usize)>) -> usize {
        let (mut state, mut history) = (State::default(), History::new(LIMITS));
        let start = Instant::now();
        for (second, bytes) in writes {
            let key = Key::new(&Bucket::new("pods"), "a");
            let value = Op::Put(Bytes::from(vec![0; bytes]));
            state.apply(&Txn::one(key, Compare::Any, value));
            history.step(&mut state, 1, start + Duration::from_secs(second));
            let newest = state.revision.0;
            assert_eq!(state.compacted.0 + state.log.len() as u64, newest, "a gap");
        }
        state.log.len()
    }

    #[test]
    fn history_is_kept_by_count_age_and_size() {
        let table = [
            (
                "few and old: kept",
                kept((0..10).map(|turn| (turn * 100, 1))),
                10,
            ),
            ("many and young: kept", kept((0..50).map(|_| (0, 1))), 50),
            (
                "many and old: the old ones go",
                kept((0..50).map(|turn| (turn * 10, 1))),
                10,
            ),
            (
                "too many, though young",
                kept((0..150).map(|_| (0, 1))),
                100,
            ),
            // A value counts once it is superseded: the newest one is no history.
            (
                "too large, though young",
                kept((0..20).map(|_| (0, 200))),
                5,
            ),
        ];
        for (what, found, expected) in table {
            assert_eq!(found, expected, "{what}");
        }
    }

    #[test]
    fn a_big_clean_up_is_done_in_steps() {
        let mut state = State::default();
        for turn in 0..1_000 {
            let key = Key::new(&Bucket::new("pods"), &turn.to_string());
            state.apply(&Txn::one(key, Compare::Any, Op::Put(Bytes::new())));
        }
        let mut history = History::new(HistoryLimits::default());
        history.ask(Revision(900));
        let mut steps = 0;
        while history.is_behind(&state) {
            let dropped = history.step(&mut state, 0, Instant::now());
            assert!(dropped.len() <= SMALLEST_STEP);
            steps += 1;
        }
        assert_eq!(steps, 900_usize.div_ceil(SMALLEST_STEP));
        assert_eq!(state.compacted, Revision(900));
    }
}
