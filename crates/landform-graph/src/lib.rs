//! Who refers to whom: a graph that always knows its order and its cycles.
//!
//! The scheduler asks three things of it, at every event: which objects does this one refer to, who
//! depends on it, and is it part of a cycle. [`ReferenceGraph`] answers from what it keeps up to date
//! while edges come and go. Nothing here recurses and nothing iterates a hash table, so a chain of a
//! million objects is fine and the same calls always give the same answers.
//!
//! [`owners`] is the other graph, of owners and dependents, for the garbage collector.
//!
//! Invariants, which [`ReferenceGraph::verify`] computes the naive way:
//! - an edge is in the refs of its source and in the dependents of its target, once;
//! - nodes are in the same unit exactly when they reach each other;
//! - a unit stands behind every unit that it refers to.

mod edges;
mod graph;
mod insert;
mod names;
mod order;
pub mod owners;
mod units;
mod verify;

#[cfg(test)]
mod tests;

pub use edges::{Dependents, Refs};
pub use graph::{Members, ReferenceGraph, Watcher};

use std::fmt::{Debug, Display};
use std::hash::Hash;

/// What names an object: cheap to clone, and with a form that people read in the path of a cycle.
pub trait Key: Clone + Eq + Ord + Hash + Debug + Display {}

impl<K: Clone + Eq + Ord + Hash + Debug + Display> Key for K {}

/// A node of the graph. Ids are small and used again after their node was released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(u32);

impl NodeId {
    /// The position of this node's record in a vector that runs along with the graph.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The place of a list or a table where nothing is.
pub(crate) const NONE: u32 = u32::MAX;

/// Appends to a vector that grows by a quarter instead of doubling: there are as many of these as there
/// are objects, and half of a large one would be air.
pub(crate) fn push<T>(list: &mut Vec<T>, item: T) {
    if list.len() == list.capacity() {
        list.reserve_exact((list.len() / 4).max(16));
    }
    list.push(item);
}
