//! Brings an item's process to what its configuration says: leaves it alone, starts it, or replaces it.
//!
//! 1. What the record says is compared with the processes that there are.
//! 2. A process that was made of the same things goes on; how it is looked after may change.
//! 3. Otherwise a new one is started: after the old one has ended (`StopFirst`), or beside it (`StartFirst`).
//! 4. When the new one is ready, whatever else the item had is ended. When it doesn't become ready, an old
//!    one that still runs stays.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use landform_api::landscaper::report::ErrorCode;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tokio::process::Child;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until};

use super::config::{Configuration, Export, Policy, Probe, Replace};
use super::launch::launch;
use super::permit::Permit;
use super::record::{Instance, Item};
use super::supervisor::{Notify, State, Supervisor};
use super::{exports, readiness};
use crate::local::Handle;
use crate::{DeployError, Kept};

/// An item and who looks after its process.
pub(crate) struct Slot {
    pub(crate) item: Arc<Item>,
    /// What is asked before the process is started again.
    pub(crate) permit: Permit,
    supervisor: Mutex<Option<Supervisor>>,
}

/// What goes wrong while a rollout goes on, for people.
pub(crate) type Troubles = mpsc::UnboundedSender<DeployError>;

/// What came of a rollout.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Report {
    /// None when it has ended as it should.
    pub(crate) instance: Option<Instance>,
    pub(crate) hash: String,
    pub(crate) log: PathBuf,
    pub(crate) restarts: u64,
    pub(crate) exports: Map<String, Value>,
}

impl Report {
    /// What the item's status says about it.
    pub(crate) fn provider_status(&self) -> Value {
        let process = self
            .instance
            .as_ref()
            .and_then(|instance| instance.process.as_ref());
        let mut status =
            json!({"configHash": self.hash, "log": self.log, "restarts": self.restarts});
        if let Some(process) = process {
            status["pid"] = json!(process.pid);
            status["startTime"] = json!(process.start_time);
        }
        status
    }
}

impl Slot {
    pub(crate) fn new(item: Item) -> Self {
        Self {
            item: Arc::new(item),
            permit: Permit::default(),
            supervisor: Mutex::new(None),
        }
    }

    /// Does all of it, and waits until the process is ready. When this is dropped, whatever it did so far is
    /// recorded, and the next call goes on from there.
    pub(crate) async fn deploy(
        &self,
        configuration: Configuration,
        notify: Notify,
        troubles: Troubles,
    ) -> Result<Report, DeployError> {
        let configuration = Arc::new(configuration);
        let hash = self.item.hash(&configuration.launch);
        let old = self.supervisor.lock().take();
        self.item.change(|record| record.stopped = false)?;
        self.item.settle().await?;
        let (old, found) = self.find(old, &configuration, &hash, &notify).await?;
        let (old, supervisor) = match found {
            Found::Supervised(supervisor) => (old, supervisor),
            Found::Finished => {
                self.end_others(old, &hash).await?;
                let exports = exports::collect(&self.item, &configuration, None);
                let exports = exports.map_err(DeployError::not_ready)?;
                return Ok(self.report(None, hash, exports));
            }
            Found::Nothing => {
                let old = self.make_room(old, configuration.replace).await?;
                self.item.change(|record| record.restarts = 0)?;
                let launched = launch(&self.item, &configuration, &hash)?;
                let (instance, child) = (launched.instance, Some(launched.child));
                (old, self.supervise(&configuration, instance, child, notify))
            }
        };
        let ready = self.until_ready(&supervisor, &troubles).await;
        let (instance, exports) = match ready {
            Ok(ready) => ready,
            Err(error) => {
                self.fall_back(old, supervisor, &hash).await?;
                return Err(error);
            }
        };
        self.item.change(|record| record.was_ready = true)?;
        if let Some(instance) = &instance {
            self.item
                .change_instance(instance.attempt, |noted| noted.ready = true)?;
            supervisor.know(instance.attempt);
        }
        *self.supervisor.lock() = Some(supervisor);
        self.end_others(old, &hash).await?;
        Ok(self.report(instance, hash, exports))
    }

