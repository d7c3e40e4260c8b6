//! The store's log, followed by uid: what there is, what refers to what, and what was removed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::FutureExt as _;
use landform_store::{Event, EventKind, Store as _, Watch};
use serde_json::Value;

use crate::disk::Disk;

/// Marks the config maps that people give to objects, and never delete.
pub(crate) const KEEPSAKE: &str = "sim.landform.dev/keepsake";
/// On a calm day a write is heard of within this time.
pub(crate) const CALM_HEARING: Duration = Duration::from_secs(1);
/// While the network has faults, within this.
pub(crate) const DISTURBED_HEARING: Duration = Duration::from_secs(90);

/// An object, as the log last showed it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// Its kind, if it is one of those that refer to each other.
    pub(crate) kind: Option<&'static str>,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) refs: Vec<String>,
    /// Since when it has these refs, under this name.
    pub(crate) since: Duration,
    pub(crate) created: Duration,
    /// Since when it has this name.
    pub(crate) named: Duration,
    pub(crate) marked: Option<Duration>,
    pub(crate) renamed: bool,
    /// Marked and found in a cycle: its refs count no more.
    cut: bool,
    pub(crate) generation: u64,
    owners: Vec<String>,
    keepsake: bool,
}

/// What refs name: kind, namespace, name.
pub(crate) type Named = (&'static str, String, String);

/// Something that an object owns came, changed or went.
pub(crate) struct OwnedMoved {
    pub(crate) owner: String,
    /// Whether the owner's own run can't have done it.
    pub(crate) by_others: bool,
}

/// Follows the log of one simulation.
pub(crate) struct Log {
    watch: Option<Box<dyn Watch>>,
    /// The kinds whose `spec.refs` name others of the same kind and namespace.
    kinds: &'static [&'static str],
    pub(crate) objects: BTreeMap<String, Seen>,
    /// When something of a name last came, was marked or went.
    pub(crate) moved: BTreeMap<Named, Duration>,
    uids: BTreeMap<Named, String>,
    /// What happened to owned objects since this was last taken.
    pub(crate) owned: Vec<OwnedMoved>,
    /// When the Reconciler of a kind was last changed.
    pub(crate) reconcilers_changed: BTreeMap<String, Duration>,
    /// When a definition was last changed.
    pub(crate) definitions_changed: Option<Duration>,
    /// Whether what was there before the simulation has been taken in.
    has_begun: bool,
    /// Whether a definition serves none of its versions.
    pub(crate) unserved: bool,
    /// Rules that the log itself breaks.
    pub(crate) broken: Option<String>,
}

