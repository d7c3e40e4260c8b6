//! The two counters of every unit, and the one worklist that keeps them true.
//!
//! *Active*: in flight, or due, or some ref is active. *Busy*: in flight, or active with some dependent
//! busy. A unit's flags say what its neighbours have counted:
//!
//! - J1 `active_parents` is the number of edges to units that are flagged active;
//! - J2 `busy_children` is the number of edges from units that are flagged busy, while the unit itself
//!   is flagged active, and zero otherwise;
//! - J3 at rest the flags are what their definitions say.
//!
//! Active depends on what is above, busy on what is below and on active, and units have no cycles: the
//! worklist ends, and in the same state whatever its order. A unit that is active has none but active
//! units below it. So "is an ancestor active" is `active_parents > 0`, and "is a descendant in flight" is
//! `busy_children > 0`, for active units. Whoever is idle pays nothing for what runs below it.

use landform_graph::{Key, NodeId, ReferenceGraph, Watcher};

/// What is counted of a node. The counters and flags of a cycle are those of the node that stands
/// for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) active_parents: u32,
    pub(crate) busy_children: u32,
    /// Members of the unit that are in flight.
    pub(crate) in_flight: u32,
    /// Whether this very node is due.
    pub(crate) due: bool,
    /// Whether this very node is in flight.
    pub(crate) flying: bool,
    pub(crate) active: bool,
    pub(crate) busy: bool,
}

/// The tallies of all nodes, with what changed since it was last asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ripple {
    tallies: Vec<Tally>,
    work: Vec<NodeId>,
    /// Units that wait for less than before.
    pub(crate) freed: Vec<NodeId>,
    /// Units in flight that have an active ref now.
    pub(crate) overtaken: Vec<NodeId>,
    /// Units that may have come below others together with all that runs below them.
    pub(crate) joined: Vec<NodeId>,
    /// Nodes whose unit changed.
    pub(crate) regrouped: Vec<NodeId>,
    /// Whether some path was cut.
    pub(crate) loosened: bool,
}

impl Ripple {
    pub(crate) fn grow(&mut self, bound: usize) {
        if self.tallies.len() < bound {
            self.tallies.resize(bound, Tally::default());
        }
    }

    /// The tally of a node; for counters and flags, of a node that stands for its unit.
    pub(crate) fn of(&self, node: NodeId) -> &Tally {
        &self.tallies[node.index()]
    }

    fn at(&mut self, node: NodeId) -> &mut Tally {
        &mut self.tallies[node.index()]
    }

    /// Forgets a node that was released.
    pub(crate) fn forget(&mut self, node: NodeId) {
        *self.at(node) = Tally::default();
    }

    pub(crate) fn set_due<K: Key>(&mut self, graph: &ReferenceGraph<K>, node: NodeId, due: bool) {
        self.at(node).due = due;
        self.work.push(graph.unit(node));
    }

    pub(crate) fn set_flying<K: Key>(
        &mut self,
        graph: &ReferenceGraph<K>,
        node: NodeId,
        flying: bool,
    ) {
        let unit = graph.unit(node);
        if self.of(node).flying != flying {
            self.at(node).flying = flying;
            let count = &mut self.at(unit).in_flight;
            *count = if flying { *count + 1 } else { *count - 1 };
        }
        self.work.push(unit);
    }

    /// Makes the flags true again, everywhere.
    pub(crate) fn run<K: Key>(&mut self, graph: &ReferenceGraph<K>) {
        while let Some(unit) = self.work.pop() {
            if !graph.contains(unit) || graph.unit(unit) != unit {
                continue;
            }
            let tally = *self.of(unit);
            let active = is_active(graph, unit, &tally);
            match (tally.active, active) {
                (false, true) => self.activate(graph, unit),
                (true, false) => self.deactivate(graph, unit),
                _ => {}
            }
            let tally = *self.of(unit);
            let busy = is_busy(&tally);
            if busy != tally.busy {
                self.at(unit).busy = busy;
                self.tell_refs(graph, unit, busy);
            }
        }
    }

    /// Whether the flags are what their definitions say, everywhere.
    pub(crate) fn is_true(&self) -> bool {
        self.work.is_empty() && self.regrouped.is_empty()
    }

    /// Whether nothing is left to be done or to be asked for.
    pub(crate) fn is_at_rest(&self) -> bool {
        let lists = [&self.freed, &self.overtaken, &self.joined];
        lists.iter().all(|list| list.is_empty()) && self.is_true() && !self.loosened
    }

    fn activate<K: Key>(&mut self, graph: &ReferenceGraph<K>, unit: NodeId) {
        let mut busy_children = 0;
        for child in graph.unit_dependents(unit) {
            let tally = self.at(child);
            tally.active_parents += 1;
            busy_children += u32::from(tally.busy);
            let (in_flight, active) = (tally.in_flight > 0, tally.active);
            if in_flight {
                self.overtaken.push(child);
            }
            if !active {
                self.work.push(child);
            }
        }
        let tally = self.at(unit);
        tally.active = true;
        tally.busy_children = busy_children;
    }

    fn deactivate<K: Key>(&mut self, graph: &ReferenceGraph<K>, unit: NodeId) {
        for child in graph.unit_dependents(unit) {
            self.lose_parent(child);
        }
        let tally = self.at(unit);
        tally.active = false;
        tally.busy_children = 0;
    }

