//! The graph itself: names, edges, units and their order, kept together.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::edges::{Dependents, Edges, Refs};
use crate::names::Names;
use crate::order::Order;
use crate::{Key, NONE, NodeId};

/// Told of changes while they happen, so that counters over edges can be kept along with the graph.
///
/// Edges inside a unit are of no interest to a watcher: it is told only of edges between units, and
/// of units that form or fall apart, before (with the old units in place) and after.
pub trait Watcher<K> {
    /// An edge between two units was added.
    fn linked(&mut self, graph: &ReferenceGraph<K>, from: NodeId, to: NodeId);
    /// An edge between two units was removed.
    fn unlinked(&mut self, graph: &ReferenceGraph<K>, from: NodeId, to: NodeId);
    /// The units of these nodes are about to change.
    fn regrouping(&mut self, graph: &ReferenceGraph<K>, nodes: &[NodeId]);
    /// The units of these nodes have changed.
    fn regrouped(&mut self, graph: &ReferenceGraph<K>, nodes: &[NodeId]);
}

/// Watches nothing.
impl<K> Watcher<K> for () {
    fn linked(&mut self, _: &ReferenceGraph<K>, _: NodeId, _: NodeId) {}
    fn unlinked(&mut self, _: &ReferenceGraph<K>, _: NodeId, _: NodeId) {}
    fn regrouping(&mut self, _: &ReferenceGraph<K>, _: &[NodeId]) {}
    fn regrouped(&mut self, _: &ReferenceGraph<K>, _: &[NodeId]) {}
}

/// A unit that is a cycle.
#[derive(Clone)]
pub(crate) struct Cycle {
    /// Its nodes by id; the first one stands for the unit.
    pub(crate) members: Vec<NodeId>,
    pub(crate) path: Arc<str>,
}

/// A node's unit.
#[derive(Clone, Copy)]
pub(crate) struct Standing {
    /// The unit's place in the order.
    pub(crate) place: u32,
    /// The id of its cycle, or [`NONE`].
    pub(crate) cycle: u32,
}

/// References between objects, with an order that has refs before dependents, and its cycles.
///
/// Strongly connected nodes form a *unit*; a node that is in no cycle is a unit of its own.
#[derive(Clone)]
pub struct ReferenceGraph<K> {
    pub(crate) names: Names<K>,
    pub(crate) edges: Edges,
    pub(crate) order: Order,
    pub(crate) standings: Vec<Standing>,
    pub(crate) cycles: BTreeMap<u32, Cycle>,
    pub(crate) next_cycle: u32,
    /// Scratch for searches, by node; zero between calls where a search needs zeros.
    pub(crate) marks: Vec<u32>,
}

impl<K: Key> Default for ReferenceGraph<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Key> ReferenceGraph<K> {
    /// A graph without nodes.
    #[must_use]
    pub fn new() -> Self {
        Self {
            names: Names::new(),
            edges: Edges::default(),
            order: Order::new(),
            standings: Vec::new(),
            cycles: BTreeMap::new(),
            next_cycle: 0,
            marks: Vec::new(),
        }
    }

    /// The number of nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are no nodes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of edges.
    #[must_use]
    pub fn edge_count(&self) -> usize {
        self.edges.len()
    }

    /// One past the largest index of a node: the length of a vector that runs along.
    #[must_use]
    pub fn bound(&self) -> usize {
        self.names.bound()
    }

