//! Deployers on the real API server and engine.

mod contract;
mod harness;
mod local;
