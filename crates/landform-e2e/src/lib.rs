//! Tests with real clients against the real binary: the harness.
//!
//! A test starts a [`Server`] of its own on a directory of its own and talks to it with kubectl, the
//! Python client, kube-rs or an operator, each with the server's kubeconfig and a home directory of
//! its own. No client gets a special case, and nothing here knows how the server works.
//!
//! Tests wait for what they see (a line, an event, the end of a program) with a deadline; they never
//! sleep. When something fails, the message holds the command, its output and the server's log.
#![expect(
    clippy::panic,
    reason = "a harness fails a test by a panic that says what happened"
)]

mod binary;
mod clients;
pub mod hostile;
mod process;
mod server;

pub use binary::landform;
pub use clients::{fixture, python};
pub use process::{DEADLINE, Finished, Lines, run, run_with_input};
pub use server::Server;
