//! Holds the engine, the hooks and the collector to their rules while they run.
//!
//! It knows three things: the store's log, which calls of hooks begin and end, and what the engine says it does. What
//! refers to what is read from the log alone; a ref counts when it has stood for longer than a client needs to hear
//! of it. While nothing goes wrong that is a moment, otherwise minutes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use landform_engine::{Phase, Reason, RunId, RunResult, TraceEntry, TraceEvent};
use parking_lot::Mutex;
use serde_json::Value;

use super::Kind;
use super::causes::Causes;
use super::waiting::{Bounds, Deletes, Queued};
use crate::clock::SimClock;
use crate::fault::Faults;
use crate::log::{CALM_HEARING, Log, Seen};
use crate::process::Surroundings;
use crate::trace::Trace;

/// R12b: an object rests at least this long between two calls that nothing but a time brought.
pub(super) const FLOOR: Duration = Duration::from_millis(100);
/// An answer is known to the engine within this time: a command's pipes may be open until its last process ends.
const HEARD_OF: Duration = Duration::from_secs(1);
/// A command answers in the moment in which it ends, before or after the oracle looks.
const ANSWERED: Duration = Duration::from_millis(5);
/// After a definition was changed, kinds are found again within this time.
const DEFINITIONS_SETTLE: Duration = Duration::from_secs(45);

/// The kinds that refer to each other.
const KINDS: [&str; 2] = [Kind::Parcel.name(), Kind::Crate.name()];

/// Breaches that begin with one of these, separated by commas, are passed over: to look for others behind a defect
/// that is known and not mended yet.
const PAST: &str = "LANDFORM_SIM_PAST";

fn passed_over(breach: &str) -> bool {
    static RULES: OnceLock<Vec<String>> = OnceLock::new();
    let rules = RULES.get_or_init(|| {
        let given = std::env::var(PAST).unwrap_or_default();
        let rules = given.split(',').filter(|rule| !rule.is_empty());
        rules.map(str::to_owned).collect()
    });
    rules.iter().any(|rule| breach.starts_with(rule.as_str()))
}

/// Watches one simulation. Clones share what they know.
#[derive(Clone)]
pub(super) struct Oracle {
    inner: Arc<Mutex<Inner>>,
    clock: SimClock,
    trace: Trace,
    faults: Faults,
    who: Arc<str>,
}

pub(super) struct Inner {
    pub(super) log: Log,
    pub(super) bounds: Bounds,
    reviewed_at: Duration,
    pub(super) calls: BTreeMap<u64, Call>,
    calls_begun: u64,
    /// When the last call of an object ended, and whether it was brought by a time.
    ended: BTreeMap<String, (Duration, bool)>,
    /// When the last answer asks to be called again, until its run has returned.
    asked: BTreeMap<String, Option<Duration>>,
    /// When objects must be called again.
    due: BTreeMap<String, Duration>,
    /// When they may be called again as well.
    perhaps_due: BTreeMap<String, Duration>,
    /// The last call of each object.
    latest: BTreeMap<String, u64>,
    pub(super) deletes: Deletes,
    pub(super) queued: BTreeMap<Subject, Queued>,
    pub(super) runs: BTreeMap<RunId, Run>,
    causes: Causes,
    broken: Option<String>,
}

/// A call that goes on.
pub(super) struct Call {
    pub(super) uid: String,
    name: String,
    /// What it referred to when it began, directly or not.
    pub(super) above: BTreeSet<String>,
    hangs: bool,
    deleting: bool,
    /// Whether nothing but a time that was asked for brought it.
    retriggered: bool,
    /// Of a command: when the last of its processes has ended, in nanoseconds.
    gone_at: Option<Arc<AtomicU64>>,
}

impl Call {
    pub(super) fn goes_on(&self, now: Duration) -> bool {
        let gone_at = self.gone_at.as_ref();
        gone_at.is_none_or(|at| now < Duration::from_nanos(at.load(Ordering::SeqCst)))
    }
}

/// Whose run: kind, namespace, name.
pub(super) type Subject = (String, String, String);

pub(super) struct Run {
    pub(super) subject: Subject,
    pub(super) since: Duration,
    phase: Phase,
    cancelled: bool,
}