    fn tell_refs<K: Key>(&mut self, graph: &ReferenceGraph<K>, unit: NodeId, busy: bool) {
        for parent in graph.unit_refs(unit) {
            if !self.of(parent).active {
                continue;
            }
            if busy {
                self.at(parent).busy_children += 1;
                self.work.push(parent);
            } else {
                self.lose_child(parent);
            }
        }
    }

    fn lose_parent(&mut self, unit: NodeId) {
        let tally = self.at(unit);
        tally.active_parents -= 1;
        if tally.active_parents == 0 {
            self.freed.push(unit);
            self.work.push(unit);
        }
    }

    fn lose_child(&mut self, unit: NodeId) {
        let tally = self.at(unit);
        tally.busy_children -= 1;
        if tally.busy_children == 0 {
            self.freed.push(unit);
            self.work.push(unit);
        }
    }

    /// What the tallies should be, from the graph alone, for a unit.
    pub(crate) fn verify<K: Key>(
        &self,
        graph: &ReferenceGraph<K>,
        unit: NodeId,
    ) -> Result<(), String> {
        let tally = self.of(unit);
        let parents = graph
            .unit_refs(unit)
            .filter(|to| self.of(*to).active)
            .count();
        let children = graph.unit_dependents(unit);
        let children = children.filter(|from| self.of(*from).busy).count();
        let flying = graph.members(unit).filter(|node| self.of(*node).flying);
        let children = if tally.active { children } else { 0 };
        let expected = Tally {
            active_parents: u32::try_from(parents).unwrap_or(u32::MAX),
            busy_children: u32::try_from(children).unwrap_or(u32::MAX),
            in_flight: u32::try_from(flying.count()).unwrap_or(u32::MAX),
            active: is_active(graph, unit, tally),
            busy: is_busy(tally),
            ..*tally
        };
        if expected == *tally {
            return Ok(());
        }
        let key = graph.key(unit);
        Err(format!("{key:?} has {tally:?} instead of {expected:?}"))
    }
}

fn is_active<K: Key>(graph: &ReferenceGraph<K>, unit: NodeId, tally: &Tally) -> bool {
    // A cycle never runs, so being due doesn't make it active; what is active above it still holds
    // back what is below it (R4).
    tally.in_flight > 0 || tally.active_parents > 0 || (tally.due && !graph.is_cyclic(unit))
}

fn is_busy(tally: &Tally) -> bool {
    tally.in_flight > 0 || (tally.active && tally.busy_children > 0)
}

impl<K: Key> Watcher<K> for Ripple {
    fn linked(&mut self, graph: &ReferenceGraph<K>, from: NodeId, to: NodeId) {
        let (child, parent) = (graph.unit(from), graph.unit(to));
        let (above, below) = (*self.of(parent), *self.of(child));
        if !above.active {
            return;
        }
        self.at(child).active_parents += 1;
        self.work.push(child);
        // Whether anything runs below it is known when the worklist is done.
        self.joined.push(child);
        if below.in_flight > 0 {
            self.overtaken.push(child);
        }
        if below.busy {
            self.at(parent).busy_children += 1;
            self.work.push(parent);
        }
    }

    fn unlinked(&mut self, graph: &ReferenceGraph<K>, from: NodeId, to: NodeId) {
        let (child, parent) = (graph.unit(from), graph.unit(to));
        self.loosened = true;
        if !self.of(parent).active {
            return;
        }
        self.lose_parent(child);
        if self.of(child).busy {
            self.lose_child(parent);
        }
    }

    /// Takes back all that the old units have told their neighbours.
    fn regrouping(&mut self, graph: &ReferenceGraph<K>, nodes: &[NodeId]) {
        for unit in nodes.iter().filter(|node| graph.unit(**node) == **node) {
            let tally = *self.of(*unit);
            if tally.active {
                for child in graph.unit_dependents(*unit) {
                    self.lose_parent(child);
                }
            }
            if tally.busy {
                self.tell_refs(graph, *unit, false);
            }
            let tally = self.at(*unit);
            tally.active = false;
            tally.busy = false;
        }
    }

    /// Counts for the new units; what they are to their neighbours follows from the worklist.
    fn regrouped(&mut self, graph: &ReferenceGraph<K>, nodes: &[NodeId]) {
        self.loosened = true;
        self.regrouped.extend(nodes);
        for node in nodes {
            let Tally { due, flying, .. } = *self.of(*node);
            *self.at(*node) = Tally {
                due,
                flying,
                ..Tally::default()
            };
        }
        for unit in nodes.iter().filter(|node| graph.unit(**node) == **node) {
            let flying = graph.members(*unit).filter(|node| self.of(*node).flying);
            let in_flight = u32::try_from(flying.count()).unwrap_or(u32::MAX);
            let parents = graph.unit_refs(*unit).filter(|to| self.of(*to).active);
            let active_parents = u32::try_from(parents.count()).unwrap_or(u32::MAX);
            let tally = self.at(*unit);
            tally.in_flight = in_flight;
            tally.active_parents = active_parents;
            self.work.push(*unit);
            self.freed.push(*unit);
            self.joined.push(*unit);
            if in_flight > 0 && active_parents > 0 {
                self.overtaken.push(*unit);
            }
        }
    }
}
