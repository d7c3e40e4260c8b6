//! What is remembered of a project between runs. All of it is a cache: a start without it syncs everything.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use landform_api::GroupKind;
use parking_lot::Mutex;
use serde_json::Value;

use crate::blueprint::Told;
use crate::decide::Live;
use crate::object::ObjectId;
use crate::order::is_definition;
use crate::reader::Reader;
use crate::reconciler::LiveKinds;
use crate::touched::Touched;
use crate::watch::Watch;

/// One project.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) reader: Mutex<Reader>,
    pub(crate) watch: tokio::sync::Mutex<Option<Watch>>,
    pub(crate) memory: Mutex<Memory>,
    /// What changed in the directory since the last sync.
    pub(crate) touched: Touched,
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
    /// The blueprints of which others were told, as they were then.
    pub(crate) blueprints: Told,
}

/// What is told while a run reads and writes: it may concern objects that the run has read and not yet noted.
#[derive(Default)]
struct Meanwhile {
    gone: BTreeSet<(ObjectId, String)>,
    listed: BTreeMap<GroupKind, Arc<BTreeSet<ObjectId>>>,
    /// Whether kinds of the project came or went.
    kinds: bool,
}

impl Memory {
    /// A run begins.
    pub(crate) fn begin(&mut self) {
        self.meanwhile = Some(Meanwhile::default());
    }

    /// A run has ended, and all that it read is noted. Returns whether some of that is gone: its end was told
    /// before it was noted, and is not told again.
    pub(crate) fn end(&mut self) -> bool {
        let Meanwhile {
            gone,
            listed,
            kinds,
        } = self.meanwhile.take().unwrap_or_default();
        let gone = gone.iter().filter(|(id, uid)| self.gone(id, uid)).count();
        let mut listed = listed.iter();
        let lacking = listed.any(|(kind, there)| self.lacks(kind, there));
        self.complete &= !lacking && !kinds;
        gone > 0 || lacking || kinds
    }

    /// Forgets objects of which it is known what files said. The others may be renamed, or say in which order they go.
    pub(crate) fn forget_objects(&mut self) {
        let Self { live, said, .. } = self;
        for (id, live) in live {
            if said.contains_key(id) {
                live.object = None;
            }
        }
    }

    /// A definition has changed. Returns whether that matters: the project has objects of its kind, or lacks kinds.
    pub(crate) fn kind_changed(&mut self, group: &str, kind: &str) -> bool {
        let matters = self.lacks_kinds || self.has_kind(group, kind);
        self.complete &= !matters;
        if let Some(meanwhile) = &mut self.meanwhile {
            meanwhile.kinds |= matters;
        }
        matters
    }

    /// An object is gone. Returns whether that matters. In a swap another object has its name by now.
    pub(crate) fn gone(&mut self, id: &ObjectId, uid: &str) -> bool {
        if let Some(meanwhile) = &mut self.meanwhile {
            meanwhile.gone.insert((id.clone(), uid.to_owned()));
        }
        // What is awaited stays so until it is looked for: a kind that is read anew tells the end of all its
        // objects, and one that is not served any more has objects that can't be seen.
        let awaited = self.awaited.get(id);
        let awaited = awaited.is_some_and(|awaited| awaited.is_empty() || awaited == uid);
        let known = self.live.get(id).is_some_and(|live| live.uid == uid);
        // What goes with a definition whose kind isn't served goes unseen.
        self.complete &= !(self.lacks_kinds && is_definition(id));
        if known {
            self.live.remove(id);
            self.said.remove(id);
        }
        known || awaited
    }

    /// Of a kind just these objects are there. Returns whether one is missing that matters.
    pub(crate) fn listed(&mut self, kind: &GroupKind, there: &Arc<BTreeSet<ObjectId>>) -> bool {
        if let Some(meanwhile) = &mut self.meanwhile {
            // The end of the run is soon enough: what it notes may be newer than the list.
            meanwhile.listed.insert(kind.clone(), there.clone());
            return false;
        }
        let lacks = self.lacks(kind, there);
        self.complete &= !lacks;
        lacks
    }

    /// Whether the project has objects of a kind.
    fn has_kind(&self, group: &str, kind: &str) -> bool {
        let first = ObjectId {
            group: group.to_owned(),
            kind: kind.to_owned(),
            ..ObjectId::default()
        };
        let next = self.live.range(first..).next();
        next.is_some_and(|(id, _)| id.group == group && id.kind == kind)
    }

    /// Whether an object that is noted is not among these.
    fn lacks(&self, kind: &GroupKind, there: &BTreeSet<ObjectId>) -> bool {
        let noted = self.live.keys().chain(self.awaited.keys());
        let mut of_kind = noted.filter(|id| id.group == kind.group && id.kind == kind.kind);
        of_kind.any(|id| !there.contains(id))
    }
}

impl State {
    /// What is missing from a file that changed since the last sync may have been there meanwhile: the time for which it
    /// is missing begins now (R15b).
    pub(crate) fn miss_anew(&self, root: &Path) {
        let touched = self.touched.take();
        let mut memory = self.memory.lock();
        let Memory { missed, live, .. } = &mut *memory;
        missed.retain(|id, _| {
            let file = live.get(id).map(|live| live.file.as_str());
            !file.is_some_and(|file| touched.have(root, file))
        });
    }

    /// The next run looks only at what changed.
    pub(crate) fn note(&self) {
        self.woken.store(true, Ordering::Release);
    }

    /// Whether this run looks only at what changed.
    pub(crate) fn take_note(&self) -> bool {
        self.woken.swap(false, Ordering::AcqRel)
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::json;

    use super::*;

    #[test]
    fn r15b_what_is_missing_from_a_file_that_changed_again_is_missed_anew() {
        let id = |name: &str| ObjectId {
            kind: "ConfigMap".into(),
            name: name.into(),
            ..ObjectId::default()
        };
        let state = State::default();
        for (name, file) in [("a", "a.yaml"), ("b", "b.yaml")] {
            let mut memory = state.memory.lock();
            memory.live.insert(id(name), Live::of(&json!({}), file));
            memory.missed.insert(id(name), 1_000);
        }
        state.touched.note(&[PathBuf::from("/shop/a.yaml")]);
        state.miss_anew(Path::new("/shop"));
        let left: Vec<ObjectId> = state.memory.lock().missed.keys().cloned().collect();
        assert_eq!(left, [id("b")]);
        state.miss_anew(Path::new("/shop"));
        assert_eq!(state.memory.lock().missed.len(), 1);
    }
}
