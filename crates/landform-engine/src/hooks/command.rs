//! Hooks that are commands: the request on stdin, the answer on stdout, complaints on stderr.
//!
//! A command runs in a process group of its own, so that what it starts is ended together with it. Besides, all that
//! it starts inherits a mark in its environment, by which it is found after a crash (`this_machine.rs`, `calls.rs`).

use std::fmt;
use std::future::Future;
use std::io;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use landform_process::Mark;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::time::Instant;

use super::call::{ANSWER_BYTES, CallError, too_long};
use super::machine::{CommandLine, Machine, ProcessGroup, Program, Signal};
use super::protocol;

/// A command that was killed is gone within this time, unless the system holds it.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often a group is looked at whose members were killed.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// At most this much of the end of stderr is kept.
const ERROR_BYTES: usize = 8 << 10;

/// A program with its arguments.
pub(crate) struct CommandHook {
    command: CommandLine,
    machine: Arc<dyn Machine>,
}

/// What a program has left behind.
struct Ended {
    status: ExitStatus,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Ended {
    /// All that it printed: what it complained about, and then what it answered.
    fn words(&self) -> Vec<u8> {
        let mut words = self.stderr.trim_ascii_end().to_vec();
        if !words.is_empty() && !self.stdout.is_empty() {
            // Both have their place.
            let surplus = words.len().saturating_sub(ERROR_BYTES / 2);
            words.drain(..surplus);
            words.push(b'\n');
        }
        words.extend_from_slice(&self.stdout);
        words
    }
}

impl CommandHook {
    pub(crate) fn new(command: CommandLine, machine: Arc<dyn Machine>) -> Result<Self, String> {
        if command.words.first().is_none_or(String::is_empty) {
            return Err("hook.command names no program".to_owned());
        }
        Ok(Self { command, machine })
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
        let recorded = Recorded::begin(&self.machine)?;
        let program = self.machine.start(&self.command, &recorded.mark);
        let program = program
            .map_err(|error| CallError::Unreachable(format!("can't be started: {error}")))?;
        let Program {
            stdin,
            stdout,
            stderr,
            exit,
            group,
        } = program;
        let group = Running(group);
        let talk = talk(stdin, stdout, stderr, request);
        let mut end = std::pin::pin!(async {
            let (stdout, stderr) = talk.await?;
            group.led().await;
            let status = exit.await?;
            Ok::<_, RunError>(Ended {
                status,
                stdout,
                stderr,
            })
        });
        let ended = tokio::select! {
            biased;
            error = give_up => {
                group.0.send(Signal::Term);
                let mut ended = tokio::time::timeout(grace, &mut end).await.ok();
                group.0.send(Signal::Kill);
                // Processes that left the group may hold its pipes.
                let marked = self.machine.kill_marked(&recorded.mark).await;
                marked.map_err(|error| CallError::Failed(error.to_string()))?;
                if ended.is_none() {
                    ended = tokio::time::timeout(PATIENCE, &mut end).await.ok();
                }
                group.gone().await?;
                return Err(match (error, ended) {
                    (CallError::Failed(problem), Some(Ok(ended))) => {
                        CallError::refused(problem, None, &ended.words())
                    }
                    (error, _) => error,
                });
            }
            ended = &mut end => ended,
        };
        if ended.is_err() {
            // One that answers too much is still writing.
            group.0.send(Signal::Kill);
        }
        group.gone().await?;
        answer(ended.map_err(|error| match error {
            RunError::TooLong => too_long(),
            RunError::Pipe(error) => CallError::Failed(format!("can't be talked to: {error}")),
        })?)
    }
}

impl fmt::Display for CommandHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Arguments may be secret, and errors are shown to more people than those who may read the Reconciler.
        f.write_str(self.command.words.first().map_or("", String::as_str))
    }
}

/// A call that is written down for as long as this lives.
struct Recorded {
    machine: Arc<dyn Machine>,
    mark: Mark,
}

impl Recorded {
    fn begin(machine: &Arc<dyn Machine>) -> Result<Self, CallError> {
        let mark = machine.begin().map_err(|error| {
            let problem = format!("can't be called, since that can't be written down: {error}");
            CallError::Failed(problem)
        })?;
        Ok(Self {
            machine: machine.clone(),
            mark,
        })
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        self.machine.forget(&self.mark);
    }
}

/// The process group of a command. When it is dropped before the command has ended, because the run was
/// dropped, the group is killed.
struct Running(Box<dyn ProcessGroup>);

impl Running {
    /// Waits for the end of the leader without asking for it, so that its number stays its own; then kills what is
    /// left of the group.
    async fn led(&self) {
        self.0.leader_ended().await;
        self.0.send(Signal::Kill);
    }

    /// Waits until nothing of the group that was killed is left.
    async fn gone(&self) -> Result<(), CallError> {
        let end = Instant::now() + PATIENCE;
        while self.0.lives() {
            if Instant::now() > end {
                let problem = "left processes in its process group that can't be killed";
                return Err(CallError::Failed(problem.to_owned()));
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.send(Signal::Kill);
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

/// Talks to the program until its pipes are closed. Only later is it asked how it ended: as long as it isn't, its number
/// is its own, and the group can be signalled.
async fn talk(
    mut stdin: impl AsyncWrite + Unpin,
    stdout: impl AsyncRead + Unpin,
    stderr: impl AsyncRead + Unpin,
    request: Bytes,
) -> Result<(Vec<u8>, Vec<u8>), RunError> {
    let write = async {
        // A program may end, or answer, without reading all of it.
        let _ = stdin.write_all(&request).await;
        let _ = stdin.shutdown().await;
        drop(stdin);
        Ok(())
    };
    let read = async {
        let mut answer = Vec::new();
        let limit = u64::try_from(ANSWER_BYTES).unwrap_or(u64::MAX) + 1;
        stdout.take(limit).read_to_end(&mut answer).await?;
        if answer.len() > ANSWER_BYTES {
            Err(RunError::TooLong)
        } else {
            Ok(answer)
        }
    };
    let complain = async { Ok(last_of(stderr).await?) };
    let ((), stdout, stderr) = tokio::try_join!(write, read, complain)?;
    Ok((stdout, stderr))
}

/// The end of what is written to a pipe.
async fn last_of(mut pipe: impl AsyncRead + Unpin) -> io::Result<Vec<u8>> {
    let mut last = Vec::new();
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
    let problem = format!("ended with {}", ended.status);
    let complaint = protocol::complaint_of(&ended.stdout);
    // An answer that says what is wrong is shown, and need not be kept.
    let words = match complaint {
        Some(_) => ended.stderr.clone(),
        None => ended.words(),
    };
    Err(CallError::refused(problem, complaint, &words))
}
