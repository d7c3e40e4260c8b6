//! Executions: deploy items are created, updated, removed and waited for, in the order of their
//! dependencies.
//!
//! 1. An ignored execution in a completed phase is left alone (E2). The finalizer is added (E3).
//! 2. Which operation is due (E4): delete (E10), reconcile (E6–E8), or a re-check (E9).
//! 3. Reconcile: items without a counterpart go; all others are in a class (E7), which says what follows.
//!
//! An item's spec is up to date when neither the execution nor the item has changed since the execution last
//! wrote it (E5). Force means that no item's spec is up to date; what could not be updated at once because of
//! its dependencies stays so until it is.

mod classes;
mod decide;
mod decision;
mod observed;
mod order;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_drift;

pub use classes::Class;
pub use decide::decide;
pub use decision::{ABORTED, Action, Decision, INTERRUPTED, Problem};
pub use observed::{Item, Observed, Stored, Wanted};
pub use order::{OrderProblem, check_order};
