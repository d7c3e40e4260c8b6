//! The simulations that CI runs.
#![expect(clippy::panic, reason = "tests fail by panicking")]

mod api;
mod nodes;
mod seeds;
