//! Whole landscapes on the real API server, engine and collector: what people write, and what they see then.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that can't go on fails"
)]

mod abort;
mod asked;
mod automatic;
mod changes;
mod circles;
mod deletion;
mod drift;
mod errors;
mod harness;
mod interrupt;
mod manifests;
mod names;
mod nested;
mod owners_lost;
mod recorder;
mod refusals;
mod refused;
mod rename;
mod rename_nested;
mod room;
mod secrets;
mod spiff;
mod target_kubeconfigs;
mod target_maps;
mod tenant;
mod ways_out;
