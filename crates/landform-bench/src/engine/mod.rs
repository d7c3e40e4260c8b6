//! `landform-bench engine`: what scheduling costs, alone and through the whole stack.
//!
//! `machine.rs` measures the state machine; `stack.rs` a tree of objects through API, embedded store and
//! engine, with durable status writes.

mod machine;
mod stack;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::Outcome;
use crate::disk::Machine;
use crate::process::Others;

/// What to measure and where.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A short run with fewer objects, to see that everything works.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Put the results into this document, in place of its section about the engine.
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Keep the data in a new directory under this one, on a real disk [default: beside the binary].
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
}

const SECTION: &str = "\n## Engine\n";

/// Measures, prints the results, and writes them down if asked to.
pub(crate) async fn run(arguments: &Arguments) -> Outcome {
    let binary = std::env::current_exe()?;
    let beside = binary.parent().ok_or("this binary has no directory")?;
    let parent = arguments.directory.as_deref().unwrap_or(beside);
    let dir = tempfile::Builder::new()
        .prefix("bench-")
        .tempdir_in(parent)?;
    let others = Others::watch()?;
    let (mut figures, mut notes) = machine::measure(arguments.quick);
    let (path, quick) = (dir.path().to_owned(), arguments.quick);
    // The stack has threads of its own, as it has in the real binary.
    let measured = tokio::task::spawn_blocking(move || stack::measure(&path, quick));
    let (more_figures, more_notes) = measured.await??;
    figures.extend(more_figures);
    notes.extend(more_notes);
    let machine = Machine::look(dir.path())?;
    notes.push(format!(
        "Machine: {} cores, {}. Other processes took {:.0} % of the cores' time during the run.",
        machine.cores,
        machine.file_system,
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
    match &arguments.write {
        Some(file) => write_section(file, &text),
        None => Ok(()),
    }
}

/// Puts the results in place of the section that is there, or at the end.
fn write_section(file: &Path, text: &str) -> Outcome {
    let document = std::fs::read_to_string(file)?;
    let (before, rest) = document.split_once(SECTION).unwrap_or((&document, ""));
    let after = rest.find("\n## ").map_or("", |at| &rest[at..]);
    let section = format!(
        "{SECTION}\nWritten by `cargo xtask bench engine --write docs/benchmarks.md`; times of the machine are of \
         CPU, on one core.\n\n{text}"
    );
    std::fs::write(file, format!("{}\n{section}{after}", before.trim_end()))?;
    Ok(())
}