    /// Sees to it that the process of an item that has succeeded is looked after.
    pub(crate) async fn keep(
        &self,
        configuration: Configuration,
        notify: Notify,
    ) -> Result<Kept, DeployError> {
        let hash = self.item.hash(&configuration.launch);
        let known = self.supervisor.lock().as_ref().map(|supervisor| {
            let state = supervisor.state().borrow().clone();
            if matches!(state, State::GaveUp(_)) {
                supervisor.tell();
            }
            (supervisor.hash == hash, supervisor.has_restarted(), state)
        });
        match known {
            Some((false, ..)) => return Ok(Kept::Redeploy),
            Some((true, true, _)) if configuration.exports.values().any(Export::changes) => {
                return Ok(Kept::Redeploy);
            }
            Some((true, _, State::GaveUp(reason))) => return Err(self.gave_up(&reason)),
            // It is started again: the item is in work until it is ready.
            Some((true, _, State::Waiting(_))) => return Ok(Kept::Redeploy),
            Some((true, true, State::Running(new))) if !self.was_ready(new.attempt) => {
                return Ok(Kept::Redeploy);
            }
            Some((true, _, State::Running(_) | State::Finished)) => return Ok(Kept::Fine),
            None => {}
        }
        self.item.settle().await?;
        let configuration = Arc::new(configuration);
        match self.alive(&hash) {
            Some(instance) if instance.ready => {
                let supervisor = self.supervise(&configuration, instance, None, notify);
                *self.supervisor.lock() = Some(supervisor);
                self.end_others(None, &hash).await?;
                Ok(Kept::Fine)
            }
            Some(_) => Ok(Kept::Redeploy),
            None if self.item.record().finished.as_ref() == Some(&hash) => Ok(Kept::Fine),
            None if configuration.restart.policy == Policy::Never => {
                Err(self.gave_up("the process has ended while Landform was away"))
            }
            None => Ok(Kept::Redeploy),
        }
    }

    /// Notes that the item knows why its process doesn't start again; the process itself may find out later.
    pub(crate) fn tell(&self) {
        if let Some(supervisor) = &*self.supervisor.lock() {
            supervisor.tell();
        }
    }

    fn was_ready(&self, attempt: u64) -> bool {
        let instance = self.item.instance(attempt);
        instance.is_some_and(|instance| instance.ready)
    }

    /// What the item's status should say about the process that runs.
    pub(crate) fn provider_status(&self) -> Option<Value> {
        let supervisor = self.supervisor.lock();
        let supervisor = supervisor.as_ref()?;
        let state = supervisor.state().borrow().clone();
        let State::Running(instance) = state else {
            return None;
        };
        let report = self.report(Some(instance), supervisor.hash.clone(), Map::new());
        Some(report.provider_status())
    }

    /// Ends what is not ready, and looks after nothing any more.
    pub(crate) async fn stop(&self) -> Result<(), DeployError> {
        self.end_supervision().await;
        self.item.settle().await?;
        self.item.end_those(|instance| !instance.ready).await
    }

    /// Ends everything.
    pub(crate) async fn remove(&self) -> Result<(), DeployError> {
        self.end_supervision().await;
        self.item.settle().await?;
        self.item.end_all().await
    }

    pub(super) async fn end_supervision(&self) {
        let supervisor = self.supervisor.lock().take();
        if let Some(supervisor) = supervisor {
            supervisor.end().await;
        }
    }

