//! What a person asks of a process beside its configuration, by annotations of the item (ADR 0036).
//!
//! They stay when they are carried out: one that is stopped stays so, whatever is restarted, and a restart that was
//! asked for is known by its text, so that it is carried out once.

use landform_api::keys::{ANNOTATION_RESTART, ANNOTATION_STOPPED};
use landform_api::landscaper::keys;
use landform_engine::EventType;
use serde_json::{Value, json};

use super::rollout::Slot;
use crate::{DeployError, Job};

/// What is asked of an item's process.
pub(super) struct Wish<'a> {
    /// There should be none.
    pub(super) stopped: bool,
    /// There should be another one than before this was asked for.
    pub(super) restart: Option<&'a str>,
}

impl<'a> Wish<'a> {
    pub(super) fn of(job: &'a Job<'_>) -> Self {
        let annotation = |key: &str| {
            let annotations = job.metadata.annotations.as_ref()?;
            annotations.get(key).map(String::as_str)
        };
        Self {
            stopped: annotation(ANNOTATION_STOPPED) == Some(keys::TRUE),
            restart: annotation(ANNOTATION_RESTART),
        }
    }
}

impl Slot {
    /// Ends everything, until a person wants a process again; says whether something ended.
    pub(super) async fn put_down(&self) -> Result<bool, DeployError> {
        self.item.change(|record| record.stopped = true)?;
        self.end_supervision().await;
        self.item.settle().await?;
        let some = !self.item.record().instances.is_empty();
        self.item.end_those(|_| true).await?;
        Ok(some)
    }

    /// What the item's status should say when a person wants no process.
    pub(super) fn stopped_status(&self) -> Value {
        let restarts = self.item.record().restarts;
        json!({"log": self.item.log(), "restarts": restarts, "stopped": true})
    }
}

/// Tells what happened to the process.
pub(super) fn tell(job: &Job<'_>, reason: &str, message: &str) {
    job.context.event(EventType::Normal, reason, message);
}

/// Without a process that was ready once there is nothing that the item could have succeeded with.
pub(super) fn never_ready(job: &Job<'_>) -> DeployError {
    let (namespace, name) = job.name();
    let message = format!(
        "the process is stopped and was never ready: `landform start di/{name} -n {namespace}` starts it"
    );
    DeployError::configuration("Stopped", message)
}
