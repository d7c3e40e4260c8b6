//! Definitions of kinds that operators bring: who owns them, how they are written, and the loop that has
//! their app types be there (O3).
//!
//! A definition is of the whole cluster and an app type of a namespace, so an owner reference can't join
//! them: Kubernetes would take the owner for absent and delete the definition with everything in it. The
//! owner stands in annotations instead, and is one of several app types of the package; when it goes,
//! another one takes its place (ADR 0017).

pub(crate) mod change;
mod reconciler;
pub(crate) mod write;

pub use reconciler::Definitions;
