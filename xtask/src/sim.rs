//! `cargo xtask sim`: random scenarios on the simulated control plane, in a release build.

use crate::Outcome;
use crate::process::{self, cargo};

/// What to run.
#[derive(clap::Args)]
pub struct Arguments {
    /// Options of the simulator: `--seeds 10000`, `--from 500`, `--seed 42` for one seed with its trace,
    /// `--world api` for the API server alone, `--world landscape` for installations, `--keep-going`.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    options: Vec<String>,
}

/// Builds the simulator and runs it.
///
/// # Errors
/// When it can't be built, or a seed fails.
pub fn run(arguments: &Arguments) -> Outcome {
    let mut command = cargo();
    command.args([
        "run",
        "--quiet",
        "--release",
        "--package",
        "landform-sim",
        "--",
    ]);
    process::run(command.args(&arguments.options))
}
