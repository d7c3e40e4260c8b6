//! App types: the version that a person wants is there, and stays what they want.
//!
//! 1. A marked one takes its versions down; kinds and their objects go only when the policy says so.
//! 2. Nothing is installed: the latest version that it may have (O1).
//! 3. Something is installed: the next step on the way to the latest version, if an automatic upgrade is
//!    possible or a person approved it (O2, O4, O5); else why not, and what would change that.
//! 4. A rollback goes back to a version that ran before.

mod decide;
mod decision;
mod observed;
mod rollback;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_chains;

pub use decide::decide;
pub use decision::{Action, Decision};
pub use observed::{
    Candidate, DefinitionState, Observed, Offered, Offering, OwnVersion, Trouble, base, installed,
    upgrading,
};
pub use rollback::target as rollback_target;
