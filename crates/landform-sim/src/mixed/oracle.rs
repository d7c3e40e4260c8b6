//! Holds the engine, the hooks and the collector to their rules while they run.
//!
//! It knows three things: the store's log, which calls of hooks begin and end, and what the engine says it does. What
//! refers to what is read from the log alone; a ref counts when it has stood for longer than a client needs to hear
//! of it. While nothing goes wrong that is a moment, otherwise minutes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use landform_engine::{Phase, Reason, RunId, RunResult, TraceEntry, TraceEvent};
use parking_lot::Mutex;
use serde_json::Value;

use super::Kind;
use super::log::{Log, Seen};
use crate::clock::SimClock;
use crate::disk::Disk;
use crate::trace::Trace;

/// R12b: an object rests at least this long between two calls that nothing but a time brought.
const FLOOR: Duration = Duration::from_millis(100);
/// After a definition was changed, kinds are found again within this time.
const DEFINITIONS_SETTLE: Duration = Duration::from_secs(45);

/// On a calm day a write is heard of within this time.
const CALM_HEARING: Duration = Duration::from_secs(1);

/// How long things may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// To hear of a write.
    pub(super) hearing: Duration,
    /// To begin a run that nothing stands in the way of.
    pub(super) waiting: Duration,
    /// To be called again after the time that was asked for.
    pub(super) retrigger: Duration,
}

impl Bounds {
    /// While nothing goes wrong.
    pub(super) const CALM: Self = Self {
        hearing: CALM_HEARING,
        waiting: Duration::from_secs(3),
        retrigger: Duration::from_secs(60),
    };
    /// While everything does.
    pub(super) const DISTURBED: Self = Self {
        hearing: Duration::from_secs(90),
        waiting: Duration::from_secs(240),
        retrigger: Duration::from_secs(900),
    };
}

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
    who: Arc<str>,
}

struct Inner {
    log: Log,
    bounds: Bounds,
    reviewed_at: Duration,
    calls: BTreeMap<u64, Call>,
    calls_begun: u64,
    /// When the last call of an object ended, and whether it was brought by a time.
    ended: BTreeMap<String, (Duration, bool)>,
    /// When the last answer asks to be called again, until its run has returned.
    asked: BTreeMap<String, Option<Duration>>,
    /// When objects must be called again.
    due: BTreeMap<String, Duration>,
    /// Deletes that the hook has done its part of.
    finalized: BTreeSet<String>,
    queued: BTreeMap<Subject, Queued>,
    runs: BTreeMap<RunId, Run>,
    /// The last run of each object.
    last: BTreeMap<String, LastRun>,
    broken: Option<String>,
}

/// A run that has begun.
struct LastRun {
    at: Duration,
    generation: u64,
    cancelled: bool,
}

/// A call that goes on.
struct Call {
    uid: String,
    name: String,
    hangs: bool,
    deleting: bool,
    /// Whether nothing but a time that was asked for brought it.
    retriggered: bool,
}

/// Whose run: kind, namespace, name.
type Subject = (String, String, String);

struct Queued {
    since: Duration,
    /// Since when nothing was seen that it could wait for.
    unhindered: Option<Duration>,
}

struct Run {
    subject: Subject,
    cancelled: bool,
}

