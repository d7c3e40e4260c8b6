//! Looks after one process: sees it end, starts it again or gives up, and keeps its log within limits.

use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use landform_api::words::counted;
use tokio::process::Child;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::config::{Configuration, Policy, Restart};
use super::launch::{Launched, launch};
use super::permit::Permit;
use super::record::{Instance, Item};
use super::{logs, readiness};
use crate::DeployError;
use crate::local::Handle;

/// Tells whoever looks after the item that something happened.
pub(crate) type Notify = Arc<dyn Fn() + Send + Sync>;

/// How a process is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Running(Instance),
    /// It ended in this way, and is started again after a while.
    Waiting(String),
    /// It ended as it should, and is not started again.
    Finished,
    /// It ended, and is not started again.
    GaveUp(String),
}

/// Wakes the item's run when something happened that no run waits for already: a run that is woken while it waits would
/// begin anew, and forget how often the process was started again.
struct News {
    notify: Notify,
    awaited: AtomicBool,
    unseen: AtomicBool,
}

impl News {
    fn tell(&self) {
        self.unseen.store(true, Ordering::SeqCst);
        if !self.awaited.load(Ordering::SeqCst) {
            (self.notify)();
        }
    }
}

/// As long as this is there, a run sees by itself what happens.
pub(crate) struct Awaited(Arc<News>);

impl Awaited {
    /// The run looks at the present state.
    pub(crate) fn seen(&self) {
        self.0.unseen.store(false, Ordering::SeqCst);
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        self.0.awaited.store(false, Ordering::SeqCst);
        if self.0.unseen.load(Ordering::SeqCst) {
            (self.0.notify)();
        }
    }
}

/// A task that looks after a process. When it is dropped the task ends and the process goes on.
pub(crate) struct Supervisor {
    pub(crate) hash: String,
    pub(crate) configuration: Arc<Configuration>,
    state: watch::Receiver<State>,
    /// The process whose exports are known.
    known: AtomicU64,
    /// Whether the item has succeeded with it.
    has_succeeded: AtomicBool,
    /// Whether the item has learned that the process gave up.
    told: AtomicBool,
    news: Arc<News>,
    _end_on_drop: DropGuard,
    end: CancellationToken,
    task: JoinHandle<Option<Child>>,
}

impl Supervisor {
    /// Looks after a process from now on; a child of ours tells how it ended.
    pub(crate) fn start(
        item: Arc<Item>,
        configuration: Arc<Configuration>,
        instance: Instance,
        child: Option<Child>,
        notify: Notify,
        permit: Permit,
    ) -> Self {
        let hash = instance.hash.clone();
        let known = AtomicU64::new(instance.attempt);
        let instance_was_ready = instance.ready;
        let (sender, state) = watch::channel(State::Running(instance.clone()));
        let news = Arc::new(News {
            notify,
            awaited: AtomicBool::new(false),
            unseen: AtomicBool::new(false),
        });
        let end = CancellationToken::new();
        let mut run = Run {
            item: Arc::clone(&item),
            configuration: Arc::clone(&configuration),
            hash: hash.clone(),
            sender,
            news: Arc::clone(&news),
            permit,
            child,
        };
        let (ended, logs) = (end.clone(), configuration.logs);
        let task = tokio::spawn(async move {
            tokio::select! {
                () = ended.cancelled() => {}
                () = logs::keep_rotating(item, logs) => {}
                () = run.supervise(instance) => {}
            }
            run.child
        });
        let _end_on_drop = end.clone().drop_guard();
        Self {
            hash,
            configuration,
            state,
            known,
            has_succeeded: AtomicBool::new(instance_was_ready),
            told: AtomicBool::new(false),
            news,
            _end_on_drop,
            end,
            task,
        }
    }

    pub(crate) fn state(&self) -> watch::Receiver<State> {
        self.state.clone()
    }

    /// From now on a run waits for what happens.
    pub(crate) fn awaited(&self) -> Awaited {
        self.news.awaited.store(true, Ordering::SeqCst);
        Awaited(Arc::clone(&self.news))
    }

    /// The exports of this attempt are known from now on.
    pub(crate) fn know(&self, attempt: u64) {
        self.known.store(attempt, Ordering::Relaxed);
        self.has_succeeded.store(true, Ordering::Relaxed);
    }

    /// Notes that the item learns of the giving up now; returns whether it knew before. Only then the process may start anew:
    /// otherwise one that gives up while its item is being deployed would start again and again.
    pub(crate) fn tell(&self) -> bool {
        self.told.swap(true, Ordering::Relaxed)
    }

    /// Whether it was ready once: what it waits for since is a restart.
    pub(crate) fn has_succeeded(&self) -> bool {
        self.has_succeeded.load(Ordering::Relaxed)
    }

