//! Units: which nodes reach each other, found by Tarjan's algorithm with a stack of its own.
//!
//! The same search serves a cycle that lost an edge, where it looks at that cycle's members alone,
//! and a bulk load, where it looks at everything once. It yields units with refs before dependents,
//! which is the order that the graph needs.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::edges::Refs;
use crate::graph::{Cycle, ReferenceGraph};
use crate::order::Order;
use crate::{Key, NONE, NodeId};

/// The most names that the path of a cycle prints.
const PRINTED: usize = 16;

/// A node on the way of the search: where it is in the list of nodes, and the edge it goes on with.
struct Step {
    local: u32,
    edge: u32,
}

impl<K: Key> ReferenceGraph<K> {
    /// Adds many objects with their refs at once, in O(V+E) for the whole graph.
    ///
    /// Refs are added to those that an object has. No watcher is told: whoever counts along counts
    /// anew.
    pub fn load<'a>(&mut self, objects: impl IntoIterator<Item = (&'a K, &'a [K])>)
    where
        K: 'a,
    {
        let mut marked: Vec<NodeId> = Vec::new();
        for (key, refs) in objects {
            let node = self.intern(key);
            marked.extend(self.edges.refs(node));
            for found in &marked {
                self.marks[found.index()] = 1;
            }
            for key in refs {
                let to = self.intern_ref(key);
                if std::mem::replace(&mut self.marks[to.index()], 1) == 0 {
                    marked.push(to);
                    self.edges.add(node, to);
                }
            }
            for to in marked.drain(..) {
                self.marks[to.index()] = 0;
            }
        }
        self.rebuild();
    }

    fn rebuild(&mut self) {
        let nodes: Vec<_> = self.nodes().collect();
        self.order = Order::new();
        self.cycles.clear();
        for unit in self.units_among(&nodes).iter() {
            let place = self.order.add_last();
            self.settle_unit(unit, place);
        }
    }

    /// A cycle lost an edge: its members become the units that they now are, in its place.
    pub(crate) fn split(&mut self, members: &[NodeId]) {
        let Some(first) = members.first() else { return };
        let standing = self.standings[first.index()];
        self.cycles.remove(&standing.cycle);
        let mut place = standing.place;
        for (at, unit) in self.units_among(members).iter().enumerate() {
            if at > 0 {
                place = self.order.add_after(place);
            }
            self.settle_unit(unit, place);
        }
    }

    fn settle_unit(&mut self, unit: &[NodeId], place: u32) {
        for node in unit {
            let standing = &mut self.standings[node.index()];
            standing.place = place;
            standing.cycle = NONE;
        }
        let loops = match unit {
            [node] => self.refs(*node).any(|to| to == *node),
            _ => true,
        };
        if loops {
            self.form_cycle(unit.to_vec());
        }
    }

    /// Makes one cycle of nodes that share a place already.
    pub(crate) fn form_cycle(&mut self, mut members: Vec<NodeId>) {
        members.sort_unstable();
        let id = self.next_cycle;
        self.next_cycle = self.next_cycle.wrapping_add(1) % NONE;
        for node in &members {
            let standing = &mut self.standings[node.index()];
            self.cycles.remove(&standing.cycle);
            standing.cycle = id;
        }
        let path = self.path_of(&members);
        self.cycles.insert(id, Cycle { members, path });
    }

