//! The files of a directory, within limits, in a fixed order.

use std::collections::VecDeque;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::problem::Problems;
use super::{Limits, ReadError};

/// A file to read: its path below the directory, and where it is.
pub(super) struct Found {
    pub(super) name: String,
    path: PathBuf,
}

impl Found {
    /// A file that somebody named.
    pub(super) fn named(path: &Path) -> Self {
        let name = path.file_name().unwrap_or(path.as_os_str());
        Self {
            name: name.to_string_lossy().into_owned(),
            path: path.to_owned(),
        }
    }

    /// Its bytes; what can't be read becomes a problem.
    pub(super) fn read(&self, limits: &Limits, problems: &mut Problems) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let read = fs::File::open(&self.path).and_then(|file| {
            // One byte more than may be, so that a larger file is seen.
            file.take(limits.file_bytes.saturating_add(1))
                .read_to_end(&mut bytes)
        });
        match read {
            Err(error) => {
                let reason = format!("the file can't be read: {error}; it is left out");
                problems.error(self.name.as_str(), "", reason);
                None
            }
            Ok(_) if bytes.len() as u64 > limits.file_bytes => {
                let reason = format!(
                    "the file is larger than {} bytes: it is left out; split it into several",
                    limits.file_bytes
                );
                problems.error(self.name.as_str(), "", reason);
                None
            }
            Ok(_) => Some(bytes),
        }
    }
}

/// The files below a directory that may belong to a catalog, sorted by name.
pub(super) fn walk(
    root: &Path,
    limits: &Limits,
    problems: &mut Problems,
) -> Result<Vec<Found>, ReadError> {
    let canonical = fs::canonicalize(root).map_err(|source| ReadError::new(root, source))?;
    let mut found = Vec::new();
    let mut next = VecDeque::from([(root.to_owned(), String::new(), 0)]);
    while let Some((directory, prefix, depth)) = next.pop_front() {
        let entries = match fs::read_dir(&directory) {
            Ok(entries) => entries,
            Err(source) if prefix.is_empty() => return Err(ReadError::new(root, source)),
            Err(error) => {
                let reason = format!("the directory can't be read: {error}; it is left out");
                problems.error(prefix.trim_end_matches('/'), "", reason);
                continue;
            }
        };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            let Some(base) = path
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
            else {
                continue;
            };
            let name = format!("{prefix}{base}");
            // Those of git and editors are no part of a catalog, and nobody expects them to be.
            if base.starts_with('.') {
                if may_belong(&base) {
                    let reason =
                        "hidden files are left out: rename it if it belongs to the catalog";
                    problems.warning(name, "", reason.to_owned());
                }
                continue;
            }
            match look(&path, &canonical) {
                Look::Directory if depth >= limits.depth => {
                    let reason = format!(
                        "directories are nested deeper than {}: what is in here is left out",
                        limits.depth
                    );
                    problems.error(name, "", reason);
                }
                Look::Directory => next.push_back((path, format!("{name}/"), depth + 1)),
                Look::File if !may_belong(&base) => {}
                Look::File if found.len() >= limits.files => {
                    let reason = format!(
                        "there are more than {} files: this one and those after it are left out",
                        limits.files
                    );
                    problems.error(name, "", reason);
                    found.sort_by(|a: &Found, b| a.name.cmp(&b.name));
                    return Ok(found);
                }
                Look::File => found.push(Found { name, path }),
                Look::Skipped(reason) => problems.error(name, "", reason),
            }
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

enum Look {
    Directory,
    File,
    Skipped(String),
}

fn look(path: &Path, root: &Path) -> Look {
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return Look::Skipped("it can't be looked at: it is left out".to_owned());
    };
    if metadata.is_dir() {
        return Look::Directory;
    }
    if metadata.is_file() {
        return Look::File;
    }
    if !metadata.is_symlink() {
        return Look::Skipped("it is neither a file nor a directory: it is left out".to_owned());
    }
    match fs::canonicalize(path) {
        Ok(target) if !target.starts_with(root) => Look::Skipped(
            "the link leads out of the directory: it is left out; copy what it leads to".to_owned(),
        ),
        // A directory that is linked would be read twice, or for ever.
        Ok(target) if target.is_dir() => {
            Look::Skipped("the link leads to a directory: it is left out".to_owned())
        }
        Ok(_) => Look::File,
        Err(error) => Look::Skipped(format!("the link leads nowhere ({error}): it is left out")),
    }
}

/// Whether a file's name is one that catalogs have. The rest (readme, icons, licences) is no problem.
fn may_belong(name: &str) -> bool {
    let extension = name
        .trim_start_matches('.')
        .rsplit_once('.')
        .map(|(_, extension)| extension);
    extension.is_some_and(|extension| {
        ["yaml", "yml", "json", "jsonl"]
            .iter()
            .any(|known| extension.eq_ignore_ascii_case(known))
    })
}
