//! `landscaper.gardener.cloud/kubernetes-manifest`: applies objects to the API of a target.
//!
//! In reading order: `configuration.rs` with `parse.rs`, `fields.rs` and `schedule.rs` is what an item says; `object.rs`,
//! `inventory.rs`, `ownership.rs`, `change.rs` and `settled.rs` are the pure decisions; `target.rs`, `cluster.rs`,
//! `answers.rs`, `report.rs` and `wait.rs` speak with the target; `plan.rs`, `apply.rs`, `removal.rs` with `circle.rs`, `readiness.rs` and
//! `exports.rs` do the work. `docs/deployers/manifest.md` is for those who write items.
//!
//! # Guarantees
//! - An object that is somebody else's is neither changed nor deleted.
//! - Nothing is written when nothing differs, and nothing after a cancelled call has returned.
//! - An object that is made is in the inventory before, and found again after a crash.
//! - Errors hold names, fields and what the API says, never a value of a manifest or a credential.

mod answers;
mod apply;
mod change;
mod circle;
mod cluster;
mod configuration;
mod exports;
mod fields;
mod foresee;
mod inventory;
mod object;
mod ownership;
mod parse;
mod plan;
mod readiness;
mod removal;
pub(crate) mod report;
mod settled;
pub(crate) mod target;
#[cfg(test)]
mod tests;
mod wait;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use landform_api::schedule::Schedule;
use parking_lot::Mutex;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio_util::task::TaskTracker;

use crate::{DeployError, Deployed, Deployer, Job, Kept};
use cluster::Cluster;
use configuration::Configuration;
pub(crate) use foresee::foresee;
use inventory::Inventory;
pub use ownership::{ANNOTATION_ADOPT, ANNOTATION_FAMILY, ANNOTATION_ITEM};
use settled::Settled;
pub use target::{KUBERNETES_CLUSTER, THIS_SERVER, problem_of_user};

/// The type of deploy items.
pub const KIND: &str = "landscaper.gardener.cloud/kubernetes-manifest";

/// Deploys manifests.
#[derive(Debug, Default)]
pub struct ManifestDeployer {
    /// Writes that go on, by the uid of their item.
    writes: Mutex<BTreeMap<String, Arc<TaskTracker>>>,
    settled: Settled,
}

/// What calls share, as far as it matters to one item.
struct Shared<'a> {
    writes: Arc<TaskTracker>,
    settled: &'a Settled,
}

impl ManifestDeployer {
    /// One that has nothing under way.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Waits for what an earlier call has left behind.
    async fn shared(&self, job: &Job<'_>) -> Shared<'_> {
        let writes = {
            let mut all = self.writes.lock();
            all.retain(|_, writes| Arc::strong_count(writes) > 1 || !writes.is_empty());
            all.entry(job.uid().to_owned()).or_default().clone()
        };
        writes.close();
        writes.wait().await;
        Shared {
            writes,
            settled: &self.settled,
        }
    }
}

impl Deployer for ManifestDeployer {
    fn kind(&self) -> &str {
        KIND
    }

    fn deploy<'a>(&'a self, job: &'a Job<'a>) -> BoxFuture<'a, Result<Deployed, DeployError>> {
        Box::pin(async { deploy(job, self.shared(job).await).await })
    }

    fn remove<'a>(&'a self, job: &'a Job<'a>) -> BoxFuture<'a, Result<(), DeployError>> {
        Box::pin(async { remove(job, self.shared(job).await).await })
    }

    fn keep<'a>(&'a self, job: &'a Job<'a>) -> BoxFuture<'a, Result<Kept, DeployError>> {
        Box::pin(async { keep(job, self.shared(job).await).await })
    }

    fn stop<'a>(&'a self, job: &'a Job<'a>) -> BoxFuture<'a, Result<(), DeployError>> {
        Box::pin(async {
            self.shared(job).await;
            Ok(())
        })
    }
}

