//! Walks a project's directory: which files it has, and which of them can't be read.
//!
//! What can't be read is a problem of its own file, and is remembered as such: the objects of a file that
//! could not be read are never deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use landform_api::files::is_passing;
use landform_api::project::{ProjectProblem, SETTINGS_FILE};

use crate::ignore::Ignore;
use crate::place;

/// The file that makes a directory a blueprint.
pub(crate) const BLUEPRINT_FILE: &str = "blueprint.yaml";

/// How large a project may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// At most this many files.
    pub files: usize,
    /// The longest file.
    pub file_bytes: u64,
    /// The most bytes of all files together.
    pub bytes: u64,
    /// Directories may be nested so deeply.
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            files: 50_000,
            file_bytes: 8 << 20,
            bytes: 512 << 20,
            depth: 64,
        }
    }
}

/// Says whether a file is as it was when it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stamp {
    pub(crate) modified: (i64, i64),
    pub(crate) changed: (i64, i64),
    length: u64,
    inode: (u64, u64),
}

impl Stamp {
    pub(crate) fn of(found: &Metadata) -> Self {
        Self {
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
            length: found.len(),
            inode: (found.dev(), found.ino()),
        }
    }
}

/// How a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Plain,
    Template,
}

/// A file of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) real: PathBuf,
    pub(crate) stamp: Stamp,
    pub(crate) form: Form,
}

/// What a directory holds. Paths are relative to it, with slashes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tree {
    /// The directory itself, without links.
    pub(crate) root: PathBuf,
    pub(crate) files: BTreeMap<String, Found>,
    /// Directories that are blueprints.
    pub(crate) blueprints: BTreeMap<String, PathBuf>,
    /// All directories that were walked, with what tells one from another of the same name.
    pub(crate) directories: BTreeMap<PathBuf, (u64, u64)>,
    pub(crate) problems: Vec<ProjectProblem>,
    /// Files and directories that are there and could not be read.
    pub(crate) unreadable: BTreeSet<String>,
}

/// The whole directory can't be walked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScanError {
    /// It isn't there, or may not be read.
    #[error("the directory {path} can't be read: {error}")]
    Unreadable {
        /// Which.
        path: String,
        /// Why.
        error: String,
    },
    /// It is no directory.
    #[error("{0} is no directory: name the directory that holds the project's files")]
    NoDirectory(String),
    /// It is larger than allowed.
    #[error(
        "the project has more than {limit} {what}: name what isn't part of it in spec.ignore of {SETTINGS_FILE}, or split it"
    )]
    TooLarge {
        /// Files or bytes.
        what: &'static str,
        /// How many are allowed.
        limit: u64,
    },
}

/// Walks a directory. The order of what is found doesn't depend on the disk's.
pub(crate) fn scan(root: &Path, ignore: &Ignore, limits: &Limits) -> Result<Tree, ScanError> {
    let unreadable = |error: std::io::Error| ScanError::Unreadable {
        path: root.display().to_string(),
        error: error.to_string(),
    };
    let root = root.canonicalize().map_err(unreadable)?;
    if !root.is_dir() {
        return Err(ScanError::NoDirectory(root.display().to_string()));
    }
    // When not even the first directory can be listed, nothing is known of the project.
    fs::read_dir(&root).map_err(unreadable)?;
    let mut walk = Walk {
        root: &root,
        ignore,
        limits,
        tree: Tree {
            root: root.clone(),
            ..Tree::default()
        },
        bytes: 0,
        links: BTreeSet::new(),
    };
    walk.directory(&root, "", 0)?;
    Ok(walk.tree)
}

struct Walk<'a> {
    root: &'a Path,
    ignore: &'a Ignore,
    limits: &'a Limits,
    tree: Tree,
    bytes: u64,
    /// Directories that were entered, by what they really are.
    links: BTreeSet<PathBuf>,
}

