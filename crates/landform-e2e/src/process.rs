//! Programs with deadlines: run to the end, or watched line by line.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How long anything may take before the test fails.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// A program that has ended.
#[derive(Debug)]
pub struct Finished {
    /// The program with its arguments.
    pub command: String,
    /// How it ended.
    pub status: ExitStatus,
    /// What it printed on stdout.
    pub stdout: String,
    /// What it printed on stderr.
    pub stderr: String,
}

impl Finished {
    /// Everything that is known, for the message of a failed test.
    #[must_use]
    pub fn report(&self) -> String {
        let Finished {
            command,
            status,
            stdout,
            stderr,
        } = self;
        format!("$ {command}\n{status}\n--- stdout\n{stdout}--- stderr\n{stderr}")
    }
}

/// Runs a program to its end.
///
/// # Panics
/// When it can't be started or is still running at the deadline.
pub fn run(command: &mut Command) -> Finished {
    run_with_input(command, "")
}

/// Runs a program to its end, with a text on its stdin.
///
/// # Panics
/// When it can't be started or is still running at the deadline.
pub fn run_with_input(command: &mut Command, input: &str) -> Finished {
    let shown = shown(command);
    let mut child = spawn(command, Stdio::piped(), &shown);
    if let Some(mut stdin) = child.stdin.take() {
        // A program may end without reading: that shows in its status.
        let _ = stdin.write_all(input.as_bytes());
    }
    let until = Instant::now() + DEADLINE;
    let stdout = read_to_end(child.stdout.take());
    let stderr = read_to_end(child.stderr.take());
    let (Some(stdout), Some(stderr)) = (by(until, &stdout), by(until, &stderr)) else {
        stop(&mut child);
        panic!("`{shown}` has not ended after {DEADLINE:?}");
    };
    let status = child
        .wait()
        .unwrap_or_else(|error| panic!("can't wait for `{shown}`: {error}"));
    Finished {
        command: shown,
        status,
        stdout,
        stderr,
    }
}

/// A program that runs in the background; its lines on stdout and stderr come in one stream.
///
/// It is killed when this is dropped.
#[derive(Debug)]
pub struct Lines {
    command: String,
    child: Child,
    lines: Receiver<String>,
    seen: Vec<String>,
}

impl Lines {
    /// Starts a program.
    ///
    /// # Panics
    /// When it can't be started.
    pub fn of(command: &mut Command) -> Self {
        let shown = shown(command);
        let mut child = spawn(command, Stdio::null(), &shown);
        let (sender, lines) = channel();
        forward(child.stdout.take(), &sender);
        forward(child.stderr.take(), &sender);
        Lines {
            command: shown,
            child,
            lines,
            seen: Vec::new(),
        }
    }

    /// Waits for a line that contains all the given pieces, and returns it. Lines before it are
    /// passed over, so that calls one after the other also check an order.
    ///
    /// # Panics
    /// When the line has not come at the deadline, or the program ended without it.
    pub fn expect(&mut self, pieces: &[&str]) -> String {
        let until = Instant::now() + DEADLINE;
        loop {
            match self
                .lines
                .recv_timeout(until.saturating_duration_since(Instant::now()))
            {
                Ok(line) => {
                    self.seen.push(line.clone());
                    if pieces.iter().all(|piece| line.contains(piece)) {
                        return line;
                    }
                }
                Err(reason) => {
                    let why = match reason {
                        RecvTimeoutError::Timeout => "has not printed",
                        RecvTimeoutError::Disconnected => "ended without printing",
                    };
                    panic!(
                        "`{}` {why} {pieces:?}; it printed:\n{}",
                        self.command,
                        self.report()
                    );
                }
            }
        }
    }

    /// The number of the process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Does what Ctrl-C does in a terminal.
    ///
    /// # Panics
    /// When no signal can be sent.
    pub fn interrupt(&self) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-INT", &pid]).status();
        assert!(
            sent.is_ok_and(|status| status.success()),
            "can't interrupt `{}`",
            self.command
        );
    }

    /// Waits for the program to end, and says how it did.
    ///
    /// # Panics
    /// When it is still running at the deadline.
    pub fn finish(mut self) -> Finished {
        let until = Instant::now() + DEADLINE;
        // The pipes are closed when the program has ended.
        loop {
            match self
                .lines
                .recv_timeout(until.saturating_duration_since(Instant::now()))
            {
                Ok(line) => self.seen.push(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    panic!(
                        "`{}` has not ended; it printed:\n{}",
                        self.command,
                        self.report()
                    )
                }
            }
        }
        let command = self.command.clone();
        let status = self
            .child
            .wait()
            .unwrap_or_else(|error| panic!("can't wait for `{command}`: {error}"));
        Finished {
            command,
            status,
            stdout: self.report(),
            stderr: String::new(),
        }
    }

    /// The lines that were read so far.
    #[must_use]
    pub fn report(&self) -> String {
        self.seen.iter().map(|line| format!("{line}\n")).collect()
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        stop(&mut self.child);
    }
}

/// Kills a program and waits until it is gone.
pub(crate) fn stop(child: &mut Child) {
    // Both fail only when it is gone already.
    let _ = child.kill();
    let _ = child.wait();
}

fn spawn(command: &mut Command, stdin: Stdio, shown: &str) -> Child {
    command
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
        .spawn()
        .unwrap_or_else(|error| panic!("can't start `{shown}`: {error}"))
}

pub(crate) fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(|word| word.to_string_lossy().into_owned())
        .collect::<Vec<_>>()
        .join(" ")
}

fn read_to_end(pipe: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    receiver
}

fn by(until: Instant, text: &Receiver<String>) -> Option<String> {
    text.recv_timeout(until.saturating_duration_since(Instant::now()))
        .ok()
}

pub(crate) fn forward(pipe: Option<impl Read + Send + 'static>, sender: &Sender<String>) {
    let sender = sender.clone();
    let Some(pipe) = pipe else { return };
    thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            // Nobody listens any more: go on reading, or else the program would stand still.
            let _ = sender.send(line);
        }
    });
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{Lines, run_with_input};

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_program_is_run_with_its_input() {
        let finished = run_with_input(&mut shell("cat; echo oops >&2; exit 3"), "hello");
        assert_eq!(
            (finished.stdout.as_str(), finished.stderr.as_str()),
            ("hello", "oops\n")
        );
        assert_eq!(finished.status.code(), Some(3));
    }

    #[test]
    fn lines_are_expected_in_order() {
        let mut lines = Lines::of(&mut shell(
            "echo one; echo two three; read forever < /dev/zero",
        ));
        assert_eq!(lines.expect(&["two", "three"]), "two three");
        assert_eq!(lines.report(), "one\ntwo three\n");
    }

    #[test]
    #[should_panic(expected = "ended without printing [\"two\"]; it printed:\none\n")]
    fn a_line_that_never_comes_fails_at_the_end_of_the_program() {
        Lines::of(&mut shell("echo one")).expect(&["two"]);
    }

    #[test]
    fn the_end_of_a_program_is_awaited() {
        let finished = Lines::of(&mut shell("echo one; echo two >&2; exit 4")).finish();
        assert_eq!(finished.status.code(), Some(4));
        assert_eq!(finished.stdout.lines().count(), 2);
    }
}