impl Oracle {
    pub(super) fn new(around: &Surroundings, bounds: Bounds) -> Self {
        let inner = Inner {
            log: Log::new(&around.disk, &KINDS),
            bounds,
            reviewed_at: Duration::ZERO,
            calls: BTreeMap::new(),
            calls_begun: 0,
            ended: BTreeMap::new(),
            asked: BTreeMap::new(),
            due: BTreeMap::new(),
            perhaps_due: BTreeMap::new(),
            latest: BTreeMap::new(),
            deletes: Deletes::default(),
            queued: BTreeMap::new(),
            runs: BTreeMap::new(),
            causes: Causes::default(),
            broken: None,
        };
        Self {
            inner: Arc::new(Mutex::new(inner)),
            clock: around.clock.clone(),
            trace: around.trace.clone(),
            faults: around.faults.clone(),
            who: "engine".into(),
        }
    }

    /// How many calls there have been.
    pub(super) fn calls(&self) -> u64 {
        self.inner.lock().calls_begun
    }

    /// The first rule that was broken.
    pub(super) fn check(&self) -> Result<(), String> {
        let mut inner = self.inner.lock();
        inner.review(&self.clock);
        if let Some(what) = inner.causes.too_many(self.faults.struck()) {
            inner.break_rule(what);
        }
        inner.broken.clone().map_or(Ok(()), Err)
    }

    /// A rule that a client saw broken.
    pub(super) fn break_rule(&self, what: String) {
        self.inner.lock().break_rule(what);
    }

    /// At rest nothing runs.
    pub(super) fn nothing_runs(&self) -> Result<(), String> {
        let inner = self.inner.lock();
        let names: Vec<&Subject> = inner.runs.values().map(|run| &run.subject).collect();
        if names.is_empty() && inner.calls.is_empty() {
            Ok(())
        } else {
            Err(format!("at rest, but these never returned: {names:?}"))
        }
    }

    /// The process is over, and with it all runs, and all calls but those of commands.
    pub(super) fn forget(&self) {
        let mut inner = self.inner.lock();
        // Commands are processes of their own.
        inner.calls.retain(|_, call| call.gone_at.is_some());
        inner.asked.clear();
        inner.queued.clear();
        inner.causes.forget();
        inner.runs.clear();
    }

    /// The objects of a kind that aren't marked: namespace and name.
    pub(super) fn living(&self, kind: Kind) -> Vec<(String, String)> {
        let mut inner = self.inner.lock();
        inner.log.follow(self.clock.elapsed());
        let living = inner
            .log
            .of(kind.name())
            .filter(|(_, seen)| seen.marked.is_none());
        living
            .map(|(_, seen)| (seen.namespace.clone(), seen.name.clone()))
            .collect()
    }

    /// People ask for a run.
    pub(super) fn asked_for(&self, subject: &Subject) {
        let mut inner = self.inner.lock();
        inner.review(&self.clock);
        if let Some(uid) = inner.uid(subject) {
            inner.causes.asked_for(&uid, self.clock.elapsed());
        }
    }

    /// Whether the hook is called for the first time to delete an object.
    pub(super) fn is_first_delete(&self, uid: &str) -> bool {
        !self.inner.lock().deletes.was_called(uid)
    }

    /// A hook is called that is a URL.
    pub(super) fn call_begins(&self, request: &Value, hangs: bool) -> u64 {
        self.begins(request, hangs, None)
    }

    /// A hook is called that is a command. The call ends with the last of its processes.
    pub(super) fn command_begins(&self, request: &Value, gone_at: Arc<AtomicU64>) -> u64 {
        self.begins(request, false, Some(gone_at))
    }

    fn begins(&self, request: &Value, hangs: bool, gone_at: Option<Arc<AtomicU64>>) -> u64 {
        let mut inner = self.inner.lock();
        inner.review(&self.clock);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let metadata = &request["object"]["metadata"];
        let call = Call {
            uid: text(&metadata["uid"]),
            name: text(&metadata["name"]),
            above: BTreeSet::new(),
            hangs,
            deleting: request["deleting"] == true,
            retriggered: request["reason"] == "retrigger",
            gone_at,
        };
        let what = format!("call of {} begins: {}", call.name, text(&request["reason"]));
        self.trace.note(&self.who, what);
        inner.begin(call, self.clock.elapsed())
    }

