//! What the collector knows: the owner graph, what is marked, and what to look at next.
//!
//! All of it is behind one lock that is held for single changes and decisions, never across a request.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use landform_api::keys::{FINALIZER_CASCADE, FINALIZER_FOREGROUND, FINALIZER_ORPHAN};
use landform_graph::NodeId;
use landform_graph::owners::{Owner, OwnerGraph, Uid};

use super::client::{Address, Expected};
use super::kinds::{Kind, KindId, group_of};
use super::observed::{Dependents, Mark, Observed, Preset, SeenOwner, Standing};
use super::queue::Queue;

/// What is kept about every object: 40 bytes and its name.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) name: Box<str>,
    /// Its resourceVersion; zero when that is no number.
    pub(crate) version: u64,
    pub(crate) namespace: NamespaceId,
    /// Its place among the objects of its kind.
    place: u32,
    pub(crate) kind: KindId,
    /// The list that showed it last.
    round: u8,
    flags: u8,
}

impl Record {
    pub(crate) fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    pub(crate) fn set(&mut self, flag: u8) {
        self.flags |= flag;
    }

    pub(crate) fn clear(&mut self, flag: u8) {
        self.flags &= !flag;
    }
}

const HAS_FINALIZERS: u8 = 1;
const PRESET_FOREGROUND: u8 = 2;
const PRESET_ORPHAN: u8 = 4;
const ASKED: u8 = 8;
/// Whether it still exists is to be asked for.
pub(crate) const DOUBTED: u8 = 16;

/// A namespace's name, in short; objects without namespace are in that with the empty name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NamespaceId(u32);

/// What is kept about marked objects beyond that.
#[derive(Clone, Debug)]
pub(crate) struct Marked {
    /// When it was marked, in seconds since 1970.
    pub(crate) since: i64,
    pub(crate) finalizers: Vec<Box<str>>,
    /// So many dependents it had at most since it was marked.
    pub(crate) most_dependents: usize,
}

/// Whether a kind is followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Health {
    /// Its first list is under way.
    Listing,
    Followed,
    /// Its list or watch fails: this kind waits, others go on.
    Failing(String),
    /// It is served no more; its objects are as they were last seen.
    Gone,
}

/// A kind and its objects.
#[derive(Debug)]
pub(crate) struct FollowedKind {
    pub(crate) kind: Kind,
    pub(crate) health: Health,
    pub(crate) members: Vec<NodeId>,
    round: u8,
}

/// Everything.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) kinds: Vec<FollowedKind>,
    pub(crate) by_type: HashMap<(String, String), KindId>,
    namespaces: Vec<Box<str>>,
    namespace_ids: HashMap<Box<str>, NamespaceId>,
    /// How many objects of each kind there are in each namespace.
    pub(crate) content: BTreeMap<(NamespaceId, KindId), usize>,
    pub(crate) graph: OwnerGraph<Record>,
    pub(crate) marked: BTreeMap<NodeId, Marked>,
    pub(crate) queue: Queue,
    /// Members of cycles whose other dependents are gone: nothing else will ever free them (G11).
    pub(crate) released_cycles: BTreeSet<NodeId>,
    /// Whether something changed that could leave a cycle waiting for itself.
    pub(crate) cycles_unchecked: bool,
    /// Whether it is known which kinds there are.
    pub(crate) discovered: bool,
    /// Whether every kind was listed, or failed to be, so that absence means something.
    pub(crate) started: bool,
}

/// An object as decisions and requests need it.
pub(crate) struct Subject {
    pub(crate) observed: Observed,
    pub(crate) address: Address,
    pub(crate) expected: Expected,
    pub(crate) finalizers: Vec<Box<str>>,
}

impl State {
    /// The number of a kind, made when it is new.
    pub(crate) fn kind_id(&mut self, kind: &Kind) -> KindId {
        if let Some(id) = self.by_type.get(&kind.key()) {
            return *id;
        }
        let id = KindId(u16::try_from(self.kinds.len()).unwrap_or(u16::MAX));
        self.kinds.push(FollowedKind {
            kind: kind.clone(),
            health: Health::Listing,
            members: Vec::new(),
            round: 0,
        });
        self.by_type.insert(kind.key(), id);
        id
    }

    pub(crate) fn kind(&self, id: KindId) -> &FollowedKind {
        &self.kinds[usize::from(id.0)]
    }

    pub(crate) fn kind_mut(&mut self, id: KindId) -> &mut FollowedKind {
        &mut self.kinds[usize::from(id.0)]
    }

