//! The invariants of the graph, computed the naive way. For tests: the cost is that of the whole graph,
//! once per node.

use std::collections::BTreeSet;

use crate::graph::ReferenceGraph;
use crate::{Key, NodeId};

impl<K: Key> ReferenceGraph<K> {
    /// Checks everything that the graph keeps up to date against its edges.
    ///
    /// # Errors
    /// When something is out of date: which node, and what.
    pub fn verify(&self) -> Result<(), String> {
        let reached: Vec<_> = (0_u32..)
            .map(NodeId)
            .take(self.bound())
            .map(|node| self.reach(node))
            .collect();
        let reaches = |from: NodeId, to: NodeId| reached[from.index()].contains(&to);
        for node in self.nodes() {
            let name = format!("{:?}", self.key(node));
            for to in self.refs(node) {
                if self.dependents(to).filter(|from| *from == node).count() != 1 {
                    return Err(format!("{name} is not among the dependents of its ref"));
                }
                if self.unit(to) != self.unit(node) && self.label(to) >= self.label(node) {
                    return Err(format!("{name} stands before what it refers to"));
                }
            }
            for other in self.nodes() {
                let same = node == other || (reaches(node, other) && reaches(other, node));
                if same != (self.unit(node) == self.unit(other)) {
                    return Err(format!("{name} is in the wrong unit"));
                }
            }
            if reaches(node, node) != self.is_cyclic(node) {
                return Err(format!("{name} doesn't know whether it is in a cycle"));
            }
            if self.marks[node.index()] != 0 {
                return Err(format!("{name} keeps the mark of a search"));
            }
        }
        Ok(())
    }

    /// All that a node refers to, directly or not.
    fn reach(&self, node: NodeId) -> BTreeSet<NodeId> {
        let mut reached = BTreeSet::new();
        if !self.contains(node) {
            return reached;
        }
        let mut next: Vec<_> = self.refs(node).collect();
        while let Some(to) = next.pop() {
            if reached.insert(to) {
                next.extend(self.refs(to));
            }
        }
        reached
    }
}
