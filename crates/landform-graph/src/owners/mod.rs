//! Who owns whom: the graph of the garbage collector (G1, G5).
//!
//! Nodes are objects by uid; an edge leads from a dependent to its owner. Five operations: [`put`] adds
//! and updates, [`remove`] removes, [`dependents`] and [`owners`] look along the edges. Each costs time in
//! the edges that it touches: nothing scans, nothing recurses, and how many dependents an object has
//! is counted along, so that a hub learns in O(1) that its last dependent has gone.
//!
//! An owner that nobody has seen is a node without an object: its dependents may be listed before it,
//! or it may never have existed. It stays for as long as something refers to it, and remembers whether its object
//! was [here before](OwnerGraph::was_here), and whether it is [known to be absent](OwnerGraph::is_absent): that an
//! object was removed here doesn't say that it is gone.
//!
//! [`put`]: OwnerGraph::put
//! [`remove`]: OwnerGraph::remove
//! [`dependents`]: OwnerGraph::dependents
//! [`owners`]: OwnerGraph::owners

mod cycles;
mod uid;

#[cfg(test)]
mod tests;

pub use uid::Uid;

use std::collections::BTreeSet;

use crate::NodeId;
use crate::edges::Edges;
use crate::names::Names;

/// A reference from a dependent to its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The owner.
    pub uid: Uid,
    /// Whether the owner, when it is deleted in the foreground, waits for this dependent.
    pub blocks: bool,
}

/// One end of an edge, as seen from the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// The owner, or the dependent.
    pub node: NodeId,
    /// Whether the owner waits for this dependent in the foreground.
    pub blocks: bool,
}

/// What an object that was put changed.
#[derive(Debug, PartialEq, Eq)]
pub struct Put {
    /// The object's node.
    pub node: NodeId,
    /// Whether the object was not there before.
    pub added: bool,
    /// Whether its owners are others than before; those of a new object are.
    pub moved: bool,
    /// Owners that it no longer has, as far as they are still known (G9).
    pub left: Vec<NodeId>,
}

/// An object that was removed.
#[derive(Debug, PartialEq, Eq)]
pub struct Removed<T> {
    /// What was kept about it.
    pub object: T,
    /// Its owners, as far as they are still known (G8).
    pub owners: Vec<NodeId>,
    /// Its node, if something still refers to it.
    pub node: Option<NodeId>,
}

#[derive(Clone)]
struct Node<T> {
    object: Option<T>,
    dependents: u32,
    blocking: u32,
    /// Its object was here and was removed.
    left: bool,
    absent: bool,
}

/// Owners and dependents, with something kept about each object.
#[derive(Clone)]
pub struct OwnerGraph<T> {
    names: Names<Uid>,
    edges: Edges,
    /// One bit per edge.
    blocks: Vec<u64>,
    nodes: Vec<Node<T>>,
    objects: usize,
}

impl<T> Default for OwnerGraph<T> {
    fn default() -> Self {
        Self {
            names: Names::new(),
            edges: Edges::default(),
            blocks: Vec::new(),
            nodes: Vec::new(),
            objects: 0,
        }
    }
}

impl<T> OwnerGraph<T> {
    /// A graph without objects.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an object, or takes in what it is now; its edges move when its owners changed (G9).
    pub fn put(&mut self, uid: &Uid, owners: &[Owner], object: T) -> Put {
        let node = self.intern(uid);
        let added = self.nodes[node.index()].object.is_none();
        self.objects += usize::from(added);
        self.nodes[node.index()].object = Some(object);
        self.nodes[node.index()].left = false;
        self.nodes[node.index()].absent = false;
        let moved = added || !self.has_owners(node, owners);
        let left = if moved {
            self.link(node, owners)
        } else {
            Vec::new()
        };
        Put {
            node,
            added,
            moved,
            left,
        }
    }

    /// Removes an object and its edges to its owners (G8).
    pub fn remove(&mut self, uid: &Uid) -> Option<Removed<T>> {
        let node = self.names.find(uid)?;
        let object = self.nodes[node.index()].object.take()?;
        self.objects -= 1;
        self.nodes[node.index()].left = true;
        let owners = self.link(node, &[]);
        let stays = !self.release_if_lonely(node);
        Some(Removed {
            object,
            owners,
            node: stays.then_some(node),
        })
    }

    /// The node of a uid that is here, or that something refers to.
    #[must_use]
    pub fn find(&self, uid: &Uid) -> Option<NodeId> {
        self.names.find(uid)
    }

    /// What is kept about the object of a node; `None` when only references to it are known.
    #[must_use]
    pub fn get(&self, node: NodeId) -> Option<&T> {
        self.nodes.get(node.index())?.object.as_ref()
    }

    /// As [`OwnerGraph::get`], to change it.
    pub fn get_mut(&mut self, node: NodeId) -> Option<&mut T> {
        self.nodes.get_mut(node.index())?.object.as_mut()
    }

    /// The uid of a node.
    #[must_use]
    pub fn uid(&self, node: NodeId) -> Option<&Uid> {
        self.names.key(node)
    }

    /// Whether the object of this node was here and was removed.
    #[must_use]
    pub fn was_here(&self, node: NodeId) -> bool {
        self.nodes.get(node.index()).is_some_and(|node| node.left)
    }

