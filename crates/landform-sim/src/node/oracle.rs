//! Holds the engine to its rules while it runs: R3, R4, R7 and R8, computed naively by walking.
//!
//! It knows the store's log, and from the engine's trace what the machine decides. A ref counts when it has stood for
//! longer than a client needs to hear of it: on a calm day that is a moment, otherwise minutes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use landform_engine::{Phase, Reason, RunId, RunResult, TraceEntry, TraceEvent};
use parking_lot::Mutex;

use crate::clock::SimClock;
use crate::log::Log;
use crate::process::Surroundings;
use crate::trace::Trace;

/// Watches the engine of one simulation. Clones share what they know.
#[derive(Clone)]
pub struct Oracle {
    inner: Arc<Mutex<Inner>>,
    clock: SimClock,
    trace: Trace,
    who: Arc<str>,
}

struct Inner {
    log: Log,
    /// A write is heard of within this time.
    hearing: Duration,
    runs: BTreeMap<RunId, Run>,
    /// Those whose last delete or rename was tried to its end: further runs of it hold back no others (R8b).
    tried: BTreeSet<String>,
    /// When something was last heard: whatever changes later is another step of the machine.
    heard_at: Duration,
    started: u64,
    broken: Option<String>,
    story: Vec<String>,
}

struct Run {
    name: String,
    phase: Phase,
    /// Told to return; what it still does holds up nobody but its own object.
    cancelled: bool,
}

impl Oracle {
    /// An oracle of what is about to happen, when a write is heard of within this time.
    #[must_use]
    pub fn new(around: &Surroundings, hearing: Duration) -> Self {
        let inner = Inner {
            log: Log::new(&around.disk, &["Node"]),
            hearing,
            runs: BTreeMap::new(),
            tried: BTreeSet::new(),
            heard_at: Duration::ZERO,
            started: 0,
            broken: None,
            story: Vec::new(),
        };
        Self {
            inner: Arc::new(Mutex::new(inner)),
            clock: around.clock.clone(),
            trace: around.trace.clone(),
            who: "engine".into(),
        }
    }

    /// How many runs there have been.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.inner.lock().started
    }

    /// The first rule that was broken.
    ///
    /// # Errors
    /// If there is one.
    pub fn check(&self) -> Result<(), String> {
        self.inner.lock().broken.clone().map_or(Ok(()), Err)
    }

    /// What happened since this was last asked.
    #[must_use]
    pub fn story(&self) -> Vec<String> {
        std::mem::take(&mut self.inner.lock().story)
    }

    /// At rest nothing runs.
    ///
    /// # Errors
    /// The runs that are still there.
    pub fn nothing_runs(&self) -> Result<(), String> {
        let inner = self.inner.lock();
        let names: Vec<_> = inner.runs.values().map(|run| run.name.as_str()).collect();
        if names.is_empty() {
            Ok(())
        } else {
            Err(format!("at rest, but these never returned: {names:?}"))
        }
    }

    /// The process is over, and with it all runs.
    pub(super) fn forget(&self) {
        let mut inner = self.inner.lock();
        inner.runs.clear();
        inner.tried.clear();
    }

    /// The engine tells what it does.
    pub(super) fn hears(&self, entry: &TraceEntry) {
        if entry.key.kind.kind != "Node" {
            return;
        }
        let name = entry.key.name.to_string();
        self.trace
            .note(&self.who, format!("{name} {}", entry.event));
        let mut inner = self.inner.lock();
        inner.hear(&self.clock);
        inner.story.extend(in_short(&name, &entry.event));
        match &entry.event {
            TraceEvent::Started { run, phase, .. } => inner.start(*run, name, *phase),
            TraceEvent::Cancelled { run, .. } | TraceEvent::Stuck(run) => {
                if let Some(run) = inner.runs.get_mut(run) {
                    run.cancelled = true;
                }
            }
            TraceEvent::Finished { run, result, .. } => {
                inner.runs.remove(run);
                if *result != RunResult::Cancelled {
                    inner.tried.insert(name);
                }
            }
            TraceEvent::Queued(Reason::Marked | Reason::Renamed) => {
                inner.tried.remove(&name);
            }
            TraceEvent::Queued(_)
            | TraceEvent::Gone
            | TraceEvent::Cyclic(_)
            | TraceEvent::CycleBroken => {}
        }
    }
}

