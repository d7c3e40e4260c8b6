//! Installations: core, standard, force, abort, interrupt and deletion flow.
//!
//! 1. Ignored (I1), not held yet (I2), marked (I3), asked for something (I4).
//! 2. In a final phase, up to date and with unchanged imports: only nested objects are looked at (I5).
//! 3. Otherwise the standard flow: wait for nested objects (I11), update if that is required (I13) and
//!    possible (I14, I14b), make exports (I17) and trigger those who import them (I18).
//! 4. The force flow skips what dependencies' phases say (I20, I21).
//! 5. The deletion flow (I30–I36) waits for siblings that import from this one, then takes nested objects
//!    down. It works from what exists, so nothing that is broken or missing can hold it up for good.
//! 6. What has come to an end is begun again at the times that `spec.automaticReconcile` gives (`automatic.rs`).
//!
//! A decision may say that it wants to be asked again at once: then what it did is seen by the next one.

mod automatic;
mod decide;
mod decision;
mod delete;
mod family;
mod observed;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_deletion;
#[cfg(test)]
mod tests_of_times;
#[cfg(test)]
mod tests_of_ways_out;

pub use automatic::{Automatic, Done, Repeat};
pub use decide::decide;
pub use decision::{Action, Decision, Problem};
pub use family::{Found, Need, Nested, standings};
pub use observed::{Child, ChildKind, Dependency, Import, Importer, Observed, Parent, Present};
