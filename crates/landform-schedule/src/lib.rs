//! Which reconciler runs when, decided by a machine that knows neither clock nor network.
//!
//! [`Scheduler`] takes [`Event`]s and returns [`Command`]s; a shell carries them out and reports back. The
//! same events always give the same commands, so a simulator can run the real machine. Rules R2–R9 and
//! R11–R13 are decided here; `docs/adr/0006-graph-and-scheduler.md` says how, and why it costs no more
//! than the objects that must run (R16).
//!
//! # What the shell must do
//! - Report every [`Command::Start`] as [`Event::Finished`] one day, with limits of concurrency too: a
//!   start may wait, and a start that is cancelled while it waits returns at once.
//! - Pass events of one kind of source in their order, and `WriteBegan` before its request is sent.
//! - Feed all events that are there as one step.

mod backoff;
mod barrier;
mod command;
mod event;
#[cfg(test)]
mod fingerprint;
mod flow;
mod ghosts;
mod object;
mod patience;
mod ripple;
mod run;
pub mod scenario;
mod scheduler;
mod sight;
mod start;
mod status;
mod verify;

#[cfg(test)]
mod tests;

pub use backoff::LONGEST_MS;
pub use command::{Cause, Command, Phase, Reason, Report, Touch};
pub use event::{Answer, Event, ObjectKey, Order, Outcome, Retry, Role, RunId, Sight, Version};
pub use scheduler::Scheduler;
pub use status::{Standing, Status, Wait};
