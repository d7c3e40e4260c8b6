//! A deployer that notes what it is asked to do.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use landform_api::landscaper::{keys, labels};
use landform_deployers::{DeployError, Deployed, Deployer, Job};
use parking_lot::Mutex;
use tokio::sync::Notify;

/// The type of its items. Configuration: `export` is exported, `hold: true` writes until it is stopped.
pub(crate) const RECORDER: &str = "test.dev/recorder";

/// Notes every write to its target, which is the journal.
#[derive(Clone, Default)]
pub(crate) struct Recorder {
    journal: Arc<Mutex<Vec<String>>>,
    removal_broken: Arc<AtomicBool>,
    removal_hangs: Arc<AtomicBool>,
    released: Arc<AtomicBool>,
    clinging: Arc<Mutex<BTreeSet<String>>>,
    hanging: Arc<Notify>,
}

impl Recorder {
    pub(crate) fn journal(&self) -> Vec<String> {
        self.journal.lock().clone()
    }

    /// What was noted since the last call.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.journal.lock())
    }

    pub(crate) fn break_removal(&self, broken: bool) {
        self.removal_broken.store(broken, Ordering::SeqCst);
    }

    /// Removals of this item fail from now on, in a way that may pass.
    pub(crate) fn cling(&self, item: &str) {
        self.clinging.lock().insert(item.to_owned());
    }

    /// They do so no longer.
    pub(crate) fn let_loose(&self) {
        self.clinging.lock().clear();
    }

    /// Items that would write until they are stopped end from now on.
    pub(crate) fn release(&self) {
        self.released.store(true, Ordering::SeqCst);
    }

    /// Removals from now on don't end.
    pub(crate) fn hang_removal(&self) {
        self.removal_hangs.store(true, Ordering::SeqCst);
    }

    /// Waits for a removal that doesn't end.
    pub(crate) async fn removing(&self) {
        self.hanging.notified().await;
    }

    fn note(&self, what: &str, job: &Job<'_>) {
        let line = format!("{what} {}", Self::name(job));
        self.journal.lock().push(line);
    }

    fn name(job: &Job<'_>) -> String {
        let (labels, annotations) = (&job.metadata.labels, &job.metadata.annotations);
        let (labels, annotations) = (
            labels.clone().unwrap_or_default(),
            annotations.clone().unwrap_or_default(),
        );
        let name = labels::get(&labels, &annotations, keys::ITEM_NAME);
        name.unwrap_or(job.name().1).to_owned()
    }
}

impl Deployer for Recorder {
    fn kind(&self) -> &str {
        RECORDER
    }

    fn deploy<'a>(&'a self, job: &'a Job<'a>) -> BoxFuture<'a, Result<Deployed, DeployError>> {
        Box::pin(async move {
            let config = job.spec.config.clone().unwrap_or_default();
            self.note("deploy", job);
            let held = config["hold"] == true;
            loop {
                if !held || self.released.load(Ordering::SeqCst) {
                    break;
                }
                job.or_cancelled(tokio::time::sleep(Duration::from_millis(1)))
                    .await?;
                self.note("write", job);
            }
            Ok(Deployed {
                exports: config["export"].as_object().cloned(),
                ..Deployed::default()
            })
        })
    }

    fn remove<'a>(&'a self, job: &'a Job<'a>) -> BoxFuture<'a, Result<(), DeployError>> {
        Box::pin(async move {
            if self.removal_broken.load(Ordering::SeqCst) {
                let message = "the target refuses to let it go";
                return Err(DeployError::configuration("Refused", message));
            }
            if self.clinging.lock().contains(&Self::name(job)) {
                self.note("fail to remove", job);
                return Err(DeployError::transient("Remove", "Clings", "it clings"));
            }
            if self.removal_hangs.load(Ordering::SeqCst) {
                self.hanging.notify_one();
                job.or_cancelled(std::future::pending::<()>()).await?;
            }
            let is_lost = job.spec.target.is_some() && job.target.is_none();
            let what = if is_lost {
                "remove without its target"
            } else {
                "remove"
            };
            self.note(what, job);
            Ok(())
        })
    }
}
