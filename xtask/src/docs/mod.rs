//! `cargo xtask docs`: the pages of `docs/` that are made from the code, so that they can't lag behind it.
//!
//! [`kinds`] makes a page for each kind from its definition; [`pages`] has what a definition can't say: a few
//! sentences and an example. The reference of the command line comes from the binary itself.

pub mod kinds;
pub mod pages;

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use crate::{Outcome, process, repository, say};

/// Where the pages of kinds are.
pub const KINDS: &str = "docs/kinds";
/// The reference of the command line.
const COMMANDS: &str = "docs/cli.md";

/// Arguments of `cargo xtask docs`.
#[derive(Args)]
pub struct Arguments {
    /// Write nothing: fail when a page is not up to date.
    #[arg(long)]
    check: bool,
}

/// Writes all pages anew, or looks whether they are up to date.
///
/// # Errors
/// When the binary can't be built, a file can't be written, or a page is not up to date.
pub fn run(arguments: &Arguments) -> Outcome {
    let kinds = kinds::pages()?;
    let stale = stale(&kinds)?;
    if arguments.check {
        let commands = [(PathBuf::from(COMMANDS), reference()?)];
        let stale: Vec<_> = stale.into_iter().chain(differing(&commands)).collect();
        let names: Vec<_> = stale
            .iter()
            .map(|file| file.display().to_string())
            .collect();
        return match names.as_slice() {
            [] => Ok(()),
            names => Err(format!(
                "out of date: {}; run `cargo xtask docs`",
                names.join(", ")
            )),
        };
    }
    let no_page = |file: &&PathBuf| !kinds.iter().any(|(page, _)| page == *file);
    for file in stale.iter().filter(no_page) {
        std::fs::remove_file(repository::root().join(file))
            .map_err(|error| format!("can't remove {}: {error}", file.display()))?;
    }
    for (file, text) in &kinds {
        write(file, text)?;
    }
    write(Path::new(COMMANDS), &reference()?)?;
    say(&format!(
        "wrote {} pages of kinds, and {COMMANDS}",
        kinds.len()
    ));
    Ok(())
}

fn write(file: &Path, text: &str) -> Outcome {
    let path = repository::root().join(file);
    let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    made.and_then(|()| std::fs::write(&path, text))
        .map_err(|error| format!("can't write {}: {error}", file.display()))
}

/// The pages of kinds that are not as they should be, and files among the pages of kinds that nothing makes.
///
/// # Errors
/// When the folder of kinds can't be read.
pub fn stale(pages: &[(PathBuf, String)]) -> Outcome<Vec<PathBuf>> {
    let mut stale = differing(pages);
    let made = |file: &Path| pages.iter().any(|(page, _)| page == file);
    let left = repository::files()?.into_iter();
    stale.extend(left.filter(|file| file.starts_with(KINDS) && !made(file)));
    Ok(stale)
}

fn differing(pages: &[(PathBuf, String)]) -> Vec<PathBuf> {
    let differs = pages
        .iter()
        .filter(|(file, text)| repository::read(file).ok().as_ref() != Some(text));
    differs.map(|(file, _)| file.clone()).collect()
}

/// What the binary says about its commands.
fn reference() -> Outcome<String> {
    process::run(process::cargo().args(["build", "--package", "landform"]))?;
    process::output(Command::new(process::binary("landform")).arg("reference"))
}
