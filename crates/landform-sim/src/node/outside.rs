//! The world outside of the cluster: what reconcilers made there survives every crash.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::disk::Life;

/// What exists outside, by name.
#[derive(Clone, Debug, Default)]
pub struct Outside {
    things: Arc<Mutex<BTreeMap<String, u64>>>,
}

impl Outside {
    /// Makes or changes a thing. A process that is dead can't.
    pub fn put(&self, life: &Life, name: &str, value: u64) {
        if !life.is_over() {
            self.things.lock().insert(name.to_owned(), value);
        }
    }

    /// Takes a thing away.
    pub fn remove(&self, life: &Life, name: &str) {
        if !life.is_over() {
            self.things.lock().remove(name);
        }
    }

    /// Everything that exists.
    #[must_use]
    pub fn things(&self) -> BTreeMap<String, u64> {
        self.things.lock().clone()
    }
}