    pub(crate) fn namespace(&self, id: NamespaceId) -> &str {
        self.namespaces.get(id.0 as usize).map_or("", |name| name)
    }

    pub(crate) fn find_namespace(&self, name: &str) -> Option<NamespaceId> {
        self.namespace_ids.get(name).copied()
    }

    fn namespace_id(&mut self, name: &str) -> NamespaceId {
        if let Some(id) = self.namespace_ids.get(name) {
            return *id;
        }
        let id = NamespaceId(u32::try_from(self.namespaces.len()).unwrap_or(u32::MAX));
        self.namespaces.push(name.into());
        self.namespace_ids.insert(name.into(), id);
        id
    }

    /// A kind's list begins.
    pub(crate) fn begin_list(&mut self, kind: KindId) {
        let kind = self.kind_mut(kind);
        kind.round = kind.round.wrapping_add(1);
    }

    /// A kind's list is complete: what it didn't show is gone.
    pub(crate) fn end_list(&mut self, kind: KindId) {
        let round = self.kind(kind).round;
        let is_stale = |node: &NodeId| {
            self.graph
                .get(*node)
                .is_some_and(|record| record.round != round)
        };
        let stale: Vec<NodeId> = self
            .kind(kind)
            .members
            .iter()
            .copied()
            .filter(is_stale)
            .collect();
        for node in stale {
            self.remove_node(node);
        }
        self.kind_mut(kind).health = Health::Followed;
    }

    /// Takes in an object as it is now (G5).
    pub(crate) fn put(&mut self, kind: KindId, metadata: &ObjectMeta) {
        let Some(uid) = metadata.uid.as_deref().map(Uid::new) else {
            return;
        };
        let known = self.graph.find(&uid);
        let before = known.map_or(Standing::Living, |node| self.standing(node));
        let kept = known.and_then(|node| self.graph.get(node));
        let kept = kept.map(|record| (record.name.clone(), record.place));
        let record = self.record(kind, metadata, kept);
        let owners = self.owners_of(kind, metadata);
        let put = self.graph.put(&uid, &owners, record);
        let node = put.node;
        if put.added {
            self.join(node, kind);
        }
        self.note_mark(node, metadata);
        let after = self.standing(node);
        if !self.started {
            return;
        }
        if before != after {
            self.push_dependents(node);
        }
        if self.may_move_on(node) {
            self.queue.push(node);
        }
        for owner in put.left {
            self.look_again(owner);
        }
        if put.moved || before != after {
            self.cycles_unchecked = true;
        }
    }

    /// An object is gone (G8).
    pub(crate) fn remove(&mut self, metadata: &ObjectMeta) {
        let uid = metadata.uid.as_deref().map(Uid::new);
        if let Some(node) = uid.and_then(|uid| self.graph.find(&uid)) {
            self.remove_node(node);
        }
    }

    pub(crate) fn remove_node(&mut self, node: NodeId) {
        let Some(uid) = self.graph.uid(node).cloned() else {
            return;
        };
        let Some(removed) = self.graph.remove(&uid) else {
            return;
        };
        self.leave(&removed.object);
        self.marked.remove(&node);
        self.released_cycles.remove(&node);
        self.queue.forget(node);
        if !self.started {
            return;
        }
        // Whether it is gone for its dependents is a question of its own.
        if let Some(node) = removed.node {
            self.queue.push(node);
        }
        for owner in removed.owners {
            self.look_again(owner);
        }
        self.cycles_unchecked = true;
    }

    /// Everything was listed: whatever waits is looked at (G10).
    pub(crate) fn start(&mut self) {
        self.started = true;
        self.cycles_unchecked = true;
        for index in 0..self.kinds.len() {
            for place in 0..self.kinds[index].members.len() {
                let node = self.kinds[index].members[place];
                if self.may_move_on(node) {
                    self.queue.push(node);
                }
            }
        }
    }

    fn record(
        &mut self,
        kind: KindId,
        metadata: &ObjectMeta,
        kept: Option<(Box<str>, u32)>,
    ) -> Record {
        let name = metadata.name.as_deref().unwrap_or_default();
        let (name, place) = match kept {
            Some((kept, place)) if *kept == *name => (kept, place),
            kept => (name.into(), kept.map_or(0, |(_, place)| place)),
        };
        let finalizers = metadata.finalizers.as_deref().unwrap_or_default();
        let mut flags = 0;
        if !finalizers.is_empty() {
            flags |= HAS_FINALIZERS;
        }
        for finalizer in finalizers {
            match finalizer.as_str() {
                FINALIZER_FOREGROUND => flags |= PRESET_FOREGROUND,
                FINALIZER_ORPHAN => flags |= PRESET_ORPHAN,
                _ => {}
            }
        }
        let version = metadata.resource_version.as_deref();
        Record {
            name,
            version: version.and_then(|text| text.parse().ok()).unwrap_or(0),
            namespace: self.namespace_id(metadata.namespace.as_deref().unwrap_or_default()),
            place,
            kind,
            round: self.kind(kind).round,
            flags,
        }
    }

