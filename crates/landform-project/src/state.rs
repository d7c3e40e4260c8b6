//! What is remembered of a project between runs. All of it is a cache: a start without it syncs everything.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use serde_json::Value;

use crate::decide::Live;
use crate::object::ObjectId;
use crate::reader::Reader;
use crate::reconciler::LiveKinds;
use crate::watch::Watch;

/// One project.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) reader: Mutex<Reader>,
    pub(crate) watch: tokio::sync::Mutex<Option<Watch>>,
    pub(crate) memory: Mutex<Memory>,
    /// Whether the next run needs to look only at what changed in files, or is gone.
    woken: AtomicBool,
}

/// What is known of a project's objects.
#[derive(Default)]
pub(crate) struct Memory {
    /// The object itself, when everything was last compared.
    pub(crate) content: Option<u64>,
    /// Whether everything was compared since the start.
    pub(crate) complete: bool,
    pub(crate) live: BTreeMap<ObjectId, Live>,
    /// What files said of an object when it was last applied.
    pub(crate) said: BTreeMap<ObjectId, Arc<Value>>,
    /// Objects whose end somebody waits for.
    pub(crate) awaited: BTreeSet<ObjectId>,
    /// Where objects of the kinds are that the project has, or had.
    pub(crate) kinds: LiveKinds,
    pub(crate) missed: BTreeMap<ObjectId, u64>,
    pub(crate) agreed: BTreeSet<String>,
    /// Whether files name kinds that the API doesn't serve.
    pub(crate) lacks_kinds: bool,
}

impl Memory {
    /// An object is gone. Returns whether that matters.
    pub(crate) fn gone(&mut self, id: &ObjectId) -> bool {
        self.said.remove(id);
        let known = self.live.remove(id).is_some();
        let awaited = self.awaited.remove(id);
        known || awaited
    }
}

impl State {
    /// The next run looks only at what changed.
    pub(crate) fn note(&self) {
        self.woken.store(true, Ordering::Release);
    }

    /// Whether this run looks only at what changed.
    pub(crate) fn take_note(&self) -> bool {
        self.woken.swap(false, Ordering::AcqRel)
    }
}
