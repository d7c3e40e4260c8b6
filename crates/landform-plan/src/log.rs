//! What deployers and hooks would have done, had this not been a plan.

use std::sync::Arc;

use landform_store::memory::MemoryStore;
use landform_store::{Revision, Store as _};
use parking_lot::Mutex;

/// Collects what would have been done. Cheap to clone.
#[derive(Clone)]
pub struct Log {
    store: Arc<MemoryStore>,
    entries: Arc<Mutex<Vec<Entry>>>,
}

/// One thing that would have been done.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The fork's revision at that moment: what was written up to it came before.
    pub revision: Revision,
    /// The kind of the object.
    pub kind: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// What.
    pub what: Done,
}

/// What would have been done with an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// It would have been deployed; these objects would have been applied to its target.
    Deployed(Vec<String>),
    /// It would have been removed.
    Removed,
    /// What comes of it can't be known: why.
    Unknown(String),
    /// This was assumed of it.
    Assumed(String),
    /// Its hook would have been called.
    Hook,
}

impl Log {
    /// An empty one, for what happens on this store.
    #[must_use]
    pub fn new(store: Arc<MemoryStore>) -> Self {
        Self {
            store,
            entries: Arc::default(),
        }
    }

    /// Notes something.
    pub fn note(&self, kind: &str, (namespace, name): (&str, &str), what: Done) {
        self.entries.lock().push(Entry {
            revision: self.store.revision(),
            kind: kind.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            what,
        });
    }

    /// Takes out everything so far.
    #[must_use]
    pub fn take(&self) -> Vec<Entry> {
        std::mem::take(&mut *self.entries.lock())
    }
}
