//! What is remembered of a project between runs. All of it is a cache: a start without it syncs everything.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use landform_api::GroupKind;
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
    /// Objects whose end is waited for, with their uids as far as these are known.
    pub(crate) awaited: BTreeMap<ObjectId, String>,
    /// What was told during the run that is under way.
    meanwhile: Option<Meanwhile>,
    /// Where objects of the kinds are that the project has, or had.
    pub(crate) kinds: LiveKinds,
    pub(crate) missed: BTreeMap<ObjectId, u64>,
    pub(crate) agreed: BTreeSet<String>,
    /// Whether files name kinds that the API doesn't serve.
    pub(crate) lacks_kinds: bool,
}

/// What is told while a run reads and writes: it may concern objects that the run has read and not yet noted.
#[derive(Default)]
struct Meanwhile {
    gone: BTreeSet<ObjectId>,
    listed: BTreeMap<GroupKind, Arc<BTreeSet<ObjectId>>>,
}

impl Memory {
    /// A run begins.
    pub(crate) fn begin(&mut self) {
        self.meanwhile = Some(Meanwhile::default());
    }

    /// A run has ended, and all that it read is noted. Returns whether some of that is gone already: the end was
    /// told before it was noted, and is not told again.
    pub(crate) fn end(&mut self) -> bool {
        let Meanwhile { gone, listed } = self.meanwhile.take().unwrap_or_default();
        let gone = gone.iter().filter(|id| self.gone(id)).count();
        let listed = listed.iter();
        let missing = listed.filter(|(kind, there)| self.listed(kind, there));
        gone + missing.count() > 0
    }

    /// An object is gone. Returns whether that matters.
    pub(crate) fn gone(&mut self, id: &ObjectId) -> bool {
        if let Some(meanwhile) = &mut self.meanwhile {
            meanwhile.gone.insert(id.clone());
        }
        self.said.remove(id);
        // What is awaited stays so until it is looked for: a kind that is read anew tells the end of all its
        // objects, and one that is not served any more has objects that can't be seen.
        self.live.remove(id).is_some() || self.awaited.contains_key(id)
    }

    /// Of a kind just these objects are there. Returns whether one is missing that matters.
    pub(crate) fn listed(&mut self, kind: &GroupKind, there: &Arc<BTreeSet<ObjectId>>) -> bool {
        if let Some(meanwhile) = &mut self.meanwhile {
            meanwhile.listed.insert(kind.clone(), there.clone());
        }
        let known = self.live.keys().chain(self.awaited.keys());
        let of_kind = known.filter(|id| id.group == kind.group && id.kind == kind.kind);
        let missing: BTreeSet<_> = of_kind.filter(|id| !there.contains(id)).cloned().collect();
        for id in &missing {
            self.gone(id);
        }
        !missing.is_empty()
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
