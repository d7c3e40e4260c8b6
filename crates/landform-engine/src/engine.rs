//! Starting an engine, and talking to one that runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use futures::future::BoxFuture;
use kube::Client;
use landform_api::{GroupKind, GroupVersionKind};
use landform_schedule::Scheduler;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Duration;
use tokio_util::sync::CancellationToken;

use crate::clock::{Clock, SystemClock};
use crate::driver::Driver;
use crate::echoes::Echoes;
use crate::hooks::{ReconcilerController, Registry};
use crate::key::Key;
use crate::kinds::group_kind;
use crate::large::LargeRuns;
use crate::message::{Inbox, Message};
use crate::metrics::Metrics;
use crate::provisions::Provisions;
use crate::reconciler::{Reconciler, Related};
use crate::recorder::Recorder;
use crate::resources::Resources;
use crate::runs::Runs;
use crate::timers::Timers;
use crate::trace::{Observer, Trace};

/// Unless said otherwise, at most this many runs are under way at once.
const RUNS: usize = 2048;
/// Unless said otherwise, so many entries of the trace are kept.
const TRACE: usize = 1000;
/// The seconds that a watch lasts in the same process.
const WATCH_IN_PROCESS_S: u32 = 1_740;

/// Makes a reconciler for an engine that is being started.
type Make = dyn FnOnce(&Engine) -> Arc<dyn Reconciler> + Send;

/// An engine that is about to be started.
pub struct Builder {
    client: Client,
    writers_noted: bool,
    clock: Arc<dyn Clock>,
    registry: prometheus::Registry,
    reconcilers: Vec<Box<Make>>,
    runs: usize,
    trace: usize,
    observer: Option<Observer>,
    seed: u64,
    watch_s: Option<u32>,
}

impl Builder {
    /// Has a kind reconciled.
    #[must_use]
    pub fn reconciler(mut self, reconciler: impl Reconciler) -> Self {
        self.reconcilers
            .push(Box::new(move |_| Arc::new(reconciler)));
        self
    }

    /// Has kinds reconciled by hooks, as objects of the kind `Reconciler` say. That kind must have been
    /// [installed](crate::hooks::install).
    #[must_use]
    pub fn hooks(self) -> Self {
        self.hooks_by(|engine| Arc::new(engine.clone()))
    }

    /// The same, and calls of commands are written down in a directory: an engine that comes after this one was
    /// killed ends what is left of them before it calls any hook (R9b).
    #[must_use]
    pub fn hooks_recorded_in(mut self, directory: PathBuf) -> Self {
        self.reconcilers.push(Box::new(|engine| {
            let controller = ReconcilerController::new(Arc::new(engine.clone()));
            Arc::new(controller.recording_in(directory))
        }));
        self
    }

    /// The same, but what Reconcilers ask for goes to the registry that is made here: a plan must not call
    /// any hook.
    #[must_use]
    pub fn hooks_by(
        mut self,
        registry: impl FnOnce(&Engine) -> Arc<dyn Registry> + Send + 'static,
    ) -> Self {
        self.reconcilers.push(Box::new(|engine| {
            Arc::new(ReconcilerController::new(registry(engine)))
        }));
        self
    }

    /// The API is Landform's own and notes who wrote an object: runs act with the rights of those writers (C6). Without
    /// this the engine acts with its own rights, because on another API anybody could write such a note.
    #[must_use]
    pub fn writers_noted(mut self) -> Self {
        self.writers_noted = true;
        self
    }

    /// Tells the time by another clock.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Shows the engine's metrics in a registry.
    #[must_use]
    pub fn metrics(mut self, registry: prometheus::Registry) -> Self {
        self.registry = registry;
        self
    }

    /// At most this many runs are under way at once, of all kinds together; each kind may always have a few.
    #[must_use]
    pub fn runs_at_once(mut self, runs: usize) -> Self {
        self.runs = runs.max(1);
        self
    }

    /// Keeps so many entries of the trace.
    #[must_use]
    pub fn trace_entries(mut self, entries: usize) -> Self {
        self.trace = entries.max(1);
        self
    }

    /// Tells somebody all that happens, at the moment it happens. It must not block.
    #[must_use]
    pub fn observer(mut self, observer: Observer) -> Self {
        self.observer = Some(observer);
        self
    }

    /// The API is in this process: no connection can die unnoticed, so that watches needn't be renewed every few
    /// minutes.
    #[must_use]
    pub fn api_in_process(mut self) -> Self {
        self.watch_s = Some(WATCH_IN_PROCESS_S);
        self
    }

