//! Edges as slots of one vector, each in two doubly linked lists.
//!
//! A slot is in the list of its source's refs and in that of its target's dependents, and is taken
//! out of both in O(1): one of a hub's hundred thousand dependents goes like the only one. The first
//! slot's `previous` is the last one, so that appending needs no further field.

use crate::{NONE, NodeId};

/// The list that an edge is in on behalf of its source, or of its target.
#[derive(Clone, Copy)]
enum Side {
    Refs = 0,
    Dependents = 1,
}

#[derive(Clone, Copy)]
struct Link {
    next: u32,
    previous: u32,
}

#[derive(Clone, Copy)]
struct Edge {
    from: NodeId,
    to: NodeId,
    links: [Link; 2],
}

/// All edges of a graph.
#[derive(Clone, Default)]
pub(crate) struct Edges {
    slots: Vec<Edge>,
    free: Vec<u32>,
    /// The first slot of each list, by node.
    first: Vec<[u32; 2]>,
}

impl Edges {
    /// Makes room for a node that has no edges.
    pub(crate) fn add_node(&mut self, node: NodeId) {
        if node.index() == self.first.len() {
            crate::push(&mut self.first, [NONE; 2]);
        } else {
            self.first[node.index()] = [NONE; 2];
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Adds an edge that isn't there yet, behind the others in both lists; returns its slot.
    pub(crate) fn add(&mut self, from: NodeId, to: NodeId) -> u32 {
        let edge = Edge {
            from,
            to,
            links: [Link {
                next: NONE,
                previous: NONE,
            }; 2],
        };
        let slot = if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = edge;
            slot
        } else {
            crate::push(&mut self.slots, edge);
            u32::try_from(self.slots.len() - 1).unwrap_or(NONE)
        };
        self.append(from, slot, Side::Refs);
        self.append(to, slot, Side::Dependents);
        slot
    }

    /// The bytes that are allocated for all this.
    pub(crate) fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Edge>()
            + self.free.capacity() * size_of::<u32>()
            + self.first.capacity() * size_of::<[u32; 2]>()
    }

    /// Removes the edge in a slot.
    pub(crate) fn remove(&mut self, slot: u32) {
        let (from, to) = self.ends(slot);
        self.unlink(from, slot, Side::Refs);
        self.unlink(to, slot, Side::Dependents);
        self.free.push(slot);
    }

    /// The source and the target of the edge in a slot.
    pub(crate) fn ends(&self, slot: u32) -> (NodeId, NodeId) {
        let Edge { from, to, .. } = self.slots[slot as usize];
        (from, to)
    }

    fn append(&mut self, node: NodeId, slot: u32, side: Side) {
        let first = self.first[node.index()][side as usize];
        if first == NONE {
            self.first[node.index()][side as usize] = slot;
            self.link_mut(slot, side).previous = slot;
            return;
        }
        let last = self.link_mut(first, side).previous;
        self.link_mut(last, side).next = slot;
        self.link_mut(slot, side).previous = last;
        self.link_mut(first, side).previous = slot;
    }

    fn unlink(&mut self, node: NodeId, slot: u32, side: Side) {
        let Link { next, previous } = *self.link_mut(slot, side);
        let first = self.first[node.index()][side as usize];
        if slot == first {
            self.first[node.index()][side as usize] = next;
        } else {
            self.link_mut(previous, side).next = next;
        }
        if next != NONE {
            self.link_mut(next, side).previous = previous;
        } else if slot != first {
            self.link_mut(first, side).previous = previous;
        }
    }

    fn link_mut(&mut self, slot: u32, side: Side) -> &mut Link {
        &mut self.slots[slot as usize].links[side as usize]
    }

    pub(crate) fn refs(&self, node: NodeId) -> Refs<'_> {
        Refs {
            edges: self,
            at: self.first[node.index()][Side::Refs as usize],
        }
    }

    pub(crate) fn dependents(&self, node: NodeId) -> Dependents<'_> {
        Dependents {
            edges: self,
            at: self.first[node.index()][Side::Dependents as usize],
        }
    }

    pub(crate) fn is_alone(&self, node: NodeId) -> bool {
        self.first[node.index()] == [NONE; 2]
    }
}

/// The nodes that a node refers to, in the order in which the refs were added.
#[derive(Clone)]
pub struct Refs<'a> {
    edges: &'a Edges,
    at: u32,
}

impl Refs<'_> {
    /// The slot of the edge that comes next, or [`NONE`].
    pub(crate) fn slot(&self) -> u32 {
        self.at
    }

    /// Goes on from a slot that [`Refs::slot`] returned.
    pub(crate) fn resume(edges: &Edges, slot: u32) -> Refs<'_> {
        Refs { edges, at: slot }
    }
}

impl Iterator for Refs<'_> {
    type Item = NodeId;

    fn next(&mut self) -> Option<NodeId> {
        let edge = self.edges.slots.get(self.at as usize)?;
        self.at = edge.links[Side::Refs as usize].next;
        Some(edge.to)
    }
}

/// The nodes that refer to a node, in the order in which they began to.
#[derive(Clone)]
pub struct Dependents<'a> {
    edges: &'a Edges,
    at: u32,
}

impl Dependents<'_> {
    /// The slot of the edge that comes next, or [`NONE`].
    pub(crate) fn slot(&self) -> u32 {
        self.at
    }
}

impl Iterator for Dependents<'_> {
    type Item = NodeId;

    fn next(&mut self) -> Option<NodeId> {
        let edge = self.edges.slots.get(self.at as usize)?;
        self.at = edge.links[Side::Dependents as usize].next;
        Some(edge.from)
    }
}
