//! Calls a deployer: with its target, until a time, again after errors that may pass.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::{Either, select};
use landform_api::landscaper::{DeployItemSpec, ErrorCode, ExecutionPhase};
use landform_engine::{Failure, Outcome};

use super::act::Act;
use super::export::Written;
use super::observe::Item;
use super::{Former, config, export, target};
use crate::deployer::{DeployError, Deployed, Deployer, Job, Kept, ResolvedTarget};
use crate::secrets::Secrets;

/// Pauses between attempts double from the first to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Work that takes longer than this shows as Progressing.
const SHOW_AFTER: Duration = Duration::from_millis(200);

/// The work on one item, until a time.
pub(super) struct Work<'a> {
    pub(super) act: &'a Act<'a>,
    pub(super) until_ms: u64,
}

/// What a call needs beside the item.
#[derive(Default)]
pub(super) struct Given {
    target: Option<ResolvedTarget>,
    /// The spec with all of the configuration, if that is in a Secret.
    spec: Option<DeployItemSpec>,
    /// What of that no message may hold.
    secrets: Secrets,
}

impl Given {
    fn new(item: &Item, target: Option<ResolvedTarget>, spec: Option<DeployItemSpec>) -> Self {
        let whole = spec.as_ref().and_then(|spec| spec.config.as_ref());
        Self {
            secrets: Secrets::of_configuration(whole, item.object.spec.config.as_ref()),
            target,
            spec,
        }
    }

    /// What a deployer says, as statuses, Events and logs may have it.
    pub(super) fn hide<T>(&self, result: Result<T, DeployError>) -> Result<T, DeployError> {
        result.map_err(|error| DeployError {
            message: self.secrets.hide(&error.message),
            ..error
        })
    }
}

/// How work ended.
enum Ended {
    Well(Deployed),
    Failed(DeployError),
    /// The target doesn't exist.
    NoTarget(String),
}

