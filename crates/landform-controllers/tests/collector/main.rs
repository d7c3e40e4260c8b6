//! The collector beside the real API server, in one process on the memory store.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that can't go on fails"
)]

mod absence;
mod alive;
mod boxes;
mod cases;
mod crash;
mod faults;
mod harness;
mod kinds;
mod policies;
mod random;
mod view;
