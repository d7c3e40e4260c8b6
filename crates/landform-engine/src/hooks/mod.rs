//! Reconcilers in any language: the kind `Reconciler`, whose hooks are URLs or commands.
//!
//! In reading order: `spec.rs` and `definition.rs` are the kind; `protocol.rs` is what is said to a hook
//! and what it answers; `references.rs`, `three_way.rs` and `decide.rs` are the pure decisions; `call.rs`
//! with `http_hook.rs`, `connect.rs`, `command.rs`, `machine.rs`, `this_machine.rs`, `calls.rs` and `kept.rs` makes one call; `children.rs` reads and writes children;
//! `reconciler.rs` puts a run together; `controller.rs` with `claims.rs`, `kinds.rs`, `letting_go.rs` and `status.rs`
//! follows the Reconcilers themselves. `docs/reconcilers.md` is for those who write hooks.

mod call;
mod calls;
mod children;
mod claims;
mod command;
mod connect;
mod controller;
pub(crate) mod decide;
mod definition;
mod http_hook;
mod kept;
mod kinds;
mod letting_go;
mod machine;
mod permits;
mod protocol;
mod reconciler;
mod references;
mod spec;
mod status;
mod this_machine;
pub mod three_way;

pub use connect::Dial;
pub use controller::{FINALIZER, ReconcilerController, Registry};
pub use decide::{ANNOTATION_LAST_APPLIED, LABEL_OWNER};
pub use definition::{DEFINITION, install};
pub(crate) use http_hook::client;
pub use landform_process::Mark;
pub use machine::{CommandLine, Machine, ProcessGroup, Program, Signal};
pub use reconciler::FINALIZER_PREFIX;
pub use spec::{
    Condition, HookSpec, KindName, ReconcilerSpec, ReconcilerStatus, RefSpec, reconciler_kind,
    shown_url,
};
