//! The loop: takes objects from the queue, decides, and carries many decisions out at a time.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use landform_graph::NodeId;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::{Id, JoinSet};
use tokio::time::Instant;

use super::act::{self, Job};
use super::confirm;
use super::cycles;
use super::decide::decide;
use super::decision::{Action, Waiting};
use super::events::Recorder;
use super::metrics::Metrics;
use super::queue::{Outcome, Ticket};
use super::references::References;
use super::state::State;

/// So many requests are under way at once: enough that commits are shared, and few enough that a request
/// of somebody else doesn't wait long for its turn.
const AT_ONCE: usize = 32;

/// Cycles are looked for when nothing has happened for this time: a long deletion is quiet for moments
/// between an answer and its event, and must not pay for a search each time.
const QUIET: Duration = Duration::from_millis(50);

/// The garbage collector. [`Collector::run`] does the work; the rest shows it.
#[derive(Clone)]
pub struct Collector {
    pub(super) shared: Arc<Shared>,
}

/// What all tasks of the collector share.
pub(super) struct Shared {
    pub(super) client: Client,
    pub(super) state: Mutex<State>,
    /// The queue or the state changed.
    pub(super) changed: Notify,
    /// There may be other kinds than before.
    pub(super) definitions_changed: Notify,
    pub(super) metrics: Metrics,
    pub(super) recorder: Recorder,
    /// What objects with many owners say of them.
    pub(super) references: References,
}

/// Whose work a task does.
#[derive(Clone, Copy)]
struct Working {
    node: NodeId,
    ticket: Ticket,
}

impl Collector {
    /// A collector of everything that this client can see; its metrics go to `registry`.
    #[must_use]
    pub fn new(client: Client, registry: &prometheus::Registry) -> Self {
        let shared = Arc::new(Shared {
            recorder: Recorder::new(client.clone()),
            client,
            state: Mutex::new(State::default()),
            changed: Notify::new(),
            definitions_changed: Notify::new(),
            metrics: Metrics::default(),
            references: References::default(),
        });
        shared.metrics.register(registry, &shared);
        Self { shared }
    }

    /// Collects for ever; to be dropped or aborted when it should end.
    pub async fn run(self) {
        let following = self.shared.clone().follow_kinds();
        futures::future::join(following, self.shared.work()).await;
    }
}

impl Shared {
    async fn work(self: &Arc<Self>) {
        let mut tasks = JoinSet::new();
        let mut working: HashMap<Id, Working> = HashMap::new();
        let mut quiet_until = None;
        loop {
            let retry = self.start_work(&mut tasks, &mut working);
            let next = match self.look_for_cycles(&mut quiet_until) {
                Some(at) => Some(retry.map_or(at, |retry| retry.min(at))),
                None => retry,
            };
            let wake = async {
                match next {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            // In this order, so that a simulation does the same twice.
            tokio::select! {
                biased;
                Some(ended) = tasks.join_next_with_id() => {
                    let (id, outcome) = match ended {
                        Ok((id, outcome)) => (id, outcome),
                        Err(error) => (error.id(), Outcome::Failed(format!("a bug: {error}"))),
                    };
                    if let Some(Working { node, ticket }) = working.remove(&id) {
                        let mut state = self.state.lock();
                        state.queue.done(node, ticket, outcome, Instant::now());
                    }
                }
                () = self.changed.notified() => {}
                () = wake => {}
            }
        }
    }

    /// Starts as much work as may be under way; returns when the next retry is due.
    fn start_work(
        self: &Arc<Self>,
        tasks: &mut JoinSet<Outcome>,
        working: &mut HashMap<Id, Working>,
    ) -> Option<Instant> {
        loop {
            let mut state = self.state.lock();
            let next = state.queue.wake(Instant::now());
            if !state.started || tasks.len() >= AT_ONCE {
                return next;
            }
            let Some((node, ticket)) = state.queue.pop() else {
                return next;
            };
            if let Some(question) = state.question(node) {
                drop(state);
                let shared = self.clone();
                let task = tasks.spawn(async move { confirm::settle(&shared, question).await });
                working.insert(task.id(), Working { node, ticket });
                continue;
            }
            let Some(subject) = state.subject(node) else {
                state
                    .queue
                    .done(node, ticket, Outcome::Settled, Instant::now());
                continue;
            };
            let decision = decide(&subject.observed);
            if let Waiting::Owners(uids) = &decision.waiting_on {
                state.ask_for(uids);
            }
            if decision.action == Action::Nothing {
                state
                    .queue
                    .done(node, ticket, Outcome::Settled, Instant::now());
                continue;
            }
            let job = Job {
                shared: self.clone(),
                title: state.title(node),
                finishes: state.finishes(node),
                subject,
            };
            drop(state);
            let task = tasks.spawn(act::act(job, decision));
            working.insert(task.id(), Working { node, ticket });
        }
    }

    /// Looks for cycles once nothing happens any more; returns when to ask again.
    fn look_for_cycles(&self, quiet_until: &mut Option<Instant>) -> Option<Instant> {
        let mut state = self.state.lock();
        if !state.started || !state.cycles_unchecked || !state.queue.is_quiet() {
            *quiet_until = None;
            return None;
        }
        let now = Instant::now();
        let until = *quiet_until.get_or_insert(now + QUIET);
        if now < until {
            return Some(until);
        }
        *quiet_until = None;
        let found = cycles::free(&mut state);
        drop(state);
        if found.is_empty() {
            return None;
        }
        self.recorder.report_cycles(found);
        // Their members were queued: on with the work.
        Some(now)
    }
}
