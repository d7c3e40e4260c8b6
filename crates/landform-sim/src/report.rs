//! What came of one seed.

use std::time::Duration;

use crate::process::Surroundings;
use crate::simulation::Failure;
use crate::trace::Trace;

/// A simulation that has ended.
#[derive(Clone, Debug)]
pub struct Report {
    /// The seed that repeats it.
    pub seed: u64,
    /// What went wrong, if anything did.
    pub result: Result<(), Failure>,
    /// Everything that happened.
    pub trace: Trace,
    /// The simulated time that passed.
    pub elapsed: Duration,
    /// How often something was written.
    pub writes: u64,
}

impl Report {
    /// The report of a simulation with this result.
    #[must_use]
    pub fn of(seed: u64, result: Result<(), Failure>, surroundings: &Surroundings) -> Self {
        Self {
            seed,
            result,
            trace: surroundings.trace.clone(),
            elapsed: surroundings.clock.elapsed(),
            writes: surroundings.disk.writes(),
        }
    }
}
