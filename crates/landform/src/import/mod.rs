//! `landform import`: files of other tools become a project.
//!
//! In reading order: `source` reads a file with places, `variables` and `line` put in variables and take command lines apart, `service` says what a service is,
//! `read`, `fields` and `shared` read a Compose file, `write` makes the project's files of it, `report` says what is left to do.

mod fields;
mod line;
mod read;
mod report;
mod service;
mod shared;
mod source;
mod variables;
mod write;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::scaffold::Place;
use crate::{AnyError, exit, say};
use source::Source;

/// What can be imported.
#[derive(Subcommand)]
pub(crate) enum ImportCommand {
    /// Makes a project of a Compose file: a process for each service whose program is on this machine.
    ///
    /// Nothing is started. What can't be taken over, or works differently here, is named with file and line, and written
    /// into IMPORTED.md beside the files.
    Compose(ComposeArgs),
}

const EXAMPLES: &str = "Examples:
  landform import compose compose.yaml                  into a directory that is called like the Compose project
  landform import compose compose.yaml --dir shop       into shop";

/// Arguments of `landform import compose`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ComposeArgs {
    /// The Compose file.
    file: PathBuf,
    /// The directory that becomes the project [default: called like the Compose project, below the present one].
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(crate) fn run(command: ImportCommand) -> Result<ExitCode, AnyError> {
    match command {
        ImportCommand::Compose(args) => compose(&args),
    }
}

fn compose(args: &ComposeArgs) -> Result<ExitCode, AnyError> {
    let source = Source::load(&args.file)?;
    let found = read::read(&source);
    if let Some(problems) = source.problems() {
        return Err(problems.into());
    }
    let directory = args.dir.clone();
    let directory = directory.unwrap_or_else(|| PathBuf::from(&found.name));
    let place = Place::of(&directory)?;
    if place.known {
        return Err(format!(
            "{} is in the project {}: choose a directory outside of it with --dir",
            directory.display(),
            place.project.display()
        )
        .into());
    }
    let scaffold = write::project(&found, &place.project, &source);
    scaffold.write(&directory, &place.project)?;
    for volume in &found.volumes {
        let path = write::volume(&place.project, volume);
        std::fs::create_dir_all(&path)
            .map_err(|error| format!("{} can't be made: {error}", path.display()))?;
    }
    private(&directory.join(write::SECRETS))?;
    say(&report::summary(&source, &directory))?;
    Ok(exit::OK)
}

/// Only the user that imports reads the Secrets.
fn private(file: &Path) -> Result<(), AnyError> {
    use std::os::unix::fs::PermissionsExt as _;
    if !file.exists() {
        return Ok(());
    }
    let mode = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(file, mode)
        .map_err(|error| format!("{} can't be made private: {error}", file.display()).into())
}