    /// The shortest way from the first name of a cycle back to itself.
    fn path_of(&mut self, members: &[NodeId]) -> Arc<str> {
        let Some(start) = members.iter().copied().min_by_key(|node| self.key(*node)) else {
            return Arc::from("");
        };
        // A mark is the node that the search came from, plus one.
        let cycle = self.standings[start.index()].cycle;
        let mut queue = VecDeque::from([start]);
        let mut last = start;
        'search: while let Some(node) = queue.pop_front() {
            for to in self.edges.refs(node) {
                if to == start {
                    last = node;
                    break 'search;
                }
                let inside = self.standings[to.index()].cycle == cycle;
                if inside && self.marks[to.index()] == 0 {
                    self.marks[to.index()] = node.0 + 1;
                    queue.push_back(to);
                }
            }
        }
        let mut backwards = Vec::new();
        while last != start {
            backwards.push(last);
            last = NodeId(self.marks[last.index()].saturating_sub(1));
        }
        for node in members {
            self.marks[node.index()] = 0;
        }
        self.print_path(start, &backwards)
    }

    fn print_path(&self, start: NodeId, backwards: &[NodeId]) -> Arc<str> {
        let name = |node: NodeId| self.key(node).map(ToString::to_string);
        let mut names: Vec<_> = name(start).into_iter().collect();
        let left_out = backwards.len().saturating_sub(PRINTED);
        names.extend(
            backwards
                .iter()
                .rev()
                .take(PRINTED)
                .copied()
                .filter_map(name),
        );
        if left_out > 0 {
            names.push(format!("… {left_out} more …"));
        }
        names.extend(name(start));
        names.join(" → ").into()
    }

    /// The units among some nodes, refs before dependents, by edges between these nodes only.
    fn units_among(&mut self, nodes: &[NodeId]) -> Units {
        // A mark is the position in `nodes`, plus one: zero is outside.
        for (local, node) in (1_u32..).zip(nodes) {
            self.marks[node.index()] = local;
        }
        let mut search = Search::new(nodes.len());
        for local in (0_u32..).take(nodes.len()) {
            if search.seen_at[local as usize] == 0 {
                search.enter(local, self.edges.refs(nodes[local as usize]).slot());
                self.explore(&mut search, nodes);
            }
        }
        for node in nodes {
            self.marks[node.index()] = 0;
        }
        search.units
    }

    fn explore(&self, search: &mut Search, nodes: &[NodeId]) {
        while let Some(Step { local, edge }) = search.way.pop() {
            let mut refs = Refs::resume(&self.edges, edge);
            let mut child = None;
            for to in refs.by_ref() {
                let Some(inside) = self.marks[to.index()].checked_sub(1) else {
                    continue;
                };
                if search.seen_at[inside as usize] == 0 {
                    child = Some(inside);
                    break;
                }
                search.reach(local, inside);
            }
            if let Some(child) = child {
                let edge = refs.slot();
                search.way.push(Step { local, edge });
                let first = self.edges.refs(nodes[child as usize]).slot();
                search.enter(child, first);
            } else {
                search.leave(local, nodes);
            }
        }
    }
}

/// The state of Tarjan's search; nodes are positions in a list.
struct Search {
    clock: u32,
    /// When a node was entered, from one; zero is not yet.
    seen_at: Vec<u32>,
    /// The earliest node on the stack that a node reaches; [`NONE`] once its unit is known.
    low: Vec<u32>,
    stack: Vec<u32>,
    way: Vec<Step>,
    units: Units,
}

/// Units one behind the other in one vector: a million of them are mostly of one node.
#[derive(Default)]
struct Units {
    nodes: Vec<NodeId>,
    ends: Vec<usize>,
}

impl Units {
    fn iter(&self) -> impl Iterator<Item = &[NodeId]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let bounds = starts.zip(&self.ends);
        bounds.filter_map(|(start, end)| self.nodes.get(start..*end))
    }
}

impl Search {
    fn new(nodes: usize) -> Self {
        Self {
            clock: 0,
            seen_at: vec![0; nodes],
            low: vec![0; nodes],
            stack: Vec::new(),
            way: Vec::new(),
            units: Units::default(),
        }
    }

    fn enter(&mut self, local: u32, edge: u32) {
        self.clock += 1;
        self.seen_at[local as usize] = self.clock;
        self.low[local as usize] = self.clock;
        self.stack.push(local);
        self.way.push(Step { local, edge });
    }

    fn reach(&mut self, local: u32, other: u32) {
        let low = self.low[other as usize];
        if low != NONE {
            let own = &mut self.low[local as usize];
            *own = (*own).min(low);
        }
    }

    fn leave(&mut self, local: u32, nodes: &[NodeId]) {
        if self.low[local as usize] == self.seen_at[local as usize] {
            while let Some(member) = self.stack.pop() {
                self.low[member as usize] = NONE;
                self.units.nodes.push(nodes[member as usize]);
                if member == local {
                    break;
                }
            }
            self.units.ends.push(self.units.nodes.len());
        }
        if let Some(parent) = self.way.last() {
            let parent = parent.local;
            self.reach(parent, local);
        }
    }
}
