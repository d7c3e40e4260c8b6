//! What sources see becomes the machine's events.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::ResourceExt as _;
use kube::core::{DynamicObject, ObjectMeta};
use landform_api::keys::{
    ANNOTATION_ERROR, ANNOTATION_FORMER_NAME, ANNOTATION_RENAMED_FROM, ANNOTATION_RENAMED_TO,
    ANNOTATION_RETRIGGER_AT, PREFIX_RENAMING, former_name,
};
use landform_api::{GroupKind, GroupVersionKind};
use landform_schedule::{Event, Order, Role, Sight, Version};
use landform_threads::aside_if;
use tokio::sync::watch;

use crate::content::content_of_all;
use crate::driver::Driver;
use crate::key::Key;
use crate::kinds::{Kind, Known, Reading, Task, group_kind, guarded, version_of};
use crate::message::SourceEvent;
use crate::reconciler::{Reconciler, Ref, Related};
use crate::sighted::Sighted;
use crate::source::Source;
use crate::trace::TraceEvent;

/// An object that was seen before all the kinds were known that it needs.
pub(crate) struct Parked(Sighted);

/// How an object was seen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    Listed,
    Watched,
}

impl Driver {
    /// Has a kind reconciled from now on. Whatever reconciled it before is done with it.
    pub(crate) fn register(&mut self, reconciler: Arc<dyn Reconciler>) {
        let name = reconciler.kind();
        let key = self.follow(&name);
        self.forget_objects(&key);
        self.drop_leads(&key);
        for related in reconciler.related() {
            let from = self.follow(&related.kind);
            let related = (key.clone(), related);
            if let Some(kind) = self.kinds.get_mut(&*from) {
                kind.leads.push(related);
            }
            if from != key {
                self.read_anew(&from);
            }
        }
        if let Some(kind) = self.kinds.get_mut(&*key) {
            kind.reconciler = Some(reconciler);
            kind.name = name;
        }
        self.read_anew(&key);
    }

    /// Has objects of another kind lead to objects of a kind that is reconciled, from now on.
    pub(crate) fn relate(&mut self, to: &GroupKind, related: Related) {
        let Some(to) = self.kinds.get(to).map(|kind| kind.key.clone()) else {
            return;
        };
        let known = self.kinds.contains_key(&group_kind(&related.kind));
        let from = self.follow(&related.kind);
        if let Some(kind) = self.kinds.get_mut(&*from) {
            kind.leads.push((to, related));
        }
        if known {
            self.read_anew(&from);
        }
    }

    /// Nobody reconciles a kind any more; others may still refer to its objects.
    pub(crate) fn unregister(&mut self, name: &GroupKind) {
        let Some(kind) = self.kinds.get_mut(name) else {
            return;
        };
        if kind.reconciler.take().is_some() {
            let key = kind.key.clone();
            self.forget_objects(&key);
            self.drop_leads(&key);
            self.read_anew(&key);
        }
    }

    /// Follows a kind, if it isn't followed yet.
    pub(crate) fn follow(&mut self, name: &GroupVersionKind) -> Arc<GroupKind> {
        let group_kind = group_kind(name);
        if let Some(kind) = self.kinds.get(&group_kind) {
            return kind.key.clone();
        }
        let kind = Kind::new(name.clone());
        let key = kind.key.clone();
        self.kinds.insert(group_kind, kind);
        self.read_anew(&key);
        key
    }

    /// Opens a new source for a kind: all its objects will be seen again.
    fn read_anew(&mut self, key: &Arc<GroupKind>) {
        let Some(kind) = self.kinds.get_mut(&**key) else {
            return;
        };
        kind.epoch += 1;
        kind.settled = false;
        kind.reading = Reading::Listing;
        let (sender, receiver) = watch::channel(self.resources.of(key));
        self.resources.set((**key).clone(), receiver);
        let source = Source {
            client: self.client.clone(),
            watch_s: self.watch_s,
            kind: kind.name.clone(),
            key: key.clone(),
            epoch: kind.epoch,
            inbox: self.inbox.clone(),
            resource: sender,
            kinds_changed: self.kinds_changed.subscribe(),
        };
        kind.source = Some(Task(tokio::spawn(source.follow())));
    }

