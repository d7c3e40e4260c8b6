//! The deployer of simulated landscapes: takes its time, writes a number to the target, and exports it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use landform_deployers::{DeployError, Deployed, Deployer, Job};
use serde::Deserialize;
use serde_json::{Map, json};

use super::target::{Target, Writer};
use crate::disk::{Disk, Life};
use crate::fault::{Fault, Faults};

/// The type of its items.
pub(super) const KIND: &str = "sim.landform.dev/number";
/// The work on one item takes so long: longer than it takes to show as Progressing.
const WORK: Duration = Duration::from_millis(400);
/// Work that is slow takes up to so long.
const SLOW_MS: u64 = 30_000;
/// Work that hangs does not look at its cancellation for so long at least, and up to three times as long.
const HUNG_MS: u64 = 8_000;

/// Deploys numbers.
pub(super) struct Numbers {
    pub(super) target: Target,
    pub(super) disk: Disk,
    pub(super) life: Arc<Life>,
    pub(super) faults: Faults,
}

#[derive(Deserialize)]
struct Configuration {
    value: u64,
    fate: String,
    takes: BTreeMap<String, u64>,
}

impl Numbers {
    /// What faults do to a call before it does anything.
    async fn suffer(&self, job: &Job<'_>) -> Result<(), DeployError> {
        let name = || job.name().1.to_owned();
        let chance = self.faults.chance();
        if self.faults.strikes(Fault::SlowRun, name) {
            let time = Duration::from_millis(chance.below(SLOW_MS));
            job.or_cancelled(tokio::time::sleep(time)).await?;
        }
        if self.faults.strikes(Fault::HungRun, name) {
            let time = Duration::from_millis(HUNG_MS + chance.below(2 * HUNG_MS));
            tokio::time::sleep(time).await;
        }
        if self.faults.strikes(Fault::FailedRun, name) {
            let message = "the world outside is closed";
            return Err(DeployError::transient("Write", "Closed", message));
        }
        if self.faults.strikes(Fault::Panic, name) {
            // Without the message that a panic prints: it is meant to happen.
            std::panic::resume_unwind(Box::new("a simulated panic"));
        }
        if job.is_cancelled() {
            return Err(DeployError::cancelled());
        }
        Ok(())
    }

    fn writer<'a>(&'a self, job: &'a Job<'a>) -> Writer<'a> {
        Writer {
            disk: &self.disk,
            life: &self.life,
            item: job.metadata,
        }
    }
}

impl Deployer for Numbers {
    fn kind(&self) -> &str {
        KIND
    }

    fn deploy<'a>(&'a self, job: &'a Job<'a>) -> BoxFuture<'a, Result<Deployed, DeployError>> {
        Box::pin(async move {
            self.suffer(job).await?;
            let configuration = job.spec.config.clone().unwrap_or_default();
            let configuration: Configuration = serde_json::from_value(configuration)
                .map_err(|error| DeployError::configuration("Unreadable", error.to_string()))?;
            let taken = configuration.takes.values();
            let sum = taken.fold(configuration.value, |sum, taken| sum.wrapping_add(*taken));
            let note = json!({"sum": sum});
            job.remember(&note).await?;
            job.or_cancelled(tokio::time::sleep(WORK)).await?;
            if job.is_cancelled() {
                return Err(DeployError::cancelled());
            }
            let first = self.target.put(&self.writer(job), sum);
            match configuration.fate.as_str() {
                "fails" => Err(DeployError::configuration(
                    "ToldToFail",
                    "it was told to fail",
                )),
                "fails once" if first => Err(DeployError::configuration(
                    "ToldToFail",
                    "it was told to fail once",
                )),
                "hangs" => {
                    job.or_cancelled(std::future::pending::<()>()).await?;
                    Err(DeployError::cancelled())
                }
                _ => Ok(Deployed {
                    provider_status: Some(note),
                    exports: Some(Map::from_iter([("sum".to_owned(), json!(sum))])),
                    ..Deployed::default()
                }),
            }
        })
    }

    fn remove<'a>(&'a self, job: &'a Job<'a>) -> BoxFuture<'a, Result<(), DeployError>> {
        Box::pin(async move {
            self.suffer(job).await?;
            job.or_cancelled(tokio::time::sleep(WORK)).await?;
            if job.is_cancelled() {
                return Err(DeployError::cancelled());
            }
            let configuration = job.spec.config.clone().unwrap_or_default();
            if configuration["fate"] == "stays" {
                let message = "it was told to stay";
                return Err(DeployError::configuration("ToldToStay", message));
            }
            self.target.remove(&self.writer(job));
            Ok(())
        })
    }
}
