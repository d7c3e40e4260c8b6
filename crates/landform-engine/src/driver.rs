//! The one task that owns the machine: takes messages in, lets the machine step, carries out its commands.
//!
//! `intake.rs` turns what sources see into the machine's events; here is everything else.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kube::Client;
use landform_api::{GroupKind, GroupVersionKind};
use landform_schedule::{Answer, Command, Event, Outcome, Reason, Report, Retry, RunId, Scheduler};
use tokio::sync::{mpsc, watch};
use tokio::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use crate::clock::Clock;
use crate::cycle;
use crate::echoes::Echoes;
use crate::intake::Parked;
use crate::key::Key;
use crate::kinds::Kind;
use crate::large::LargeRuns;
use crate::message::{Inbox, Message, WriteTarget, Written};
use crate::metrics::Metrics;
use crate::provisions::Provisions;
use crate::reconciler::Reconciler;
use crate::recorder::Recorder;
use crate::resources::Resources;
use crate::run::{Returned, Run};
use crate::runs::Runs;
use crate::timers::Timers;
use crate::trace::{RunResult, Trace, TraceEntry, TraceEvent};

/// So many messages at most are one step of the machine.
const MESSAGES_PER_STEP: usize = 1024;
/// Objects that have this many references together are one step, too, and other tasks have their turn after it.
const REFS_PER_STEP: usize = 10_000;
/// Timers are compared with the clock at least this often, because a clock may be set.
const CLOCK_CHECK: Duration = Duration::from_secs(30);

/// The driver, and all that it knows.
pub(crate) struct Driver {
    pub(crate) machine: Scheduler<Key>,
    pub(crate) client: Client,
    pub(crate) writers_noted: bool,
    /// The seconds that a watch lasts, if not as long as usual.
    pub(crate) watch_s: Option<u32>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) inbox: Inbox,
    pub(crate) recorder: Recorder,
    pub(crate) metrics: Metrics,
    pub(crate) resources: Resources,
    pub(crate) kinds: BTreeMap<GroupKind, Kind>,
    pub(crate) kinds_changed: watch::Sender<u64>,
    /// Objects that wait until the kinds that they need are known.
    pub(crate) parked: BTreeMap<Key, Parked>,
    /// Nothing starts before every kind was listed once or can't be: deletes go first (R8).
    pub(crate) gathering: bool,
    pub(crate) runs: Runs,
    pub(crate) large: LargeRuns,
    pub(crate) timers: Timers,
    pub(crate) provisions: Provisions,
    pub(crate) echoes: Echoes,
    pub(crate) trace: Trace,
    /// What objects' last runs said that they wait for.
    pub(crate) waiting_for: BTreeMap<Key, String>,
    /// Cycles that are being written into the status of their members.
    pub(crate) cycle_reports: BTreeMap<Key, cycle::Reporting>,
    /// Objects whose runs have returned in this step.
    pub(crate) ended: Vec<Key>,
    /// Objects that were listed and need no run at the start. Forgotten as soon as anything changes.
    pub(crate) idle: BTreeSet<Key>,
    /// Objects whose end under a former name was seen, by the name under which they follow: the name that the
    /// machine knows.
    pub(crate) leaving: BTreeMap<Key, Key>,
    /// How many references the objects have that were seen in this step.
    pub(crate) refs_taken_in: usize,
    /// What the machine will be told in this step.
    pub(crate) events: Vec<Event<Key>>,
    pub(crate) stopping: CancellationToken,
}

