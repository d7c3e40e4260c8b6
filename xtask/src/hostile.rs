//! `cargo xtask hostile`: attacks on a real server, each with bounds on what it may cost others.

use std::process::Command;

use crate::Outcome;
use crate::process::{self, cargo};

/// What to attack.
#[derive(clap::Args)]
pub struct Arguments {
    /// The suite's own options: `--quick`, `--against KUBECONFIG`, `--only TEXT`.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    options: Vec<String>,
}

/// Builds the server and the suite, and runs it. A debug build: bounds that hold there hold in a release, too.
///
/// # Errors
/// When the build fails or a bound is broken.
pub fn run(arguments: &Arguments) -> Outcome {
    let binaries = ["--bin", "landform", "--bin", "landform-hostile"];
    process::run(cargo().args(["build", "--workspace"]).args(binaries))?;
    let mut command = Command::new(process::binary("landform-hostile"));
    command.env("LANDFORM_TEST_BINARY", process::binary("landform"));
    // The suite has said what is broken.
    process::run(command.args(&arguments.options)).map_err(|_| String::new())
}
