//! `cargo xtask crash`: the store is killed, and loses power, in the middle of writes, many times.

use crate::Outcome;
use crate::process::{self, cargo};

/// How often to kill.
#[derive(clap::Args)]
pub struct Arguments {
    /// How many times the writing process is killed, and how many times the power is cut.
    #[arg(long, default_value_t = 1000)]
    rounds: usize,
}

/// Runs the tests of the store in its module `crash`, in a release build.
///
/// # Errors
/// When a round loses a write, or the tests can't be built.
pub fn run(arguments: &Arguments) -> Outcome {
    let rounds = arguments.rounds.to_string();
    let mut command = cargo();
    command.args([
        "test",
        "--release",
        "--package",
        "landform-store",
        "--test",
        "store",
        "crash::",
    ]);
    command
        .env("LANDFORM_CRASH_ROUNDS", &rounds)
        .env("LANDFORM_POWER_ROUNDS", &rounds);
    process::run(&mut command)
}
