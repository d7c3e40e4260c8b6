//! The engine on the real API server, in one process, on tokio's paused clock.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that can't go on fails"
)]

mod failures;
mod harness;
mod hooks;
mod order;
mod owned;
mod provided;
mod restarts;
mod retriggers;
mod shown;
mod triggers;
