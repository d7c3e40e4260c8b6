//! Hooks that are commands: the request on stdin, the answer on stdout, complaints on stderr.
//!
//! A command runs in a process group of its own, so that what it starts is ended together with it. Besides, all that
//! it starts inherits a mark in its environment, by which it is found after a crash (`calls.rs`).

use std::fmt;
use std::future::Future;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use landform_process::{CALL, Group, Handle, Identity, Mark};
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::Instant;

use super::call::{ANSWER_BYTES, CallError, too_long};
use super::calls::{self, Calls, Recorded};
use super::protocol;

/// A command that was killed is gone within this time, unless the system holds it.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often a group is looked at whose members were killed.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// At most this many lines of stderr are shown.
const ERROR_LINES: usize = 5;
/// So much of the end of stderr is kept.
const ERROR_BYTES: usize = 8 << 10;

/// A program with its arguments.
pub(crate) struct CommandHook {
    program: String,
    arguments: Vec<String>,
    /// Where calls are written down; nowhere, if no process reads it after a crash.
    calls: Option<Arc<Calls>>,
}

/// What a program has left behind.
struct Ended {
    status: ExitStatus,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl CommandHook {
    pub(crate) fn new(command: &[String], calls: Option<Arc<Calls>>) -> Result<Self, String> {
        match command {
            [program, arguments @ ..] if !program.is_empty() => Ok(Self {
                program: program.clone(),
                arguments: arguments.to_vec(),
                calls,
            }),
            _ => Err("hook.command names no program".to_owned()),
        }
    }

    /// Runs the command. When `give_up` resolves first its process group gets SIGTERM and, when it has not ended
    /// within the grace period, SIGKILL. However the call ends, its process group is gone then; and when it was given
    /// up, so is all else that it has started (R9b).
    pub(crate) async fn call(
        &self,
        request: Bytes,
        grace: Duration,
        give_up: impl Future<Output = CallError>,
    ) -> Result<Bytes, CallError> {
        let mark = calls::new_mark();
        let recorded = self
            .calls
            .as_ref()
            .map(|calls| calls.begin(&mark))
            .transpose();
        let recorded = recorded.map_err(|error| not_recorded(&error))?;
        let mut child = self.start(&mark, recorded.as_ref())?;
        let group = ProcessGroup::of(&child);
        let mut end = std::pin::pin!(run(&mut child, &group, request));
        let ended = tokio::select! {
            biased;
            error = give_up => {
                group.send(Signal::TERM);
                let ended = tokio::time::timeout(grace, &mut end).await.is_ok();
                group.send(Signal::KILL);
                // Processes that left the group may hold its pipes.
                let marked = Group::marked(mark).kill().await;
                marked.map_err(|error| CallError::Failed(error.to_string()))?;
                if !ended {
                    let _ = tokio::time::timeout(PATIENCE, &mut end).await;
                }
                group.gone().await?;
                return Err(error);
            }
            ended = &mut end => ended.map_err(|error| match error {
                RunError::TooLong => too_long(),
                RunError::Pipe(error) => CallError::Failed(format!("can't be talked to: {error}")),
            }),
        };
        // One that answers too much is still writing, and is killed when the group is dropped.
        let ended = ended?;
        group.gone().await?;
        drop(recorded);
        answer(ended)
    }

    fn start(&self, mark: &Mark, recorded: Option<&Recorded>) -> Result<Child, CallError> {
        let starting = recorded.map(Recorded::starting).transpose();
        let _starting = starting.map_err(|error| not_recorded(&error))?;
        Command::new(&self.program)
            .args(&self.arguments)
            .env(CALL, mark.text())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|error| CallError::Unreachable(format!("can't be started: {error}")))
    }
}

fn not_recorded(error: &io::Error) -> CallError {
    CallError::Failed(format!(
        "can't be called, since that can't be written down: {error}"
    ))
}

impl fmt::Display for CommandHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.program)?;
        self.arguments
            .iter()
            .try_for_each(|argument| write!(f, " {argument}"))
    }
}

/// The process group of a command. When it is dropped before the command has ended, because the run was
/// dropped, the group is killed.
struct ProcessGroup {
    /// The number of the group, which is that of its leader.
    number: Option<Pid>,
    leader: Option<Handle>,
    /// Whether the leader has ended and was asked how: its number may be another's from then on.
    released: AtomicBool,
}