    fn drop_leads(&mut self, to: &Arc<GroupKind>) {
        for kind in self.kinds.values_mut() {
            kind.leads.retain(|(other, _)| other != to);
        }
    }

    /// All objects of a kind are as good as gone.
    fn forget_objects(&mut self, key: &GroupKind) {
        let Some(kind) = self.kinds.get_mut(key) else {
            return;
        };
        for (key, known) in std::mem::take(&mut kind.objects) {
            self.parked.remove(&key);
            self.gone(key, &known);
        }
        self.end_leaving(key);
    }

    pub(crate) fn source_event(&mut self, key: &Arc<GroupKind>, epoch: u64, event: SourceEvent) {
        aside_if(event.is_large(), || self.take_event(key, epoch, event));
    }

    fn take_event(&mut self, key: &Arc<GroupKind>, epoch: u64, event: SourceEvent) {
        let Some(kind) = self.kinds.get_mut(&**key) else {
            return;
        };
        if kind.epoch != epoch {
            return;
        }
        let definitions = kind.name == Self::definitions();
        match event {
            SourceEvent::Listed(objects) => self.listed(key, objects),
            SourceEvent::Applied(object) => self.applied(key, object.into_object()),
            SourceEvent::Deleted(object) => self.deleted(key, &object.object()),
            SourceEvent::Absent => {
                kind.reading = Reading::Absent;
                self.forget_objects(key);
                self.tell_list(key, &[]);
                self.settle(key);
            }
            SourceEvent::Failing(error) => {
                tracing::warn!(kind = %key.kind, group = %key.group, error, "a kind can't be read");
                kind.reading = Reading::Failing(error);
                self.settle(key);
            }
            SourceEvent::Recovered => kind.reading = Reading::Watching,
        }
        if definitions {
            self.kinds_changed.send_modify(|changes| *changes += 1);
        }
    }

    pub(crate) fn count_kinds(&self) {
        let objects: usize = self.kinds.values().map(|kind| kind.objects.len()).sum();
        let failing = |kind: &&Kind| matches!(kind.reading, Reading::Failing(_));
        let failing = self.kinds.values().filter(failing).count();
        self.metrics
            .objects
            .set(i64::try_from(objects).unwrap_or(i64::MAX));
        self.metrics
            .failing_kinds
            .set(i64::try_from(failing).unwrap_or(i64::MAX));
    }

    fn listed(&mut self, key: &Arc<GroupKind>, objects: Vec<Sighted>) {
        let Some(kind) = self.kinds.get_mut(&**key) else {
            return;
        };
        let was_absent = kind.reading == Reading::Absent;
        // Whoever needs this kind has waited for it, unless it could not be read before.
        let news = kind.settled;
        kind.reading = Reading::Watching;
        let mut gone = std::mem::take(&mut kind.objects);
        // Names that were free, by the uid of what has them now.
        let mut appeared = BTreeMap::new();
        let mut moved = Vec::new();
        for object in &objects {
            let known = kind.known(&object.object());
            let name = kind.key_of(object.metadata());
            let same = gone
                .get(&name)
                .is_some_and(|before| before.uid == known.uid);
            let before = same.then(|| gone.remove(&name)).flatten();
            if before.is_none()
                && !gone.contains_key(&name)
                && let Some(uid) = &known.uid
            {
                appeared.insert(uid.clone(), name.clone());
            }
            if news
                && before
                    .as_ref()
                    .is_none_or(|before| before.movement != known.movement)
            {
                moved.extend(known.leads_to.iter().cloned());
                moved.extend(before.into_iter().flat_map(|before| before.leads_to));
            }
            kind.objects.insert(name, known);
        }
        for (name, known) in gone {
            // Of a name that another object has now, the machine must know first that the former one is gone.
            let taken = self.kinds.get(&**key);
            let taken = taken.is_some_and(|kind| kind.objects.contains_key(&name));
            let to = known.uid.as_ref().filter(|_| !taken);
            let to = to.and_then(|uid| appeared.get(uid).cloned());
            self.parked.remove(&name);
            self.leave(name, &known, to);
        }
        self.end_leaving(key);
        moved.sort();
        moved.dedup();
        if !moved.is_empty() {
            self.idle.clear();
        }
        for key in moved {
            self.events.push(Event::Related { key });
        }
        for object in &objects {
            self.tell_indexes(key, &object.object());
        }
        let there: Vec<_> = objects.iter().map(Sighted::metadata).collect();
        self.tell_list(key, &there);
        self.lead_anew(key, &objects);
        self.see(key, objects, How::Listed);
        self.settle(key);
        if was_absent {
            self.see_refs_anew(key);
        }
    }