    /// Looks for a process that was made of the same things. The old supervisor comes back when it is
    /// that of another one.
    async fn find(
        &self,
        old: Option<Supervisor>,
        configuration: &Arc<Configuration>,
        hash: &str,
        notify: &Notify,
    ) -> Result<(Option<Supervisor>, Found), DeployError> {
        let (old, child) = match old {
            Some(old) if old.hash == hash => {
                let state = old.state().borrow().clone();
                if let State::GaveUp(reason) = &state
                    && !old.tell()
                {
                    let error = self.gave_up(reason);
                    *self.supervisor.lock() = Some(old);
                    return Err(error);
                }
                let goes_on = matches!(state, State::Running(_) | State::Waiting(_));
                if goes_on && old.configuration == *configuration {
                    return Ok((None, Found::Supervised(old)));
                }
                (None, old.end().await)
            }
            old => (old, None),
        };
        if let Some(instance) = self.alive(hash) {
            let (attempt, wanted) = (instance.attempt, instance.hash.clone());
            self.item
                .end_those(|other| other.hash == wanted && other.attempt != attempt)
                .await?;
            self.item
                .change_instance(attempt, |instance| instance.stop = configuration.stop)?;
            let pid = instance.process.as_ref().map(|process| process.pid);
            let child =
                child.filter(|child| child.id().and_then(|id| i32::try_from(id).ok()) == pid);
            let supervisor = self.supervise(configuration, instance, child, Arc::clone(notify));
            return Ok((old, Found::Supervised(supervisor)));
        }
        if self.item.record().finished.as_deref() == Some(hash)
            && configuration.restart.policy != Policy::Always
        {
            return Ok((old, Found::Finished));
        }
        Ok((old, Found::Nothing))
    }

    /// The newest process that was made of these things and still runs.
    fn alive(&self, hash: &str) -> Option<Instance> {
        let record = self.item.record();
        record.instances.into_iter().rev().find(|instance| {
            let process = instance.process.as_ref();
            instance.hash == hash && process.and_then(Handle::open).is_some()
        })
    }

    /// Ends what can't stay beside a new process.
    async fn make_room(
        &self,
        old: Option<Supervisor>,
        replace: Replace,
    ) -> Result<Option<Supervisor>, DeployError> {
        match replace {
            Replace::StartFirst => {
                self.item.end_those(|instance| !instance.ready).await?;
                Ok(old)
            }
            Replace::StopFirst => {
                if let Some(old) = old {
                    old.end().await;
                }
                self.item.end_those(|_| true).await?;
                Ok(None)
            }
        }
    }

    /// Ends all processes that were made of other things.
    async fn end_others(&self, old: Option<Supervisor>, hash: &str) -> Result<(), DeployError> {
        if let Some(old) = old {
            old.end().await;
        }
        self.item.end_those(|instance| instance.hash != hash).await
    }

    /// The new process did not become ready. Beside an old one that runs it is ended; otherwise it goes on, for
    /// people to look at.
    async fn fall_back(
        &self,
        old: Option<Supervisor>,
        new: Supervisor,
        hash: &str,
    ) -> Result<(), DeployError> {
        let instances = self.item.record().instances;
        if !instances
            .iter()
            .any(|instance| instance.hash != hash && instance.ready)
        {
            *self.supervisor.lock() = Some(new);
            return Ok(());
        }
        *self.supervisor.lock() = old;
        new.end().await;
        self.item.end_those(|instance| instance.hash == hash).await
    }

    fn supervise(
        &self,
        configuration: &Arc<Configuration>,
        instance: Instance,
        child: Option<Child>,
        notify: Notify,
    ) -> Supervisor {
        let (item, configuration) = (Arc::clone(&self.item), Arc::clone(configuration));
        Supervisor::start(
            item,
            configuration,
            instance,
            child,
            notify,
            self.permit.clone(),
        )
    }

