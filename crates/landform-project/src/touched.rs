//! Which paths changed since the last sync: an object that is missing again was perhaps there in between (R15b).
//!
//! A run sees files at one moment. A file that comes back and goes once more between two runs was never seen to be back,
//! but it was told that it changed: so the time for which its objects are missing begins anew.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

/// With more paths than these, everything counts as changed.
const PATHS_MAX: usize = 10_000;

/// The paths that changed. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Touched(Arc<Mutex<Paths>>);

/// The paths that changed up to a moment.
#[derive(Debug, Default)]
pub(crate) struct Paths {
    /// Whether changes were lost, or too many.
    all: bool,
    some: BTreeSet<PathBuf>,
}

impl Touched {
    /// These paths changed; without any it isn't known which.
    pub(crate) fn note(&self, paths: &[PathBuf]) {
        let mut noted = self.0.lock();
        noted.all |= paths.is_empty() || noted.some.len() + paths.len() > PATHS_MAX;
        if noted.all {
            noted.some.clear();
        } else {
            noted.some.extend(paths.iter().cloned());
        }
    }

    /// What changed since this was last asked.
    pub(crate) fn take(&self) -> Paths {
        std::mem::take(&mut *self.0.lock())
    }
}

impl Paths {
    /// Whether a file changed, or a directory that it is in.
    pub(crate) fn have(&self, root: &Path, file: &str) -> bool {
        let file = root.join(file);
        let mut places = file.ancestors().take_while(|path| path.starts_with(root));
        self.all || places.any(|path| self.some.contains(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r15b_what_changed_is_known_by_file_and_directory_once() {
        let root = Path::new("/p/shop");
        let table: [(&str, &[&str], bool); 6] = [
            ("the file", &["/p/shop/sub/a.yaml"], true),
            ("its directory", &["/p/shop/sub"], true),
            ("the project", &["/p/shop"], true),
            ("another file", &["/p/shop/sub/b.yaml"], false),
            ("what the project is in", &["/p"], false),
            ("it isn't known which", &[], true),
        ];
        for (what, paths, expected) in table {
            let touched = Touched::default();
            let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
            touched.note(&paths);
            assert_eq!(touched.take().have(root, "sub/a.yaml"), expected, "{what}");
            assert!(!touched.take().have(root, "sub/a.yaml"), "{what}, once");
        }
    }

    #[test]
    fn r15b_too_many_changes_are_a_change_of_everything() {
        let touched = Touched::default();
        for number in 0..=PATHS_MAX {
            touched.note(&[PathBuf::from(format!("/p/shop/{number}"))]);
        }
        let taken = touched.take();
        assert!(taken.have(Path::new("/p/shop"), "a.yaml"));
        assert!(taken.some.is_empty());
    }
}