    /// Whom an object concerns may depend on indexes, which knew nothing of this list when it came.
    fn lead_anew(&mut self, key: &GroupKind, objects: &[Sighted]) {
        let Some(kind) = self.kinds.get_mut(key) else {
            return;
        };
        for object in objects {
            let leads_to = kind.known(&object.object()).leads_to;
            if let Some(known) = kind.objects.get_mut(&kind.key_of(object.metadata())) {
                known.leads_to.extend(leads_to);
                known.leads_to.sort();
                known.leads_to.dedup();
            }
        }
    }

    fn applied(&mut self, key: &Arc<GroupKind>, object: Box<DynamicObject>) {
        self.idle.clear();
        let Some(kind) = self.kinds.get_mut(&**key) else {
            return;
        };
        kind.reading = Reading::Watching;
        let known = kind.known(&object);
        let version = known.version;
        let mut leads_to = known.leads_to.clone();
        let movement = known.movement;
        let name = kind.key_of(&object.metadata);
        if let Some(before) = kind.objects.insert(name, known) {
            if before.movement == movement && before.leads_to == leads_to {
                leads_to.clear();
            } else {
                leads_to.extend(before.leads_to);
                leads_to.sort();
                leads_to.dedup();
            }
        }
        self.tell_indexes(key, &object);
        for owner in leads_to {
            if self.echoes.is_foreign(&owner, key, version) {
                self.events.push(Event::Related { key: owner });
            }
        }
        self.see(key, vec![object.into()], How::Watched);
    }

    fn deleted(&mut self, key: &Arc<GroupKind>, object: &DynamicObject) {
        let Some(kind) = self.kinds.get_mut(&**key) else {
            return;
        };
        kind.reading = Reading::Watching;
        let name = kind.key_of(&object.metadata);
        let mut last = kind.known(object);
        if let Some(before) = kind.objects.remove(&name) {
            last.leads_to.extend(before.leads_to);
            last.leads_to.sort();
            last.leads_to.dedup();
        }
        let renamed = object.annotations().get(ANNOTATION_RENAMED_TO);
        let renamed = renamed.map(|to| Key::new(name.kind.clone(), &name.namespace, to));
        self.parked.remove(&name);
        self.leave(name, &last, renamed);
    }

    /// An object isn't there any more under its name: it is gone, or follows under another one.
    fn leave(&mut self, key: Key, known: &Known, to: Option<Key>) {
        let known_as = self.leaving.remove(&key).unwrap_or_else(|| key.clone());
        match to.filter(|_| self.reconciler_of(&key).is_some()) {
            Some(to) => {
                self.leaving.insert(to, known_as);
                self.let_go(&key, known);
            }
            None if known_as == key => self.gone(key, known),
            None => {
                self.let_go(&key, known);
                self.events.push(Event::Gone { key: known_as });
            }
        }
    }

    /// Objects of a kind that should have followed under another name, and didn't, are gone.
    fn end_leaving(&mut self, kind: &GroupKind) {
        let objects = self.kinds.get(kind).map(|kind| &kind.objects);
        let follows = |to: &Key| objects.is_some_and(|objects| objects.contains_key(to));
        let ended = self
            .leaving
            .extract_if(.., |to, _| *to.kind == *kind && !follows(to));
        let ended = ended.map(|(_, key)| Event::Gone { key });
        self.events.extend(ended);
    }

