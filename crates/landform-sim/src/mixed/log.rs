//! The store's log, followed by uid: what there is, what refers to what, and what was removed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::FutureExt as _;
use landform_store::{Event, EventKind, Store as _, Watch};
use serde_json::Value;

use super::{KEEPSAKE, Kind};
use crate::disk::Disk;

/// An object, as the log last showed it.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) kind: Option<Kind>,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) refs: Vec<String>,
    /// Since when it has these refs, under this name.
    pub(super) since: Duration,
    pub(super) marked: Option<Duration>,
    pub(super) renamed: bool,
    pub(super) generation: u64,
    owners: Vec<String>,
    keepsake: bool,
}

/// What refs name: kind, namespace, name.
pub(super) type Named = (Kind, String, String);

/// Follows the log of one simulation.
pub(super) struct Log {
    watch: Option<Box<dyn Watch>>,
    pub(super) objects: BTreeMap<String, Seen>,
    /// When something of a name last came, was marked or went.
    pub(super) moved: BTreeMap<Named, Duration>,
    /// When a definition was last changed.
    pub(super) definitions_changed: Option<Duration>,
    /// Whether what was there before the simulation has been taken in.
    has_begun: bool,
    /// Whether a definition serves none of its versions.
    pub(super) unserved: bool,
    /// Rules that the log itself breaks.
    pub(super) broken: Option<String>,
}

impl Log {
    /// The log of a disk, from its beginning.
    pub(super) fn new(disk: &Disk) -> Self {
        Self {
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
    pub(super) fn follow(&mut self, now: Duration) {
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
        if event.kind == EventKind::Deleted {
            let seen = self.see(uid, &object, now);
            self.moves(&seen, now);
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
        self.objects.insert(uid.to_owned(), seen);
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
            kind: object["kind"].as_str().and_then(Kind::named),
            namespace: text(&metadata["namespace"]),
            since: same.map_or(now, |same| same.since),
            marked: marked.then(|| before.and_then(|before| before.marked).unwrap_or(now)),
            renamed: !metadata["annotations"]["landform.dev/renamed-from"].is_null(),
            generation: metadata["generation"].as_u64().unwrap_or(0),
            owners: texts(&metadata["ownerReferences"], Some("uid")),
            keepsake: !metadata["labels"][KEEPSAKE].is_null(),
            name,
            refs,
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
        let before: Value = serde_json::from_slice(before).unwrap_or_default();
        let (old, new) = (&before["status"], &after["status"]);
        if old != new && !new["foreign"].is_null() && old["foreign"] == new["foreign"] {
            let name = &after["metadata"]["name"];
            let what = format!("R10: a hook's status left what others wrote into {name}: {new}");
            self.broken.get_or_insert(what);
        }
    }

    /// The object of this name.
    pub(super) fn find(&self, kind: Kind, namespace: &str, name: &str) -> Option<(&String, &Seen)> {
        self.objects.iter().find(|(_, seen)| {
            seen.kind == Some(kind) && seen.namespace == namespace && seen.name == name
        })
    }

    /// All objects of a kind.
    pub(super) fn of(&self, kind: Kind) -> impl Iterator<Item = (&String, &Seen)> {
        let all = self.objects.iter();
        all.filter(move |(_, seen)| seen.kind == Some(kind))
    }

    /// Everything that an object refers to, directly or not, over refs that have stood since before `until`.
    pub(super) fn reached_from(&self, uid: &str, until: Duration) -> BTreeSet<String> {
        let mut reached = BTreeSet::new();
        let mut left = vec![uid.to_owned()];
        while let Some(uid) = left.pop() {
            let Some(seen) = self.objects.get(&uid).filter(|seen| seen.since <= until) else {
                continue;
            };
            let Some(kind) = seen.kind else { continue };
            for name in &seen.refs {
                if let Some((to, _)) = self.find(kind, &seen.namespace, name)
                    && reached.insert(to.clone())
                {
                    left.push(to.clone());
                }
            }
        }
        reached
    }

    /// Whether one of two objects refers to the other, directly or not.
    pub(super) fn related(&self, one: &str, other: &str, until: Duration) -> bool {
        self.reached_from(one, until).contains(other)
            || self.reached_from(other, until).contains(one)
    }
}
