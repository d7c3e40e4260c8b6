//! `landform.dev/process`: a process on this machine, started, looked after and replaced.
//!
//! A process goes on when Landform ends, and is taken up again when it starts. `docs/deployers/process.md` has the
//! configuration.
//!
//! - `access` gives it a kubeconfig of its own;
//! - `config` is what people write and `read` reads, `record` what is noted on disk, `launch` starts a process;
//! - `supervisor` looks after one, `logs` after its output, `permit` says whether it may be started again;
//! - `wish` is what a person asks of the process beside its configuration: to be stopped, or started again;
//! - `readiness` and `exports` ask it; `rollout` puts all of that in order.

mod access;
mod config;
mod exports;
mod launch;
mod logs;
mod permit;
mod read;
mod readiness;
mod record;
mod rollout;
mod supervisor;
#[cfg(test)]
mod tests;
mod wish;

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use landform_engine::{EventType, RightsLater};
use landform_process::Facts;
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::mpsc;

use crate::local::{Cgroups, let_in, may_run, other_user, right_to_run};
use crate::{DeployError, Deployed, Deployer, Job, Kept};
pub use access::ApiAddress;
use access::{Access, Renew};
use config::Configuration;
pub(crate) use exports::foresee;
use record::{Item, Machine};
use rollout::Slot;
use supervisor::Notify;
use wish::Wish;

/// Deploys processes.
pub struct ProcessDeployer {
    directory: PathBuf,
    machine: Machine,
    api: Option<ApiAddress>,
    slots: Mutex<HashMap<String, Arc<Slot>>>,
}

impl ProcessDeployer {
    /// The type of its deploy items.
    pub const KIND: &str = "landform.dev/process";

    /// Keeps what belongs to processes in `processes` of Landform's data directory.
    #[must_use]
    pub fn new(data_directory: impl AsRef<Path>) -> Self {
        let directory = data_directory.as_ref().join("processes");
        // Processes run in directories of their own, where a relative path would lead elsewhere.
        let directory = std::path::absolute(&directory).unwrap_or(directory);
        Self {
            directory,
            machine: Machine {
                cgroups: Cgroups::find(),
                launcher: None,
            },
            api: None,
            slots: Mutex::new(HashMap::new()),
        }
    }

    /// This program brings processes into their control groups: one that calls
    /// [`landform_process::launcher::become_program`] first of all. Without one they are put there as soon as they run.
    #[must_use]
    pub fn with_launcher(mut self, program: impl Into<PathBuf>) -> Self {
        self.machine.launcher = Some(program.into());
        self
    }

    /// Processes get no control groups.
    #[must_use]
    pub fn without_cgroups(mut self) -> Self {
        self.machine.cgroups = None;
        self
    }

    /// Processes may have access to the API, which they reach here.
    #[must_use]
    pub fn with_api(mut self, api: ApiAddress) -> Self {
        self.api = Some(api);
        self
    }

    fn configuration(job: &Job<'_>) -> Result<Configuration, DeployError> {
        let mut configuration = Configuration::read(job.spec.config.as_ref())?;
        if let Some(access) = &mut configuration.launch.access
            && access.namespace.is_empty()
        {
            job.name().0.clone_into(&mut access.namespace);
        }
        Ok(configuration)
    }

    /// Makes sure that the process can reach the API, if it wants to; says when to look again.
    async fn access(
        &self,
        job: &Job<'_>,
        item: &Item,
        configuration: &Configuration,
        renew: Renew,
    ) -> Result<Option<Duration>, DeployError> {
        let Some(access) = &configuration.launch.access else {
            return Ok(None);
        };
        let Some(api) = &self.api else {
            let message = "config.access: this deployer was not told where the API is; run the item with `landform serve` or `landform engine`, or leave the field out";
            return Err(DeployError::configuration("NoApiAddress", message));
        };
        let user = other_user(configuration.launch.user.as_deref())?;
        if let Some(user) = &user {
            let_in(user, &item.directory, &[]).map_err(|error| {
                DeployError::configuration("InvalidUser", format!("config.user: {error}"))
            })?;
        }
        let place = access::Place {
            item: &item.directory,
            user: user.as_ref(),
        };
        let ensured = access::ensure(job, place, access, api, renew).await?;
        Ok(Some(ensured))
    }

