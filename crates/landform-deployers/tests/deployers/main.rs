//! Deployers on the real API server and engine.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that can't go on fails"
)]

mod access;
mod contract;
mod harness;
mod links;
mod local;
mod manifest;
mod shop;
mod tenant;
