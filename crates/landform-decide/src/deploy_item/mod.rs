//! Deploy items: taken up by the deployer of their type, in time (E12).
//!
//! 1. An ignored item in a completed phase is left alone (E2).
//! 2. An item whose deployer lives elsewhere is watched: it must be picked up, progress and abort in time.
//! 3. An item of ours is told to stop, removed, picked up, worked on or looked after, in this order.
//!
//! The clock of a pickup starts when the execution hands the item out, that of the work at the pickup.

mod decide;
mod decision;
mod observed;
#[cfg(test)]
mod tests;

pub use decide::decide;
pub use decision::{Action, Decision, Late};
pub use observed::{Dependent, Deployer, Execution, Observed};

/// An item must be picked up within this time.
pub const PICKUP_TIMEOUT_MS: u64 = 5 * 60_000;
/// An item that was told to abort must have stopped within this time.
pub const ABORT_TIMEOUT_MS: u64 = 5 * 60_000;
/// An item must be done within this time, unless it says otherwise.
pub const PROGRESSING_TIMEOUT_MS: u64 = 10 * 60_000;
