//! Whole bodies: those of real clients, those that no client should send, and the table's facts.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "the helpers of these tests fail them, and the facts say what they compared"
)]

mod bodies;
mod facts;
mod hostile;
mod writer;
