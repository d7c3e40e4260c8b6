//! `landform-bench catalog`: a real catalog of 7,714 bundles, loaded, walked and resolved.
//!
//! `alone.rs` measures the pure crate. What it is about is part of its tests, and is built in. `stack.rs` measures
//! the real server with app types.

mod alone;
mod stack;

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
    /// Keep the data in a new directory under this one, on a real disk [default: beside the binary].
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// The server to measure [default: `landform` beside this binary].
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

const SECTION: &str = "Catalogs";
const INTRODUCTION: &str = "Written by `cargo xtask bench catalog --write docs/benchmarks.md`: times \
                            are of CPU, on one core, unless said otherwise.";

/// Measures, prints the results, and writes them down if asked to.
pub(crate) async fn run(arguments: &Arguments) -> Outcome {
    let others = Others::watch()?;
    let quick = arguments.quick;
    let (mut figures, mut notes) =
        tokio::task::spawn_blocking(move || alone::measure(quick)).await??;
    let beside = std::env::current_exe()?
        .parent()
        .map(PathBuf::from)
        .ok_or("this binary has no directory")?;
    let binary = arguments.binary.clone();
    let binary = binary.unwrap_or_else(|| beside.join("landform"));
    let parent = arguments.directory.as_ref().unwrap_or(&beside);
    let dir = tempfile::Builder::new()
        .prefix("bench-")
        .tempdir_in(parent)?;
    figures.extend(stack::measure(&binary, dir.path(), quick, &mut notes).await?);
    let machine = Machine::look(dir.path())?;
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
