//! `landform-hostile`: attacks a server on this machine, and says which bounds it keeps. `cargo xtask hostile` runs it.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command prints what it found"
)]

use std::process::ExitCode;

use clap::Parser;
use landform_e2e::hostile::{Options, run};

/// Attacks a server on this machine, and says which bounds it keeps.
#[derive(Parser)]
#[command(name = "landform-hostile", version)]
struct Cli {
    #[command(flatten)]
    options: Options,
}

fn main() -> ExitCode {
    let Cli { options } = Cli::parse();
    if options.against.is_some() {
        println!(
            "the server is not ours: bounds on its memory, its open files and its store are left out"
        );
    }
    if options.quick {
        println!("quick: less is sent than the rows say");
    }
    match run(&options, |row| println!("{row}")) {
        Ok(report) => {
            println!("{}", report.summary());
            if report.failed() == 0 {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            }
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