    /// Whether the process is not the one whose exports are known.
    pub(crate) fn has_restarted(&self) -> bool {
        match &*self.state.borrow() {
            State::Running(instance) => instance.attempt != self.known.load(Ordering::Relaxed),
            State::Waiting(_) | State::Finished | State::GaveUp(_) => false,
        }
    }

    /// From now on nothing is started or noted any more. Gives the process back, when it is our child.
    pub(crate) async fn end(self) -> Option<Child> {
        self.end.cancel();
        self.task.await.ok().flatten()
    }
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Ended {
    /// Nobody can tell of a process that is not our child.
    Unknown,
    Well,
    Badly(ExitStatus),
    /// It runs, and doesn't do its work any more.
    Lost(String),
}

struct Run {
    item: Arc<Item>,
    configuration: Arc<Configuration>,
    hash: String,
    sender: watch::Sender<State>,
    news: Arc<News>,
    permit: Permit,
    child: Option<Child>,
}

impl Run {
    async fn supervise(&mut self, mut instance: Instance) {
        let mut failures = 0;
        let mut is_first = true;
        loop {
            let since = Instant::now();
            let ended = if is_first {
                self.ended(&instance).await
            } else {
                self.ready_and_ended(&instance).await
            };
            is_first = false;
            let restart = self.configuration.restart;
            if since.elapsed() >= restart.backoff_limit {
                failures = 0;
            }
            let next = decide(restart, &ended, failures);
            if let Next::Again(_) = next {
                // Told at once: to end what it has started may take all of the grace.
                self.sender.send_replace(State::Waiting(how(&ended)));
                self.news.tell();
            }
            // What it has started would be in the way of its successor. A child stays in the table until it is waited for.
            let mut child = self.child.take();
            let waited = async {
                if let Some(child) = &mut child {
                    let _ = child.wait().await;
                }
                std::future::pending::<std::convert::Infallible>().await
            };
            let gone = tokio::select! {
                gone = self.item.end(&instance) => gone,
                never = waited => match never {},
            };
            if let Err(error) = gone {
                return self.give_up(error.message);
            }
            match next {
                Next::Finished => {
                    let hash = self.hash.clone();
                    if let Err(error) = self.item.change(|record| record.finished = Some(hash)) {
                        return self.give_up(error.message);
                    }
                    self.sender.send_replace(State::Finished);
                    return self.news.tell();
                }
                Next::GaveUp(reason) => return self.give_up(reason),
                Next::Again(wait) => {
                    failures += 1;
                    let counted = self.item.change(|record| record.restarts += 1);
                    if let Err(error) = counted {
                        tracing::warn!(item = self.item.uid, %error, "a restart was not noted");
                    }
                    tracing::info!(
                        item = self.item.uid,
                        failures,
                        wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
                        "a process has ended and is started again"
                    );
                    tokio::time::sleep(wait).await;
                }
            }
            instance = match self.launch_again(&mut failures).await {
                Ok(instance) => instance,
                Err(error) => return self.give_up(error.message),
            };
            self.sender.send_replace(State::Running(instance.clone()));
        }
    }

    /// The first process is asked by whoever deploys it; those that follow are asked here, and then there is
    /// something new to tell: the number of the process, and perhaps its exports.
    async fn ready_and_ended(&mut self, instance: &Instance) -> Ended {
        let (item, configuration) = (Arc::clone(&self.item), Arc::clone(&self.configuration));
        let ready = async {
            while readiness::ask(&item, &configuration, instance)
                .await
                .is_err()
            {
                tokio::time::sleep(configuration.interval()).await;
            }
        };
        tokio::select! {
            ended = self.ended(instance) => return ended,
            () = ready => {}
        }
        let noted = self
            .item
            .change_instance(instance.attempt, |instance| instance.ready = true);
        if let Err(error) = noted {
            tracing::warn!(item = self.item.uid, %error, "that a process is ready was not noted");
        }
        self.news.tell();
        self.ended(instance).await
    }

