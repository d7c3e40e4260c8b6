//! Which runs are under way, and which wait because enough of their kind are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use landform_api::GroupKind;
use landform_schedule::RunId;
use tokio::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

use crate::key::Key;
use crate::run::Run;

/// This many runs of a kind may be under way however many of other kinds are.
const RESERVED: usize = 16;

/// A run, from the machine's command to its return.
pub(crate) struct Flight {
    pub(crate) key: Key,
    uid: Option<Arc<str>>,
    pub(crate) cancellation: CancellationToken,
    /// When it was begun, by the time of day; none while it waits for its turn.
    pub(crate) since_ms: Option<u64>,
    pub(crate) stuck: bool,
    /// It has this long to return when it is cancelled (R9).
    patience: Duration,
    overdue_at: Option<Instant>,
}

pub(crate) struct Runs {
    limit: usize,
    flights: BTreeMap<RunId, Flight>,
    /// The runs by the uids of their objects, which stay when names change.
    by_uid: BTreeMap<Arc<str>, RunId>,
    begun: usize,
    kinds: BTreeMap<Arc<GroupKind>, OfKind>,
    overdue: BTreeSet<(Instant, RunId)>,
    stuck: usize,
}

#[derive(Default)]
struct OfKind {
    begun: usize,
    /// In the order in which the machine commanded them.
    waiting: BTreeMap<RunId, Run>,
}

impl Runs {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            flights: BTreeMap::new(),
            by_uid: BTreeMap::new(),
            begun: 0,
            kinds: BTreeMap::new(),
            overdue: BTreeSet::new(),
            stuck: 0,
        }
    }

    pub(crate) fn get(&self, run: RunId) -> Option<&Flight> {
        self.flights.get(&run)
    }

    /// The name under which a run of the object with this uid was begun and has not returned.
    pub(crate) fn name_in(&self, uid: &str) -> Option<&Key> {
        let run = self.by_uid.get(uid)?;
        self.flights.get(run).map(|flight| &flight.key)
    }

    /// So many are under way, wait for their turn, ignore their cancellation.
    pub(crate) fn counts(&self) -> (usize, usize, usize) {
        let waiting = self.flights.len() - self.begun - self.stuck;
        (self.begun, waiting, self.stuck)
    }

    pub(crate) fn add(&mut self, run: Run) {
        if let Some(uid) = &run.uid {
            self.by_uid.insert(uid.clone(), run.id);
        }
        let flight = Flight {
            key: run.key.clone(),
            uid: run.uid.clone(),
            cancellation: run.cancellation.clone(),
            since_ms: None,
            stuck: false,
            patience: run.reconciler.patience(),
            overdue_at: None,
        };
        self.flights.insert(run.id, flight);
        let of_kind = self.kinds.entry(run.key.kind.clone()).or_default();
        of_kind.waiting.insert(run.id, run);
    }

    /// The runs whose turn it is. Kinds take turns, so that a long queue of one doesn't hold up another.
    pub(crate) fn next(&mut self, now_ms: u64) -> Vec<Run> {
        let mut next = Vec::new();
        loop {
            let before = next.len();
            for of_kind in self.kinds.values_mut() {
                let Some(run) = of_kind.waiting.first_entry() else {
                    continue;
                };
                // A run that ignores its cancellation takes no place away from others (R9), and one kind
                // whose runs take long takes none of the last places of another.
                let full = self.begun >= self.limit && of_kind.begun >= RESERVED;
                if full || of_kind.begun >= run.get().reconciler.limit().max(1) {
                    continue;
                }
                let run = run.remove();
                of_kind.begun += 1;
                self.begun += 1;
                if let Some(flight) = self.flights.get_mut(&run.id) {
                    flight.since_ms = Some(now_ms);
                }
                next.push(run);
            }
            if next.len() == before {
                return next;
            }
        }
    }

    /// Tells a run to return. Says whether it hadn't begun, and so has returned by that.
    pub(crate) fn cancel(&mut self, id: RunId, now: Instant) -> bool {
        let Some(flight) = self.flights.get_mut(&id) else {
            return false;
        };
        flight.cancellation.cancel();
        if flight.since_ms.is_some() {
            let at = now + flight.patience;
            flight.overdue_at = Some(at);
            self.overdue.insert((at, id));
            return false;
        }
        if let Some(of_kind) = self.kinds.get_mut(&flight.key.kind) {
            of_kind.waiting.remove(&id);
        }
        true
    }

    /// A run has returned.
    pub(crate) fn remove(&mut self, id: RunId) -> Option<Flight> {
        let flight = self.flights.remove(&id)?;
        if let Some(uid) = &flight.uid
            && self.by_uid.get(uid) == Some(&id)
        {
            self.by_uid.remove(uid);
        }
        if let Some(at) = flight.overdue_at {
            self.overdue.remove(&(at, id));
        }
        if flight.stuck {
            self.stuck -= 1;
        } else if flight.since_ms.is_some() {
            self.give_place_back(&flight.key.kind.clone());
        }
        Some(flight)
    }

    fn give_place_back(&mut self, kind: &Arc<GroupKind>) {
        self.begun -= 1;
        if let Some(of_kind) = self.kinds.get_mut(kind) {
            of_kind.begun -= 1;
            if of_kind.begun == 0 && of_kind.waiting.is_empty() {
                self.kinds.remove(kind);
            }
        }
    }

    pub(crate) fn next_overdue(&self) -> Option<Instant> {
        self.overdue.first().map(|(at, _)| *at)
    }

    /// Runs that ignore their cancellation for too long, told once each.
    pub(crate) fn take_overdue(&mut self, now: Instant) -> Vec<RunId> {
        let mut overdue = Vec::new();
        while self.next_overdue().is_some_and(|at| at <= now)
            && let Some((_, id)) = self.overdue.pop_first()
        {
            let Some(flight) = self.flights.get_mut(&id) else {
                continue;
            };
            flight.stuck = true;
            let kind = flight.key.kind.clone();
            self.stuck += 1;
            self.give_place_back(&kind);
            overdue.push(id);
        }
        overdue
    }

    /// Tells all to return: the process ends.
    pub(crate) fn cancel_all(&self) {
        for flight in self.flights.values() {
            flight.cancellation.cancel();
        }
    }
}
