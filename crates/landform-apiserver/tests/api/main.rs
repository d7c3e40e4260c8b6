//! The API server, tested as a client sees it, in one process on the memory store.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that can't go on fails"
)]

mod access;
mod answers;
mod audit;
mod bodies;
mod custom;
mod definitions;
mod deletion;
mod discovery;
mod harness;
mod hostile;
mod lists;
mod metadata;
mod namespaces;
mod owners;
mod patch_results;
mod patches;
mod protection;
mod quotas;
mod rename;
mod room;
mod subresources;
mod tokens;
mod views;
mod watches;
mod writer_notes;
mod writer_parts;
mod writers;
mod wrong_types;