impl Inner {
    /// Time has moved since the last step: whatever that step left behind must be in order.
    fn hear(&mut self, clock: &SimClock) {
        let now = clock.elapsed();
        if now > self.heard_at {
            self.heard_at = now;
            self.log.follow(now);
            self.pairs_are_apart();
        }
    }

    fn start(&mut self, id: RunId, name: String, phase: Phase) {
        self.started += 1;
        if self.runs.values().any(|run| run.name == name) {
            self.break_rule(format!("R3: {name} runs twice at once"));
        }
        if self.reached_from(&name).contains(&name) {
            self.break_rule(format!("R7: {name} runs though it is on a cycle"));
        }
        let below = self.runs.values().map(|run| run.name.clone());
        let below: Vec<String> = below.filter(|run| *run != name).collect();
        if let Some(run) = below
            .iter()
            .find(|run| self.reached_from(run).contains(&name))
        {
            self.break_rule(format!(
                "R6: {name} runs before {run}, which refers to it, has returned"
            ));
        }
        let early = self
            .runs
            .values()
            .find(|run| !run.cancelled && run.phase < phase && !self.tried.contains(&run.name));
        if let Some(earlier) = early {
            let what = format!("R8: {name} runs while {} has not finished", earlier.name);
            self.break_rule(what);
        }
        let run = Run {
            name,
            phase,
            cancelled: false,
        };
        self.runs.insert(id, run);
    }

    /// R4: no two uncancelled runs on one path.
    fn pairs_are_apart(&mut self) {
        let live: Vec<&str> = self
            .runs
            .values()
            .filter(|run| !run.cancelled)
            .map(|run| run.name.as_str())
            .collect();
        if live.len() < 2 {
            return;
        }
        let mut found = None;
        for name in &live {
            let above = self.reached_from(name);
            let related = live
                .iter()
                .find(|other| *other != name && above.contains(**other));
            if let Some(other) = related {
                found = Some(format!(
                    "R4: {name} runs together with {other}, which it refers to"
                ));
            }
        }
        if let Some(what) = found {
            self.break_rule(what);
        }
    }

    /// The names of everything that a node refers to, directly or not; its own when it is on a cycle.
    fn reached_from(&self, name: &str) -> BTreeSet<String> {
        let Some(uid) = self.log.find("Node", "default", name) else {
            return BTreeSet::new();
        };
        let until = self.heard_at.saturating_sub(self.hearing);
        let reached = self.log.reached_from(uid, until).into_iter();
        let objects = &self.log.objects;
        reached
            .filter_map(|uid| objects.get(&uid).map(|seen| seen.name.clone()))
            .collect()
    }

    fn break_rule(&mut self, what: String) {
        self.broken.get_or_insert(what);
    }
}

/// What people want to read of an event: what runs, why, and how it ends.
fn in_short(name: &str, event: &TraceEvent) -> Option<String> {
    Some(match event {
        TraceEvent::Started { reason, phase, .. } => match phase {
            Phase::Ordinary => format!("{name} runs: {reason}"),
            Phase::Delete => format!("{name} runs its delete: {reason}"),
            Phase::Rename => format!("{name} runs its rename: {reason}"),
        },
        TraceEvent::Finished { result, .. } => match result {
            RunResult::Succeeded | RunResult::Cancelled => format!("{name} {}", result.word()),
            RunResult::Waiting(what) => format!("{name} waits for {what}"),
            RunResult::Failed(error) => format!("{name} failed: {error}"),
        },
        TraceEvent::Cancelled { by, .. } => {
            let by = by.replace("Node.sim.landform.dev default/", "");
            format!("{name} is told to return: {by}")
        }
        TraceEvent::Stuck(_) => format!("{name} ignores that it was told to return"),
        TraceEvent::Cyclic(path) => {
            let path = path.replace("Node.sim.landform.dev default/", "");
            format!("{name} is in a cycle: {path}")
        }
        TraceEvent::CycleBroken => format!("{name} is in a cycle no more"),
        TraceEvent::Gone => format!("{name} is gone"),
        TraceEvent::Queued(_) => return None,
    })
}
