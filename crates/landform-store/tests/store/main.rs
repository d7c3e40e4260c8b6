//! The store's promises, tested from outside on both backends.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "in a test a failed assumption is a failed test"
)]

mod clean;
mod concurrent;
mod crash;
mod damage;
mod fault;
mod maintenance;
mod memory;
mod model;
mod seal;
mod support;
mod whole;
