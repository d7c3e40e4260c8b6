//! `cargo xtask <command>`: the project's own commands.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use xtask::{bench, crash, dist, docs, fuzz, hostile, pictures, rules, sim, test};

/// The project's own commands.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Install what the tests need, then check the format, run clippy and run all tests.
    Test(test::Arguments),
    /// Write docs/rules.md anew: which test proves which rule.
    Rules,
    /// Kill the store in the middle of writes, many times.
    Crash(crash::Arguments),
    /// Run the property tests with far more cases than CI does.
    Fuzz(fuzz::Arguments),
    /// Attack a real server, and check what that costs others.
    Hostile(hostile::Arguments),
    /// Write the pages of docs/ that are made from the code: kinds, and the command line.
    Docs(docs::Arguments),
    /// Pack the binary, manual pages and completions into an archive.
    Dist(dist::Arguments),
    /// Draw the README's pictures from real sessions.
    Pictures(pictures::Arguments),
    /// Run the benchmarks in a release build.
    Bench(bench::Arguments),
    /// Run random scenarios with faults on the simulated control plane, in a release build.
    Sim(sim::Arguments),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Test(arguments) => test::run(&arguments),
        Command::Rules => rules::run(),
        Command::Crash(arguments) => crash::run(&arguments),
        Command::Fuzz(arguments) => fuzz::run(&arguments),
        Command::Hostile(arguments) => hostile::run(&arguments),
        Command::Docs(arguments) => docs::run(&arguments),
        Command::Dist(arguments) => dist::run(&arguments),
        Command::Pictures(arguments) => pictures::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Sim(arguments) => sim::run(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        // An empty message: the program that failed has said it all.
        Err(message) if message.is_empty() => ExitCode::FAILURE,
        Err(message) => {
            xtask::say(&format!("error: {message}"));
            ExitCode::FAILURE
        }
    }
}
