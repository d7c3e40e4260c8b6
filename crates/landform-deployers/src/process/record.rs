//! What is known about an item's processes on disk, so that they are found again.
//!
//! A process is noted twice: before it is started, with the mark that it will carry, and as soon as it runs, with
//! its number and the time of its start. Whatever Landform was doing when it ended, one of the two is there.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use landform_process::Facts;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use sha1::{Digest as _, Sha1};

use super::config::{Launch, Stop};
use crate::DeployError;
use crate::local::{
    Cgroup, Cgroups, Group, Handle, Identity, Mark, StartLock, leaders, private_directory,
    write_atomically,
};

/// One process that was started, or is about to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Instance {
    pub(crate) attempt: u64,
    /// What it was made of.
    pub(crate) hash: String,
    /// None while it is only intended.
    pub(crate) process: Option<Identity>,
    /// Where its part of the log begins.
    pub(crate) log_start: u64,
    /// Whether it was ready once.
    pub(crate) ready: bool,
    /// How it is ended, whatever the configuration says by then.
    pub(crate) stop: Stop,
    /// Where it runs with all that it starts; none where there are no control groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cgroup: Option<Cgroup>,
}

/// The file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Record {
    /// Makes hashes useless to those who want to guess what was hashed.
    pub(crate) salt: String,
    pub(crate) attempts: u64,
    pub(crate) instances: Vec<Instance>,
    /// Files that were written for the process.
    pub(crate) files: Vec<String>,
    /// The hash of what has ended as it should, and is not started again.
    pub(crate) finished: Option<String>,
    /// How often the process was started again since it was deployed.
    pub(crate) restarts: u64,
    /// The last restart that a person asked for: another one makes another process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) asked: Option<String>,
    /// A person wants no process.
    pub(crate) stopped: bool,
    /// Whether a process was ready once.
    pub(crate) was_ready: bool,
}

/// How programs are started on this machine.
#[derive(Clone, Debug, Default)]
pub(crate) struct Machine {
    /// Where control groups can be made, if that is so.
    pub(crate) cgroups: Option<Cgroups>,
    /// The program that goes into a control group and becomes another one.
    pub(crate) launcher: Option<PathBuf>,
}

/// An item's directory and record.
pub(crate) struct Item {
    pub(crate) uid: String,
    pub(crate) directory: PathBuf,
    pub(crate) machine: Machine,
    record: Mutex<Record>,
    /// One at a time rotates the log.
    pub(super) rotation: Mutex<()>,
}

fn not_written(error: &io::Error) -> DeployError {
    let message = format!("the item's directory can't be written: {error}");
    DeployError::transient("Record", "NotWritten", message)
}

impl Item {
    /// The item's directory, made when it isn't there.
    pub(crate) fn open(
        directory: PathBuf,
        uid: &str,
        machine: Machine,
    ) -> Result<Self, DeployError> {
        let item = Self::at(directory, uid, machine);
        for path in [item.work(), item.log()] {
            let parent = path.parent().unwrap_or(&path);
            private_directory(parent).map_err(|error| not_written(&error))?;
        }
        private_directory(&item.work()).map_err(|error| not_written(&error))?;
        item.change(|record| {
            if record.salt.is_empty() {
                record.salt = uuid::Uuid::new_v4().simple().to_string();
            }
        })?;
        Ok(item)
    }

    /// The item's directory, whether it is there or not.
    pub(crate) fn at(directory: PathBuf, uid: &str, machine: Machine) -> Self {
        // A record that can't be read is as good as none: processes are found by their marks as well.
        let text = fs::read(directory.join("state.json")).unwrap_or_default();
        let record = serde_json::from_slice(&text).unwrap_or_default();
        Self {
            uid: uid.to_owned(),
            directory,
            machine,
            record: Mutex::new(record),
            rotation: Mutex::new(()),
        }
    }

    /// Where its files are, and where it runs when nothing else is said.
    pub(crate) fn work(&self) -> PathBuf {
        self.directory.join("work")
    }

    /// Where its output goes.
    pub(crate) fn log(&self) -> PathBuf {
        self.directory.join("log/process.log")
    }

    pub(crate) fn record(&self) -> Record {
        self.record.lock().clone()
    }

    /// Changes the record, on disk first.
    pub(crate) fn change<T>(
        &self,
        change: impl FnOnce(&mut Record) -> T,
    ) -> Result<T, DeployError> {
        let mut record = self.record.lock();
        let mut changed = record.clone();
        let result = change(&mut changed);
        if changed != *record {
            write(&self.directory, &changed).map_err(|error| not_written(&error))?;
            *record = changed;
        }
        Ok(result)
    }

    /// What is noted about one attempt.
    pub(crate) fn instance(&self, attempt: u64) -> Option<Instance> {
        let record = self.record.lock();
        let mut instances = record.instances.iter();
        instances
            .find(|instance| instance.attempt == attempt)
            .cloned()
    }