impl Driver {
    /// Drives the machine until the engine is stopped and all runs have returned.
    pub(crate) async fn drive(mut self, mut messages: mpsc::UnboundedReceiver<Message>) {
        let mut arrived = Vec::with_capacity(MESSAGES_PER_STEP);
        let mut commands = Vec::new();
        loop {
            let stopping = self.stopping.is_cancelled();
            if stopping && self.runs.counts().0 == 0 {
                return;
            }
            let wake = self.wake_at();
            tokio::select! {
                biased;
                () = self.stopping.cancelled(), if !stopping => self.runs.cancel_all(),
                _ = messages.recv_many(&mut arrived, MESSAGES_PER_STEP) => {}
                () = sleep_until(wake) => {}
            }
            for message in arrived.drain(..) {
                self.take_in(message);
                if self.refs_taken_in >= REFS_PER_STEP {
                    self.step(&mut commands);
                    // The requests of clients are answered by the same threads.
                    tokio::task::yield_now().await;
                }
            }
            self.step(&mut commands);
        }
    }

    /// Tells the machine what has come in, and does what it commands.
    fn step(&mut self, commands: &mut Vec<Command<Key>>) {
        self.refs_taken_in = 0;
        self.count_kinds();
        self.take_times();
        self.tell_provisions();
        self.machine.step(self.events.drain(..), commands);
        for command in commands.drain(..) {
            self.carry_out(command);
        }
        self.tell_cycles_again();
        self.begin_runs();
    }

    fn wake_at(&self) -> Option<Instant> {
        let now = Instant::now();
        let timer = self.timers.next_ms().map(|at_ms| {
            let wait = Duration::from_millis(at_ms.saturating_sub(self.clock.now_ms()));
            now + wait.min(CLOCK_CHECK)
        });
        [timer, self.runs.next_overdue()]
            .into_iter()
            .flatten()
            .min()
    }

    fn take_in(&mut self, message: Message) {
        match message {
            Message::Source { kind, epoch, event } => self.source_event(&kind, epoch, event),
            Message::WriteBegan { run, target } => self.write_began(run, target),
            Message::WriteEnded {
                run,
                target,
                written,
            } => self.write_ended(run, target, written),
            Message::Returned { run, returned } => self.returned(run, returned),
            Message::Asked(key) => self.events.push(Event::Asked { key }),
            Message::Visit(visit) => visit(self),
        }
    }

    fn write_began(&mut self, run: RunId, target: WriteTarget) {
        let Some(flight) = self.runs.get(run) else {
            return;
        };
        match target {
            WriteTarget::Own => self.events.push(Event::WriteBegan { run }),
            WriteTarget::Other => self.echoes.write_began(&flight.key),
        }
    }

    fn write_ended(&mut self, run: RunId, target: WriteTarget, written: Option<Written>) {
        let Some(flight) = self.runs.get(run) else {
            return;
        };
        match target {
            WriteTarget::Own => {
                let answer = match written {
                    None => Answer::Nothing,
                    Some(Written { version, .. }) => {
                        version.map_or(Answer::Deleted, Answer::Version)
                    }
                };
                self.events.push(Event::WriteEnded { run, answer });
            }
            WriteTarget::Other => {
                let key = flight.key.clone();
                // Only what a watch will show is worth remembering.
                let written = written.filter(|written| self.leads(&written.kind, &key.kind));
                let written = written.and_then(|written| Some((written.kind, written.version?)));
                if self.echoes.write_ended(&key, written) {
                    self.events.push(Event::Related { key });
                }
            }
        }
    }

    /// Whether objects of one kind lead to objects of the other.
    fn leads(&self, from: &GroupKind, to: &GroupKind) -> bool {
        let leads = self.kinds.get(from).map(|kind| &kind.leads);
        leads.is_some_and(|leads| leads.iter().any(|(kind, _)| **kind == *to))
    }

