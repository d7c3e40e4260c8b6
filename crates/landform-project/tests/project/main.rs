//! Project directories on the real API server, engine and collector: what people save, and what comes of it.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that can't go on fails"
)]

mod advice;
mod blueprints;
mod definitions;
mod editors;
mod ending;
mod files;
mod gate;
mod harness;
mod large;
mod reading;
mod removal;
mod renames;
mod sequences;
mod settings;
mod unserved;
