//! The work queue: each object once, and a backoff for each by itself.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use landform_graph::NodeId;
use tokio::time::Instant;

/// The first retry comes after this time, each further one after twice the time before.
const FIRST_RETRY: Duration = Duration::from_millis(50);
const LONGEST_RETRY: Duration = Duration::from_secs(60);
/// So many tries in a row may fail by conflicts alone before that is called a failure.
const CONFLICTS: u32 = 6;

/// How work on an object ended.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Nothing more until something changes.
    Settled,
    /// Somebody else was faster: what was decided is out of date.
    Outdated(String),
    /// It didn't work; a later try may.
    Failed(String),
}

/// Where an object stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Queued,
    InFlight,
    /// Something changed while it was worked on.
    InFlightAgain,
    Later(Instant),
    /// Not in the queue; kept for its failures.
    Idle,
}

#[derive(Debug)]
struct Entry {
    phase: Phase,
    ticket: u64,
    tries: u32,
    failure: Option<String>,
}

/// Proof that somebody works on an object; another one's is of no use for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket(u64);

/// Objects to look at.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    ready: VecDeque<NodeId>,
    entries: HashMap<NodeId, Entry>,
    later: BTreeSet<(Instant, NodeId)>,
    next_ticket: u64,
    in_flight: usize,
}

impl Queue {
    /// Puts an object in the queue, unless it is there.
    pub(crate) fn push(&mut self, node: NodeId) {
        let entry = self.entries.entry(node).or_insert(Entry {
            phase: Phase::Idle,
            ticket: 0,
            tries: 0,
            failure: None,
        });
        match entry.phase {
            Phase::Queued | Phase::InFlightAgain => {}
            Phase::InFlight => entry.phase = Phase::InFlightAgain,
            Phase::Idle | Phase::Later(_) => {
                if let Phase::Later(at) = entry.phase {
                    self.later.remove(&(at, node));
                }
                entry.phase = Phase::Queued;
                self.ready.push_back(node);
            }
        }
    }

    /// As [`Queue::push`], except for what failed and waits for its next try.
    pub(crate) fn push_unless_waiting(&mut self, node: NodeId) {
        let waits = |entry: &Entry| matches!(entry.phase, Phase::Later(_));
        if !self.entries.get(&node).is_some_and(waits) {
            self.push(node);
        }
    }

    /// Takes the next object out to be worked on.
    pub(crate) fn pop(&mut self) -> Option<(NodeId, Ticket)> {
        loop {
            let node = self.ready.pop_front()?;
            // It may have been forgotten since, or stand here twice after that.
            if let Some(entry) = self.entries.get_mut(&node)
                && entry.phase == Phase::Queued
            {
                self.next_ticket += 1;
                entry.phase = Phase::InFlight;
                entry.ticket = self.next_ticket;
                self.in_flight += 1;
                return Some((node, Ticket(self.next_ticket)));
            }
        }
    }

    /// Ends the work on an object.
    pub(crate) fn done(&mut self, node: NodeId, ticket: Ticket, outcome: Outcome, now: Instant) {
        self.in_flight = self.in_flight.saturating_sub(1);
        let Some(entry) = self.entries.get_mut(&node) else {
            return;
        };
        if entry.ticket != ticket.0 {
            return;
        }
        let again = entry.phase == Phase::InFlightAgain;
        let (failure, wait) = match outcome {
            Outcome::Settled => {
                entry.tries = 0;
                (None, false)
            }
            Outcome::Outdated(why) => {
                entry.tries += 1;
                ((entry.tries > CONFLICTS).then_some(why), !again)
            }
            Outcome::Failed(why) => {
                entry.tries += 1;
                (Some(why), true)
            }
        };
        entry.failure = failure;
        entry.phase = Phase::Idle;
        if wait {
            let wait = FIRST_RETRY.saturating_mul(1 << (entry.tries - 1).min(16));
            let at = now + wait.min(LONGEST_RETRY);
            entry.phase = Phase::Later(at);
            self.later.insert((at, node));
        } else if again {
            self.push(node);
        } else {
            self.entries.remove(&node);
        }
    }

    /// Forgets an object that is gone.
    pub(crate) fn forget(&mut self, node: NodeId) {
        if let Some(entry) = self.entries.remove(&node)
            && let Phase::Later(at) = entry.phase
        {
            self.later.remove(&(at, node));
        }
    }

    /// Queues what has waited long enough; returns when the next one will have.
    pub(crate) fn wake(&mut self, now: Instant) -> Option<Instant> {
        while let Some((at, node)) = self.later.first().copied() {
            if at > now {
                return Some(at);
            }
            self.push(node);
        }
        None
    }

    /// Why the work on an object failed the last time.
    pub(crate) fn failure(&self, node: NodeId) -> Option<&str> {
        let entry = self.entries.get(&node)?;
        entry.failure.as_deref()
    }

    /// What failed the last time, and why.
    pub(crate) fn failures(&self) -> impl Iterator<Item = (NodeId, &str)> {
        let entries = self.entries.iter();
        entries.filter_map(|(node, entry)| Some((*node, entry.failure.as_deref()?)))
    }

    /// How many objects wait to be looked at.
    pub(crate) fn len(&self) -> usize {
        self.ready.len() + self.later.len()
    }

    /// How many are worked on.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Whether nothing is to be looked at now and nothing is worked on.
    pub(crate) fn is_quiet(&self) -> bool {
        self.ready.is_empty() && self.in_flight == 0
    }
}
