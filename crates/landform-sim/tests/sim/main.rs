//! The simulations that CI runs.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod api;
mod every_write;
mod landscape;
mod mixed;
mod nodes;
mod operators;
mod project;
mod scenarios;
mod seeds;