    /// Waits until the process is ready and its exports are there, through restarts of it.
    async fn until_ready(
        &self,
        supervisor: &Supervisor,
        troubles: &Troubles,
    ) -> Result<(Option<Instance>, Map<String, Value>), DeployError> {
        let configuration = &supervisor.configuration;
        let interval = configuration.interval();
        let mut end = Instant::now() + configuration.patience();
        // Each restart of one that was ready once has as much time as its first start.
        let mut timed = None;
        let awaited = supervisor.awaited();
        let mut state = supervisor.state();
        let mut reason = match configuration.readiness.as_ref().map(|found| &found.probe) {
            Some(Probe::Log { .. }) => "no line of its log fits",
            Some(Probe::Http { .. } | Probe::Tcp { .. } | Probe::Exec { .. }) | None => {
                "it has not answered"
            }
        }
        .to_owned();
        loop {
            awaited.seen();
            let now = state.borrow_and_update().clone();
            let attempt = match now {
                State::GaveUp(reason) => {
                    supervisor.tell();
                    return Err(self.gave_up(&reason));
                }
                State::Finished => None,
                State::Waiting(how) => {
                    // Nobody listens to some calls.
                    let _ = troubles.send(self.restarted(&how, supervisor.has_succeeded()));
                    if supervisor.has_succeeded() {
                        // How often it is tried is what the restart policy says.
                        state.changed().await.map_err(|_| unsupervised())?;
                    } else {
                        self.change_until(&mut state, end, None, &reason).await?;
                    }
                    continue;
                }
                // The record knows more: whether it was ready once.
                State::Running(instance) => {
                    Some(self.item.instance(instance.attempt).unwrap_or(instance))
                }
            };
            let attempt = attempt.as_ref();
            let number = attempt.map(|instance| instance.attempt);
            if supervisor.has_succeeded() && timed != number {
                end = Instant::now() + configuration.patience();
                timed = number;
            }
            let answered = async {
                let answer = match attempt {
                    Some(instance) => readiness::ask(&self.item, configuration, instance).await?,
                    None => None,
                };
                let exports = exports::collect(&self.item, configuration, answer.as_ref())?;
                let process = attempt.and_then(|instance| instance.process.as_ref());
                if process.is_some_and(|process| Handle::open(process).is_none()) {
                    // Whoever answered, it wasn't this process.
                    return Err("it has ended".to_owned());
                }
                Ok(exports)
            };
            tokio::select! {
                biased;
                answered = answered => match answered {
                    Ok(exports) => return Ok((attempt.cloned(), exports)),
                    Err(why) => reason = why,
                },
                changed = state.changed() => {
                    changed.map_err(|_| unsupervised())?;
                    continue;
                }
                () = sleep_until(end) => return Err(self.not_ready(&reason)),
            }
            self.change_until(&mut state, end, Some(interval), &reason)
                .await?;
        }
    }

    /// Waits for another state, or an interval.
    async fn change_until(
        &self,
        state: &mut watch::Receiver<State>,
        end: Instant,
        interval: Option<Duration>,
        reason: &str,
    ) -> Result<(), DeployError> {
        tokio::select! {
            changed = state.changed() => changed.map_err(|_| unsupervised()),
            () = sleep(interval.unwrap_or(Duration::MAX)) => Ok(()),
            () = sleep_until(end) => Err(self.not_ready(reason)),
        }
    }

    fn report(
        &self,
        instance: Option<Instance>,
        hash: String,
        exports: Map<String, Value>,
    ) -> Report {
        Report {
            instance,
            hash,
            log: self.item.log(),
            restarts: self.item.record().restarts,
            exports,
        }
    }

    fn restarted(&self, how: &str, was_ready: bool) -> DeployError {
        let log = self.item.log();
        let before = if was_ready {
            ""
        } else {
            " before it was ready"
        };
        let message = format!(
            "{how}{before}, and is started again; its log is {}",
            log.display()
        );
        DeployError::transient("Run", "Ended", message)
    }

    fn not_ready(&self, reason: &str) -> DeployError {
        let log = self.item.log();
        let message = format!(
            "the process is not ready: {reason}; its log is {}",
            log.display()
        );
        DeployError::not_ready(message)
    }

    fn gave_up(&self, reason: &str) -> DeployError {
        let log = self.item.log();
        let message = format!("{reason}; its log is {}", log.display());
        // The kind of error that fails the item at once and says that people should look at the process.
        DeployError::with_code("Run", "Ended", message, ErrorCode::ReadinessCheckTimeout)
    }
}

enum Found {
    Supervised(Supervisor),
    Finished,
    Nothing,
}

fn unsupervised() -> DeployError {
    DeployError::transient(
        "Run",
        "NotSupervised",
        "nobody looks after the process any more",
    )
}