    fn gone(&mut self, key: Key, known: &Known) {
        self.let_go(&key, known);
        if self.provisions.refs(&key).is_empty() {
            self.events.push(Event::Gone { key });
        } else {
            // Others still provide what has this name.
            self.provisions.touch(&key, Version(0));
        }
    }

    /// Forgets what is known of a name. Even its owner's own run wants to know: it may wait for just that.
    fn let_go(&mut self, key: &Key, known: &Known) {
        self.idle.clear();
        for owner in &known.leads_to {
            self.events.push(Event::Related { key: owner.clone() });
        }
        self.echoes.forget(key);
        self.waiting_for.remove(key);
        self.cycle_reports.remove(key);
        self.note(key.clone(), TraceEvent::Gone);
        let uid = known.uid.as_deref().unwrap_or_default();
        for reconciler in self.listeners(&key.kind) {
            guarded(&key.kind.kind, || {
                reconciler.gone(&key.kind, &key.namespace, &key.name, uid);
            });
        }
        self.provisions.set(key, Vec::new(), Version(0));
    }

    /// The reconcilers that want to know of objects of a kind.
    fn listeners(&self, kind: &GroupKind) -> Vec<Arc<dyn Reconciler>> {
        let Some(kind) = self.kinds.get(kind) else {
            return Vec::new();
        };
        let owners = kind.leads.iter().map(|(owner, _)| owner);
        let kinds = owners.filter(|owner| **owner != kind.key);
        let kinds = kinds.chain([&kind.key]);
        kinds
            .filter_map(|kind| self.kinds.get(&**kind)?.reconciler.clone())
            .collect()
    }

    fn tell_list(&self, kind: &GroupKind, objects: &[&ObjectMeta]) {
        for reconciler in self.listeners(kind) {
            guarded(&kind.kind, || reconciler.listed(kind, objects));
        }
    }

    /// Reconcilers keep indexes, and say what their objects give to others.
    fn tell_indexes(&mut self, kind: &Arc<GroupKind>, object: &DynamicObject) {
        for reconciler in self.listeners(kind) {
            guarded(&kind.kind, || reconciler.seen(kind, object));
        }
        let Some(known) = self.kinds.get(&**kind) else {
            return;
        };
        let (key, version) = (known.key_of(&object.metadata), version_of(object));
        let Some(reconciler) = known.reconciler.clone() else {
            self.provisions.touch(&key, version);
            return;
        };
        let provided = guarded(&kind.kind, || reconciler.provides(object)).unwrap_or_default();
        let provided = provided.into_iter().map(|provision| {
            let kind = self.follow(&provision.name.kind);
            let namespace = provision.name.namespace.as_deref().unwrap_or_default();
            let name = Key::new(kind, namespace, &provision.name.name);
            (name, provision.content)
        });
        let provided = provided.collect();
        self.provisions.set(&key, provided, version);
    }

    /// Tells the machine of names that are provided, or are no more.
    pub(crate) fn tell_provisions(&mut self) {
        if self.gathering {
            return;
        }
        for key in self.provisions.take_moved() {
            let Some(kind) = self.kinds.get(&*key.kind) else {
                continue;
            };
            if kind.reconciler.is_some() {
                continue;
            }
            let exists = kind.objects.get(&key).map(|known| known.version);
            match self.provisions.sight(&key, exists) {
                Some(sight) => self.events.push(Event::Seen(sight)),
                None => self.events.push(Event::Gone { key: key.clone() }),
            }
            self.provisions.tidy(&key);
        }
    }

    /// A kind is known now, or known to be unreadable: objects that waited for it go on.
    fn settle(&mut self, key: &GroupKind) {
        if let Some(kind) = self.kinds.get_mut(key) {
            kind.settled = true;
        }
        if self.gathering && self.kinds.values().any(|kind| !kind.settled) {
            return;
        }
        self.gathering = false;
        let parked: Vec<_> = std::mem::take(&mut self.parked).into_iter().collect();
        let objects = parked
            .into_iter()
            .map(|(key, Parked(object))| (key, object));
        self.tell(objects.collect(), How::Listed);
    }

