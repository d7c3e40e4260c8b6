//! `cargo xtask bench`: the benchmarks, in a release build.

use crate::Outcome;
use crate::process::{self, cargo};

/// What to measure.
#[derive(clap::Args)]
pub struct Arguments {
    /// The name of the benchmark and its own options, as in `bench api --writers 64`.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    benchmark: Vec<String>,
}

/// Builds the server and the benchmarks, and runs one of them.
///
/// # Errors
/// When the build or the benchmark fails.
pub fn run(arguments: &Arguments) -> Outcome {
    process::run(cargo().args(["build", "--release", "--package", "landform"]))?;
    let mut command = cargo();
    command.args([
        "run",
        "--release",
        "--quiet",
        "--package",
        "landform-bench",
        "--",
    ]);
    process::run(command.args(&arguments.benchmark))
}
