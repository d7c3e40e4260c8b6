//! `cargo xtask bench`: the benchmarks, in a release build.

use std::process::Command;

use crate::process::{self, cargo};
use crate::{Outcome, tools};

/// What to measure.
#[derive(clap::Args)]
pub struct Arguments {
    /// The name of the benchmark and its own options, as in `bench api --quick`.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    benchmark: Vec<String>,
}

/// Installs etcd when it is missing, builds the server and the benchmarks, and runs one of them.
///
/// # Errors
/// When etcd can't be installed, or the build or the benchmark fails.
pub fn run(arguments: &Arguments) -> Outcome {
    let (variable, etcd) = tools::etcd()?;
    // Both in one build, so that what they share is compiled once.
    process::run(cargo().args([
        "build",
        "--release",
        "--package",
        "landform",
        "--package",
        "landform-bench",
    ]))?;
    let metadata = crate::metadata::Metadata::load()?;
    let binary = metadata.target_directory().join("release/landform-bench");
    let mut command = Command::new(binary);
    command.current_dir(crate::repository::root());
    process::run(command.env(variable, etcd).args(&arguments.benchmark))
}