impl Oracle {
    pub(super) fn new(disk: &Disk, clock: SimClock, trace: Trace, bounds: Bounds) -> Self {
        let inner = Inner {
            log: Log::new(disk),
            bounds,
            reviewed_at: Duration::ZERO,
            calls: BTreeMap::new(),
            calls_begun: 0,
            ended: BTreeMap::new(),
            asked: BTreeMap::new(),
            due: BTreeMap::new(),
            finalized: BTreeSet::new(),
            queued: BTreeMap::new(),
            runs: BTreeMap::new(),
            last: BTreeMap::new(),
            broken: None,
        };
        Self {
            inner: Arc::new(Mutex::new(inner)),
            clock,
            trace,
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

    /// The process is over, and with it all runs and calls.
    pub(super) fn forget(&self) {
        let mut inner = self.inner.lock();
        inner.calls.clear();
        inner.asked.clear();
        inner.queued.clear();
        inner.last.clear();
        inner.runs.clear();
    }

    /// The objects of a kind that aren't marked: namespace and name.
    pub(super) fn living(&self, kind: Kind) -> Vec<(String, String)> {
        let mut inner = self.inner.lock();
        inner.log.follow(self.clock.elapsed());
        let living = inner.log.of(kind).filter(|(_, seen)| seen.marked.is_none());
        living
            .map(|(_, seen)| (seen.namespace.clone(), seen.name.clone()))
            .collect()
    }

    /// A hook is called.
    pub(super) fn call_begins(&self, request: &Value, hangs: bool) -> u64 {
        let mut inner = self.inner.lock();
        inner.review(&self.clock);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let metadata = &request["object"]["metadata"];
        let call = Call {
            uid: text(&metadata["uid"]),
            name: text(&metadata["name"]),
            hangs,
            deleting: request["deleting"] == true,
            retriggered: request["reason"] == "retrigger",
        };
        let what = format!("call of {} begins: {}", call.name, text(&request["reason"]));
        self.trace.note(&self.who, what);
        inner.begin(call, self.clock.elapsed())
    }

    /// The hook has done its work, whether its client still waits or not.
    pub(super) fn call_ends(&self, id: u64, answer: &Value) {
        let now = self.clock.elapsed();
        let mut inner = self.inner.lock();
        // A call of a process that is over doesn't count.
        let Some(call) = inner.calls.remove(&id) else {
            return;
        };
        self.trace
            .note(&self.who, format!("call of {} ends", call.name));
        let end = (now, call.retriggered);
        inner.ended.insert(call.uid.clone(), end);
        if answer.is_null() {
            return;
        }
        if call.deleting {
            inner.finalized.insert(call.uid.clone());
        }
        let after = answer["retriggerAfter"].as_u64().map(Duration::from_secs);
        let at = after.map(|after| now + after.max(FLOOR));
        inner.asked.insert(call.uid, at);
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
                self.queued.entry(subject).or_insert(Queued {
                    since: now,
                    unhindered: None,
                });
            }
            TraceEvent::Started { run, phase, reason } => {
                self.queued.remove(&subject);
                if let Some(what) = self.without_cause(&subject, *reason, now) {
                    self.break_rule(what);
                }
                self.start(*run, subject, *phase, now);
            }
            TraceEvent::Cancelled { run, .. } | TraceEvent::Stuck(run) => {
                if let Some(run) = self.runs.get_mut(run) {
                    run.cancelled = true;
                }
            }
            TraceEvent::Finished { run, result, .. } => {
                self.runs.remove(run);
                self.finish(&subject, result, now);
            }
            TraceEvent::Gone | TraceEvent::Cyclic(_) => {
                self.queued.remove(&subject);
            }
            TraceEvent::CycleBroken => {}
        }
    }

    fn break_rule(&mut self, what: String) {
        if !passed_over(&what) {
            self.broken.get_or_insert(what);
        }
    }

    /// R9b and the floor of R12b.
    fn begin(&mut self, call: Call, now: Duration) -> u64 {
        let (until, name) = (now.saturating_sub(self.bounds.hearing), &call.name);
        let mut others = self.calls.values().filter(|other| !other.hangs);
        let overlapping = others
            .find(|other| other.uid == call.uid || self.log.related(&call.uid, &other.uid, until));
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
        if self.due.get(&call.uid).is_some_and(|due| *due <= now) {
            self.due.remove(&call.uid);
        }
        if let Some(what) = broken {
            self.break_rule(what);
        }
        self.calls_begun += 1;
        self.calls.insert(self.calls_begun, call);
        self.calls_begun
    }

    /// R3, and R8 for the kinds that it holds for in the whole namespace.
    fn start(&mut self, id: RunId, subject: Subject, phase: Phase, now: Duration) {
        if self.runs.values().any(|run| run.subject == subject) {
            self.break_rule(format!("R3: {subject:?} runs twice at once"));
        }
        let until = now.saturating_sub(self.bounds.hearing);
        let late = |seen: &&Seen| seen.marked.is_some_and(|marked| marked <= until);
        if subject.0 == Kind::Parcel.name() && phase == Phase::Ordinary && !self.unsettled(now) {
            let earlier = self
                .unfinished_deletes(Kind::Parcel, &subject.1)
                .find(late)
                .map(|earlier| earlier.name.clone());
            if let Some(earlier) = earlier {
                self.break_rule(format!(
                    "R8: {subject:?} runs before the delete of {earlier}"
                ));
            }
        }
        let run = Run {
            subject,
            cancelled: false,
        };
        self.runs.insert(id, run);
    }

    /// R12b: a time that was asked for counts, whatever else was said with it.
    fn finish(&mut self, subject: &Subject, result: &RunResult, now: Duration) {
        let Some(uid) = self.uid(subject) else { return };
        if let Some(last) = self.last.get_mut(&uid) {
            last.cancelled = *result == RunResult::Cancelled;
        }
        if let Some(kind) = Kind::named(&subject.0) {
            let named = (kind, subject.1.clone(), subject.2.clone());
            self.log.moved.insert(named, now);
        }
        let asked = self.asked.remove(&uid);
        if let Some(Some(at)) = asked
            && *result != RunResult::Cancelled
        {
            self.due.insert(uid, at);
        }
    }