    /// All nodes, by id.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> {
        let ids = (0_u32..).map(NodeId).take(self.bound());
        ids.filter(|node| self.contains(*node))
    }

    /// The node of a key, if there is one.
    #[must_use]
    pub fn find(&self, key: &K) -> Option<NodeId> {
        self.names.find(key)
    }

    /// Whether there is such a node: it was made and not released.
    #[must_use]
    pub fn contains(&self, node: NodeId) -> bool {
        self.names.is_given(node)
    }

    /// The key of a node; none when it was released or is anonymous.
    #[must_use]
    pub fn key(&self, node: NodeId) -> Option<&K> {
        self.names.key(node)
    }

    /// The node of an object, made if need be. It begins behind all others, where its refs are.
    pub fn intern(&mut self, key: &K) -> NodeId {
        let (node, new) = self.names.intern(key);
        if new {
            let place = self.order.add_last();
            self.add_node(node, place);
        }
        node
    }

    /// The node of an object that is referred to, made if need be. It begins before all others,
    /// where its dependents are behind it: objects that come before what they refer to cost nothing.
    pub fn intern_ref(&mut self, key: &K) -> NodeId {
        let (node, new) = self.names.intern(key);
        if new {
            let place = self.order.add_first();
            self.add_node(node, place);
        }
        node
    }

    /// A node without a key, which no list of objects names and no key finds. It begins behind all others.
    pub fn add_anonymous(&mut self) -> NodeId {
        let node = self.names.add_anonymous();
        let place = self.order.add_last();
        self.add_node(node, place);
        node
    }

    fn add_node(&mut self, node: NodeId, place: u32) {
        let standing = Standing { place, cycle: NONE };
        self.edges.add_node(node);
        if node.index() == self.standings.len() {
            self.standings.push(standing);
            self.marks.push(0);
        } else {
            self.standings[node.index()] = standing;
        }
    }

    /// Whether a node has no edges.
    #[must_use]
    pub fn is_alone(&self, node: NodeId) -> bool {
        self.edges.is_alone(node)
    }

    /// Forgets a node that has no edges; says whether it did.
    pub fn release(&mut self, node: NodeId) -> bool {
        let free = self.contains(node) && self.edges.is_alone(node);
        if free {
            self.order.remove(self.standings[node.index()].place);
            self.names.release(node);
        }
        free
    }

    /// The objects that a node refers to.
    #[must_use]
    pub fn refs(&self, node: NodeId) -> Refs<'_> {
        self.edges.refs(node)
    }

    /// The objects that refer to a node.
    #[must_use]
    pub fn dependents(&self, node: NodeId) -> Dependents<'_> {
        self.edges.dependents(node)
    }

    /// Replaces the refs of a node. Refs that are named twice count once. Says whether any changed.
    pub fn set_refs(
        &mut self,
        node: NodeId,
        refs: &[NodeId],
        watcher: &mut impl Watcher<K>,
    ) -> bool {
        for wanted in refs {
            self.marks[wanted.index()] = 1;
        }
        let mut unwanted = Vec::new();
        let mut present = self.edges.refs(node);
        loop {
            let slot = present.slot();
            let Some(found) = present.next() else { break };
            if std::mem::take(&mut self.marks[found.index()]) == 0 {
                unwanted.push(slot);
            }
        }
        let mut missing = Vec::new();
        for wanted in refs {
            if std::mem::take(&mut self.marks[wanted.index()]) == 1 {
                missing.push(*wanted);
            }
        }
        for slot in &unwanted {
            self.unlink(*slot, watcher);
        }
        for to in &missing {
            self.link(node, *to, watcher);
        }
        !unwanted.is_empty() || !missing.is_empty()
    }

    fn unlink(&mut self, slot: u32, watcher: &mut impl Watcher<K>) {
        let (from, to) = self.edges.ends(slot);
        if self.unit(from) == self.unit(to) {
            let members: Vec<_> = self.members(from).collect();
            watcher.regrouping(self, &members);
            self.edges.remove(slot);
            self.split(&members);
            watcher.regrouped(self, &members);
        } else {
            self.edges.remove(slot);
            watcher.unlinked(self, from, to);
        }
    }

    /// The node that stands for a node's unit.
    #[must_use]
    pub fn unit(&self, node: NodeId) -> NodeId {
        let cycle = self.cycle_of(node);
        let first = cycle.and_then(|cycle| cycle.members.first().copied());
        first.unwrap_or(node)
    }

    fn cycle_of(&self, node: NodeId) -> Option<&Cycle> {
        // Nearly all nodes are in no cycle; they shouldn't pay for a lookup.
        let cycle = self.standings[node.index()].cycle;
        if cycle == NONE {
            None
        } else {
            self.cycles.get(&cycle)
        }
    }

    /// Whether a node is in a cycle.
    #[must_use]
    pub fn is_cyclic(&self, node: NodeId) -> bool {
        self.standings[node.index()].cycle != NONE
    }

    /// The cycle that a node is in, as people read it: `a → b → a`. All members have the same.
    #[must_use]
    pub fn cycle_path(&self, node: NodeId) -> Option<&Arc<str>> {
        self.cycle_of(node).map(|cycle| &cycle.path)
    }

    /// The nodes of a node's unit, by id.
    #[must_use]
    pub fn members(&self, node: NodeId) -> Members<'_> {
        self.cycle_of(node)
            .map_or(Members::One(Some(node)), |cycle| {
                Members::Many(cycle.members.iter())
            })
    }

    /// The units that a node's unit refers to, once per edge.
    pub fn unit_refs(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        let own = self.unit(node);
        let targets = self.members(node).flat_map(|member| self.refs(member));
        targets.filter_map(move |to| Some(self.unit(to)).filter(|unit| *unit != own))
    }

    /// The units that refer to a node's unit, once per edge.
    pub fn unit_dependents(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        let own = self.unit(node);
        let sources = self
            .members(node)
            .flat_map(|member| self.dependents(member));
        sources.filter_map(move |from| Some(self.unit(from)).filter(|unit| *unit != own))
    }

    pub(crate) fn label(&self, node: NodeId) -> u64 {
        self.order.label(self.standings[node.index()].place)
    }
}

/// The nodes of a unit.
#[derive(Clone)]
pub enum Members<'a> {
    /// A node that is in no cycle.
    One(Option<NodeId>),
    /// The members of a cycle.
    Many(std::slice::Iter<'a, NodeId>),
}

impl Iterator for Members<'_> {
    type Item = NodeId;

    fn next(&mut self) -> Option<NodeId> {
        match self {
            Self::One(node) => node.take(),
            Self::Many(members) => members.next().copied(),
        }
    }
}
