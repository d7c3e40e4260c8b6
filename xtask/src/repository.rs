//! The files of the repository.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Outcome, process};

/// The root of the repository.
#[must_use]
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// The paths, relative to the root, of all files that are committed or would be.
///
/// # Errors
/// When git can't list them.
pub fn files() -> Outcome<Vec<PathBuf>> {
    let mut git = Command::new("git");
    git.current_dir(root());
    git.args([
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]);
    let listing = process::output(&mut git)?;
    let mut files: Vec<PathBuf> = listing
        .split('\0')
        .filter(|name| !name.is_empty())
        .map(PathBuf::from)
        .collect();
    // A file that was deleted and not committed yet is still listed.
    files.retain(|file| root().join(file).is_file());
    files.sort();
    files.dedup();
    Ok(files)
}

/// The files whose names end in `.extension`, with their text.
///
/// # Errors
/// When a file can't be read.
pub fn texts(extension: &str) -> Outcome<Vec<(PathBuf, String)>> {
    let wanted = |file: &PathBuf| file.extension().is_some_and(|found| found == extension);
    files()?
        .into_iter()
        .filter(wanted)
        .map(|file| read(&file).map(|text| (file, text)))
        .collect()
}

/// The text of a file, given by its path from the root.
///
/// # Errors
/// When it can't be read.
pub fn read(file: &Path) -> Outcome<String> {
    std::fs::read_to_string(root().join(file))
        .map_err(|error| format!("can't read {}: {error}", file.display()))
}
