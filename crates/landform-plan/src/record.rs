//! Follows the fork's log: which objects were written, and when.

use std::collections::BTreeMap;
use std::sync::Arc;

use landform_store::memory::MemoryStore;
use landform_store::{EventKind, Key, Revision, Store as _};
use parking_lot::Mutex;

use crate::PlanError;

/// Objects of these buckets tell of the way, or of who is alive: they are no part of a plan.
const NOISE: [&str; 2] = ["events", "leases.coordination.k8s.io"];

/// What was written, as it is being written. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Record(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    writes: u64,
    touched: BTreeMap<Key, Touched>,
}

/// When an object was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Touched {
    pub(crate) first: Revision,
    /// When it last went, if it did.
    pub(crate) gone: Option<Revision>,
    /// When it was last made, if it was.
    pub(crate) made: Option<Revision>,
}

impl Record {
    /// Follows a store from now on, on the present runtime.
    pub(crate) fn start(store: &MemoryStore) -> Result<Self, PlanError> {
        let record = Self::default();
        let mut watch = store
            .watch_all(store.revision())
            .map_err(|error| PlanError::Start(error.to_string()))?;
        let follower = record.clone();
        tokio::spawn(async move {
            while let Ok(events) = watch.next().await {
                let mut inner = follower.0.lock();
                for event in events {
                    let key = &event.record.key;
                    if !NOISE.contains(&key.bucket.as_str()) {
                        inner.note(key, event.kind, event.revision);
                    }
                }
            }
        });
        Ok(record)
    }

    /// How many writes there were.
    pub(crate) fn writes(&self) -> u64 {
        self.0.lock().writes
    }

    /// Takes out all objects that were written so far.
    pub(crate) fn take(&self) -> BTreeMap<Key, Touched> {
        std::mem::take(&mut self.0.lock().touched)
    }
}

impl Inner {
    fn note(&mut self, key: &Key, kind: EventKind, revision: Revision) {
        self.writes += 1;
        let touched = self.touched.entry(key.clone()).or_insert(Touched {
            first: revision,
            gone: None,
            made: None,
        });
        match kind {
            EventKind::Created => touched.made = Some(revision),
            EventKind::Deleted => touched.gone = Some(revision),
            EventKind::Updated => {}
        }
    }
}
