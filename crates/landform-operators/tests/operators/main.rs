//! Operators on the real API server, engine, deployers and collector: what people write, and what they see then.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that can't go on fails"
)]

mod app_types;
mod definitions;
mod deletion;
mod deployments;
mod failure;
mod handover;
mod harness;
mod operator;
mod order;
mod policies;
mod record;
mod requirements;
mod restart;
mod rollback;
mod sources;
