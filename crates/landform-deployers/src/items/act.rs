//! Carries out what was decided about an item: one match over all actions.

use std::sync::Arc;
use std::time::Duration;

use kube::core::ObjectMeta;
use landform_api::duration;
use landform_api::landscaper::deploy_item::DeployerInformation;
use landform_api::landscaper::report::{ObjectName, WRITE_REFUSED, note_operation};
use landform_api::landscaper::{
    DeployItemStatus, ErrorCode, ExecutionPhase, LastError, WaitingOn, keys,
};
use landform_api::words::status_message;
use landform_decide::Rule;
use landform_decide::deploy_item::{Action, Decision, Late};
use landform_decide::execution::INTERRUPTED;
use landform_engine::{Context, EventType, Failure, Outcome, write_time};

use super::observe::Item;
use super::work::Work;
use super::{ABORTED, Former, IDENTITY};
use crate::deployer::{DeployError, Deployer, Wake};

/// Stands between an error and the one that was there before it.
const CAUSED_BY: &str = "; the last error was: ";
/// The next run sees the item as it is when nothing of its former deployer is left.
const TAKEN_OVER: Duration = Duration::from_millis(100);

/// One run of one item.
pub(super) struct Act<'a> {
    pub(super) context: &'a Context,
    pub(super) item: &'a Item,
    pub(super) former: Option<Former<'a>>,
    pub(super) wake: &'a Wake,
    pub(super) timeout_ms: u64,
}

