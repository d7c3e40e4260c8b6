//! Whole landscapes on the real API server, engine and collector: what people write, and what they see then.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that can't go on fails"
)]

mod abort;
mod changes;
mod deletion;
mod errors;
mod harness;
mod manifests;
mod nested;
mod recorder;
mod rename;
mod secrets;
mod spiff;
mod target_maps;
mod tenant;
mod ways_out;
