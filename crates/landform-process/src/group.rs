//! Ends programs together with all that they have started.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::future::join_all;
use rustix::process::Signal;
use tokio::time::{Instant, timeout_at};

use crate::table::members;
use crate::{Cgroup, Handle, Identity, Mark};

/// A killed process is gone within this time, unless the system holds it.
const PATIENCE: Duration = Duration::from_secs(10);

/// Processes that can't be killed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("processes {} can't be killed", numbers(.0))]
pub struct StillRunning(Vec<i32>);

fn numbers(processes: &[i32]) -> String {
    let numbers: Vec<String> = processes.iter().map(i32::to_string).collect();
    numbers.join(", ")
}

/// A program and all that it has started.
#[derive(Default)]
pub struct Group {
    /// The program. Its number is that of the process group.
    pub leader: Option<Identity>,
    /// What all of them have in their environment, unless they clean it.
    pub mark: Option<Mark>,
    /// What none of them leaves.
    pub cgroup: Option<Cgroup>,
}

impl Group {
    /// The process group of a child that nobody has waited for.
    #[must_use]
    pub fn of_leader(leader: Identity) -> Self {
        Self {
            leader: Some(leader),
            ..Self::default()
        }
    }

    /// All that has a mark.
    #[must_use]
    pub fn marked(mark: Mark) -> Self {
        Self {
            mark: Some(mark),
            ..Self::default()
        }
    }

    /// All that is in a control group.
    #[must_use]
    pub fn inside(cgroup: Cgroup) -> Self {
        Self {
            cgroup: Some(cgroup),
            ..Self::default()
        }
    }

    /// Whether none of them is left.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.members().is_empty()
    }

    pub(crate) fn members(&self) -> Vec<Handle> {
        members(self, &[])
    }

    /// Those that were found before, as far as they have not ended, and all that is found now: what a master has started may
    /// be found by it only as long as it is there.
    fn members_with(&self, known: &mut Vec<Identity>) -> Vec<Handle> {
        let members = members(self, known);
        for member in &members {
            if !known.contains(member.identity()) {
                known.push(member.identity().clone());
            }
        }
        members
    }

    /// Sends a signal to all of them, waits until they have ended, and kills what is left after the grace period.
    ///
    /// # Errors
    /// When some can't be killed.
    pub async fn stop(&self, signal: Signal, grace: Duration) -> Result<(), StillRunning> {
        let now = Instant::now();
        let end = now.checked_add(grace).unwrap_or(now);
        let mut told = BTreeSet::new();
        let mut known = Vec::new();
        loop {
            let members = self.members_with(&mut known);
            if members.is_empty() {
                return Ok(());
            }
            for member in &members {
                let identity = member.identity();
                if told.insert((identity.pid, identity.start_time)) {
                    // It fails when it has just ended.
                    let _ = member.send(signal);
                }
            }
            if timeout_at(end, join_all(members.iter().map(Handle::ended)))
                .await
                .is_err()
            {
                return self.kill_known(known).await;
            }
        }
    }

    /// Kills all of them, and waits until they are gone.
    ///
    /// # Errors
    /// When some can't be killed.
    pub async fn kill(&self) -> Result<(), StillRunning> {
        self.kill_known(Vec::new()).await
    }

    async fn kill_known(&self, mut known: Vec<Identity>) -> Result<(), StillRunning> {
        let end = Instant::now() + PATIENCE;
        loop {
            let members = self.members_with(&mut known);
            if members.is_empty() {
                return Ok(());
            }
            for member in &members {
                let _ = member.send(Signal::KILL);
            }
            if let Some(cgroup) = &self.cgroup {
                // At once, whatever they start meanwhile.
                cgroup.kill();
            }
            if timeout_at(end, join_all(members.iter().map(Handle::ended)))
                .await
                .is_err()
            {
                let numbers = members.iter().map(|member| member.identity().pid);
                return Err(StillRunning(numbers.collect()));
            }
        }
    }

    /// Kills all of them without waiting for their end: for when nobody is there to wait.
    pub fn kill_now(&self) {
        let mut told = BTreeSet::new();
        // One that was not told yet may have started another one after it was looked for; one that was told
        // starts nothing more. So the first look that finds nobody new has found everybody.
        loop {
            let mut found_new = false;
            for member in self.members() {
                let identity = member.identity();
                if told.insert((identity.pid, identity.start_time)) {
                    found_new = true;
                    let _ = member.send(Signal::KILL);
                }
            }
            if !found_new {
                return;
            }
        }
    }
}