    /// The hook has done its work, whether its client still waits or not. Nothing is answered when it has failed.
    pub(super) fn call_answers(&self, id: u64, answer: &Value) {
        let now = self.clock.elapsed();
        let mut inner = self.inner.lock();
        // A call of a process that is over doesn't count.
        let Some(call) = inner.calls.get(&id) else {
            return;
        };
        let (uid, deleting, end) = (call.uid.clone(), call.deleting, (now, call.retriggered));
        self.trace
            .note(&self.who, format!("call of {} ends", call.name));
        // A call that was given up long ago, and others have followed.
        if inner.latest.get(&uid) != Some(&id) {
            return;
        }
        inner.ended.insert(uid.clone(), end);
        if answer.is_null() {
            return;
        }
        if deleting {
            inner.deletes.over(&uid);
        }
        let after = answer["retriggerAfter"].as_u64().map(Duration::from_secs);
        let at = after.map(|after| now + after.max(FLOOR));
        inner.asked.insert(uid, at);
    }

    /// Nothing of a call of a URL goes on.
    pub(super) fn call_ends(&self, id: u64) {
        self.inner.lock().calls.remove(&id);
    }

    /// The engine tells what it does.
    pub(super) fn hears(&self, entry: &TraceEntry) {
        let key = &entry.key;
        let kind = key.kind.kind.as_str();
        if Kind::named(kind).is_none() && kind != "Reconciler" {
            return;
        }
        let subject = (
            kind.to_owned(),
            key.namespace.to_string(),
            key.name.to_string(),
        );
        let what = format!("{}/{} {}", key.namespace, key.name, entry.event);
        self.trace.note(&self.who, what);
        let mut inner = self.inner.lock();
        inner.review(&self.clock);
        inner.hear(subject, &entry.event, self.clock.elapsed());
    }
}

impl Inner {
    fn hear(&mut self, subject: Subject, event: &TraceEvent, now: Duration) {
        match event {
            TraceEvent::Queued(_) => {
                self.queued.entry(subject).or_insert(Queued::new(now));
            }
            TraceEvent::Started { run, phase, reason } => {
                self.queued.remove(&subject);
                if self.is_wasted(&subject, *reason, now) {
                    self.causes.waste();
                    if self.bounds.hearing == CALM_HEARING {
                        let what = format!("R2: {subject:?} runs without a cause: {reason}");
                        self.break_rule(what);
                    }
                }
                self.start(*run, subject, *phase, now);
            }
            TraceEvent::Cancelled { run, .. } | TraceEvent::Stuck(run) => {
                if let Some(run) = self.runs.get_mut(run) {
                    run.cancelled = true;
                }
            }
            TraceEvent::Finished { run, result, .. } => {
                let phase = self.runs.remove(run).map(|run| run.phase);
                self.finish(&subject, phase, result, now);
            }
            TraceEvent::Gone | TraceEvent::Cyclic(_) => {
                self.queued.remove(&subject);
            }
            TraceEvent::CycleBroken => {}
        }
    }

    /// R2: whether a run begins without a cause, while kinds neither come nor go.
    fn is_wasted(&mut self, subject: &Subject, reason: Reason, now: Duration) -> bool {
        let Some(uid) = self.uid(subject) else {
            return false;
        };
        let times = [self.due.get(&uid), self.perhaps_due.get(&uid)];
        let due = times.into_iter().flatten().min().copied();
        let falls_due = |due: &Duration| *due <= now + FLOOR;
        if reason == Reason::Retrigger && !self.due.get(&uid).is_some_and(falls_due) {
            // It brings one run.
            self.perhaps_due.remove(&uid);
        }
        let caused = self.causes.run_begins(&self.log, &uid, reason, due, now);
        !caused && !self.unsettled(now)
    }

    fn break_rule(&mut self, what: String) {
        if !passed_over(&what) {
            self.broken.get_or_insert(what);
        }
    }