    /// Changes what is noted about one attempt.
    pub(crate) fn change_instance(
        &self,
        attempt: u64,
        change: impl FnOnce(&mut Instance),
    ) -> Result<(), DeployError> {
        self.change(|record| {
            let mut instances = record.instances.iter_mut();
            if let Some(instance) = instances.find(|instance| instance.attempt == attempt) {
                change(instance);
            }
        })
    }

    pub(crate) fn forget(&self, attempt: u64) -> Result<(), DeployError> {
        self.change(|record| {
            record
                .instances
                .retain(|instance| instance.attempt != attempt);
        })
    }

    /// A hash that is the same as long as the process need not be replaced.
    pub(crate) fn hash(&self, launch: &Launch) -> String {
        let text = serde_json::to_string(launch).unwrap_or_default();
        let mut hash = Sha1::new();
        let record = self.record.lock();
        hash.update(record.salt.as_bytes());
        hash.update(text.as_bytes());
        if let Some(asked) = &record.asked {
            hash.update(asked.as_bytes());
        }
        let hash = hash.finalize();
        hash.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    pub(crate) fn mark(&self, attempt: u64) -> Mark {
        Mark::attempt(&self.uid, attempt)
    }

    fn group(&self, instance: &Instance) -> Group {
        Group {
            leader: instance.process.clone(),
            mark: Some(self.mark(instance.attempt)),
            cgroup: instance.cgroup.clone(),
        }
    }

    /// How the process that was started last does, with all that it has started.
    pub(crate) fn facts(&self) -> Facts {
        let last = self.record().instances.pop();
        last.map_or_else(Facts::default, |last| self.group(&last).facts())
    }

    /// How the names of the control groups of its processes begin.
    fn cgroup_prefix(&self) -> String {
        format!("landform-{}-", self.uid)
    }

    /// The control group of an attempt, whether it is there or not.
    pub(crate) fn cgroup(&self, attempt: u64) -> Option<Cgroup> {
        let cgroups = self.machine.cgroups.as_ref()?;
        Some(cgroups.named(&format!("{}{attempt}", self.cgroup_prefix())))
    }

    /// Another restart than the last one that was asked for is one to carry out; says whether it is.
    pub(crate) fn ask(&self, restart: Option<&str>) -> Result<bool, DeployError> {
        let Some(restart) = restart else {
            return Ok(false);
        };
        self.change(|record| {
            let is_new = record.asked.as_deref() != Some(restart);
            record.asked = Some(restart.to_owned());
            is_new
        })
    }

    /// Compares the record with the processes that there are: those that were only intended are found by their
    /// marks, and those that have ended are forgotten, with what they left behind.
    pub(crate) async fn settle(&self) -> Result<(), DeployError> {
        let starting = StartLock::wait(&self.directory).await;
        let starting = starting.map_err(|error| not_written(&error))?;
        let found: Vec<(Instance, Option<Identity>)> = self
            .record()
            .instances
            .into_iter()
            .map(|instance| {
                let marked = || leaders(&self.mark(instance.attempt)).into_iter().next();
                let process = instance.process.clone().or_else(marked);
                (instance, process)
            })
            .collect();
        drop(starting);
        for (instance, process) in found {
            if process.as_ref().and_then(Handle::open).is_some() {
                self.change_instance(instance.attempt, |instance| instance.process = process)?;
            } else {
                self.end(&instance).await?;
            }
        }
        Ok(())
    }

    /// Ends a process and forgets it.
    pub(crate) async fn end(&self, instance: &Instance) -> Result<(), DeployError> {
        let stop = instance.stop;
        self.group(instance)
            .stop(stop.signal(), stop.grace())
            .await?;
        if let Some(cgroup) = &instance.cgroup {
            cgroup.remove();
        }
        self.forget(instance.attempt)
    }

    /// Ends all processes that fit.
    pub(crate) async fn end_those(
        &self,
        fit: impl Fn(&Instance) -> bool + Send,
    ) -> Result<(), DeployError> {
        for instance in self
            .record()
            .instances
            .iter()
            .filter(|instance| fit(instance))
        {
            self.end(instance).await?;
        }
        Ok(())
    }

    /// Ends all processes with the item's mark, recorded or not.
    pub(crate) async fn end_all(&self) -> Result<(), DeployError> {
        self.end_those(|_| true).await?;
        Group::marked(Mark::item(&self.uid)).kill().await?;
        let cgroups = self.machine.cgroups.as_ref();
        let left = cgroups.map(|cgroups| cgroups.beginning(&self.cgroup_prefix()));
        for cgroup in left.unwrap_or_default() {
            Group::inside(cgroup.clone()).kill().await?;
            cgroup.remove();
        }
        Ok(())
    }
}

fn write(directory: &Path, record: &Record) -> io::Result<()> {
    let text = serde_json::to_vec_pretty(record)?;
    write_atomically(&directory.join("state.json"), &text, 0o600)
}
