//! `cargo xtask sim`: random scenarios on the simulated control plane, in a release build.

use crate::Outcome;
use crate::process::{self, cargo};

/// After every how many writes a story is told with a crash.
pub(crate) const EVERY_WRITE: &str = "LANDFORM_SIM_EVERY";

/// What to run.
#[derive(clap::Args)]
pub struct Arguments {
    /// Instead of random scenarios: every story, with a crash after each of its writes.
    #[arg(long)]
    stories: bool,
    /// Options of the simulator: `--seeds 10000`, `--from 500`, `--seed 42` for one seed with its trace,
    /// `--world api` for the API server alone, `--world landscape` for installations, `--world mixed` for hooks,
    /// renames and edited definitions at once, `--keep-going`.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    options: Vec<String>,
}

/// Builds the simulator and runs it.
///
/// # Errors
/// When it can't be built, or a seed fails.
pub fn run(arguments: &Arguments) -> Outcome {
    if arguments.stories {
        let mut tests = cargo();
        tests.args([
            "test",
            "--release",
            "--package",
            "landform-sim",
            "--test",
            "sim",
        ]);
        return process::run(tests.env(EVERY_WRITE, "1"));
    }
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