    /// Refs to a kind that didn't exist were noted without knowing whether it has namespaces.
    fn see_refs_anew(&mut self, key: &GroupKind) {
        let cluster_wide = self
            .resources
            .of(key)
            .is_some_and(|found| !found.namespaced);
        if cluster_wide {
            let reconciled = self.kinds.values().filter(|kind| kind.reconciler.is_some());
            let reconciled: Vec<_> = reconciled.map(|kind| kind.key.clone()).collect();
            for key in reconciled {
                self.read_anew(&key);
            }
        }
    }

    /// Passes objects on to the machine, if it has anything to do with their kind.
    fn see(&mut self, key: &Arc<GroupKind>, objects: Vec<Sighted>, how: How) {
        let Some(kind) = self.kinds.get(&**key) else {
            return;
        };
        if kind.reconciler.is_none() && !kind.referenced {
            return;
        }
        let named = objects
            .into_iter()
            .map(|object| (kind.key_of(object.metadata()), object));
        let named = named.collect();
        self.tell(named, how);
    }

    fn tell(&mut self, objects: Vec<(Key, Sighted)>, how: How) {
        let mut listed = Vec::new();
        let mut renamed = Vec::new();
        for (key, sighted) in objects {
            let object = sighted.object();
            let refs = self.refs_of(&key, &object);
            if self.must_wait(&key, &refs) {
                drop(object);
                self.parked.insert(key, Parked(sighted));
                continue;
            }
            // An older sight of it may have been waiting until now.
            self.parked.remove(&key);
            let former = match self.leaving.remove(&key) {
                Some(from) => Some((from, false)),
                None => self.former_name(&key, &object),
            };
            if how == How::Listed && former.is_none() && self.is_idle(&key, &object) {
                self.idle.insert(key.clone());
            }
            let flying = self.name_in_flight(&key, &object);
            let sight = self.sight(key, &object, &refs);
            // First, so that the name that is told is the one which the reconciler knows.
            if let Some(from) = flying {
                renamed.push(Event::Renamed {
                    from,
                    taken: true,
                    sight: sight.clone(),
                });
            }
            match (former, how) {
                (Some((from, taken)), _) => {
                    renamed.push(Event::Renamed { from, taken, sight });
                }
                (None, How::Listed) => listed.push(sight),
                (None, How::Watched) => self.events.push(Event::Seen(sight)),
            }
        }
        if !listed.is_empty() {
            self.events.push(Event::Listed(listed));
        }
        self.events.append(&mut renamed);
    }

    /// Whether an object that was listed needs no run. One that wants to be called at a time has a run that
    /// sets its timer, and one that tells an error has a run that finds out whether it is still so.
    fn is_idle(&self, key: &Key, object: &DynamicObject) -> bool {
        let annotations = object.annotations();
        let noted = [ANNOTATION_RETRIGGER_AT, ANNOTATION_ERROR];
        let noted = noted.iter().any(|name| annotations.contains_key(*name));
        let reconciler = self.reconciler_of(key).filter(|_| !noted);
        reconciler.is_some_and(|reconciler| {
            guarded(&key.kind.kind, || reconciler.idle(object)).unwrap_or(false)
        })
    }

    fn reconciler_of(&self, key: &Key) -> Option<Arc<dyn Reconciler>> {
        self.kinds.get(&*key.kind)?.reconciler.clone()
    }

    /// What an object refers to. Kinds that are named here for the first time are followed.
    fn refs_of(&mut self, key: &Key, object: &DynamicObject) -> Vec<(Arc<GroupKind>, Ref)> {
        let Some(reconciler) = self.reconciler_of(key) else {
            return Vec::new();
        };
        let refs = guarded(&key.kind.kind, || reconciler.refs(object)).unwrap_or_default();
        self.refs_taken_in += refs.len();
        let refs = refs.into_iter();
        refs.map(|reference| {
            let kind = self.follow(&reference.kind);
            let followed = self.kinds.get_mut(&*kind);
            let first = followed.is_some_and(|kind| {
                let known = kind.reconciler.is_some() || kind.referenced;
                kind.referenced = true;
                !known && kind.settled
            });
            if first {
                // Its objects were of no interest to the machine until now.
                self.read_anew(&kind);
            }
            (kind, reference)
        })
        .collect()
    }

