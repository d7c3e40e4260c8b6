//! Reconcilers whose hooks are real sockets and real programs, on the real API server, in real time.

mod answers;
mod children;
mod commands;
mod deletion;
mod kinds;
mod order;
mod overlap;
mod server;
mod specs;
mod stage;
mod told;
mod unserved;
