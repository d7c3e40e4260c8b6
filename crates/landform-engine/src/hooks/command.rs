//! Hooks that are commands: the request on stdin, the answer on stdout, complaints on stderr.
//!
//! A command runs in a process group of its own, so that what it starts is ended together with it.

use std::fmt;
use std::future::Future;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use bytes::Bytes;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, Command};

use super::call::{ANSWER_BYTES, CallError, too_long};
use super::protocol;

/// A command that was killed is gone within this time, unless the system holds it.
const PATIENCE: Duration = Duration::from_secs(5);
/// So many lines of stderr are shown.
const ERROR_LINES: usize = 5;
/// So much of the end of stderr is kept.
const ERROR_BYTES: usize = 8 << 10;

/// A program with its arguments.
pub(crate) struct CommandHook {
    program: String,
    arguments: Vec<String>,
}

/// What a program has left behind.
struct Ended {
    status: ExitStatus,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl CommandHook {
    pub(crate) fn new(command: &[String]) -> Result<Self, String> {
        match command {
            [program, arguments @ ..] if !program.is_empty() => Ok(Self {
                program: program.clone(),
                arguments: arguments.to_vec(),
            }),
            _ => Err("hook.command names no program".to_owned()),
        }
    }

    /// Runs the command. When `give_up` resolves first its process group gets SIGTERM and, when it has
    /// not ended after that, SIGKILL.
    pub(crate) async fn call(
        &self,
        request: Bytes,
        grace: Duration,
        give_up: impl Future<Output = CallError>,
    ) -> Result<Bytes, CallError> {
        let mut child = Command::new(&self.program)
            .args(&self.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|error| CallError::Unreachable(format!("can't be started: {error}")))?;
        let mut group = Group::of(&child);
        let mut end = std::pin::pin!(run(&mut child, request));
        let ended = tokio::select! {
            biased;
            error = give_up => {
                group.send(Signal::TERM);
                let mut ended = tokio::time::timeout(grace, &mut end).await;
                if ended.is_err() {
                    group.send(Signal::KILL);
                    // Nothing survives that, but its pipes may be held by a process that left the group.
                    ended = tokio::time::timeout(PATIENCE, &mut end).await;
                }
                if matches!(ended, Ok(Ok(_))) {
                    group.release();
                }
                return Err(error);
            }
            ended = &mut end => ended.map_err(|error| match error {
                RunError::TooLong => too_long(),
                RunError::Pipe(error) => CallError::Failed(format!("can't be talked to: {error}")),
            }),
        };
        // Whoever answers too much is still writing.
        if ended.is_ok() {
            group.release();
        }
        answer(ended?)
    }
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
struct Group(Option<Pid>);

impl Group {
    fn of(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self(id.and_then(Pid::from_raw))
    }

    fn send(&self, signal: Signal) {
        if let Some(group) = self.0 {
            // It fails when all have ended.
            let _ = kill_process_group(group, signal);
        }
    }

    /// The command has ended: its number may belong to somebody else from now on.
    fn release(&mut self) {
        self.0 = None;
    }
}

impl Drop for Group {
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

/// Talks to the program until it has ended and its pipes are closed. Only then is it waited for: as long
/// as it isn't, its number is its own, and the group can be signalled.
async fn run(child: &mut Child, request: Bytes) -> Result<Ended, RunError> {
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
    let status = child.wait().await?;
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