impl Work<'_> {
    pub(super) fn job<'b>(&'b self, given: &'b Given) -> Job<'b> {
        let item = &self.act.item.object;
        Job {
            context: self.act.context,
            metadata: &self.act.item.metadata,
            spec: given.spec.as_ref().unwrap_or(&item.spec),
            status: &item.status,
            target: given.target.as_ref(),
            secrets: &given.secrets,
            wake: self.act.wake,
            deadline_ms: self.until_ms,
        }
    }

    /// What can be found of what a call needs, for one that takes something away.
    pub(super) async fn given_or_none(&self) -> Given {
        let (context, item) = (self.act.context, self.act.item);
        let target = target::resolve(context, item).await;
        let spec = config::resolve(context, item).await;
        let target = target.ok().and_then(target::Found::into_target);
        Given::new(item, target, spec.ok().flatten())
    }

    pub(super) async fn deploy(
        &self,
        deployer: Option<&Arc<dyn Deployer>>,
    ) -> Result<Outcome, Failure> {
        let Some(deployer) = deployer else {
            return Ok(Outcome::Done);
        };
        if let Some(former) = &self.act.former {
            return self.succeed_former(former).await;
        }
        let ended = {
            let writing = AtomicBool::new(false);
            let attempts = self.attempts(&**deployer);
            let shown = self.show_progress(&writing);
            match select(Box::pin(attempts), Box::pin(shown)).await {
                Either::Left((ended, shown)) => {
                    // A write that has begun must end before the next one.
                    if writing.load(Ordering::Relaxed) {
                        shown.await?;
                    }
                    ended?
                }
                Either::Right((written, attempts)) => {
                    written?;
                    attempts.await?
                }
            }
        };
        match ended {
            Ended::Well(deployed) => self.succeeded(deployed).await,
            Ended::Failed(error) => {
                self.act.end_as_failed(&error).await?;
                Ok(Outcome::Done)
            }
            Ended::NoTarget(name) => self.act.wait_for_target(&name, self.until_ms).await,
        }
    }

    /// The item has another type than when it was deployed: what was deployed then goes first.
    async fn succeed_former(&self, former: &Former<'_>) -> Result<Outcome, Failure> {
        let kind = &self.act.item.object.spec.kind;
        let former = match former {
            Former::Ours(former) => former,
            Former::Absent(name) => {
                let message = format!(
                    "what the deployer {name} has deployed must go before {kind} deploys, and this server doesn't have that deployer: set the type back to {name}, or delete the item with the annotation delete-without-uninstall"
                );
                let error = DeployError::configuration("FormerDeployer", message);
                self.act.end_as_failed(&error).await?;
                return Ok(Outcome::Done);
            }
        };
        let mut pause = FIRST_PAUSE;
        loop {
            let given = self.given_or_none().await;
            let job = self.job(&given);
            let removed = self.in_time(former.remove(&job)).await;
            let Err(mut error) = given.hide(removed) else {
                return self.act.take_over().await;
            };
            if error.reason == DeployError::CANCELLED || self.act.context.is_cancelled() {
                return Err(Failure::Cancelled);
            }
            error.message = format!(
                "what {} has deployed can't be removed, and must go before {kind} deploys: {}",
                former.kind(),
                error.message
            );
            if error.is_fatal() || self.time_left() <= pause {
                self.act.end_as_failed(&error).await?;
                return Ok(Outcome::Done);
            }
            self.act.note_error(&error).await?;
            job.or_cancelled(tokio::time::sleep(pause))
                .await
                .map_err(|_| Failure::Cancelled)?;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn show_progress(&self, writing: &AtomicBool) -> Result<(), Failure> {
        tokio::time::sleep(SHOW_AFTER).await;
        writing.store(true, Ordering::Relaxed);
        let shown = self.act.write(|status| {
            status.phase = Some(ExecutionPhase::Progressing);
        });
        shown.await
    }

    async fn succeeded(&self, deployed: Deployed) -> Result<Outcome, Failure> {
        let written = export::write(self.act.context, self.act.item, &deployed).await?;
        let export_ref = match written {
            Written::To(export_ref) => export_ref,
            Written::Foreign(error) => {
                self.act.end_as_failed(&error).await?;
                return Ok(Outcome::Done);
            }
        };
        let target_generation = self.act.item.target_generation.clone();
        self.act
            .write(|status| {
                status.phase = Some(ExecutionPhase::Succeeded);
                status.observed_generation = self.act.item.metadata.generation;
                status.last_error = None;
                status.waiting_on.clear();
                status.export_ref = export_ref;
                status.target_generation = target_generation;
                if deployed.provider_status.is_some() {
                    status.provider_status = deployed.provider_status;
                }
            })
            .await?;
        Ok(later(deployed.keep_after))
    }

    pub(super) async fn keep(
        &self,
        deployer: Option<&Arc<dyn Deployer>>,
    ) -> Result<Outcome, Failure> {
        let Some(deployer) = deployer else {
            return Ok(Outcome::Done);
        };
        let spec = match config::resolve(self.act.context, self.act.item).await {
            Ok(spec) => spec,
            Err(error) => return self.given_up(error).await,
        };
        let target = target::resolve(self.act.context, self.act.item).await;
        let target = target.ok().and_then(target::Found::into_target);
        let given = Given::new(self.act.item, target, spec);
        match given.hide(deployer.keep(&self.job(&given)).await) {
            Ok(Kept::Fine) => Ok(Outcome::Done),
            Ok(Kept::Again(after)) => Ok(later(Some(after))),
            Ok(Kept::Redeploy) => {
                self.act
                    .write(|status| status.phase = Some(ExecutionPhase::Progressing))
                    .await?;
                self.deploy(Some(deployer)).await
            }
            Err(error) => self.given_up(error).await,
        }
    }

    async fn given_up(&self, error: DeployError) -> Result<Outcome, Failure> {
        if error.reason == DeployError::CANCELLED {
            return Err(Failure::Cancelled);
        }
        if !error.is_fatal() {
            self.act.note_error(&error).await?;
            return Err(Failure::Transient(error.message));
        }
        self.act.end_as_failed(&error).await?;
        Ok(Outcome::Done)
    }

    pub(super) async fn remove(
        &self,
        deployer: Option<&Arc<dyn Deployer>>,
    ) -> Result<Outcome, Failure> {
        if let Some(deployer) = deployer {
            let given = self.given_or_none().await;
            let job = self.job(&given);
            let removed = self.in_time(deployer.remove(&job)).await;
            if let Err(error) = given.hide(removed) {
                return self.not_removed(error).await;
            }
        }
        self.act.let_go().await
    }

    /// I35b: a removal that failed is Failed for all to see, and is tried again if another try may help.
    async fn not_removed(&self, error: DeployError) -> Result<Outcome, Failure> {
        if error.reason == DeployError::CANCELLED || self.act.context.is_cancelled() {
            return Err(Failure::Cancelled);
        }
        self.act.end_as_failed(&error).await?;
        if error.is_fatal() {
            Ok(Outcome::Done)
        } else {
            Err(Failure::Transient(error.message))
        }
    }

    /// Tries until it works, can't work, or the time is over.
    async fn attempts(&self, deployer: &dyn Deployer) -> Result<Ended, Failure> {
        let mut pause = FIRST_PAUSE;
        loop {
            let given = match target::resolve(self.act.context, self.act.item).await {
                Ok(target::Found::Missing(name)) => return Ok(Ended::NoTarget(name)),
                Ok(found) => self.with_spec(found.into_target()).await,
                Err(error) => Err(error),
            };
            let result = match given {
                Ok(given) => {
                    let deployed = self.in_time(deployer.deploy(&self.job(&given))).await;
                    given.hide(deployed)
                }
                Err(error) => Err(error),
            };
            let error = match result {
                Ok(value) => return Ok(Ended::Well(value)),
                Err(error) => error,
            };
            if error.reason == DeployError::CANCELLED || self.act.context.is_cancelled() {
                return Err(Failure::Cancelled);
            }
            if error.is_fatal() {
                return Ok(Ended::Failed(error));
            }
            self.act.note_error(&error).await?;
            let wait = pause.min(self.time_left());
            self.act.context.sleep(wait).await?;
            if self.time_left().is_zero() {
                return Ok(Ended::Failed(self.too_late(Some(&error))));
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn with_spec(&self, target: Option<ResolvedTarget>) -> Result<Given, DeployError> {
        let spec = config::resolve(self.act.context, self.act.item).await?;
        Ok(Given::new(self.act.item, target, spec))
    }

    async fn in_time<T>(
        &self,
        work: impl Future<Output = Result<T, DeployError>>,
    ) -> Result<T, DeployError> {
        match tokio::time::timeout(self.time_left(), work).await {
            Ok(result) => result,
            Err(_) => Err(self.too_late(None)),
        }
    }

    fn time_left(&self) -> Duration {
        let now_ms = self.act.context.now_ms();
        Duration::from_millis(self.until_ms.saturating_sub(now_ms))
    }

    fn too_late(&self, cause: Option<&DeployError>) -> DeployError {
        let timeout = Duration::from_millis(self.act.timeout_ms);
        let time = landform_api::duration::write(timeout);
        let kind = &self.act.item.object.spec.kind;
        let mut message = format!("the deployer {kind} did not finish within {time}");
        if let Some(cause) = cause {
            message = format!("{message}; the last error was: {}", cause.message);
        }
        let code = ErrorCode::Timeout;
        DeployError::with_code("WaitForProgress", "ProgressingTimeout", message, code)
    }
}

fn later(after: Option<Duration>) -> Outcome {
    after.map_or(Outcome::Done, Outcome::Recheck)
}