impl Act<'_> {
    /// What the API refuses to write is told, and tried again; what can't be written as it is fails the item.
    pub(super) async fn carry_out(
        &self,
        decision: Decision,
        deployer: Option<&Arc<dyn Deployer>>,
    ) -> Result<Outcome, Failure> {
        match self.try_out(decision, deployer).await {
            Err(Failure::Refused(message)) => {
                let error = DeployError::transient("Reconcile", WRITE_REFUSED, &message);
                if self.item.metadata.deletion_timestamp.is_some() {
                    self.note_error(&error).await?;
                } else {
                    self.end_as_failed(&error).await?;
                }
                Err(Failure::Refused(message))
            }
            Err(Failure::Invalid(message)) => {
                self.end_as_failed(&DeployError::configuration("WriteInvalid", message))
                    .await?;
                self.give_up().await
            }
            other => other,
        }
    }

    async fn try_out(
        &self,
        decision: Decision,
        deployer: Option<&Arc<dyn Deployer>>,
    ) -> Result<Outcome, Failure> {
        let Decision { rule, action } = decision;
        self.tell_operation().await?;
        let begins = matches!(action, Action::PickUp | Action::Deploy { .. });
        if begins && let Some(error) = self.unusable_timeout() {
            self.end_as_failed(&error).await?;
            return self.give_up().await;
        }
        match action {
            // It has failed only because something could not be written: that may be possible now.
            Action::Nothing if self.item.was_refused() => {
                let until_ms = self.context.now_ms().saturating_add(self.timeout_ms);
                self.work(until_ms).deploy(deployer).await
            }
            Action::Nothing => Ok(Outcome::Done),
            Action::StopWaiting => {
                self.write(|status| status.waiting_on.clear()).await?;
                Ok(Outcome::Done)
            }
            Action::Wait { until_ms, on } => self.wait(rule, until_ms, on).await,
            Action::Fail(late) => self.fail(&late).await,
            Action::DropOperation => self.drop_operation().await,
            Action::LetGo => {
                self.end_care(deployer).await?;
                self.forget(deployer).await?;
                self.let_go().await
            }
            Action::AcknowledgeAbort => self.acknowledge_abort(deployer).await,
            Action::Interrupt => self.interrupt(deployer).await,
            Action::PickUp => {
                let until_ms = self.context.now_ms().saturating_add(self.timeout_ms);
                self.pick_up().await?;
                self.work(until_ms).deploy(deployer).await
            }
            Action::Deploy { until_ms } => self.work(until_ms).deploy(deployer).await,
            Action::Keep => self.keep(deployer).await,
            Action::Remove => self.remove(deployer).await,
        }
    }

    fn work(&self, until_ms: u64) -> Work<'_> {
        Work {
            act: self,
            until_ms,
        }
    }

    /// Reports an unknown operation, which has no other effect.
    async fn tell_operation(&self) -> Result<(), Failure> {
        let now = write_time(self.context.now_ms());
        let before = &self.item.object.status.conditions;
        let mut conditions = before.clone();
        let operation = self.item.annotation(keys::OPERATION);
        let told = note_operation(&mut conditions, operation, &now);
        if conditions == *before {
            return Ok(());
        }
        if let Some(message) = told {
            let warning = EventType::Warning;
            self.context.event(warning, "UnknownOperation", &message);
        }
        self.write(|status| status.conditions = conditions).await
    }

    /// Changes the status as this run knows it.
    pub(super) async fn write(
        &self,
        change: impl FnOnce(&mut DeployItemStatus),
    ) -> Result<(), Failure> {
        let status = self.context.status().await;
        let status = Some(status).filter(|status| !status.is_null());
        let mut status: DeployItemStatus = status
            .map_or_else(|| Ok(DeployItemStatus::default()), serde_json::from_value)
            .map_err(|error| Failure::Invalid(format!("the status can't be read: {error}")))?;
        change(&mut status);
        self.context.write_status(&status).await
    }

    async fn wait(
        &self,
        rule: Rule,
        until_ms: Option<u64>,
        on: String,
    ) -> Result<Outcome, Failure> {
        let waiting = vec![WaitingOn {
            rule: rule.to_string(),
            object: None,
            reason: on.clone(),
        }];
        self.write(|status| status.waiting_on = waiting).await?;
        Ok(match until_ms {
            Some(until_ms) => Outcome::WaitUntil(on, until_ms),
            None => Outcome::Wait(on),
        })
    }

    /// It waits for its target, for as long as the work may take.
    pub(super) async fn wait_for_target(
        &self,
        name: &str,
        until_ms: u64,
    ) -> Result<Outcome, Failure> {
        let namespace = self.item.metadata.namespace.clone().unwrap_or_default();
        let on = format!("the Target {name}, which doesn't exist");
        let waiting = vec![WaitingOn {
            rule: Rule::E12.to_string(),
            object: Some(ObjectName {
                kind: "Target".into(),
                namespace,
                name: name.into(),
                ..ObjectName::default()
            }),
            reason: "it doesn't exist".into(),
        }];
        self.write(|status| status.waiting_on = waiting).await?;
        Ok(Outcome::WaitUntil(on, until_ms))
    }

    async fn pick_up(&self) -> Result<(), Failure> {
        let now = write_time(self.context.now_ms());
        self.write(|status| {
            status.observed_generation = self.item.metadata.generation;
            status.phase = Some(ExecutionPhase::Init);
            status.last_reconcile_time = Some(now);
            status.waiting_on.clear();
            // The former one is noted until what it has deployed is gone.
            if self.former.is_none() {
                status.deployer = Some(self.deployer_information());
            }
        })
        .await?;
        let taken = self.context.edit_metadata(|metadata| {
            hold(metadata);
            remove_annotations(
                metadata,
                &[keys::RECONCILE_TIME, keys::OPERATION, keys::ABORT_TIME],
            );
        });
        taken.await.map(drop)
    }

    fn deployer_information(&self) -> DeployerInformation {
        DeployerInformation {
            identity: IDENTITY.into(),
            name: self.item.object.spec.kind.clone(),
            version: env!("CARGO_PKG_VERSION").into(),
        }
    }

    /// What the former deployer has brought is gone: nothing of it is known any more.
    pub(super) async fn take_over(&self) -> Result<Outcome, Failure> {
        self.write(|status| {
            status.deployer = Some(self.deployer_information());
            status.provider_status = None;
        })
        .await?;
        Ok(Outcome::Recheck(TAKEN_OVER))
    }

    /// The phase is final, and says why. An error that was there before is never overwritten by a
    /// timeout: it is the cause.
    pub(super) async fn end_as_failed(&self, error: &DeployError) -> Result<(), Failure> {
        let now = write_time(self.context.now_ms());
        self.context
            .event(EventType::Warning, &error.reason, &error.message);
        self.write(|status| {
            status.phase = Some(ExecutionPhase::Failed);
            status.observed_generation = self.item.metadata.generation;
            status.waiting_on.clear();
            set_error(&mut status.last_error, error, &now);
        })
        .await
    }

    async fn fail(&self, late: &Late) -> Result<Outcome, Failure> {
        let mut error = late_error(late);
        let before = self.item.object.status.last_error.as_ref();
        if let Some(before) = before.filter(|_| !matches!(late, Late::Pickup { .. })) {
            error.message = format!("{}{CAUSED_BY}{}", error.message, before.message);
        }
        self.end_as_failed(&error).await?;
        self.give_up().await
    }

    /// One that the API took before it looked at timeouts, or one that is longer than can be reckoned with.
    fn unusable_timeout(&self) -> Option<DeployError> {
        let timeout = self.item.object.spec.timeout.as_deref()?;
        if duration::timeout(timeout).is_some() {
            return None;
        }
        let message = format!("spec.timeout: {}", duration::TIMEOUT_EXPECTED);
        Some(DeployError::configuration("InvalidTimeout", message))
    }

    /// Nobody may take up what was given up.
    async fn give_up(&self) -> Result<Outcome, Failure> {
        let given_up = self.context.edit_metadata(|metadata| {
            let keys = [keys::RECONCILE_TIME, keys::OPERATION, keys::ABORT_TIME];
            remove_annotations(metadata, &keys);
        });
        given_up.await?;
        Ok(Outcome::Done)
    }

    async fn drop_operation(&self) -> Result<Outcome, Failure> {
        let dropped = self.context.edit_metadata(|metadata| {
            remove_annotations(metadata, &[keys::OPERATION, keys::ABORT_TIME]);
        });
        dropped.await?;
        Ok(Outcome::Done)
    }

    pub(super) async fn let_go(&self) -> Result<Outcome, Failure> {
        let released = self.context.edit_metadata(|metadata| {
            if let Some(finalizers) = &mut metadata.finalizers {
                finalizers.retain(|name| name != keys::FINALIZER);
            }
        });
        released.await?;
        Ok(Outcome::Done)
    }

    /// The run that was at work has returned, or this one would not have started. What its deployer does
    /// outside of calls ends here; only then the abort is acknowledged.
    async fn acknowledge_abort(
        &self,
        deployer: Option<&Arc<dyn Deployer>>,
    ) -> Result<Outcome, Failure> {
        self.end_care(deployer).await?;
        let error = DeployError::transient(
            "Abort",
            ABORTED,
            "the work was stopped because somebody asked for it; it goes on with operation reconcile",
        );
        self.end_as_stopped(&error).await
    }

    /// The run that was at work has returned. What its deployer does outside of calls should end, too, but that is not
    /// waited for: the error says so if it doesn't.
    async fn interrupt(&self, deployer: Option<&Arc<dyn Deployer>>) -> Result<Outcome, Failure> {
        let before = self.item.object.status.last_error.as_ref();
        // A process may have ended between this error and the end of the request: then the cause is the one that it tells.
        let cause = before.and_then(|before| match before.reason.as_str() {
            INTERRUPTED => Some(before.message.split_once(CAUSED_BY)?.1),
            _ => Some(before.message.as_str()),
        });
        let cause = cause.map(|cause| format!("{CAUSED_BY}{cause}"));
        let goes_on = self.end_care(deployer).await.err();
        let goes_on = goes_on.map(|failure| format!("; it may still go on: {failure}"));
        let message = format!(
            "the work was interrupted on request before it came to an end{}{}",
            goes_on.unwrap_or_default(),
            cause.unwrap_or_default()
        );
        let error = DeployError::transient("Interrupt", INTERRUPTED, message);
        self.end_as_stopped(&error).await
    }

    async fn end_as_stopped(&self, error: &DeployError) -> Result<Outcome, Failure> {
        self.end_as_failed(error).await?;
        let acknowledged = self.context.edit_metadata(|metadata| {
            let keys = [keys::OPERATION, keys::ABORT_TIME, keys::RECONCILE_TIME];
            remove_annotations(metadata, &keys);
        });
        acknowledged.await?;
        Ok(Outcome::Done)
    }

    /// Whatever the deployer does for the item outside of calls ends.
    async fn end_care(&self, deployer: Option<&Arc<dyn Deployer>>) -> Result<(), Failure> {
        let Some(deployer) = deployer else {
            return Ok(());
        };
        let work = self.work(self.context.now_ms().saturating_add(self.timeout_ms));
        let given = work.given_or_none().await;
        let stopped = given.hide(deployer.stop(&work.job(&given)).await);
        stopped.map_err(|error| Failure::Transient(error.message))
    }

    /// I36: what was deployed stays, and nothing that is kept about it.
    async fn forget(&self, deployer: Option<&Arc<dyn Deployer>>) -> Result<(), Failure> {
        let Some(deployer) = deployer else {
            return Ok(());
        };
        let work = self.work(self.context.now_ms().saturating_add(self.timeout_ms));
        let given = work.given_or_none().await;
        let forgotten = given.hide(deployer.forget(&work.job(&given)).await);
        forgotten.map_err(|error| Failure::Transient(error.message))
    }

    async fn keep(&self, deployer: Option<&Arc<dyn Deployer>>) -> Result<Outcome, Failure> {
        let until_ms = self.context.now_ms().saturating_add(self.timeout_ms);
        self.work(until_ms).keep(deployer).await
    }

    async fn remove(&self, deployer: Option<&Arc<dyn Deployer>>) -> Result<Outcome, Failure> {
        let status = &self.item.object.status;
        let generation = self.item.metadata.generation;
        // A try that nobody asked for shows what came of the last one until it is better.
        let asked = self.item.annotation(keys::OPERATION).is_some();
        let begun = match status.phase {
            Some(ExecutionPhase::Deleting) => true,
            Some(ExecutionPhase::Failed) => !asked,
            None
            | Some(
                ExecutionPhase::Init | ExecutionPhase::Progressing | ExecutionPhase::Succeeded,
            ) => false,
        };
        let begun = begun && status.observed_generation == generation;
        let now_ms = self.context.now_ms();
        if !begun {
            let now = write_time(now_ms);
            self.write(|status| {
                status.phase = Some(ExecutionPhase::Deleting);
                status.observed_generation = generation;
                status.last_reconcile_time = Some(now);
                status.waiting_on.clear();
            })
            .await?;
        }
        // A process may have ended between the two writes.
        if !begun || asked {
            let dropped = self.context.edit_metadata(|metadata| {
                remove_annotations(metadata, &[keys::OPERATION, keys::RECONCILE_TIME]);
            });
            dropped.await?;
        }
        self.work(now_ms.saturating_add(self.timeout_ms))
            .remove(deployer)
            .await
    }

    /// One more attempt of a deploy or remove failed; others will follow.
    pub(super) async fn note_error(&self, error: &DeployError) -> Result<(), Failure> {
        let now = write_time(self.context.now_ms());
        self.context
            .event(EventType::Warning, &error.reason, &error.message);
        self.write(|status| set_error(&mut status.last_error, error, &now))
            .await
    }
}