    /// The owners that an object's references name. A cluster-scoped object can't say in which
    /// namespace its owner is: such a reference leads nowhere, in Kubernetes too.
    fn owners_of(&self, kind: KindId, metadata: &ObjectMeta) -> Vec<Owner> {
        let references = metadata.owner_references.as_deref().unwrap_or_default();
        let namespaced = self.kind(kind).kind.namespaced;
        references
            .iter()
            .filter(|reference| {
                let group = group_of(&reference.api_version).unwrap_or_default();
                let owner = self.by_type.get(&(group, reference.kind.clone()));
                namespaced || owner.is_none_or(|owner| !self.kind(*owner).kind.namespaced)
            })
            .map(|reference| Owner {
                uid: Uid::new(&reference.uid),
                blocks: reference.block_owner_deletion.unwrap_or(false),
            })
            .collect()
    }

    fn note_mark(&mut self, node: NodeId, metadata: &ObjectMeta) {
        let Some(since) = &metadata.deletion_timestamp else {
            self.marked.remove(&node);
            return;
        };
        let finalizers = metadata.finalizers.as_deref().unwrap_or_default();
        let dependents = self.graph.dependent_count(node);
        let before = self
            .marked
            .get(&node)
            .map_or(0, |marked| marked.most_dependents);
        let marked = Marked {
            since: since.0.as_second(),
            finalizers: finalizers.iter().map(|text| text.as_str().into()).collect(),
            most_dependents: dependents.max(before),
        };
        self.marked.insert(node, marked);
    }

    fn join(&mut self, node: NodeId, kind: KindId) {
        let members = &mut self.kind_mut(kind).members;
        let place = u32::try_from(members.len()).unwrap_or(u32::MAX);
        members.push(node);
        if let Some(record) = self.graph.get_mut(node) {
            record.place = place;
            let namespace = record.namespace;
            *self.content.entry((namespace, kind)).or_default() += 1;
        }
    }

    fn leave(&mut self, record: &Record) {
        let (kind, place) = (record.kind, record.place as usize);
        let members = &mut self.kind_mut(kind).members;
        members.swap_remove(place);
        if let Some(moved) = members.get(place).copied()
            && let Some(other) = self.graph.get_mut(moved)
        {
            other.place = record.place;
        }
        if let Some(count) = self.content.get_mut(&(record.namespace, kind)) {
            *count -= 1;
            if *count == 0 {
                self.content.remove(&(record.namespace, kind));
            }
        }
    }

    pub(crate) fn push_dependents(&mut self, node: NodeId) {
        for dependent in self.graph.dependents(node) {
            self.queue.push(dependent.node);
        }
    }

    /// Looks again at an owner that lost a dependent, unless it has others to wait for.
    fn look_again(&mut self, owner: NodeId) {
        if self.marked.contains_key(&owner) && self.may_move_on(owner) {
            self.queue.push(owner);
        }
    }

    /// Whether the rules may have something to do about an object.
    fn may_move_on(&self, node: NodeId) -> bool {
        if self.graph.get(node).is_some_and(|found| found.is(DOUBTED)) {
            return true;
        }
        if let Some(marked) = self.marked.get(&node) {
            let is_let_go = self
                .graph
                .owners(node)
                .any(|owner| self.standing_for(node, owner.node) == Standing::Orphaning);
            let held = |name: &str| marked.finalizers.iter().any(|held| &**held == name);
            let waits_for_none = held(FINALIZER_CASCADE) || held(FINALIZER_ORPHAN);
            return is_let_go
                || (waits_for_none && self.dependent_count(node) == 0)
                || (held(FINALIZER_FOREGROUND) && self.blocking_count(node) == 0);
        }
        self.graph
            .owners(node)
            .any(|owner| self.standing_for(node, owner.node) != Standing::Living)
    }

    /// What an object means for its dependents.
    pub(crate) fn standing(&self, owner: NodeId) -> Standing {
        if self.graph.get(owner).is_none() {
            return if self.graph.is_absent(owner) {
                Standing::Gone
            } else {
                Standing::Unconfirmed
            };
        }
        let Some(marked) = self.marked.get(&owner) else {
            return Standing::Living;
        };
        mark(&marked.finalizers).standing()
    }