    /// Remembers that the object of a node, which isn't here, exists nowhere.
    pub fn confirm_absent(&mut self, node: NodeId) {
        if let Some(node) = self.nodes.get_mut(node.index()) {
            node.absent = node.object.is_none();
        }
    }

    /// Whether the object of this node is known to exist nowhere.
    #[must_use]
    pub fn is_absent(&self, node: NodeId) -> bool {
        self.nodes.get(node.index()).is_some_and(|node| node.absent)
    }

    /// The direct dependents of a node, in the order in which they were put.
    pub fn dependents(&self, node: NodeId) -> impl Iterator<Item = Neighbour> + '_ {
        let mut edges = self.edges.dependents(node);
        std::iter::from_fn(move || {
            let blocks = self.does_block(edges.slot());
            let node = edges.next()?;
            Some(Neighbour { node, blocks })
        })
    }

    /// The direct owners of a node, in the order in which it lists them.
    pub fn owners(&self, node: NodeId) -> impl Iterator<Item = Neighbour> + '_ {
        let mut edges = self.edges.refs(node);
        std::iter::from_fn(move || {
            let blocks = self.does_block(edges.slot());
            let node = edges.next()?;
            Some(Neighbour { node, blocks })
        })
    }

    /// How many direct dependents a node has.
    #[must_use]
    pub fn dependent_count(&self, node: NodeId) -> usize {
        self.nodes
            .get(node.index())
            .map_or(0, |node| node.dependents as usize)
    }

    /// How many of them it waits for when it is deleted in the foreground.
    #[must_use]
    pub fn blocking_count(&self, node: NodeId) -> usize {
        self.nodes
            .get(node.index())
            .map_or(0, |node| node.blocking as usize)
    }

    /// How many objects there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.objects
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects == 0
    }

    /// How many references there are.
    #[must_use]
    pub fn edge_count(&self) -> usize {
        self.edges.len()
    }

    /// The bytes that are allocated for all this, without what objects themselves point to (names).
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.names.bytes()
            + self.edges.bytes()
            + self.blocks.capacity() * size_of::<u64>()
            + self.nodes.capacity() * size_of::<Node<T>>()
    }

    fn intern(&mut self, uid: &Uid) -> NodeId {
        let (node, new) = self.names.intern(uid);
        if new {
            let empty = Node {
                object: None,
                dependents: 0,
                blocking: 0,
                left: false,
                absent: false,
            };
            if node.index() == self.nodes.len() {
                crate::push(&mut self.nodes, empty);
            } else {
                self.nodes[node.index()] = empty;
            }
            self.edges.add_node(node);
        }
        node
    }

    fn has_owners(&self, node: NodeId, owners: &[Owner]) -> bool {
        let mut known = self.owners(node);
        let same = owners.iter().all(|owner| {
            known.next().is_some_and(|found| {
                found.blocks == owner.blocks && self.uid(found.node) == Some(&owner.uid)
            })
        });
        same && known.next().is_none()
    }

    /// Gives a node these owners instead of those it has; returns the old ones that are still known.
    fn link(&mut self, node: NodeId, owners: &[Owner]) -> Vec<NodeId> {
        let mut old = Vec::new();
        let mut refs = self.edges.refs(node);
        loop {
            let slot = refs.slot();
            let Some(owner) = refs.next() else { break };
            old.push((slot, owner));
        }
        // New edges first: an owner that stays must not be forgotten in between.
        let mut linked: BTreeSet<NodeId> = BTreeSet::new();
        for owner in owners {
            let target = self.intern(&owner.uid);
            if linked.insert(target) {
                self.add_edge(node, target, owner.blocks);
            }
        }
        let mut left = Vec::new();
        for (slot, owner) in old {
            self.remove_edge(slot, owner);
            if !linked.contains(&owner) && !self.release_if_lonely(owner) {
                left.push(owner);
            }
        }
        left
    }

    fn add_edge(&mut self, from: NodeId, to: NodeId, blocks: bool) {
        let slot = self.edges.add(from, to) as usize;
        if self.blocks.len() <= slot / 64 {
            self.blocks.resize(slot / 64 + 1, 0);
        }
        let bit = 1 << (slot % 64);
        let owner = &mut self.nodes[to.index()];
        owner.dependents += 1;
        if blocks {
            owner.blocking += 1;
            self.blocks[slot / 64] |= bit;
        } else {
            self.blocks[slot / 64] &= !bit;
        }
    }

    fn remove_edge(&mut self, slot: u32, owner: NodeId) {
        let blocks = self.does_block(slot);
        self.edges.remove(slot);
        let owner = &mut self.nodes[owner.index()];
        owner.dependents -= 1;
        owner.blocking -= u32::from(blocks);
    }

    fn does_block(&self, slot: u32) -> bool {
        let slot = slot as usize;
        self.blocks
            .get(slot / 64)
            .is_some_and(|word| word & (1 << (slot % 64)) != 0)
    }

    /// Forgets a node that has no object and that nothing refers to; says whether it did.
    fn release_if_lonely(&mut self, node: NodeId) -> bool {
        let lonely = self.nodes[node.index()].object.is_none() && self.edges.is_alone(node);
        if lonely {
            self.names.release(node);
        }
        lonely
    }
}