fn hold(metadata: &mut ObjectMeta) {
    let finalizers = metadata.finalizers.get_or_insert_default();
    if !finalizers.iter().any(|name| name == keys::FINALIZER) {
        finalizers.push(keys::FINALIZER.to_owned());
    }
}

fn remove_annotations(metadata: &mut ObjectMeta, keys: &[&str]) {
    if let Some(annotations) = &mut metadata.annotations {
        annotations.retain(|key, _| !keys.contains(&key.as_str()));
    }
}

/// The same error again only moves nothing: a mere time is no reason to write.
fn set_error(last: &mut Option<LastError>, error: &DeployError, now: &str) {
    let message = status_message(&error.message);
    let same = last.as_ref().is_some_and(|last| {
        last.reason == error.reason
            && last.message == message
            && last.operation == error.operation
            && last.codes == error.codes
    });
    if !same {
        *last = Some(LastError {
            operation: error.operation.clone(),
            reason: error.reason.clone(),
            message: message.into_owned(),
            codes: error.codes.clone(),
            last_transition_time: Some(now.to_owned()),
            last_update_time: Some(now.to_owned()),
        });
    }
}

fn late_error(late: &Late) -> DeployError {
    let minutes = |ms: u64| duration::write(std::time::Duration::from_millis(ms));
    let (operation, reason, message) = match late {
        Late::Pickup { expected } => {
            let time = minutes(landform_decide::deploy_item::PICKUP_TIMEOUT_MS);
            let message = format!(
                "{expected} was expected to pick the item up within {time}, and none did: is one running that serves its namespace? This server doesn't (its options --deployer and --without-deployers)"
            );
            ("WaitForPickup", "PickupTimeout", message)
        }
        Late::Progressing {
            expected,
            timeout_ms,
        } => {
            let time = minutes(*timeout_ms);
            let message = format!("{expected} did not finish within {time}");
            ("WaitForProgress", "ProgressingTimeout", message)
        }
        Late::Aborting { expected } => {
            let time = minutes(landform_decide::deploy_item::ABORT_TIMEOUT_MS);
            let message = format!("{expected} did not stop within {time} after it was told to");
            ("WaitForAbort", "AbortTimeout", message)
        }
    };
    DeployError::with_code(operation, reason, message, ErrorCode::Timeout)
}
