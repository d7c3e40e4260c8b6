//! Cycles of owners, looked for among nodes that somebody names (G11).

use std::collections::BTreeMap;

use super::OwnerGraph;
use crate::NodeId;
use crate::edges::Refs;

/// What Tarjan's algorithm knows of a node.
struct Visit {
    index: usize,
    low: usize,
    open: bool,
}

/// The search, with a stack of its own: a chain may be as long as memory allows.
struct Search {
    visits: BTreeMap<NodeId, Visit>,
    open: Vec<NodeId>,
    /// The nodes on the present path, each with the edge that comes next.
    path: Vec<(NodeId, u32)>,
    cycles: Vec<Vec<NodeId>>,
}

impl<T> OwnerGraph<T> {
    /// The cycles among some nodes: each is a set of nodes that own each other, in the order of ids.
    ///
    /// Costs time in these nodes and their owners, whatever else the graph holds.
    pub fn cycles(&self, among: impl IntoIterator<Item = NodeId>) -> Vec<Vec<NodeId>> {
        let mut starts: Vec<NodeId> = among.into_iter().collect();
        starts.sort_unstable();
        let mut search = Search {
            visits: BTreeMap::new(),
            open: Vec::new(),
            path: Vec::new(),
            cycles: Vec::new(),
        };
        for start in &starts {
            if !search.visits.contains_key(start) {
                self.search_from(*start, &starts, &mut search);
            }
        }
        search.cycles
    }

    fn search_from(&self, start: NodeId, among: &[NodeId], search: &mut Search) {
        search.enter(start, self.edges.refs(start).slot());
        while let Some((node, slot)) = search.path.pop() {
            let mut refs = Refs::resume(&self.edges, slot);
            let Some(owner) = refs.next() else {
                self.leave(node, search);
                continue;
            };
            search.path.push((node, refs.slot()));
            match search.visits.get(&owner) {
                Some(visit) if visit.open => {
                    let index = visit.index;
                    search.lower(node, index);
                }
                Some(_) => {}
                None if among.binary_search(&owner).is_ok() => {
                    search.enter(owner, self.edges.refs(owner).slot());
                }
                None => {}
            }
        }
    }

    fn leave(&self, node: NodeId, search: &mut Search) {
        let Some(Visit { index, low, .. }) = search.visits.get(&node) else {
            return;
        };
        let (index, low) = (*index, *low);
        if let Some((below, _)) = search.path.last().copied() {
            search.lower(below, low);
        }
        if low < index {
            return;
        }
        let mut members = Vec::new();
        while let Some(member) = search.open.pop() {
            if let Some(visit) = search.visits.get_mut(&member) {
                visit.open = false;
            }
            members.push(member);
            if member == node {
                break;
            }
        }
        let owns_itself = || self.owners(node).any(|owner| owner.node == node);
        if members.len() > 1 || owns_itself() {
            members.sort_unstable();
            search.cycles.push(members);
        }
    }
}

impl Search {
    fn enter(&mut self, node: NodeId, slot: u32) {
        let index = self.visits.len();
        let visit = Visit {
            index,
            low: index,
            open: true,
        };
        self.visits.insert(node, visit);
        self.open.push(node);
        self.path.push((node, slot));
    }

    fn lower(&mut self, node: NodeId, low: usize) {
        if let Some(visit) = self.visits.get_mut(&node) {
            visit.low = visit.low.min(low);
        }
    }
}
