//! The simulator: the whole control plane in one thread, on a simulated clock, with faults from a seed.

pub mod api_world;
pub mod chance;
pub mod client;
pub mod clock;
pub mod disk;
pub mod end_state;
pub mod environment;
pub mod every_write;
pub mod fault;
pub mod network;
pub mod node;
pub mod process;
pub mod report;
pub mod script;
pub mod simulation;
pub mod trace;
pub mod user;
pub mod watch_body;

pub use every_write::crash_at_every_write;
pub use simulation::{Action, Failure, Simulation, Template, World};