    /// R9b and the floor of R12b.
    fn begin(&mut self, mut call: Call, now: Duration) -> u64 {
        let until = now.saturating_sub(self.bounds.hearing);
        call.above = self.log.reached_from(&call.uid, until);
        if call.deleting {
            self.deletes.called(&call.uid, now);
        }
        let name = &call.name;
        let others = self.calls.values().filter(|other| other.goes_on(now));
        let mut others = others.filter(|other| !other.hangs);
        // What a call had referred to when it began doesn't run beside it, whether it still refers to that or not.
        let overlapping = others.find(|other| {
            other.uid == call.uid
                || call.above.contains(&other.uid)
                || other.above.contains(&call.uid)
                || self.refers_now(other, &call.uid, until)
        });
        let mut broken = overlapping.map(|other| {
            let same = if other.uid == call.uid {
                "the same object"
            } else {
                "a relative"
            };
            let other = &other.name;
            format!("R9b: {name} is called while a call of {other}, {same}, has not ended")
        });
        // A time that is past is honoured at once, but not twice in a row.
        let early = |(ended, again): &(Duration, bool)| *again && now < *ended + FLOOR;
        if call.retriggered && self.ended.get(&call.uid).is_some_and(early) {
            broken = broken.or(Some(format!("R12b: {name} is called again at once")));
        }
        self.keep_time(&call, now);
        if let Some(what) = broken {
            self.break_rule(what);
        }
        self.calls_begun += 1;
        self.latest.insert(call.uid.clone(), self.calls_begun);
        self.calls.insert(self.calls_begun, call);
        self.calls_begun
    }

    /// Whether a call is the one that was asked for. A time that is past is honoured at once, before the floor that the
    /// next one has. One that falls due while a run goes on brings another run, whenever that run makes its call.
    fn keep_time(&mut self, call: &Call, now: Duration) {
        let Some(due) = self.due.get(&call.uid).copied() else {
            return;
        };
        let mut runs = self.runs.values().filter(|run| !run.cancelled);
        let run = runs.find(|run| self.uid(&run.subject).as_ref() == Some(&call.uid));
        let began = run.map_or(now, |run| run.since);
        if !call.retriggered && began < due {
            return;
        }
        self.due.remove(&call.uid);
        // The engine hears of an answer after it was given, so its time may be later than the start of this run.
        if !call.retriggered && began < due + HEARD_OF {
            self.perhaps_due.insert(call.uid.clone(), due);
        }
    }

    /// Whether the object of a call refers to another one by now. Under another name it is another one to the machine.
    fn refers_now(&self, call: &Call, to: &str, until: Duration) -> bool {
        let seen = self.log.objects.get(&call.uid);
        seen.is_some_and(|seen| seen.name == call.name)
            && self.log.reached_from(&call.uid, until).contains(to)
    }

    /// R3, and R8 for the kinds that it holds for in the whole namespace.
    fn start(&mut self, id: RunId, subject: Subject, phase: Phase, now: Duration) {
        if self.runs.values().any(|run| run.subject == subject) {
            self.break_rule(format!("R3: {subject:?} runs twice at once"));
        }
        if subject.0 == Kind::Parcel.name() && phase == Phase::Ordinary && !self.unsettled(now) {
            let earlier = self.certain_deletes(&subject.1, now);
            let earlier = earlier.map(|earlier| earlier.name.clone());
            if let Some(earlier) = earlier {
                self.break_rule(format!(
                    "R8: {subject:?} runs before the delete of {earlier}"
                ));
            }
        }
        let run = Run {
            subject,
            since: now,
            phase,
            cancelled: false,
        };
        self.runs.insert(id, run);
    }