impl ProcessGroup {
    fn of(child: &Child) -> Self {
        let number = child.id().and_then(|id| i32::try_from(id).ok());
        let identity = number.and_then(Identity::of_child);
        Self {
            number: number.and_then(Pid::from_raw),
            leader: identity.as_ref().and_then(Handle::open),
            released: AtomicBool::new(false),
        }
    }

    fn send(&self, signal: Signal) {
        let number = self
            .number
            .filter(|_| !self.released.load(Ordering::Relaxed));
        if let Some(group) = number {
            // It fails when all have ended.
            let _ = kill_process_group(group, signal);
        }
    }

    /// Waits for the end of the leader without asking for it, so that its number stays its own; then kills what is
    /// left of the group.
    async fn led(&self) {
        if let Some(leader) = &self.leader {
            leader.ended().await;
        }
        self.send(Signal::KILL);
    }

    /// Waits until nothing of the group that was killed is left.
    async fn gone(&self) -> Result<(), CallError> {
        let Some(group) = self.number else {
            return Ok(());
        };
        let end = Instant::now() + PATIENCE;
        // The first question costs nothing; but it counts those too that have ended and whose exit was not read.
        while test_kill_process_group(group).is_ok()
            && landform_process::group_lives(group.as_raw_pid())
        {
            if Instant::now() > end {
                let group = group.as_raw_pid();
                let problem =
                    format!("left processes in the process group {group} that can't be killed");
                return Err(CallError::Failed(problem));
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        Ok(())
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.send(Signal::KILL);
    }
}

enum RunError {
    TooLong,
    Pipe(io::Error),
}

impl From<io::Error> for RunError {
    fn from(error: io::Error) -> Self {
        Self::Pipe(error)
    }
}

/// Talks to the program until it has ended and its pipes are closed. Only then is it asked how it ended: as long
/// as it isn't, its number is its own, and the group can be signalled.
async fn run(child: &mut Child, group: &ProcessGroup, request: Bytes) -> Result<Ended, RunError> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let write = async {
        give(stdin, &request).await;
        Ok(())
    };
    let read = async {
        let mut answer = Vec::new();
        let limit = u64::try_from(ANSWER_BYTES).unwrap_or(u64::MAX) + 1;
        if let Some(stdout) = stdout {
            stdout.take(limit).read_to_end(&mut answer).await?;
        }
        if answer.len() > ANSWER_BYTES {
            Err(RunError::TooLong)
        } else {
            Ok(answer)
        }
    };
    let complain = async { Ok(last_of(stderr).await?) };
    let ((), stdout, stderr) = tokio::try_join!(write, read, complain)?;
    group.led().await;
    let status = child.wait().await?;
    group.released.store(true, Ordering::Relaxed);
    Ok(Ended {
        status,
        stdout,
        stderr,
    })
}

/// Writes the request. A program may end, or answer, without reading all of it.
async fn give(stdin: Option<ChildStdin>, request: &[u8]) {
    if let Some(mut stdin) = stdin {
        let _ = stdin.write_all(request).await;
        let _ = stdin.shutdown().await;
    }
}

/// The end of what is written to a pipe.
async fn last_of(pipe: Option<impl AsyncRead + Unpin>) -> io::Result<Vec<u8>> {
    let mut last = Vec::new();
    let Some(mut pipe) = pipe else {
        return Ok(last);
    };
    let mut part = [0; 4096];
    loop {
        let count = pipe.read(&mut part).await?;
        if count == 0 {
            return Ok(last);
        }
        last.extend_from_slice(part.get(..count).unwrap_or_default());
        let surplus = last.len().saturating_sub(ERROR_BYTES);
        last.drain(..surplus);
    }
}

fn answer(ended: Ended) -> Result<Bytes, CallError> {
    if ended.status.success() {
        return Ok(ended.stdout.into());
    }
    let text = String::from_utf8_lossy(&ended.stderr);
    let lines: Vec<_> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let lines = lines[lines.len().saturating_sub(ERROR_LINES)..].join(" | ");
    let colon = if lines.is_empty() { "" } else { ": " };
    let text = format!("ended with {}{colon}{lines}", ended.status);
    Err(CallError::Failed(protocol::cut(&text).to_owned()))
}
