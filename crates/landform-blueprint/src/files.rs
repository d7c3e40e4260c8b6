//! The files of a blueprint, from an inline map, a directory or a tar archive.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Component, Path};

use flate2::read::GzDecoder;
use landform_api::files::is_left_by_editor;
use serde_json::Value;

/// How large a blueprint may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileLimits {
    /// All files together.
    pub max_bytes: u64,
    /// How many files.
    pub max_files: usize,
    /// How deep directories may be nested.
    pub max_depth: usize,
}

impl Default for FileLimits {
    fn default() -> Self {
        FileLimits {
            max_bytes: 16 << 20,
            max_files: 2_000,
            max_depth: 32,
        }
    }
}

/// Why files could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// A file or a directory can't be read.
    #[error("{path} can't be read")]
    Read {
        /// Which one.
        path: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The files are more or larger than allowed.
    #[error("the blueprint has {what}")]
    Limit {
        /// Which limit, with its value.
        what: String,
    },
    /// A path leads out of the blueprint.
    #[error("{path} leads out of the blueprint: use paths below it only")]
    Escape {
        /// Which one.
        path: String,
    },
    /// Something is neither a file nor a directory.
    #[error("{path}: {message}")]
    Unsupported {
        /// Which one.
        path: String,
        /// What it is, and what to do.
        message: String,
    },
}

/// Files by their path, in order. Paths have no leading slash, no `.` and no `..`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files {
    files: BTreeMap<String, Vec<u8>>,
    bytes: u64,
    /// Directories that were read; links can make them many without any file.
    directories: usize,
}

impl Files {
    /// Files that stand in an object: a map is a directory, a string a file.
    ///
    /// # Errors
    /// When there is anything else in the map, or a limit is passed.
    pub fn from_inline(filesystem: &Value, limits: &FileLimits) -> Result<Self, FilesError> {
        let mut files = Files::default();
        if !filesystem.is_object() {
            return Err(FilesError::Unsupported {
                path: "filesystem".to_owned(),
                message: "it has to be a map from names to files".to_owned(),
            });
        }
        files.add_inline("", filesystem, limits, 0)?;
        Ok(files)
    }

    fn add_inline(
        &mut self,
        path: &str,
        value: &Value,
        limits: &FileLimits,
        depth: usize,
    ) -> Result<(), FilesError> {
        match value {
            Value::String(content) => self.add(path, content.clone().into_bytes(), limits),
            Value::Object(entries) => {
                check_depth(depth, limits)?;
                entries.iter().try_for_each(|(name, value)| {
                    let path = if path.is_empty() {
                        name.clone()
                    } else {
                        format!("{path}/{name}")
                    };
                    self.add_inline(&path, value, limits, depth + 1)
                })
            }
            _ => Err(FilesError::Unsupported {
                path: path.to_owned(),
                message: "a file's content has to be a string: write `|` after its name and \
                          indent the text below"
                    .to_owned(),
            }),
        }
    }

    /// The files of a directory. Links are followed as long as they stay inside of it.
    ///
    /// # Errors
    /// When something can't be read or leads out of the directory, or a limit is passed.
    pub fn from_directory(directory: &Path, limits: &FileLimits) -> Result<Self, FilesError> {
        let root = directory
            .canonicalize()
            .map_err(|source| read_error(directory, source))?;
        let mut files = Files::default();
        files.add_directory(&root, &root, "", limits, 0)?;
        Ok(files)
    }