    async fn ended(&mut self, instance: &Instance) -> Ended {
        let (item, configuration) = (Arc::clone(&self.item), Arc::clone(&self.configuration));
        let lost = async {
            match &configuration.liveness {
                Some(liveness) => readiness::lost(&item, &configuration, instance, liveness).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            ended = self.ended_by_itself(instance) => ended,
            how = lost => Ended::Lost(how),
        }
    }

    async fn ended_by_itself(&mut self, instance: &Instance) -> Ended {
        let Some(child) = &mut self.child else {
            if let Some(handle) = instance.process.as_ref().and_then(Handle::open) {
                handle.ended().await;
            }
            return Ended::Unknown;
        };
        match child.wait().await {
            Ok(status) if status.success() => Ended::Well,
            Ok(status) => Ended::Badly(status),
            Err(_) => Ended::Unknown,
        }
    }

    /// Starts it, if need be several times: a program may be in the middle of being replaced on disk. A right that was
    /// taken away meanwhile is gone (C6).
    async fn launch_again(&mut self, failures: &mut u64) -> Result<Instance, DeployError> {
        loop {
            let launched = match self.permit.ask().await {
                Ok(()) => launch(&self.item, &self.configuration, &self.hash),
                Err(denied) if denied.is_fatal() => return Err(denied),
                Err(unknown) => Err(unknown),
            };
            match launched {
                Ok(Launched { instance, child }) => {
                    self.child = Some(child);
                    return Ok(instance);
                }
                Err(error) => {
                    let Next::Again(wait) =
                        decide(self.configuration.restart, &Ended::Unknown, *failures)
                    else {
                        return Err(error);
                    };
                    *failures += 1;
                    tokio::time::sleep(wait).await;
                }
            }
        }
    }

    fn give_up(&self, reason: String) {
        tracing::warn!(item = self.item.uid, reason, "a process has ended for good");
        self.sender.send_replace(State::GaveUp(reason));
        self.news.tell();
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Next {
    Again(Duration),
    Finished,
    GaveUp(String),
}

/// What follows when a process has ended, after so many restarts in a row.
fn decide(restart: Restart, ended: &Ended, failures: u64) -> Next {
    let how = how(ended);
    match (restart.policy, ended) {
        (Policy::OnFailure | Policy::Never, Ended::Well) => Next::Finished,
        (Policy::Never, Ended::Unknown | Ended::Badly(_) | Ended::Lost(_)) => Next::GaveUp(how),
        (Policy::Always | Policy::OnFailure, _) if failures >= restart.limit => {
            Next::GaveUp(format!(
                "{how}, and was started again {} in a row",
                counted(failures, "time")
            ))
        }
        (Policy::Always | Policy::OnFailure, _) => {
            let doubled = u32::try_from(failures)
                .ok()
                .and_then(|times| 2_u32.checked_pow(times));
            let wait = doubled.and_then(|factor| restart.backoff.checked_mul(factor));
            Next::Again(
                wait.unwrap_or(restart.backoff_limit)
                    .min(restart.backoff_limit),
            )
        }
    }
}

fn how(ended: &Ended) -> String {
    match ended {
        Ended::Unknown => "the process has ended".to_owned(),
        Ended::Well => "the process has ended without an error".to_owned(),
        Ended::Badly(status) => format!("the process has ended with {status}"),
        Ended::Lost(why) => format!("the process was ended because {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt as _;

    #[test]
    fn what_follows_depends_on_the_policy() {
        let restart = |policy| Restart {
            policy,
            backoff: Duration::from_secs(1),
            backoff_limit: Duration::from_secs(5),
            limit: 10,
        };
        let badly = Ended::Badly(ExitStatus::from_raw(3 << 8));
        let again = |seconds| Next::Again(Duration::from_secs(seconds));
        let gave_up = |text: &str| Next::GaveUp(text.to_owned());
        let table = [
            (Policy::Always, Ended::Well, 0, again(1)),
            (Policy::Always, badly.clone(), 1, again(2)),
            (Policy::Always, Ended::Unknown, 2, again(4)),
            (Policy::Always, badly.clone(), 3, again(5)),
            (Policy::Always, badly.clone(), 9, again(5)),
            (
                Policy::Always,
                badly.clone(),
                10,
                gave_up(
                    "the process has ended with exit status: 3, and was started again 10 times in a row",
                ),
            ),
            (Policy::OnFailure, Ended::Well, 3, Next::Finished),
            (Policy::OnFailure, badly.clone(), 0, again(1)),
            (
                Policy::OnFailure,
                Ended::Lost("it sleeps".into()),
                0,
                again(1),
            ),
            (
                Policy::Never,
                Ended::Lost("it sleeps".into()),
                0,
                gave_up("the process was ended because it sleeps"),
            ),
            (Policy::OnFailure, Ended::Unknown, 0, again(1)),
            (Policy::Never, Ended::Well, 0, Next::Finished),
            (
                Policy::Never,
                badly,
                0,
                gave_up("the process has ended with exit status: 3"),
            ),
            (
                Policy::Never,
                Ended::Unknown,
                0,
                gave_up("the process has ended"),
            ),
        ];
        for (policy, ended, failures, next) in table {
            assert_eq!(
                decide(restart(policy), &ended, failures),
                next,
                "{policy:?} {ended:?}"
            );
        }
    }
}