    fn path(&self, uid: &str) -> Result<PathBuf, DeployError> {
        if crate::local::is_inside(uid) && !uid.contains('/') {
            return Ok(self.directory.join(uid));
        }
        Err(DeployError::transient(
            "Start",
            "NoUid",
            "the item has no uid",
        ))
    }

    fn slot(&self, uid: &str) -> Result<Arc<Slot>, DeployError> {
        let mut slots = self.slots.lock();
        if let Some(slot) = slots.get(uid) {
            return Ok(Arc::clone(slot));
        }
        let slot = Arc::new(Slot::new(Item::open(
            self.path(uid)?,
            uid,
            self.machine.clone(),
        )?));
        slots.insert(uid.to_owned(), Arc::clone(&slot));
        Ok(slot)
    }

    /// An item that fails for a missing right knows why its process doesn't start again: the next request may start it once
    /// the right is there.
    fn told(&self, job: &Job<'_>, allowed: Result<(), DeployError>) -> Result<(), DeployError> {
        if allowed.is_err()
            && let Some(slot) = self.slots.lock().get(job.uid())
        {
            slot.tell();
        }
        allowed
    }

    /// Takes note of a restart that a person asks for; says whether that is a new one.
    fn ask(job: &Job<'_>, slot: &Slot, wish: &Wish<'_>) -> Result<bool, DeployError> {
        let is_new = slot.item.ask(wish.restart)?;
        if is_new {
            wish::tell(job, "Restarted", "the process is started again on request");
        }
        Ok(is_new)
    }

    /// A person wants no process: ends what there is. What the item exports stays.
    async fn stay_stopped(&self, job: &Job<'_>) -> Result<Deployed, DeployError> {
        let slot = self.slot(job.uid())?;
        let ended = job.or_cancelled(slot.put_down()).await??;
        if ended {
            wish::tell(job, "Stopped", "the process was stopped on request");
        }
        if !slot.item.record().was_ready {
            return Err(wish::never_ready(job));
        }
        Ok(Deployed {
            provider_status: Some(slot.stopped_status()),
            exports_stay: true,
            ..Deployed::default()
        })
    }

    /// Ends all processes of an item and removes its directory.
    async fn take_away(&self, uid: &str) -> Result<(), DeployError> {
        let path = self.path(uid)?;
        let known = self.slots.lock().get(uid).cloned();
        let slot = known.unwrap_or_else(|| {
            Arc::new(Slot::new(Item::at(path.clone(), uid, self.machine.clone())))
        });
        slot.remove().await?;
        self.slots.lock().remove(uid);
        match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                let message = format!("the item's directory can't be removed: {error}");
                Err(DeployError::transient("Remove", "NotRemoved", message))
            }
            _ => Ok(()),
        }
    }
}

/// How an item's processes do, how often they were started again, and whether a person wants none.
pub(crate) fn seen(directory: PathBuf, uid: &str) -> (Facts, u64, bool) {
    let item = Item::at(directory, uid, Machine::default());
    let record = item.record();
    (item.facts(), record.restarts, record.stopped)
}

fn notify(job: &Job<'_>) -> Notify {
    let (namespace, name) = job.name();
    let (namespace, name, wake) = (namespace.to_owned(), name.to_owned(), job.wake.clone());
    Arc::new(move || wake.item(&namespace, &name))
}

/// The right that the supervisor asks for.
fn later(job: &Job<'_>, configuration: &Configuration) -> RightsLater {
    job.rights_later([right_to_run(job, configuration.launch.user.as_deref())])
}

