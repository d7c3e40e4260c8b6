//! The machine that Landform itself runs on: real processes, found again after a crash by what `calls.rs` writes down.

use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use landform_process::{CALL, Group, Handle, Identity, Mark, environment};
use rustix::process::{Pid, kill_process_group, test_kill_process_group};
use tokio::process::{Child, Command};

use super::calls::{self, Calls};
use super::kept;
use super::machine::{CommandLine, Machine, ProcessGroup, Program, Signal};

/// This machine.
#[derive(Default)]
pub(crate) struct ThisMachine {
    /// Where calls are written down; nowhere, if no process reads it after a crash.
    calls: Option<Calls>,
}

impl ThisMachine {
    /// Calls are written down in a directory.
    pub(crate) fn recording_in(directory: PathBuf) -> Self {
        Self {
            calls: Some(Calls::below(directory)),
        }
    }
}

impl Machine for ThisMachine {
    fn end_leftovers(&self) -> BoxFuture<'_, io::Result<()>> {
        async {
            match &self.calls {
                Some(calls) => calls.open().await.map_err(|error| {
                    let root = calls.root().display();
                    io::Error::other(format!("{root} tells of them: {error}"))
                }),
                None => Ok(()),
            }
        }
        .boxed()
    }

    fn begin(&self) -> io::Result<Mark> {
        let mark = calls::new_mark();
        if let Some(calls) = &self.calls {
            calls.begin(&mark)?;
        }
        Ok(mark)
    }

    fn forget(&self, call: &Mark) {
        if let Some(calls) = &self.calls {
            calls.forget(call);
        }
    }

    fn start(&self, command: &CommandLine, call: &Mark) -> io::Result<Program> {
        let (program, arguments) = command
            .words
            .split_first()
            .ok_or_else(|| io::Error::other("no program is named"))?;
        let starting = self.calls.as_ref().map(Calls::starting).transpose()?;
        let mut child = Command::new(program)
            .args(arguments)
            .env_clear()
            .envs(environment(&command.environment))
            .env(CALL, call.text())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        drop(starting);
        let group = RealGroup::of(&child);
        let closed = || io::Error::other("a pipe of the program is missing");
        Ok(Program {
            stdin: Box::new(child.stdin.take().ok_or_else(closed)?),
            stdout: Box::new(child.stdout.take().ok_or_else(closed)?),
            stderr: Box::new(child.stderr.take().ok_or_else(closed)?),
            exit: exit(child, group.released.clone()).boxed(),
            group: Box::new(group),
        })
    }

    fn keep(&self, reconciler: &str, text: &str) -> bool {
        let Some(calls) = &self.calls else {
            return false;
        };
        let kept = kept::keep(calls.root(), reconciler, text);
        if let Err(error) = &kept {
            tracing::warn!(%error, reconciler, "what a hook said about its failure can't be kept");
        }
        kept.is_ok()
    }

    fn kill_marked<'a>(&'a self, call: &'a Mark) -> BoxFuture<'a, io::Result<()>> {
        async {
            let marked = Group::marked(call.clone()).kill().await;
            marked.map_err(io::Error::other)
        }
        .boxed()
    }
}

async fn exit(mut child: Child, released: Arc<AtomicBool>) -> io::Result<std::process::ExitStatus> {
    let status = child.wait().await?;
    released.store(true, Ordering::Relaxed);
    Ok(status)
}

struct RealGroup {
    /// The number of the group, which is that of its leader.
    number: Option<Pid>,
    leader: Option<Handle>,
    /// Whether the leader has ended and was asked how: its number may be another's from then on.
    released: Arc<AtomicBool>,
}

impl RealGroup {
    fn of(child: &Child) -> Self {
        let number = child.id().and_then(|id| i32::try_from(id).ok());
        let identity = number.and_then(Identity::of_child);
        Self {
            number: number.and_then(Pid::from_raw),
            leader: identity.as_ref().and_then(Handle::open),
            released: Arc::default(),
        }
    }
}

impl ProcessGroup for RealGroup {
    fn leader_ended(&self) -> BoxFuture<'_, ()> {
        async {
            if let Some(leader) = &self.leader {
                leader.ended().await;
            }
        }
        .boxed()
    }

    fn send(&self, signal: Signal) {
        let signal = match signal {
            Signal::Term => rustix::process::Signal::TERM,
            Signal::Kill => rustix::process::Signal::KILL,
        };
        let number = self
            .number
            .filter(|_| !self.released.load(Ordering::Relaxed));
        if let Some(group) = number {
            // It fails when all have ended.
            let _ = kill_process_group(group, signal);
        }
    }

    fn lives(&self) -> bool {
        // The first question costs nothing; but it counts those too that have ended and whose exit was not read.
        self.number.is_some_and(|group| {
            test_kill_process_group(group).is_ok()
                && landform_process::group_lives(group.as_raw_pid())
        })
    }
}
