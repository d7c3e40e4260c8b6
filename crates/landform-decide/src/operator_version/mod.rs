//! Operator versions: installed when it is their turn, handed over to by their predecessor, deleted when
//! they own nothing any more.
//!
//! 1. A marked one gives what it owns to an heir, or takes it down, and only then lets its operator go.
//! 2. Where it stands among the other versions of its package in the namespace (`family.rs`): superseded
//!    before it was installed, replaced, waiting for another one, or its turn.
//! 3. Its turn: requirements (O10, O11), the install strategy, then the handover of what its predecessors
//!    own (O12–O14).
//! 4. One that was replaced by a successor that runs is deleted when it owns nothing (O16).

mod decide;
mod decision;
mod delete;
mod family;
mod handover;
mod observed;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_chains;
#[cfg(test)]
mod tests_of_deletion;
#[cfg(test)]
pub(crate) mod world;

pub use decide::decide;
pub use decision::{Action, Decision, Reason};
pub use family::{Family, Standing};
pub use observed::{Former, Install, Member, Need, Observed, OwnedBy, Remedy, Resource};