impl Log {
    /// The log of a disk, from its beginning.
    pub(crate) fn new(disk: &Disk, kinds: &'static [&'static str]) -> Self {
        Self {
            kinds,
            uids: BTreeMap::new(),
            owned: Vec::new(),
            reconcilers_changed: BTreeMap::new(),
            watch: disk.store().watch_all(landform_store::Revision::ZERO).ok(),
            objects: BTreeMap::new(),
            moved: BTreeMap::new(),
            definitions_changed: None,
            has_begun: false,
            unserved: false,
            broken: None,
        }
    }

    /// Takes in what has happened up to now.
    pub(crate) fn follow(&mut self, now: Duration) {
        let Some(mut watch) = self.watch.take() else {
            return;
        };
        let mut events = Vec::new();
        while let Some(Ok(mut more)) = watch.next().now_or_never() {
            events.append(&mut more);
        }
        self.watch = Some(watch);
        for (index, event) in events.iter().enumerate() {
            self.take(event, &events[index + 1..], now);
        }
        self.has_begun = true;
    }

    fn take(&mut self, event: &Event, later: &[std::sync::Arc<Event>], now: Duration) {
        let object: Value = serde_json::from_slice(&event.record.value).unwrap_or_default();
        if object["kind"] == "CustomResourceDefinition" {
            let changed = event.kind == EventKind::Updated && self.has_begun;
            self.definitions_changed = changed.then_some(now).or(self.definitions_changed);
            let mut versions = object["spec"]["versions"].as_array().into_iter().flatten();
            self.unserved = versions.all(|version| version["served"] != true);
        }
        let Some(uid) = object["metadata"]["uid"].as_str() else {
            return;
        };
        if object["kind"] == "Reconciler" && self.has_begun {
            let kind = object["spec"]["for"]["kind"].as_str().unwrap_or_default();
            let generation = object["metadata"]["generation"].as_u64();
            let before = self.objects.get(uid).map(|before| before.generation);
            if before != generation {
                self.reconcilers_changed.insert(kind.to_owned(), now);
            }
        }
        self.note_owned(event.kind, &object);
        if event.kind == EventKind::Deleted {
            let seen = self.see(uid, &object, now);
            self.moves(&seen, now);
            self.forget_name(uid, &seen);
            // The other half of a rename is in the same transaction, before or after this one.
            let moved = self.objects.get(uid);
            let moved = moved.is_some_and(|seen| object["metadata"]["name"] != *seen.name);
            let moves = later.iter().any(|other| {
                let other: Value = serde_json::from_slice(&other.record.value).unwrap_or_default();
                other["metadata"]["uid"] == uid
            });
            if !moved && !moves {
                self.removed(uid);
            }
            return;
        }
        if let Some(previous) = &event.previous {
            self.status_is_replaced(&previous.value, &object);
        }
        let seen = self.see(uid, &object, now);
        let before = self.objects.get(uid);
        if before.is_none_or(|before| before.name != seen.name || before.marked != seen.marked) {
            self.moves(&seen, now);
        }
        if let Some(kind) = seen.kind {
            let named = (kind, seen.namespace.clone(), seen.name.clone());
            self.uids.insert(named, uid.to_owned());
        }
        self.objects.insert(uid.to_owned(), seen);
        self.cut_marked_from_cycles(now);
    }

    /// Who owns what came, changed or went must look at it, unless it has done that itself.
    fn note_owned(&mut self, event: EventKind, object: &Value) {
        let metadata = &object["metadata"];
        let by_others = event == EventKind::Deleted
            || metadata["deletionTimestamp"].is_string()
            || !metadata["labels"][KEEPSAKE].is_null();
        let owners = metadata["ownerReferences"].as_array().into_iter().flatten();
        for owner in owners.filter_map(|owner| owner["uid"].as_str()) {
            let owner = owner.to_owned();
            self.owned.push(OwnedMoved { owner, by_others });
        }
    }

    fn see(&self, uid: &str, object: &Value, now: Duration) -> Seen {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let texts = |value: &Value, field: Option<&str>| -> Vec<String> {
            let items = value.as_array().into_iter().flatten();
            items
                .map(|item| text(field.map_or(item, |field| &item[field])))
                .collect()
        };
        let metadata = &object["metadata"];
        let (name, refs) = (
            text(&metadata["name"]),
            texts(&object["spec"]["refs"], None),
        );
        let before = self.objects.get(uid);
        let same = before.filter(|before| before.name == name && before.refs == refs);
        let marked = metadata["deletionTimestamp"].is_string();
        Seen {
            kind: self
                .kinds
                .iter()
                .copied()
                .find(|kind| object["kind"] == **kind),
            namespace: text(&metadata["namespace"]),
            since: same.map_or(now, |same| same.since),
            created: before.map_or(now, |before| before.created),
            named: before
                .filter(|before| before.name == name)
                .map_or(now, |before| before.named),
            cut: before.is_some_and(|before| before.cut),
            marked: marked.then(|| before.and_then(|before| before.marked).unwrap_or(now)),
            renamed: !metadata["annotations"]["landform.dev/renamed-from"].is_null(),
            generation: metadata["generation"].as_u64().unwrap_or(0),
            owners: texts(&metadata["ownerReferences"], Some("uid")),
            keepsake: !metadata["labels"][KEEPSAKE].is_null(),
            name,
            refs,
        }
    }

    fn forget_name(&mut self, uid: &str, seen: &Seen) {
        let Some(kind) = seen.kind else { return };
        let named = (kind, seen.namespace.clone(), seen.name.clone());
        if self.uids.get(&named).is_some_and(|found| found == uid) {
            self.uids.remove(&named);
        }
    }

    fn moves(&mut self, seen: &Seen, now: Duration) {
        if let Some(kind) = seen.kind {
            let named = (kind, seen.namespace.clone(), seen.name.clone());
            self.moved.insert(named, now);
        }
    }

    /// G16: whatever happens, what people gave to an owner goes only after it.
    fn removed(&mut self, uid: &str) {
        let Some(gone) = self.objects.remove(uid) else {
            return;
        };
        let alive = |owner: &&String| {
            let owner = self.objects.get(*owner);
            owner.is_some_and(|owner| owner.marked.is_none())
        };
        if gone.keepsake && gone.owners.iter().any(|owner| alive(&owner)) {
            let what = format!("G16: {} was removed though its owner lives", gone.name);
            self.broken.get_or_insert(what);
        }
    }

    /// A hook's status replaces what others wrote: only they themselves write what is foreign, each time anew.
    fn status_is_replaced(&mut self, before: &[u8], after: &Value) {
        if after["status"]["foreign"].is_null() {
            return;
        }
        let before: Value = serde_json::from_slice(before).unwrap_or_default();
        let (old, new) = (&before["status"], &after["status"]);
        if old != new && old["foreign"] == new["foreign"] {
            let name = &after["metadata"]["name"];
            let what = format!("R10: a hook's status left what others wrote into {name}: {new}");
            self.broken.get_or_insert(what);
        }
    }

    /// The object of this name.
    pub(crate) fn find(&self, kind: &'static str, namespace: &str, name: &str) -> Option<&String> {
        self.uids
            .get(&(kind, namespace.to_owned(), name.to_owned()))
    }

    /// All objects of a kind.
    pub(crate) fn of(&self, kind: &'static str) -> impl Iterator<Item = (&String, &Seen)> {
        let all = self.objects.iter();
        all.filter(move |(_, seen)| seen.kind == Some(kind))
    }

    /// Everything that an object refers to, directly or not, over refs that have stood since before `until`; itself
    /// when it is on a cycle.
    pub(crate) fn reached_from(&self, uid: &str, until: Duration) -> BTreeSet<String> {
        let mut reached = BTreeSet::new();
        let mut left = vec![uid.to_owned()];
        while let Some(uid) = left.pop() {
            let seen = self.objects.get(&uid);
            let Some(seen) = seen.filter(|seen| seen.since <= until && !seen.cut) else {
                continue;
            };
            let Some(kind) = seen.kind else { continue };
            for name in &seen.refs {
                if let Some(to) = self.find(kind, &seen.namespace, name)
                    && reached.insert(to.clone())
                {
                    left.push(to.clone());
                }
            }
        }
        reached
    }

    /// A marked object on a cycle loses its refs for the machine: it could never be deleted otherwise.
    fn cut_marked_from_cycles(&mut self, now: Duration) {
        let marked = self
            .objects
            .iter()
            .filter(|(_, seen)| seen.marked.is_some());
        let cut: Vec<String> = marked
            .map(|(uid, _)| uid.clone())
            .filter(|uid| self.reached_from(uid, now).contains(uid))
            .collect();
        for uid in cut {
            if let Some(seen) = self.objects.get_mut(&uid) {
                seen.cut = true;
            }
        }
    }

    /// Whether one of two objects refers to the other, directly or not.
    pub(crate) fn related(&self, one: &str, other: &str, until: Duration) -> bool {
        self.reached_from(one, until).contains(other)
            || self.reached_from(other, until).contains(one)
    }
}