    /// R2: on a calm day no run begins without a cause: a change of the spec, a ref that ran, came or went.
    /// Other reasons have other causes, which aren't looked for.
    fn without_cause(
        &mut self,
        subject: &Subject,
        reason: Reason,
        now: Duration,
    ) -> Option<String> {
        let uid = self.uid(subject)?;
        let seen = self.log.objects.get(&uid)?;
        let (kind, namespace) = (seen.kind?, &seen.namespace);
        let this = LastRun {
            at: now,
            generation: seen.generation,
            cancelled: false,
        };
        let moved = |name: &String, since: Duration| {
            let moved = self.log.moved.get(&(kind, namespace.clone(), name.clone()));
            moved.is_some_and(|moved| *moved >= since)
        };
        let last = self.last.get(&uid).filter(|last| !last.cancelled);
        let caused = match (reason, last) {
            (Reason::Changed, Some(last)) => seen.generation > last.generation,
            (Reason::Ref, Some(last)) => seen.refs.iter().any(|name| moved(name, last.at)),
            _ => true,
        };
        let excused = caused || self.bounds.hearing > CALM_HEARING || self.unsettled(now);
        let what = format!("R2: {subject:?} runs without a cause: {reason}");
        self.last.insert(uid, this);
        (!excused).then_some(what)
    }

    fn uid(&self, (kind, namespace, name): &Subject) -> Option<String> {
        let found = self.log.find(Kind::named(kind)?, namespace, name);
        found.map(|(uid, _)| uid.clone())
    }

    /// The marked objects of a kind whose hook has not done its part.
    fn unfinished_deletes(&self, kind: Kind, namespace: &str) -> impl Iterator<Item = &Seen> {
        let all = self.log.of(kind);
        all.filter(move |(uid, seen)| {
            seen.namespace == namespace && seen.marked.is_some() && !self.finalized.contains(*uid)
        })
        .map(|(_, seen)| seen)
    }

    /// Whether kinds come and go, so that nothing is certain.
    fn unsettled(&self, now: Duration) -> bool {
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
        self.log.follow(now);
        let found = self.log.broken.take().filter(|what| !passed_over(what));
        let found = found.or_else(|| self.pairs_are_apart(now));
        let found = found.or_else(|| self.times_are_kept(now, clock));
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
        self.due.retain(|uid, _| {
            let seen = objects.get(uid);
            seen.is_some_and(|seen| seen.marked.is_none())
        });
        if self.unsettled(now) || !clock.behind().is_zero() {
            return None;
        }
        let late = |at: Duration| now > at + self.bounds.retrigger;
        let (uid, at) = self.due.iter().find(|(_, at)| late(**at))?;
        let name = &objects.get(uid)?.name;
        Some(format!(
            "R12b: {name} was to be called again at {at:?}, and was not"
        ))
    }

    /// R8b: who must run waits only for what it is related to.
    fn waiting_has_a_reason(&mut self, now: Duration) -> Option<String> {
        let bounds = self.bounds;
        let waiting = self.queued.iter();
        let waiting = waiting.filter(|(_, queued)| now > queued.since + bounds.waiting);
        let hindered: Vec<(Subject, bool)> = waiting
            .map(|(subject, _)| (subject.clone(), self.is_hindered(subject, now)))
            .collect();
        for (subject, hindered) in hindered {
            let queued = self.queued.get_mut(&subject)?;
            if hindered {
                queued.unhindered = None;
                continue;
            }
            let since = *queued.unhindered.get_or_insert(now);
            if now > since + bounds.waiting {
                let waited = (now - queued.since).as_secs();
                return Some(format!(
                    "R8b: {subject:?} has waited for {waited} s, and nothing related to it is under way"
                ));
            }
        }
        None
    }

    /// Whether there is anything that a run may wait for.
    fn is_hindered(&self, subject: &Subject, now: Duration) -> bool {
        let (kind, namespace, _) = subject;
        if self.unsettled(now) {
            return true;
        }
        let Some(kind) = Kind::named(kind) else {
            // Reconcilers run one after the other, and wait for nothing else.
            let others = self.runs.values().filter(|run| run.subject.0 == *kind);
            return others.count() > 0;
        };
        let Some(uid) = self.uid(subject) else {
            return true;
        };
        let is_strict = kind == Kind::Parcel;
        let renames = || {
            let mut all = self.log.of(kind);
            all.any(|(_, seen)| seen.namespace == *namespace && seen.renamed)
        };
        if is_strict && (self.unfinished_deletes(kind, namespace).next().is_some() || renames()) {
            return true;
        }
        // A ref that is new may bind already: here the newest state counts as well.
        let related = |other: &String| *other == uid || self.log.related(&uid, other, now);
        let busy = self.runs.values().map(|run| &run.subject);
        let busy = busy.chain(self.queued.keys().filter(|other| *other != subject));
        let mut busy = busy.filter_map(|subject| self.uid(subject));
        let mut calls = self.calls.values();
        let mut marked = self.log.of(kind).filter(|(_, seen)| seen.marked.is_some());
        busy.any(|other| related(&other))
            || calls.any(|call| related(&call.uid))
            || marked.any(|(other, _)| related(other))
    }
}