    fn returned(&mut self, run: RunId, returned: Returned) {
        let Some(flight) = self.runs.remove(run) else {
            return;
        };
        let now_ms = self.clock.now_ms();
        let result = result_of(&returned, flight.cancellation.is_cancelled());
        let took_ms = now_ms.saturating_sub(flight.since_ms.unwrap_or(now_ms));
        let kind = &flight.key.kind.kind;
        if flight.since_ms.is_some() {
            let labels = [kind.as_str(), result.word()];
            self.metrics.runs.with_label_values(&labels).inc();
            let seconds = Duration::from_millis(took_ms).as_secs_f64();
            self.metrics
                .seconds
                .with_label_values(&[kind])
                .observe(seconds);
        }
        match &returned.waiting_for {
            Some(what) => {
                self.waiting_for.insert(flight.key.clone(), what.clone());
            }
            None => {
                self.waiting_for.remove(&flight.key);
            }
        }
        self.ended.push(flight.key.clone());
        self.note(
            flight.key,
            TraceEvent::Finished {
                run,
                result,
                took_ms,
            },
        );
        self.events.push(Event::Finished {
            run,
            outcome: returned.outcome,
            now_ms,
        });
    }

    /// Timers whose time has come, and runs that ignore their cancellation.
    fn take_times(&mut self) {
        for (key, at_ms) in self.timers.take_due(self.clock.now_ms()) {
            self.events.push(Event::TimeReached { key, at_ms });
        }
        for run in self.runs.take_overdue(Instant::now()) {
            self.events.push(Event::Overdue { run });
        }
    }

    fn carry_out(&mut self, command: Command<Key>) {
        match command {
            Command::Start {
                run,
                key,
                reason,
                phase,
                former_name,
            } => {
                let started = TraceEvent::Started { run, reason, phase };
                self.note(key.clone(), started);
                if reason == Reason::Appeared && self.idle.remove(&key) {
                    return self.finish_idle(run, key);
                }
                let former_name = former_name.map(|former| former.name.to_string());
                let Some((reconciler, resource)) = self.served(&key.kind) else {
                    return self.put_off(run);
                };
                let known = self.kinds.get(&*key.kind);
                let known = known.and_then(|kind| kind.objects.get(&key));
                self.runs.add(Run {
                    id: run,
                    uid: known.and_then(|known| known.uid.clone()),
                    cycle_report: self.cycle_reports.remove(&key),
                    key,
                    reason,
                    phase,
                    former_name,
                    reconciler,
                    resource,
                    resources: self.resources.clone(),
                    client: self.client.clone(),
                    writers_noted: self.writers_noted,
                    inbox: self.inbox.clone(),
                    clock: self.clock.clone(),
                    recorder: self.recorder.clone(),
                    large: self.large.clone(),
                    cancellation: CancellationToken::new(),
                });
            }
            Command::Cancel { run, key, cause } => {
                let by = cause.to_string();
                self.metrics
                    .cancelled
                    .with_label_values(&[&key.kind.kind])
                    .inc();
                self.note(key, TraceEvent::Cancelled { run, by });
                if self.runs.cancel(run, Instant::now()) {
                    let returned = Returned::cancelled();
                    self.inbox.put(Message::Returned { run, returned });
                }
            }
            Command::SetTimer { key, at_ms } => self.timers.set(key, at_ms),
            Command::ClearTimer { key } => self.timers.clear(&key),
            Command::Report { key, report } => self.report(key, report),
        }
    }

    /// The run of an object that needs none.
    fn finish_idle(&mut self, run: RunId, key: Key) {
        if self.events.is_empty() {
            self.look_again();
        }
        let result = RunResult::Succeeded;
        let labels = [key.kind.kind.as_str(), result.word()];
        self.metrics.runs.with_label_values(&labels).inc();
        let took_ms = 0;
        self.note(
            key,
            TraceEvent::Finished {
                run,
                result,
                took_ms,
            },
        );
        self.events.push(Event::Finished {
            run,
            outcome: Outcome::Succeeded {
                retrigger_at_ms: None,
            },
            now_ms: self.clock.now_ms(),
        });
    }

    /// Makes the driver step once more for events that it made itself.
    fn look_again(&self) {
        self.inbox.put(Message::Visit(Box::new(|_| {})));
    }

    fn served(
        &self,
        kind: &GroupKind,
    ) -> Option<(Arc<dyn Reconciler>, Arc<crate::source::Resource>)> {
        let reconciler = self.kinds.get(kind)?.reconciler.clone()?;
        Some((reconciler, self.resources.of(kind)?))
    }