    /// R12b: a time that was asked for counts, whatever else was said with it.
    fn finish(
        &mut self,
        subject: &Subject,
        phase: Option<Phase>,
        result: &RunResult,
        now: Duration,
    ) {
        let Some(uid) = self.uid(subject) else { return };
        self.causes.run_ends(&uid, result);
        match result {
            // A run that failed before its object was marked has not tried to delete it.
            RunResult::Failed(_) if phase == Some(Phase::Delete) => self.deletes.over(&uid),
            RunResult::Cancelled => self.deletes.cut_short(&uid),
            RunResult::Failed(_) | RunResult::Succeeded | RunResult::Waiting(_) => {}
        }
        if let Some(kind) = Kind::named(&subject.0) {
            let named = (kind.name(), subject.1.clone(), subject.2.clone());
            self.log.moved.insert(named, now);
        }
        let asked = self.asked.remove(&uid);
        if let Some(Some(at)) = asked {
            // A run that is cancelled in its last moment may have written its time down.
            let times = match result {
                RunResult::Cancelled => &mut self.perhaps_due,
                _ => &mut self.due,
            };
            if let Some(before) = times.insert(uid.clone(), at)
                && before <= now
            {
                // It fell due while this run went on, and brings another one.
                self.perhaps_due.insert(uid, before);
            }
        }
    }

    pub(super) fn uid(&self, (kind, namespace, name): &Subject) -> Option<String> {
        let kind = Kind::named(kind)?.name();
        self.log.find(kind, namespace, name).cloned()
    }

    /// Whether kinds come and go, so that nothing is certain.
    pub(super) fn unsettled(&self, now: Duration) -> bool {
        let changed = self.log.definitions_changed;
        self.log.unserved || changed.is_some_and(|changed| now < changed + DEFINITIONS_SETTLE)
    }

    /// What must hold whenever time has moved.
    fn review(&mut self, clock: &SimClock) {
        let now = clock.elapsed();
        if now == self.reviewed_at {
            return;
        }
        self.reviewed_at = now;
        self.calls
            .retain(|_, call| call.goes_on(now.saturating_sub(ANSWERED)));
        self.log.follow(now);
        self.note_owned(now);
        let found = self.log.broken.take().filter(|what| !passed_over(what));
        let found = found.or_else(|| self.pairs_are_apart(now));
        let found = found.or_else(|| self.times_are_kept(now, clock));
        let found = found.or_else(|| self.runs_end(now));
        let found = found.or_else(|| self.waiting_has_a_reason(now));
        if let Some(what) = found {
            self.break_rule(what);
        }
    }

    /// R4: no two uncancelled runs on one path.
    fn pairs_are_apart(&self, now: Duration) -> Option<String> {
        let until = now.saturating_sub(self.bounds.hearing);
        let live = self.runs.values().filter(|run| !run.cancelled);
        let live: Vec<String> = live.filter_map(|run| self.uid(&run.subject)).collect();
        if live.len() < 2 {
            return None;
        }
        live.iter().find_map(|one| {
            let above = self.log.reached_from(one, until);
            let other = live
                .iter()
                .find(|other| *other != one && above.contains(*other))?;
            let name = |uid: &String| self.log.objects.get(uid).map(|seen| seen.name.clone());
            let (one, other) = (name(one)?, name(other)?);
            Some(format!(
                "R4: {one} runs together with {other}, which it refers to"
            ))
        })
    }

    /// R12b: who asked to be called again is.
    fn times_are_kept(&mut self, now: Duration, clock: &SimClock) -> Option<String> {
        let objects = &self.log.objects;
        self.due.retain(|uid, _| objects.contains_key(uid));
        if self.unsettled(now) || !clock.behind().is_zero() {
            return None;
        }
        // Nobody is called while kinds come and go.
        let settled = self.log.definitions_changed.unwrap_or_default();
        let late = |uid: &String, at: Duration| {
            let lives = |seen: &Seen| seen.marked.is_none();
            now > at.max(settled) + self.bounds.retrigger && objects.get(uid).is_some_and(lives)
        };
        let (uid, at) = self.due.iter().find(|(uid, at)| late(uid, **at))?;
        let name = &objects.get(uid)?.name;
        Some(format!(
            "R12b: {name} was to be called again at {at:?}, and was not"
        ))
    }

    /// What others did to owned objects brings runs; what an object's run does to them doesn't.
    fn note_owned(&mut self, now: Duration) {
        for moved in std::mem::take(&mut self.log.owned) {
            let mut running = self.runs.values().filter_map(|run| self.uid(&run.subject));
            if moved.by_others || !running.any(|uid| uid == moved.owner) {
                self.causes.owned_moved(moved.owner, now);
            }
        }
    }
}
