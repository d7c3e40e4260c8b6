//! The simulator: the whole control plane in one thread, on a simulated clock, with faults from a seed.
//!
//! The real API server on a memory store, the real engine and scheduler, real reconcilers; no sockets.
//! `docs/simulator.md` shows how to use it for a controller, `docs/adr/0007-simulator.md` why it is as it is.
//!
//! # How it works
//! - A *process* is one single-threaded tokio runtime with paused time ([`process`]). When no task can go
//!   on, time jumps to the next timer: idle hours cost nothing ([`clock`]).
//! - The *disk* is a memory store that outlives processes ([`disk`]). A crash drops the runtime with all its
//!   tasks, wherever they stand; the next process starts on the same disk, a little later.
//! - Clients reach the server through a [`network`] that delays, loses and breaks; what goes wrong is drawn
//!   from the seed ([`fault`], [`chance`]) and noted in the [`trace`]. The same seed gives the same trace,
//!   byte for byte.
//! - A [`World`] is what lives in a process besides the server, with the oracles that judge it. [`node`] is
//!   the engine with a kind made for the purpose, [`landscape`] the controllers of installations, [`operators`]
//!   those of app types and operator versions, [`api_world`] clients and watchers of the API alone, [`mixed`]
//!   hooks, renames, definitions that come and go and uncoordinated writers, all at once.
//! - [`Simulation`] carries out [`Action`]s: random ones ([`node::Plan`]), those of scenario files
//!   ([`script`]), or a story with a crash after each write ([`crash_at_every_write`]).
//!
//! # What it can't show
//! - What threads do to each other, and what the embedded store does on a real disk: `landform-store` has
//!   tests of its own for kill -9 and power loss.
//! - TLS, HTTP framing, flow control: clients call the server's service.
//! - Tasks change places only where they await; a delay in the network or in a run decides which goes first.
//! - Code must not ask the machine for time or chance: `std::time`, `rand`, the order of hash maps,
//!   `tokio::select!` without `biased` and `tokio::sync::watch` with several receivers (it wakes them in
//!   random order) all make a seed unrepeatable. A test runs seeds twice to find such code.

pub mod api_world;
pub mod chance;
pub mod client;
pub mod clock;
pub mod disk;
pub mod end_state;
pub mod environment;
pub mod every_write;
pub mod fault;
pub mod landscape;
mod log;
pub mod mixed;
pub mod network;
pub mod node;
pub mod operators;
pub mod process;
pub mod project;
pub mod report;
pub mod script;
pub mod simulation;
pub mod trace;
pub mod user;
pub mod watch_body;

pub use every_write::{crash_at_every_write, crash_at_writes};
pub use simulation::{Action, Failure, Simulation, Template, World};
