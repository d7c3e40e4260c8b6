//! `cargo xtask fuzz`: the property tests with fresh seeds, over and over.

use std::time::{Duration, Instant};

use crate::process::{self, cargo};
use crate::{Outcome, say, sources};

/// How long to search.
#[derive(clap::Args)]
pub struct Arguments {
    /// For how long new rounds are started.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// How many cases a property is tried with in a round.
    #[arg(long, default_value_t = 20_000)]
    cases: u32,
    /// Only the properties of this crate.
    #[arg(long)]
    package: Option<String>,
}

/// Runs every test that stands in a `proptest!` block, in a release build.
///
/// # Errors
/// When a property does not hold: the case is printed, and kept in `proptest-regressions`.
pub fn run(arguments: &Arguments) -> Outcome {
    let properties: Vec<_> = sources::tests()?
        .into_iter()
        .filter(|test| test.property)
        .filter(|test| {
            arguments
                .package
                .as_ref()
                .is_none_or(|package| *package == test.package)
        })
        .collect();
    if properties.is_empty() {
        return Err("there are no property tests here: see --package".into());
    }
    let until = Instant::now() + Duration::from_secs(arguments.seconds);
    let mut round = 0;
    while round == 0 || Instant::now() < until {
        round += 1;
        say(&format!("round {round}: {} properties", properties.len()));
        for package in packages(&properties) {
            let names = properties.iter().filter(|test| test.package == package);
            let mut command = cargo();
            command.args(["test", "--release", "--quiet", "--package", package, "--"]);
            command.args(names.map(|test| &test.name));
            process::run(command.env("PROPTEST_CASES", arguments.cases.to_string()))?;
        }
    }
    Ok(())
}

fn packages(properties: &[sources::Test]) -> Vec<&str> {
    let mut packages: Vec<&str> = properties
        .iter()
        .map(|test| test.package.as_str())
        .collect();
    packages.sort_unstable();
    packages.dedup();
    packages
}
