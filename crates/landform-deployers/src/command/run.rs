//! Runs a program to its end, and sees to it that nothing of it is left.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::future::Future;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use landform_process::User;
use rustix::process::Signal;
use tokio::net::unix::pipe::Receiver;
use tokio::process::Command;
use tokio::time::{sleep, timeout};

use super::output::Tail;
use crate::DeployError;
use crate::local::{Group, Identity, MARK, Mark, StartLock};
use crate::secrets::Secrets;

/// A command that was told to end gets so long before it is killed.
const GRACE: Duration = Duration::from_secs(5);
/// What is still in the pipe when all that could write into it are gone is read within this time.
const REST: Duration = Duration::from_secs(1);

/// What is run.
pub(crate) struct Program<'a> {
    pub(crate) uid: &'a str,
    pub(crate) words: &'a [String],
    pub(crate) environment: BTreeMap<OsString, OsString>,
    pub(crate) directory: &'a Path,
    /// Where the item's lock is.
    pub(crate) item_directory: &'a Path,
    pub(crate) secrets: Secrets,
    /// Who it runs as, if not Landform's own user.
    pub(crate) user: Option<User>,
}

/// How it came to its end.
pub(crate) enum Ended {
    /// By itself, with the end of what it wrote.
    Itself(ExitStatus, String),
    /// It took too long.
    TooLate(String),
    Cancelled,
}

/// Runs it, and says when it was started. Whichever way it ends, and when this is dropped too, no process of it is left.
///
/// # Errors
/// When it can't be started, or not be killed.
pub(crate) async fn run(
    program: Program<'_>,
    limit: Duration,
    started: impl FnOnce() -> io::Result<()>,
    cancelled: impl Future<Output = ()>,
) -> Result<Ended, RunError> {
    let (mut child, pipe) = start(&program).map_err(RunError::Start)?;
    let leader = child
        .id()
        .and_then(|id| i32::try_from(id).ok())
        .and_then(Identity::of_child);
    let group = KillOnDrop(Some(Group {
        leader,
        mark: Some(Mark::item(program.uid)),
        cgroup: None,
    }));
    if let Err(error) = started() {
        group.kill().await?;
        return Err(RunError::Record(error));
    }
    let mut tail = Tail::new(program.secrets);
    let end = {
        let mut reading = std::pin::pin!(tail.read(pipe));
        let (mut cancelled, mut late) = (std::pin::pin!(cancelled), std::pin::pin!(sleep(limit)));
        let mut read = false;
        let end = loop {
            tokio::select! {
                biased;
                () = &mut cancelled => break End::Cancelled,
                () = &mut late => break End::TooLate,
                status = child.wait() => break End::Itself(status),
                _ = &mut reading, if !read => read = true,
            }
        };
        match end {
            End::Itself(_) => group.kill().await?,
            End::TooLate | End::Cancelled => group.stop().await?,
        }
        if !read {
            let _ = timeout(REST, reading).await;
        }
        end
    };
    // Somebody must ask how a child has ended, or it stays in the table of processes.
    let _ = child.wait().await;
    match end {
        End::Itself(Ok(status)) => Ok(Ended::Itself(status, tail.text())),
        End::Itself(Err(error)) => Err(RunError::Start(error)),
        End::TooLate => Ok(Ended::TooLate(tail.text())),
        End::Cancelled => Ok(Ended::Cancelled),
    }
}

enum End {
    Itself(io::Result<ExitStatus>),
    TooLate,
    Cancelled,
}

/// What got in the way of a run.
pub(crate) enum RunError {
    /// It can't be started.
    Start(io::Error),
    /// It was started, and ended because that could not be noted.
    Record(io::Error),
    /// It can't be killed.
    Kill(DeployError),
}

fn start(program: &Program<'_>) -> io::Result<(tokio::process::Child, Receiver)> {
    let (first, arguments) = program
        .words
        .split_first()
        .ok_or(io::ErrorKind::InvalidInput)?;
    let _starting = StartLock::take(program.item_directory)?;
    // One pipe for both, so that lines stand in the order in which they were written.
    let (reader, writer) = io::pipe()?;
    let mut command = Command::new(first);
    if let Some(user) = &program.user {
        command.uid(user.id).gid(user.group);
    }
    let child = command
        .args(arguments)
        .env_clear()
        .envs(&program.environment)
        .env(MARK, Mark::attempt(program.uid, 1).text())
        .current_dir(program.directory)
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .process_group(0)
        .spawn()?;
    Ok((child, Receiver::from_owned_fd(OwnedFd::from(reader))?))
}

struct KillOnDrop(Option<Group>);

impl KillOnDrop {
    async fn kill(mut self) -> Result<(), RunError> {
        self.end(None).await
    }

    async fn stop(mut self) -> Result<(), RunError> {
        self.end(Some(GRACE)).await
    }

    async fn end(&mut self, grace: Option<Duration>) -> Result<(), RunError> {
        let Some(group) = &self.0 else {
            return Ok(());
        };
        let ended = match grace {
            Some(grace) => group.stop(Signal::TERM, grace).await,
            None => group.kill().await,
        };
        ended.map_err(|error| RunError::Kill(error.into()))?;
        self.0 = None;
        Ok(())
    }
}

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        if let Some(group) = &self.0 {
            group.kill_now();
        }
    }
}
