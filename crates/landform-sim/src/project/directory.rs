//! The files, and who tells that they changed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use landform_project::{Changed, Following, Notifier};
use parking_lot::Mutex;
use tempfile::TempDir;

use super::PROJECT;

/// Files here need no disk, which many systems have.
const IN_MEMORY: &str = "/dev/shm";

/// One thing that an editor, a checkout or a person does, at one moment.
#[derive(Clone, Debug)]
pub(super) enum Touch {
    /// A file has this content.
    Write(String, String),
    /// A file is gone.
    Remove(String),
    /// A file, or all of the directory, has another name.
    Move(String, String),
}

/// A real directory with the project in it.
#[derive(Clone, Default)]
pub(super) struct Directory {
    root: Arc<OnceLock<TempDir>>,
    notifier: Arc<SimNotifier>,
}

impl Directory {
    /// Makes it.
    pub(super) fn begin(&self) -> io::Result<()> {
        let memory = Path::new(IN_MEMORY);
        let root = if memory.is_dir() {
            TempDir::new_in(memory.canonicalize()?)?
        } else {
            TempDir::new()?
        };
        fs::create_dir(root.path().join(PROJECT))?;
        let _ = self.root.set(root);
        Ok(())
    }

    /// What projects are in; nowhere before it is made.
    pub(super) fn root(&self) -> PathBuf {
        let root = self.root.get();
        root.map(|root| root.path().to_owned()).unwrap_or_default()
    }

    pub(super) fn notifier(&self) -> Arc<SimNotifier> {
        self.notifier.clone()
    }

    /// Does it, and tells whoever follows the directories. Paths are those from the root.
    pub(super) fn touch(&self, touch: &Touch) -> io::Result<()> {
        let root = self.root();
        let path = |path: &str| root.join(path);
        match touch {
            Touch::Write(to, text) => {
                let to = path(to);
                self.make(parent(&to))?;
                fs::write(&to, text)?;
                self.notifier.changed(&to);
            }
            Touch::Remove(gone) => {
                let gone = path(gone);
                fs::remove_file(&gone)?;
                self.notifier.changed(&gone);
            }
            Touch::Move(from, to) => {
                let (from, to) = (path(from), path(to));
                self.make(parent(&to))?;
                fs::rename(&from, &to)?;
                self.notifier.changed(&from);
                self.notifier.changed(&to);
            }
        }
        Ok(())
    }

    /// Makes a directory, and tells of the topmost one that wasn't there.
    fn make(&self, directory: &Path) -> io::Result<()> {
        let missing = directory.ancestors().take_while(|path| !path.exists());
        if let Some(topmost) = missing.last() {
            fs::create_dir_all(directory)?;
            self.notifier.changed(topmost);
        }
        Ok(())
    }
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

/// Tells of changes at the moment in which they happen.
#[derive(Default)]
pub(super) struct SimNotifier {
    listeners: Arc<Mutex<Listeners>>,
}

#[derive(Default)]
struct Listeners {
    count: u64,
    all: BTreeMap<u64, Listener>,
}

struct Listener {
    changed: Changed,
    directories: BTreeSet<PathBuf>,
}

impl SimNotifier {
    /// Something changed in the directory of a path, and in all that is below the path.
    fn changed(&self, path: &Path) {
        let listeners = self.listeners.lock();
        for listener in listeners.all.values() {
            let mut directories = listener.directories.iter();
            if directories.any(|followed| followed == parent(path) || followed.starts_with(path)) {
                (listener.changed)(&[path.to_owned()]);
            }
        }
    }

    /// The process is over, and with it all who listened.
    pub(super) fn forget(&self) {
        self.listeners.lock().all.clear();
    }
}

impl Notifier for SimNotifier {
    fn begin(&self, changed: Changed) -> Result<Box<dyn Following>, String> {
        let mut listeners = self.listeners.lock();
        listeners.count += 1;
        let number = listeners.count;
        let directories = BTreeSet::new();
        let listener = Listener {
            changed,
            directories,
        };
        listeners.all.insert(number, listener);
        Ok(Box::new(Follows {
            listeners: self.listeners.clone(),
            number,
        }))
    }
}

struct Follows {
    listeners: Arc<Mutex<Listeners>>,
    number: u64,
}

impl Following for Follows {
    fn watch(&mut self, directory: &Path) -> Result<(), String> {
        if !directory.is_dir() {
            return Err("it is gone".into());
        }
        if let Some(listener) = self.listeners.lock().all.get_mut(&self.number) {
            listener.directories.insert(directory.to_owned());
        }
        Ok(())
    }

    fn unwatch(&mut self, directory: &Path) {
        if let Some(listener) = self.listeners.lock().all.get_mut(&self.number) {
            listener.directories.remove(directory);
        }
    }
}

impl Drop for Follows {
    fn drop(&mut self) {
        self.listeners.lock().all.remove(&self.number);
    }
}
