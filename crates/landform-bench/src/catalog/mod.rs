//! `landform-bench catalog`: a real catalog of 7,714 bundles, loaded, walked and resolved.
//!
//! `alone.rs` measures the pure crate. What it is about is part of its tests, and is built in.

mod alone;

use std::fmt::Write as _;
use std::path::PathBuf;

use crate::Outcome;
use crate::disk::Machine;
use crate::process::Others;
use crate::report::with_introduced_section;

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A short run, to see that everything works.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Put the results into this document, in place of its section about catalogs.
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
}

const SECTION: &str = "Catalogs";
const INTRODUCTION: &str = "Written by `cargo xtask bench catalog --write docs/benchmarks.md`: times \
                            are of CPU, on one core.";

/// Measures, prints the results, and writes them down if asked to.
pub(crate) async fn run(arguments: &Arguments) -> Outcome {
    let others = Others::watch()?;
    let quick = arguments.quick;
    let (figures, mut notes) = tokio::task::spawn_blocking(move || alone::measure(quick)).await??;
    let machine = Machine::look(&std::env::temp_dir())?;
    notes.push(format!(
        "Machine: {} cores. Other processes took {:.0} % of the cores' time during the run.",
        machine.cores,
        others.share(machine.cores)? * 100.0
    ));
    let mut text =
        String::from("| figure | goal | reached | verdict |\n| --- | --- | --- | --- |\n");
    for figure in &figures {
        writeln!(text, "{}", figure.line())?;
    }
    text.push('\n');
    for note in &notes {
        writeln!(text, "- {note}")?;
    }
    println!("{text}");
    if let Some(file) = &arguments.write {
        let before = std::fs::read_to_string(file).unwrap_or_default();
        let after = with_introduced_section(&before, SECTION, INTRODUCTION, &text);
        std::fs::write(file, after)
            .map_err(|error| format!("can't write {}: {error}", file.display()))?;
    }
    Ok(())
}
