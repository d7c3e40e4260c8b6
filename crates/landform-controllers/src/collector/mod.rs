//! The garbage collector: finishes deletions (G4–G15).
//!
//! Reading order, which is the order in which things happen:
//! 1. [`kinds`] finds out which kinds there are, again whenever a definition changes.
//! 2. [`follow`] lists and watches each kind, metadata only, and tells [`state`] of every change.
//! 3. [`state`] keeps the owner graph and what is marked, and puts into [`queue`] whatever a change
//!    may have moved on: each object once, by itself, with a backoff of its own.
//! 4. [`observed`] is all that a decision may see of one object; [`decide`] is the rules; [`decision`] is
//!    what they say.
//! 5. [`run`] takes objects from the queue and carries many decisions out at a time ([`act`]). An owner that isn't in
//!    the graph is a question ([`questions`]), which a live read by uid answers ([`confirm`]).
//! 6. [`view`] and [`preview`] show what waits for what, [`events`] and [`metrics`] what happened.
//!
//! # Guarantees
//! - It changes objects only through the API (G4), and deletes nothing without naming the uid and the
//!   resourceVersion that the decision was made from: an object that was moved or replaced since then
//!   is looked at anew.
//! - An owner counts as absent when a live read by its uid found nothing, and not before (G12b): neither the end of
//!   its watch, nor a list without it, nor a definition that is served no more says that it is gone. One question is
//!   asked for each uid; what can't be known deletes nothing, is asked again with a backoff, and is shown by the view.
//! - An object that is renamed is one object: its uid stays in the graph (G16).
//! - An object whose kind is served no more is as it was last seen, and holds its owners back, until it is known to be
//!   gone.
//! - Before an owner loses the collector's finalizer the API server's index is asked for its dependents: a dependent that
//!   no watch has shown yet goes before it (G7), or is let go of (G13).
//! - Nothing is remembered that isn't in the objects: a restart at any point loses nothing (G10).
//! - No step of it costs time in the number of all objects, except the list at the start.
//!
//! # Caveats
//! A dependent that is created between that question and the owner's end is not seen in time. It is collected afterwards, as one whose owner is gone.

mod act;
mod blockers;
mod client;
mod confirm;
mod cycles;
mod decide;
mod decision;
mod events;
mod follow;
mod kinds;
mod metrics;
mod observed;
mod preview;
mod questions;
mod queue;
mod references;
mod run;
mod state;
mod view;

#[cfg(test)]
mod tests;

pub use run::Collector;
pub use view::responsible;