    fn add_directory(
        &mut self,
        root: &Path,
        directory: &Path,
        path: &str,
        limits: &FileLimits,
        depth: usize,
    ) -> Result<(), FilesError> {
        check_depth(depth, limits)?;
        self.directories += 1;
        if self.directories > limits.max_files {
            return Err(FilesError::Limit {
                what: format!("more than {} directories", limits.max_files),
            });
        }
        let entries =
            std::fs::read_dir(directory).map_err(|source| read_error(directory, source))?;
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|source| read_error(directory, source))?;
            found.push(entry.path());
        }
        found.sort();
        for entry in found {
            let name = entry
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            if is_left_by_editor(&name) {
                continue;
            }
            let inner = if path.is_empty() {
                name
            } else {
                format!("{path}/{name}")
            };
            // Where links lead is checked before anything is read.
            let real = entry
                .canonicalize()
                .map_err(|source| read_error(&entry, source))?;
            if !real.starts_with(root) {
                return Err(FilesError::Escape { path: inner });
            }
            let metadata = real
                .metadata()
                .map_err(|source| read_error(&entry, source))?;
            if metadata.is_dir() {
                self.add_directory(root, &real, &inner, limits, depth + 1)?;
            } else if metadata.is_file() {
                self.check_size(metadata.len(), limits)?;
                let content = std::fs::read(&real).map_err(|source| read_error(&entry, source))?;
                self.add(&inner, content, limits)?;
            } else {
                return Err(FilesError::Unsupported {
                    path: inner,
                    message: "it is neither a file nor a directory".to_owned(),
                });
            }
        }
        Ok(())
    }

    /// The files of a tar archive, compressed with gzip or not.
    ///
    /// # Errors
    /// When the archive is damaged, has links or paths that lead out of it, or passes a limit.
    pub fn from_tar(archive: &[u8], limits: &FileLimits) -> Result<Self, FilesError> {
        if archive.starts_with(&[0x1f, 0x8b]) {
            // What it unpacks to is limited too: headers count beside the files.
            let most = limits.max_bytes + 2048 * limits.max_files as u64;
            return Files::read_tar(GzDecoder::new(archive).take(most), limits);
        }
        Files::read_tar(archive, limits)
    }

    fn read_tar(reader: impl Read, limits: &FileLimits) -> Result<Self, FilesError> {
        let damaged = |source| FilesError::Read {
            path: "the archive".to_owned(),
            source,
        };
        let mut files = Files::default();
        let mut archive = tar::Archive::new(reader);
        for entry in archive.entries().map_err(damaged)? {
            let mut entry = entry.map_err(damaged)?;
            let kind = entry.header().entry_type();
            let path = entry
                .path()
                .map_err(damaged)?
                .to_string_lossy()
                .into_owned();
            if kind.is_dir() || kind.is_pax_global_extensions() {
                continue;
            }
            if !kind.is_file() {
                return Err(FilesError::Unsupported {
                    path,
                    message: "archives hold files and directories only; links and devices are \
                              refused"
                        .to_owned(),
                });
            }
            files.check_size(entry.size(), limits)?;
            let mut content = Vec::new();
            entry
                .by_ref()
                .take(limits.max_bytes + 1)
                .read_to_end(&mut content)
                .map_err(damaged)?;
            files.add(&path, content, limits)?;
        }
        Ok(files)
    }

    /// A directory, or a tar archive, whichever stands at the path.
    ///
    /// # Errors
    /// As for [`Files::from_directory`] and [`Files::from_tar`].
    pub fn from_path(path: &Path, limits: &FileLimits) -> Result<Self, FilesError> {
        if path.is_dir() {
            return Files::from_directory(path, limits);
        }
        let size = path
            .metadata()
            .map_err(|source| read_error(path, source))?
            .len();
        Files::default().check_size(size, limits)?;
        let archive = std::fs::read(path).map_err(|source| read_error(path, source))?;
        Files::from_tar(&archive, limits)
    }

    /// Files with these contents.
    ///
    /// # Errors
    /// When a path leads out, or a limit is passed.
    pub fn from_contents(
        contents: impl IntoIterator<Item = (String, Vec<u8>)>,
        limits: &FileLimits,
    ) -> Result<Self, FilesError> {
        let mut files = Files::default();
        for (path, content) in contents {
            files.add(&path, content, limits)?;
        }
        Ok(files)
    }

    fn check_size(&self, size: u64, limits: &FileLimits) -> Result<(), FilesError> {
        if self.bytes.saturating_add(size) > limits.max_bytes {
            return Err(FilesError::Limit {
                what: format!("more than {} bytes", limits.max_bytes),
            });
        }
        Ok(())
    }

    fn add(&mut self, path: &str, content: Vec<u8>, limits: &FileLimits) -> Result<(), FilesError> {
        let escape = || FilesError::Escape {
            path: path.to_owned(),
        };
        let clean = clean(path)
            .filter(|path| !path.is_empty())
            .ok_or_else(escape)?;
        self.check_size(content.len() as u64, limits)?;
        if self.files.len() >= limits.max_files {
            return Err(FilesError::Limit {
                what: format!("more than {} files", limits.max_files),
            });
        }
        self.bytes += content.len() as u64;
        self.files.insert(clean, content);
        Ok(())
    }

    /// The content of a file.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&[u8]> {
        self.files.get(&clean(path)?).map(Vec::as_slice)
    }

    /// All paths with their contents, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files
            .iter()
            .map(|(path, content)| (path.as_str(), content.as_slice()))
    }

    /// The names directly in a directory, with whether each is a directory; `None` without one.
    #[must_use]
    pub fn list(&self, directory: &str) -> Option<BTreeMap<&str, bool>> {
        let directory = clean(directory)?;
        let prefix = if directory.is_empty() {
            directory
        } else {
            directory + "/"
        };
        let mut names = BTreeMap::new();
        for path in self.files.keys() {
            let Some(rest) = path.strip_prefix(&prefix) else {
                continue;
            };
            match rest.split_once('/') {
                Some((name, _)) => names.insert(name, true),
                None => names.insert(rest, false),
            };
        }
        (prefix.is_empty() || !names.is_empty()).then_some(names)
    }
}

fn check_depth(depth: usize, limits: &FileLimits) -> Result<(), FilesError> {
    if depth > limits.max_depth {
        return Err(FilesError::Limit {
            what: format!("directories nested deeper than {}", limits.max_depth),
        });
    }
    Ok(())
}

fn read_error(path: &Path, source: std::io::Error) -> FilesError {
    FilesError::Read {
        path: path.display().to_string(),
        source,
    }
}

/// A path without leading slash, `.` and `..`; `None` when it leads out.
fn clean(path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in Path::new(path).components() {
        match part {
            Component::RootDir | Component::CurDir => {}
            Component::Normal(name) => parts.push(name.to_str()?),
            Component::ParentDir => {
                parts.pop()?;
            }
            Component::Prefix(_) => return None,
        }
    }
    Some(parts.join("/"))
}
