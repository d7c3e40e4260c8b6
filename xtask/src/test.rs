//! `cargo xtask test`: everything that CI checks, with one command.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use crate::process::{self, cargo};
use crate::{Outcome, sim, tools};

/// In a story with crashes, so many writes lie between two of them.
const CRASH_AFTER_EVERY: &str = "7";

/// What to test.
#[derive(clap::Args)]
pub struct Arguments {
    /// Only tests whose names contain this; format and clippy are left out then.
    #[arg(long)]
    filter: Option<String>,
}

/// Installs, checks and tests. The test runner comes last, so that its summary ends the output.
///
/// # Errors
/// At the first step that fails.
pub fn run(arguments: &Arguments) -> Outcome {
    let mut variables = tools::prepare()?;
    if arguments.filter.is_none() {
        process::run(cargo().args(["fmt", "--all", "--check"]))?;
        variables.extend(lints()?);
    }
    let binary = build_binary(&variables)?;
    if arguments.filter.is_none() {
        let mut documented = cargo();
        documented.args(["test", "--quiet", "--workspace", "--doc"]);
        process::run(documented.envs(variables.clone()))?;
    }
    variables.push(("LANDFORM_TEST_BINARY", binary));
    if std::env::var_os(sim::EVERY_WRITE).is_none() {
        // The long version is `cargo xtask sim --stories`.
        variables.push((sim::EVERY_WRITE, CRASH_AFTER_EVERY.into()));
    }
    let mut runner = runner(arguments.filter.as_deref());
    // The runner has said everything: its summary stays the last thing on the screen.
    process::run(runner.envs(variables)).map_err(|_| String::new())
}

/// Clippy as the compiler of our own crates, with warnings as errors. What `cargo clippy` does before a build takes
/// minutes on a new machine, because it checks all dependencies that are then compiled anyway; it is for machines
/// whose compiler has no such driver beside it.
fn lints() -> Outcome<Vec<(&'static str, OsString)>> {
    let sysroot = process::output(Command::new("rustc").args(["--print", "sysroot"]))?;
    let driver = Path::new(sysroot.trim()).join("bin/clippy-driver");
    if driver.is_file() {
        let deny = "-Dwarnings__CLIPPY_HACKERY__";
        return Ok(vec![
            ("RUSTC_WORKSPACE_WRAPPER", driver.into()),
            ("CLIPPY_ARGS", deny.into()),
        ]);
    }
    process::run(cargo().args([
        "clippy",
        "--quiet",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ]))?;
    Ok(Vec::new())
}

/// Builds the binary that the end-to-end tests start, and returns its path.
///
/// All targets of all members are built together: the tests' own dependencies switch features on, and
/// a build without them would compile most dependencies twice.
fn build_binary(variables: &[(&'static str, OsString)]) -> Outcome<OsString> {
    let mut build = cargo();
    build.args(["build", "--quiet", "--workspace", "--all-targets"]);
    process::run(build.envs(variables.iter().cloned()))?;
    let metadata = crate::metadata::Metadata::load()?;
    Ok(metadata.target_directory().join("debug/landform").into())
}

fn runner(filter: Option<&str>) -> Command {
    let mut command = cargo();
    if process::find("cargo-nextest").is_some() {
        command.args(["nextest", "run", "--workspace"]);
        command.args(filter);
    } else {
        // The unit tests of a binary count too, doc tests were run already.
        command.args(["test", "--workspace", "--all-targets"]);
        command.args(filter);
    }
    command
}
