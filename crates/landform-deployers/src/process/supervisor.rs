//! Looks after one process: sees it end, starts it again or gives up, and keeps its log within limits.

use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
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

/// A task that looks after a process. When it is dropped the task ends and the process goes on.
pub(crate) struct Supervisor {
    pub(crate) hash: String,
    pub(crate) configuration: Arc<Configuration>,
    state: watch::Receiver<State>,
    /// The process whose exports are known.
    known: AtomicU64,
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
        let (sender, state) = watch::channel(State::Running(instance.clone()));
        let end = CancellationToken::new();
        let mut run = Run {
            item: Arc::clone(&item),
            configuration: Arc::clone(&configuration),
            hash: hash.clone(),
            sender,
            notify,
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
            _end_on_drop,
            end,
            task,
        }
    }

    pub(crate) fn state(&self) -> watch::Receiver<State> {
        self.state.clone()
    }

    /// The exports of this attempt are known from now on.
    pub(crate) fn know(&self, attempt: u64) {
        self.known.store(attempt, Ordering::Relaxed);
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// Nobody can tell of a process that is not our child.
    Unknown,
    Well,
    Badly(ExitStatus),
}

struct Run {
    item: Arc<Item>,
    configuration: Arc<Configuration>,
    hash: String,
    sender: watch::Sender<State>,
    notify: Notify,
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
            self.child = None;
            // What it has started would be in the way of its successor.
            if let Err(error) = self.item.end(&instance).await {
                return self.give_up(error.message);
            }
            let restart = self.configuration.restart;
            if since.elapsed() >= restart.backoff_limit {
                failures = 0;
            }
            match decide(restart, ended, failures) {
                Next::Finished => {
                    let hash = self.hash.clone();
                    if let Err(error) = self.item.change(|record| record.finished = Some(hash)) {
                        return self.give_up(error.message);
                    }
                    self.sender.send_replace(State::Finished);
                    return (self.notify)();
                }
                Next::GaveUp(reason) => return self.give_up(reason),
                Next::Again(wait) => {
                    failures += 1;
                    self.sender.send_replace(State::Waiting(how(ended)));
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
        (self.notify)();
        self.ended(instance).await
    }

    async fn ended(&mut self, instance: &Instance) -> Ended {
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
                        decide(self.configuration.restart, Ended::Unknown, *failures)
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
        (self.notify)();
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Next {
    Again(Duration),
    Finished,
    GaveUp(String),
}

/// What follows when a process has ended, after so many restarts in a row.
fn decide(restart: Restart, ended: Ended, failures: u64) -> Next {
    let how = how(ended);
    match (restart.policy, ended) {
        (Policy::OnFailure | Policy::Never, Ended::Well) => Next::Finished,
        (Policy::Never, Ended::Unknown | Ended::Badly(_)) => Next::GaveUp(how),
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

fn how(ended: Ended) -> String {
    match ended {
        Ended::Unknown => "the process has ended".to_owned(),
        Ended::Well => "the process has ended without an error".to_owned(),
        Ended::Badly(status) => format!("the process has ended with {status}"),
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
            (Policy::Always, badly, 1, again(2)),
            (Policy::Always, Ended::Unknown, 2, again(4)),
            (Policy::Always, badly, 3, again(5)),
            (Policy::Always, badly, 9, again(5)),
            (
                Policy::Always,
                badly,
                10,
                gave_up(
                    "the process has ended with exit status: 3, and was started again 10 times in a row",
                ),
            ),
            (Policy::OnFailure, Ended::Well, 3, Next::Finished),
            (Policy::OnFailure, badly, 0, again(1)),
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
                decide(restart(policy), ended, failures),
                next,
                "{policy:?} {ended:?}"
            );
        }
    }
}