async fn deploy(job: &Job<'_>, shared: Shared<'_>) -> Result<Deployed, DeployError> {
    let configuration = Configuration::read(job.spec.config.as_ref())?;
    if !configuration.unknown.is_empty() {
        let (namespace, name) = job.name();
        let fields = job.hide(&configuration.unknown.join(", "));
        tracing::warn!(
            namespace,
            name,
            fields,
            "fields that are not known are ignored"
        );
    }
    let cluster = Cluster::new(job, target::connect(job).await?, shared);
    let applied = apply::apply(&cluster, &configuration).await?;
    let managed = applied.managed();
    readiness::wait_until_ready(&cluster, &configuration.readiness, &managed).await?;
    let exports = exports::read(&cluster, &configuration.exports, &applied.wanted).await?;
    let schedule = configuration.schedule.as_ref();
    Ok(Deployed {
        provider_status: Some(applied.inventory.write()),
        exports,
        exports_stay: false,
        secret_exports: exports::secret_names(&configuration.exports, &applied.wanted),
        keep_after: schedule.and_then(|schedule| pause(schedule, job.now_ms())),
    })
}

async fn remove(job: &Job<'_>, shared: Shared<'_>) -> Result<(), DeployError> {
    let inventory = Inventory::read(job.remembered().await.as_ref());
    if !inventory.entries.iter().any(|entry| entry.policy.deletes()) {
        return Ok(());
    }
    let connection = target::connect_to_remove(job, inventory.target.as_deref()).await;
    let connection = connection.map_err(|error| {
        let named = job.spec.target.as_ref();
        let named = named.map_or("(none)", |target| target.name.as_str());
        let message = format!(
            "what was deployed can't be removed without its target {named}: {error}. Put it right, or \
             give the item the annotation landscaper.gardener.cloud/delete-without-uninstall: \"true\""
        );
        DeployError::transient("Remove", &error.reason, message)
    })?;
    let cluster = Cluster::new(job, connection, shared);
    let timeout = Configuration::delete_timeout_of(job.spec.config.as_ref());
    if cluster.here {
        removal::may_remove(&cluster, &inventory.entries).await?;
    }
    removal::remove_all(&cluster, &inventory.entries, timeout).await
}

/// Puts right what others changed or deleted at the target, when it is time to.
async fn keep(job: &Job<'_>, shared: Shared<'_>) -> Result<Kept, DeployError> {
    let Some(schedule) = Configuration::schedule_of(job.spec.config.as_ref())? else {
        return Ok(Kept::Fine);
    };
    let now_ms = job.now_ms();
    let last = job.status.last_reconcile_time.as_deref();
    let last = last.and_then(|text| OffsetDateTime::parse(text, &Rfc3339).ok());
    let last_ms = last.and_then(|time| u64::try_from(time.unix_timestamp_nanos() / 1_000_000).ok());
    let due_ms = schedule.next_after(last_ms.unwrap_or(0));
    if let Some(early) = due_ms
        .and_then(|due_ms| due_ms.checked_sub(now_ms))
        .filter(|early| *early > 0)
    {
        return Ok(Kept::Again(Duration::from_millis(early)));
    }
    if let (None, Some(target)) = (job.target, &job.spec.target) {
        // It may come back, and what is there goes on without it.
        let message = format!("there is no Target {}, or it can't be read", target.name);
        return Err(DeployError::transient("Keep", "NoTarget", message));
    }
    let configuration = Configuration::read(job.spec.config.as_ref())?;
    let cluster = Cluster::new(job, target::connect(job).await?, shared);
    apply::apply(&cluster, &configuration).await?;
    Ok(pause(&schedule, job.now_ms()).map_or(Kept::Fine, Kept::Again))
}

/// How long until the next time of a schedule.
fn pause(schedule: &Schedule, now_ms: u64) -> Option<Duration> {
    let next_ms = schedule.next_after(now_ms)?;
    Some(Duration::from_millis(next_ms.saturating_sub(now_ms)))
}