    /// Decides the jitter of retries; the same seed gives the same pauses.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Starts the engine on the present tokio runtime.
    ///
    /// # Errors
    /// When two reconcilers serve the same kind, or the metrics' registry has these metrics already.
    pub fn start(self) -> Result<Engine, StartError> {
        let (inbox, messages) = Inbox::new();
        let engine = Engine {
            shared: Arc::new(Shared {
                inbox: inbox.clone(),
                stopping: CancellationToken::new(),
                fixed: OnceLock::new(),
                task: tokio::sync::Mutex::new(None),
            }),
        };
        let makes = self.reconcilers.into_iter();
        let reconcilers: Vec<_> = makes.map(|make| make(&engine)).collect();
        let mut fixed = BTreeSet::new();
        for reconciler in &reconcilers {
            let kind = reconciler.kind();
            if !fixed.insert(group_kind(&kind)) {
                return Err(StartError::Twice(kind));
            }
        }
        let metrics = Metrics::new(&self.registry).map_err(StartError::Metrics)?;
        let dropped = metrics.dropped_events.clone();
        let mut driver = Driver {
            machine: Scheduler::new(self.seed),
            recorder: Recorder::start(self.client.clone(), self.clock.clone(), dropped),
            client: self.client,
            writers_noted: self.writers_noted,
            watch_s: self.watch_s,
            clock: self.clock,
            inbox,
            metrics,
            resources: Resources::default(),
            kinds: BTreeMap::new(),
            kinds_changed: watch::Sender::new(0),
            parked: BTreeMap::new(),
            gathering: true,
            runs: Runs::new(self.runs),
            large: LargeRuns::default(),
            timers: Timers::default(),
            provisions: Provisions::default(),
            idle: BTreeSet::new(),
            leaving: BTreeMap::new(),
            echoes: Echoes::default(),
            trace: Trace::new(self.trace, self.observer),
            waiting_for: BTreeMap::new(),
            cycle_reports: BTreeMap::new(),
            ended: Vec::new(),
            refs_taken_in: 0,
            events: Vec::new(),
            stopping: engine.shared.stopping.clone(),
        };
        driver.follow(&Driver::definitions());
        for reconciler in reconcilers {
            driver.register(reconciler);
        }
        // Nobody else has this engine yet.
        let _ = engine.shared.fixed.set(fixed);
        if let Ok(mut task) = engine.shared.task.try_lock() {
            *task = Some(tokio::spawn(driver.drive(messages)));
        }
        Ok(engine)
    }
}

/// Why an engine doesn't start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Two reconcilers serve one kind.
    #[error("two reconcilers serve the kind {0}")]
    Twice(GroupVersionKind),
    /// The metrics can't be shown.
    #[error("the engine's metrics can't be registered")]
    Metrics(#[source] prometheus::Error),
}

/// Why a kind can't be registered or looked at.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// The kind is reconciled by Landform itself.
    #[error("{} is reconciled by Landform itself", .0.kind)]
    Fixed(GroupKind),
    /// The engine has ended.
    #[error("the engine has stopped")]
    Stopped,
}

/// An engine that runs. Clones are the same engine; it runs until it is stopped.
#[derive(Clone)]
pub struct Engine {
    shared: Arc<Shared>,
}

struct Shared {
    inbox: Inbox,
    stopping: CancellationToken,
    fixed: OnceLock<BTreeSet<GroupKind>>,
    task: tokio::sync::Mutex<Option<JoinHandle<()>>>,
}

impl Engine {
    /// An engine on an API, whether that is in this process or a cluster's.
    #[must_use]
    pub fn builder(client: Client) -> Builder {
        Builder {
            client,
            writers_noted: false,
            clock: Arc::new(SystemClock),
            registry: prometheus::Registry::new(),
            reconcilers: Vec::new(),
            runs: RUNS,
            trace: TRACE,
            observer: None,
            seed: 0,
            watch_s: None,
        }
    }

    /// Has a kind reconciled from now on, in place of what reconciled it before. All its objects run.
    ///
    /// # Errors
    /// When Landform itself reconciles the kind, or the engine has stopped.
    pub async fn register(&self, reconciler: Arc<dyn Reconciler>) -> Result<(), EngineError> {
        let kind = group_kind(&reconciler.kind());
        self.check(&kind)?;
        self.visit(move |driver| driver.register(reconciler)).await
    }

    /// Ends the reconciling of a kind; its runs are cancelled.
    ///
    /// # Errors
    /// When Landform itself reconciles the kind, or the engine has stopped.
    pub async fn unregister(&self, kind: &GroupKind) -> Result<(), EngineError> {
        self.check(kind)?;
        let kind = kind.clone();
        self.visit(move |driver| driver.unregister(&kind)).await
    }

    /// Has objects of a further kind lead to objects of `kind`, which is reconciled: for kinds that become
    /// known only when others say so. Asking twice follows twice.
    ///
    /// # Errors
    /// When the engine has stopped.
    pub async fn relate(&self, kind: GroupKind, related: Related) -> Result<(), EngineError> {
        self.visit(move |driver| driver.relate(&kind, related))
            .await
    }

    fn check(&self, kind: &GroupKind) -> Result<(), EngineError> {
        let fixed = self.shared.fixed.get();
        if fixed.is_some_and(|fixed| fixed.contains(kind)) {
            return Err(EngineError::Fixed(kind.clone()));
        }
        Ok(())
    }

    /// Asks for a run of an object. A run that is going on is cancelled first.
    pub fn ask(&self, key: Key) {
        self.shared.inbox.put(Message::Asked(key));
    }

    /// Tells all runs to return, and waits for them, but no longer than this.
    pub async fn stop(&self, patience: Duration) {
        self.shared.stopping.cancel();
        if let Some(task) = self.shared.task.lock().await.take() {
            let abort = task.abort_handle();
            if tokio::time::timeout(patience, task).await.is_err() {
                tracing::warn!("the engine was stopped while runs had not returned");
                abort.abort();
            }
        }
    }

    /// Lets the driver do something between two steps.
    pub(crate) async fn visit<T: Send + 'static>(
        &self,
        visit: impl FnOnce(&mut Driver) -> T + Send + 'static,
    ) -> Result<T, EngineError> {
        let (sender, receiver) = oneshot::channel();
        self.shared
            .inbox
            .put(Message::Visit(Box::new(move |driver| {
                // Whoever asked may have gone.
                let _ = sender.send(visit(driver));
            })));
        receiver.await.map_err(|_| EngineError::Stopped)
    }
}

impl Registry for Engine {
    fn register(&self, reconciler: Arc<dyn Reconciler>) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            let registered = Engine::register(self, reconciler).await;
            registered.map_err(|error| error.to_string())
        })
    }

    fn unregister(&self, kind: GroupKind) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            let unregistered = Engine::unregister(self, &kind).await;
            unregistered.map_err(|error| error.to_string())
        })
    }

    fn ask(&self, key: Key) {
        Engine::ask(self, key);
    }
}