impl Deployer for ProcessDeployer {
    fn kind(&self) -> &str {
        Self::KIND
    }

    fn deploy<'a>(&'a self, job: &'a Job<'a>) -> BoxFuture<'a, Result<Deployed, DeployError>> {
        Box::pin(async move {
            let configuration = Self::configuration(job)?;
            let token = configuration.launch.access.as_ref().map(Access::right);
            let run = right_to_run(job, configuration.launch.user.as_deref());
            let wish = Wish::of(job);
            if wish.stopped {
                return self.stay_stopped(job).await;
            }
            let allowed = job.require(token.into_iter().chain([run])).await;
            self.told(job, allowed)?;
            let slot = self.slot(job.uid())?;
            slot.permit.set(later(job, &configuration));
            if slot.item.record().stopped {
                wish::tell(job, "Started", "the process is started on request");
            }
            Self::ask(job, &slot, &wish)?;
            if job.status.provider_status.is_none() {
                job.remember(&json!({"log": slot.item.log()})).await?;
            }
            let keep_after = self
                .access(job, &slot.item, &configuration, Renew::Always)
                .await?;
            let access = configuration.launch.access.clone();
            let (troubles, mut told) = mpsc::unbounded_channel();
            let work = slot.deploy(configuration, notify(job), troubles);
            // Ends with the work, which has the other end.
            let telling = async {
                while let Some(error) = told.recv().await {
                    job.context
                        .event(EventType::Warning, &error.reason, &job.hide(&error.message));
                    job.tell(&error).await;
                }
            };
            let (report, ()) = job
                .or_cancelled(async { tokio::join!(work, telling) })
                .await?;
            let report = report?;
            access::forget_others(&slot.item.directory, access.as_ref());
            Ok(Deployed {
                provider_status: Some(report.provider_status()),
                exports: (!report.exports.is_empty()).then_some(report.exports),
                keep_after,
                ..Deployed::default()
            })
        })
    }

    fn remove<'a>(&'a self, job: &'a Job<'a>) -> BoxFuture<'a, Result<(), DeployError>> {
        Box::pin(async move { job.or_cancelled(self.take_away(job.uid())).await? })
    }

    fn keeps(&self) -> bool {
        true
    }

    fn keep<'a>(&'a self, job: &'a Job<'a>) -> BoxFuture<'a, Result<Kept, DeployError>> {
        Box::pin(async move {
            let configuration = Self::configuration(job)?;
            let wish = Wish::of(job);
            if wish.stopped {
                let stopped = self.stay_stopped(job).await?.provider_status;
                if stopped != job.status.provider_status {
                    job.remember(&stopped.unwrap_or_default()).await?;
                }
                return Ok(Kept::Fine);
            }
            let allowed = may_run(job, configuration.launch.user.as_deref()).await;
            self.told(job, allowed)?;
            let slot = self.slot(job.uid())?;
            slot.permit.set(later(job, &configuration));
            if slot.item.record().stopped || Self::ask(job, &slot, &wish)? {
                return Ok(Kept::Redeploy);
            }
            let kept = job
                .or_cancelled(slot.keep(configuration.clone(), notify(job)))
                .await??;
            let status = slot.provider_status();
            if kept == Kept::Fine && status.is_some() && status != job.status.provider_status {
                job.remember(&status.unwrap_or_default()).await?;
            }
            if kept != Kept::Fine {
                return Ok(kept);
            }
            let renewal = self
                .access(job, &slot.item, &configuration, Renew::WhenDue)
                .await?;
            Ok(renewal.map_or(Kept::Fine, Kept::Again))
        })
    }

    fn stop<'a>(&'a self, job: &'a Job<'a>) -> BoxFuture<'a, Result<(), DeployError>> {
        Box::pin(async move {
            job.or_cancelled(self.slot(job.uid())?.stop()).await??;
            self.slots.lock().remove(job.uid());
            Ok(())
        })
    }
}