    /// Whether something is still unknown without which an object would run once too often.
    fn must_wait(&self, key: &Key, refs: &[(Arc<GroupKind>, Ref)]) -> bool {
        let mut unsettled = self
            .kinds
            .values()
            .filter(|kind| !kind.settled && kind.key != key.kind);
        unsettled.any(|kind| {
            self.gathering
                || refs.iter().any(|(to, _)| *to == kind.key)
                || kind.leads.iter().any(|(owner, _)| *owner == key.kind)
        }) || (self.gathering && self.kinds.get(&*key.kind).is_some_and(|kind| !kind.settled))
    }

    fn sight(
        &self,
        key: Key,
        object: &DynamicObject,
        refs: &[(Arc<GroupKind>, Ref)],
    ) -> Sight<Key> {
        let reconciler = self.reconciler_of(&key);
        let content = match &reconciler {
            Some(reconciler) => guarded(&key.kind.kind, || reconciler.content(object)),
            None => Some(content_of_all(object)),
        };
        let refs = refs.iter().map(|(kind, reference)| {
            let namespaced = self.resources.of(kind).is_none_or(|found| found.namespaced);
            let namespace = reference.namespace.as_deref().filter(|_| namespaced);
            Key::new(kind.clone(), namespace.unwrap_or_default(), &reference.name)
        });
        let provided = self.provisions.sight(&key, Some(version_of(object)));
        let provided = provided.filter(|sight| reconciler.is_none() && !sight.refs.is_empty());
        if let Some(provided) = provided {
            return provided;
        }
        // It is renamed once more in a moment; who deletes it meanwhile has it go.
        let marked = object.metadata.deletion_timestamp.is_some();
        let is_on_its_way = key.name.starts_with(PREFIX_RENAMING) && !marked;
        Sight {
            order: reconciler.as_ref().map_or(Order::Free, |reconciler| {
                self.order(&key, object, reconciler.order())
            }),
            version: version_of(object),
            content: content.unwrap_or_default(),
            refs: refs.collect(),
            marked,
            role: match reconciler {
                Some(_) if !is_on_its_way => Role::Reconciled,
                Some(_) | None => Role::Passive,
            },
            key,
        }
    }

    /// The name under which an object runs, if that is another one. It was renamed, perhaps several times, while its kind
    /// was not reconciled; what began under that name may not have ended (R3, R9b).
    fn name_in_flight(&self, key: &Key, object: &DynamicObject) -> Option<Key> {
        let name = self.runs.name_in(object.metadata.uid.as_deref()?)?;
        (name != key && self.machine.status(key).is_none()).then(|| name.clone())
    }

    /// The name that an object had before, if the machine doesn't know it under the present one, and whether
    /// another object has that name by now, as in swaps and chains of renames (R15b).
    fn former_name(&self, key: &Key, object: &DynamicObject) -> Option<(Key, bool)> {
        let former = object.annotations().get(ANNOTATION_RENAMED_FROM)?;
        let kind = self.kinds.get(&*key.kind)?;
        kind.reconciler.as_ref()?;
        if self.machine.status(key).is_some() || **former == *key.name {
            return None;
        }
        let former = Key::new(key.kind.clone(), &key.namespace, former);
        let uid = object.metadata.uid.as_deref();
        let known = kind.objects.get(&former);
        let taken = known.is_some_and(|known| known.uid.as_deref() != uid);
        // Where an API can't rename, a client deletes the old object and creates one that says so. A copy of a
        // renamed object's manifest says so too, while the other one has its name.
        let note = object.annotations().get(ANNOTATION_FORMER_NAME);
        let renamed = note.is_some_and(|note| former_name(note, uid.unwrap_or_default()).is_some());
        (!taken || renamed).then_some((former, taken))
    }
}
