//! What commands need of the machine that they run on.
//!
//! Simulations have no processes. They give a machine of their own, so that everything above it is what runs in
//! production: what a call does in which order (`command.rs`), and that nothing is called before what a former process
//! has left behind is gone (`controller.rs`). The real one is in `this_machine.rs`.

use std::collections::BTreeMap;
use std::io;
use std::process::ExitStatus;

use futures::future::BoxFuture;
use landform_process::Mark;
use tokio::io::{AsyncRead, AsyncWrite};

/// A machine that runs programs.
pub trait Machine: Send + Sync + 'static {
    /// Ends what processes of Landform that are no more have begun, and waits until it is gone. Asked once, before
    /// the first call.
    ///
    /// # Errors
    /// When something of it can't be ended, or isn't known.
    fn end_leftovers(&self) -> BoxFuture<'_, io::Result<()>>;

    /// Writes a call down before its program is started: from now on it is one that a later process would end.
    ///
    /// # Errors
    /// When it can't be written.
    fn begin(&self) -> io::Result<Mark>;

    /// Nothing of a call goes on any more.
    fn forget(&self, call: &Mark);

    /// Starts a program in a process group of its own. All that it starts inherits the call's mark.
    ///
    /// # Errors
    /// When it can't be started.
    fn start(&self, command: &CommandLine, call: &Mark) -> io::Result<Program>;

    /// Kills all that has a call's mark, also outside of its process group, and waits until it is gone.
    ///
    /// # Errors
    /// When some of it can't be killed.
    fn kill_marked<'a>(&'a self, call: &'a Mark) -> BoxFuture<'a, io::Result<()>>;

    /// Keeps what the hook of a Reconciler printed or answered when a call failed, for those who may read logs. Says
    /// whether there is a place for it.
    fn keep(&self, reconciler: &str, text: &str) -> bool {
        let _ = (reconciler, text);
        false
    }
}

/// What is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    /// The program with its arguments.
    pub words: Vec<String>,
    /// Its variables, besides those that all programs get.
    pub environment: BTreeMap<String, String>,
}

/// A program that was started.
pub struct Program {
    /// Takes the request.
    pub stdin: Box<dyn AsyncWrite + Send + Unpin>,
    /// Gives the answer.
    pub stdout: Box<dyn AsyncRead + Send + Unpin>,
    /// Gives complaints.
    pub stderr: Box<dyn AsyncRead + Send + Unpin>,
    /// How it ended. From then on its number may be another's, and its group can't be signalled.
    pub exit: BoxFuture<'static, io::Result<ExitStatus>>,
    /// It and what it has started.
    pub group: Box<dyn ProcessGroup>,
}

/// A program and what it has started, as far as that has not left its process group.
pub trait ProcessGroup: Send + Sync {
    /// Waits for the end of the program itself, without asking how it ended.
    fn leader_ended(&self) -> BoxFuture<'_, ()>;
    /// Sends a signal to all of them.
    fn send(&self, signal: Signal);
    /// Whether any of them is left.
    fn lives(&self) -> bool;
}

/// How a process is told to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Please.
    Term,
    /// Now.
    Kill,
}