    /// The kind went between the machine's decision and now; that its objects are gone will follow.
    fn put_off(&mut self, run: RunId) {
        self.events.push(Event::Finished {
            run,
            outcome: Outcome::Failed {
                error: "the API doesn't serve this kind at present".into(),
                retry: Retry::Backoff,
                retrigger_at_ms: None,
            },
            now_ms: self.clock.now_ms(),
        });
        self.look_again();
    }

    fn report(&mut self, key: Key, report: Report) {
        match report {
            Report::Queued(reason) => self.note(key, TraceEvent::Queued(reason)),
            Report::Cyclic(path) => {
                self.tell_cycle(&key, &path);
                self.note(key, TraceEvent::Cyclic(path));
            }
            Report::CycleBroken => self.note(key, TraceEvent::CycleBroken),
            Report::Stuck(run) => {
                let kind = key.kind.kind.as_str();
                self.metrics
                    .ignored_cancellations
                    .with_label_values(&[kind])
                    .inc();
                tracing::warn!(
                    object = %key, run = run.0,
                    "a run was cancelled and has not returned in time; only its relatives wait for it"
                );
                self.note(key, TraceEvent::Stuck(run));
            }
        }
    }

    /// A run that was under way when a cycle was closed may have written over what the object was told then.
    fn tell_cycles_again(&mut self) {
        for key in std::mem::take(&mut self.ended) {
            if let Some(path) = self.machine.cycle(&key) {
                self.tell_cycle(&key, &path);
            }
        }
    }

    fn tell_cycle(&mut self, key: &Key, path: &Arc<str>) {
        let Some((reconciler, resource)) = self.served(&key.kind) else {
            return;
        };
        let report = cycle::Report {
            client: self.client.clone(),
            recorder: self.recorder.clone(),
            reconciler,
            resource,
            key: key.clone(),
            path: path.clone(),
            clock: self.clock.clone(),
        };
        let former = self.cycle_reports.remove(key);
        let report = report.begin(former);
        self.cycle_reports.insert(key.clone(), report);
    }

    fn begin_runs(&mut self) {
        if !self.stopping.is_cancelled() {
            for run in self.runs.next(self.clock.now_ms()) {
                let (inbox, id) = (self.inbox.clone(), run.id);
                let span = tracing::info_span!(
                    "run", id = id.0, object = %run.key, reason = %run.reason
                );
                let task = async move {
                    let returned = run.carry_out().await;
                    inbox.put(Message::Returned { run: id, returned });
                };
                tokio::spawn(task.instrument(span));
            }
        }
        let gauge = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let (running, waiting, stuck) = self.runs.counts();
        self.metrics.running.set(gauge(running));
        self.metrics.waiting.set(gauge(waiting));
        self.metrics.stuck.set(gauge(stuck));
    }

    pub(crate) fn note(&mut self, key: Key, event: TraceEvent) {
        tracing::debug!(object = %key, "{event}");
        self.trace.add(TraceEntry {
            at_ms: self.clock.now_ms(),
            key,
            event,
        });
    }

    /// The kind that CustomResourceDefinitions are: when one changes, kinds may have come or gone.
    pub(crate) fn definitions() -> GroupVersionKind {
        GroupVersionKind::new("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    }
}

fn result_of(returned: &Returned, told_to_return: bool) -> RunResult {
    match (&returned.outcome, &returned.waiting_for) {
        _ if told_to_return => RunResult::Cancelled,
        (Outcome::Succeeded { .. }, None) => RunResult::Succeeded,
        (Outcome::Succeeded { .. }, Some(what)) => RunResult::Waiting(what.clone()),
        (Outcome::Failed { error, .. }, _) => RunResult::Failed(error.clone()),
        (Outcome::Cancelled, _) => RunResult::Cancelled,
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
