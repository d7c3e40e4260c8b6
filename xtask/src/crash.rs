//! `cargo xtask crash`: the store is killed in the middle of writes, many times.

use crate::Outcome;
use crate::process::{self, cargo};

/// How often to kill.
#[derive(clap::Args)]
pub struct Arguments {
    /// How many times the writing process is killed.
    #[arg(long, default_value_t = 1000)]
    rounds: usize,
}

/// Runs the tests of the store whose names contain `kill`, in a release build.
///
/// # Errors
/// When a round loses a write, or the tests can't be built.
pub fn run(arguments: &Arguments) -> Outcome {
    let mut command = cargo();
    command.args([
        "test",
        "--release",
        "--package",
        "landform-store",
        "kill",
        "--",
        "--nocapture",
    ]);
    process::run(command.env("LANDFORM_CRASH_ROUNDS", arguments.rounds.to_string()))
}