    /// What an owner means for this dependent: one in another namespace can't be meant, so that the
    /// reference leads nowhere.
    pub(crate) fn standing_for(&self, dependent: NodeId, owner: NodeId) -> Standing {
        if self.is_elsewhere(dependent, owner) {
            return Standing::Gone;
        }
        self.standing(owner)
    }

    /// Whether an owner is in another namespace than what refers to it.
    pub(crate) fn is_elsewhere(&self, dependent: NodeId, owner: NodeId) -> bool {
        match (self.graph.get(dependent), self.graph.get(owner)) {
            (Some(dependent), Some(owner)) => {
                self.kind(owner.kind).kind.namespaced && owner.namespace != dependent.namespace
            }
            _ => false,
        }
    }

    /// How many dependents an object has; none, if all that refer to it are elsewhere: who may write in another namespace
    /// must not hold it.
    pub(crate) fn dependent_count(&self, node: NodeId) -> usize {
        let mut dependents = self.graph.dependents(node);
        match dependents.all(|dependent| self.is_elsewhere(dependent.node, node)) {
            true => 0,
            false => self.graph.dependent_count(node),
        }
    }

    /// The same, of those that it waits for in the foreground.
    fn blocking_count(&self, node: NodeId) -> usize {
        let blocking = self.graph.dependents(node).filter(|found| found.blocks);
        let mut blocking = blocking.map(|found| found.node);
        match blocking.all(|dependent| self.is_elsewhere(dependent, node)) {
            true => 0,
            false => self.graph.blocking_count(node),
        }
    }

    /// An object with everything that a decision about it may see.
    pub(crate) fn subject(&self, node: NodeId) -> Option<Subject> {
        let record = self.graph.get(node)?;
        let uid = self.graph.uid(node)?.clone();
        let marked = self.marked.get(&node);
        let owners = self.graph.owners(node).filter_map(|owner| {
            Some(SeenOwner {
                uid: self.graph.uid(owner.node)?.clone(),
                standing: self.standing_for(node, owner.node),
            })
        });
        let has = |flag: u8| record.is(flag);
        let followed = self.kind(record.kind);
        let observed = Observed {
            mark: marked.map(|marked| mark(&marked.finalizers)),
            preset: match (has(PRESET_ORPHAN), has(PRESET_FOREGROUND)) {
                (true, _) => Preset::Orphan,
                (false, true) => Preset::Foreground,
                (false, false) => Preset::None,
            },
            has_finalizers: has(HAS_FINALIZERS),
            hidden: followed.health == Health::Gone,
            asked: has(ASKED),
            owners: owners.collect(),
            dependents: Dependents {
                all: self.dependent_count(node),
                blocking: self.blocking_count(node),
                only_cycle: self.released_cycles.contains(&node),
            },
        };
        Some(Subject {
            observed,
            address: self.address(record),
            expected: Expected {
                uid,
                version: (record.version > 0).then(|| record.version.to_string()),
            },
            finalizers: marked
                .map(|marked| marked.finalizers.clone())
                .unwrap_or_default(),
        })
    }

    /// Where an object is.
    pub(crate) fn address(&self, record: &Record) -> Address {
        let kind = &self.kind(record.kind).kind;
        kind.address(self.namespace(record.namespace), &record.name)
    }

    /// Kinds that can't be followed, and why.
    pub(crate) fn failing_kinds(&self) -> impl Iterator<Item = (&Kind, &str)> {
        self.kinds.iter().filter_map(|kind| match &kind.health {
            Health::Failing(why) => Some((&kind.kind, why.as_str())),
            Health::Listing | Health::Followed | Health::Gone => None,
        })
    }

    /// Remembers that a delete was acknowledged, until the watch shows what it did.
    pub(crate) fn note_asked(&mut self, uid: &Uid) {
        if let Some(node) = self.graph.find(uid)
            && let Some(record) = self.graph.get_mut(node)
        {
            record.set(ASKED);
        }
    }
}

/// Whose finalizers hold a marked object.
pub(crate) fn mark(finalizers: &[Box<str>]) -> Mark {
    let mut mark = Mark::default();
    for finalizer in finalizers {
        match &**finalizer {
            FINALIZER_CASCADE => mark.cascade = true,
            FINALIZER_FOREGROUND => mark.foreground = true,
            FINALIZER_ORPHAN => mark.orphan = true,
            other => mark.others.push(other.to_owned()),
        }
    }
    mark
}
