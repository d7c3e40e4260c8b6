//! Explanations of a real server with everything that reconciles in it.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that can't go on fails"
)]

mod deployer;
mod harness;
mod kept;
mod reads;
mod trouble;
mod unserved;
mod views;