impl Walk<'_> {
    fn directory(&mut self, real: &Path, path: &str, depth: usize) -> Result<(), ScanError> {
        if depth > self.limits.depth {
            let limit = self.limits.depth;
            self.trouble(
                path,
                format!("directories are nested more than {limit} deep: what is below is not read"),
            );
            return Ok(());
        }
        if !self.links.insert(real.to_owned()) {
            self.trouble(path, "this link leads to a directory that is read already: it is not followed, remove it or name it in spec.ignore".to_owned());
            return Ok(());
        }
        if let Ok(found) = fs::metadata(real) {
            let inode = (found.dev(), found.ino());
            self.tree.directories.insert(real.to_owned(), inode);
        }
        let mut names = match names_in(real) {
            Ok(names) => names,
            Err(error) => {
                self.trouble(
                    path,
                    format!(
                        "this directory can't be read: {error}; its objects are left as they are"
                    ),
                );
                return Ok(());
            }
        };
        names.sort();
        if !path.is_empty() && names.iter().any(|name| name == BLUEPRINT_FILE) {
            self.tree
                .blueprints
                .insert(path.to_owned(), real.to_owned());
            self.watch_below(real, depth);
            return Ok(());
        }
        // Links come last, so that a directory is found under its own name first.
        let (links, plain): (Vec<_>, Vec<_>) = names
            .into_iter()
            .partition(|name| real.join(name).is_symlink());
        for name in plain.into_iter().chain(links) {
            let Some(text) = name.to_str() else {
                let name = name.to_string_lossy().into_owned();
                self.trouble(
                    &joined(path, &name),
                    "the name isn't UTF-8: rename it".to_owned(),
                );
                continue;
            };
            let below = joined(path, text);
            // The settings are read before, because they say what to ignore.
            if is_passing(text) || self.ignore.covers(&below) || below == SETTINGS_FILE {
                continue;
            }
            self.entry(&real.join(&name), &below, depth)?;
        }
        Ok(())
    }

    fn entry(&mut self, at: &Path, path: &str, depth: usize) -> Result<(), ScanError> {
        let found = match fs::symlink_metadata(at) {
            Ok(found) => found,
            // It was there a moment ago: editors do that.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => {
                self.trouble(
                    path,
                    format!("can't be read: {error}; its objects are left as they are"),
                );
                return Ok(());
            }
        };
        let (real, found) = if found.is_symlink() {
            match self.target(at, path) {
                Ok(Some(target)) => target,
                Ok(None) => return Ok(()),
                Err(problem) => {
                    self.trouble(path, problem);
                    return Ok(());
                }
            }
        } else {
            (at.to_owned(), found)
        };
        if found.is_dir() {
            if form(path).is_some() {
                self.trouble(path, "this is a directory with the name of a file: rename it; its objects are left as they are".to_owned());
                return Ok(());
            }
            return self.directory(&real, path, depth + 1);
        }
        let Some(form) = form(path).filter(|_| found.is_file()) else {
            return Ok(());
        };
        self.file(
            Found {
                real,
                stamp: Stamp::of(&found),
                form,
            },
            path,
            found.len(),
        )
    }

    fn file(&mut self, found: Found, path: &str, length: u64) -> Result<(), ScanError> {
        let limit = self.limits.file_bytes;
        if length > limit {
            self.trouble(path, format!("the file has more than {limit} bytes: split it; its objects are left as they are"));
            return Ok(());
        }
        if self.tree.files.len() >= self.limits.files {
            let limit = u64::try_from(self.limits.files).unwrap_or(u64::MAX);
            return Err(ScanError::TooLarge {
                what: "files",
                limit,
            });
        }
        self.bytes = self.bytes.saturating_add(length);
        if self.bytes > self.limits.bytes {
            return Err(ScanError::TooLarge {
                what: "bytes",
                limit: self.limits.bytes,
            });
        }
        self.tree.files.insert(path.to_owned(), found);
        Ok(())
    }

    /// What a link leads to; none when it is something that needn't be read.
    fn target(&self, at: &Path, path: &str) -> Result<Option<(PathBuf, Metadata)>, String> {
        let lead = |error: std::io::Error| {
            format!("this link leads nowhere: {error}; its objects are left as they are")
        };
        let real = match at.canonicalize() {
            Ok(real) => real,
            Err(_) if form(path).is_none() => return Ok(None),
            Err(error) => return Err(lead(error)),
        };
        if !real.starts_with(self.root) {
            if form(path).is_none() && !real.is_dir() {
                return Ok(None);
            }
            return Err("this link leads out of the project: it is not followed, copy the file or name it in spec.ignore".to_owned());
        }
        let found = fs::metadata(&real).map_err(lead)?;
        Ok(Some((real, found)))
    }

    /// The files of blueprints are read by others, but their changes matter.
    fn watch_below(&mut self, real: &Path, depth: usize) {
        for name in names_in(real).unwrap_or_default() {
            let below = real.join(name);
            let Ok(found) = fs::symlink_metadata(&below) else {
                continue;
            };
            if found.is_dir() && depth < self.limits.depth {
                let inode = (found.dev(), found.ino());
                self.tree.directories.insert(below.clone(), inode);
                self.watch_below(&below, depth + 1);
            }
        }
    }

    fn trouble(&mut self, path: &str, message: String) {
        self.tree.problems.push(place::of_file(path, message));
        self.tree.unreadable.insert(path.to_owned());
    }
}

fn names_in(directory: &Path) -> std::io::Result<Vec<std::ffi::OsString>> {
    fs::read_dir(directory)?
        .map(|entry| Ok(entry?.file_name()))
        .collect()
}

fn joined(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}/{name}")
    }
}

/// How a file of this name is read; none when it is none of a project's.
pub(crate) fn form(path: &str) -> Option<Form> {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.')?.1 {
        "yaml" | "yml" | "json" => Some(Form::Plain),
        "gotmpl" => Some(Form::Template),
        _ => None,
    }
}
