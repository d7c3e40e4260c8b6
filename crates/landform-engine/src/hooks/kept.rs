//! What hooks printed or answered when a call failed: a file for each Reconciler.
//!
//! Such words were not meant for those who may read the object, and may hold what the hook was given. So they are in no
//! status, Event or log of the server; `landform logs reconciler/NAME` shows them to those with the right to `logs`.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// A file that is larger is put aside, in the place of the one that was put aside before.
const FILE_BYTES: u64 = 256 << 10;

/// Where the words of a Reconciler's hook are kept, below the directory of hooks.
pub(crate) fn file(directory: &Path, reconciler: &str) -> PathBuf {
    directory.join(format!("{reconciler}.log"))
}

/// Adds a text to what is kept.
pub(crate) fn keep(directory: &Path, reconciler: &str, text: &str) -> io::Result<()> {
    if reconciler.is_empty() || reconciler.contains('/') {
        return Err(io::Error::other("this is no name of a Reconciler"));
    }
    let path = file(directory, reconciler);
    if fs::metadata(&path).is_ok_and(|found| found.len() > FILE_BYTES) {
        fs::rename(&path, path.with_extension("log.1"))?;
    }
    let mut options = OpenOptions::new();
    let mut file = options.append(true).create(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn words_are_kept_for_the_owner_only_and_within_bounds() {
        let directory = tempfile::tempdir().unwrap();
        keep(directory.path(), "a.b", "one\n").unwrap();
        keep(directory.path(), "a.b", "two\n").unwrap();
        let path = file(directory.path(), "a.b");
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\n");
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let long = "x".repeat(100_000);
        for _ in 0..20 {
            keep(directory.path(), "a.b", &long).unwrap();
        }
        let files = fs::read_dir(directory.path()).unwrap();
        let sizes: u64 = files
            .map(|file| file.unwrap().metadata().unwrap().len())
            .sum();
        assert!(sizes < 3 * FILE_BYTES, "{sizes}");
        assert!(keep(directory.path(), "../a", "x").is_err());
    }
}
