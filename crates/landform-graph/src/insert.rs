//! Adding an edge: the order of Pearce and Kelly, over units.
//!
//! An edge whose target stands before its source is added as it is. Otherwise only the stretch of the
//! order between the two can be wrong: what depends on the source in there (`behind`) and what the
//! target refers to in there (`before`) share their places anew. Units that are in both are on a
//! cycle, which this edge closes: they become one. A source without dependents closes none: it goes to the end.
//!
//! D. J. Pearce, P. H. J. Kelly: A dynamic topological sort algorithm for directed acyclic graphs (2006).

use crate::graph::{ReferenceGraph, Watcher};
use crate::{Key, NodeId};

/// Marks of units that a search has met.
const BEHIND: u32 = 1;
const BEFORE: u32 = 2;

impl<K: Key> ReferenceGraph<K> {
    /// Adds a ref that a node doesn't have yet.
    pub fn link(&mut self, from: NodeId, to: NodeId, watcher: &mut impl Watcher<K>) {
        let (source, target) = (self.unit(from), self.unit(to));
        if source == target {
            if self.is_cyclic(from) {
                self.edges.add(from, to);
            } else {
                self.close(from, to, vec![from], watcher);
            }
            return;
        }
        let agrees = self.label(target) < self.label(source);
        if !agrees && self.unit_dependents(source).next().is_none() {
            self.move_last(source);
        } else if !agrees {
            let (low, high) = (self.label(source), self.label(target));
            let behind = self.search(source, BEHIND, low, high);
            let before = self.search(target, BEFORE, low, high);
            let on_cycle: Vec<_> = behind
                .iter()
                .copied()
                .filter(|unit| self.marks[unit.index()] == BEHIND | BEFORE)
                .collect();
            if on_cycle.is_empty() {
                self.share_places(&before, &[], &behind);
            } else {
                let members = on_cycle.iter().flat_map(|unit| self.members(*unit));
                let members: Vec<_> = members.collect();
                let only = |graph: &Self, units: &[NodeId], mark| -> Vec<NodeId> {
                    let units = units.iter().copied();
                    units
                        .filter(|unit| graph.marks[unit.index()] == mark)
                        .collect()
                };
                let (first, last) = (only(self, &before, BEFORE), only(self, &behind, BEHIND));
                self.clear_marks(&before, &behind);
                watcher.regrouping(self, &members);
                self.share_places(&first, &on_cycle, &last);
                self.edges.add(from, to);
                self.form_cycle(members.clone());
                watcher.regrouped(self, &members);
                return;
            }
            self.clear_marks(&before, &behind);
        }
        self.edges.add(from, to);
        watcher.linked(self, from, to);
    }

    /// Nothing stands behind a unit that has no dependents: it goes to the end, and what it refers to stays.
    fn move_last(&mut self, unit: NodeId) {
        let former = self.standings[unit.index()].place;
        let place = self.order.add_last();
        self.move_unit(unit, place);
        self.order.remove(former);
    }

    /// A node that refers to itself.
    fn close(
        &mut self,
        from: NodeId,
        to: NodeId,
        members: Vec<NodeId>,
        watcher: &mut impl Watcher<K>,
    ) {
        watcher.regrouping(self, &members);
        self.edges.add(from, to);
        self.form_cycle(members.clone());
        watcher.regrouped(self, &members);
    }

    /// The units that are reached from one within a stretch of the order, sorted by place.
    fn search(&mut self, start: NodeId, mark: u32, low: u64, high: u64) -> Vec<NodeId> {
        let mut found = vec![start];
        self.marks[start.index()] |= mark;
        let mut next = Vec::new();
        let mut at = 0;
        while let Some(unit) = found.get(at).copied() {
            at += 1;
            if mark == BEHIND {
                next.extend(self.unit_dependents(unit));
            } else {
                next.extend(self.unit_refs(unit));
            }
            for unit in next.drain(..) {
                let inside = (low..=high).contains(&self.label(unit));
                if inside && self.marks[unit.index()] & mark == 0 {
                    self.marks[unit.index()] |= mark;
                    found.push(unit);
                }
            }
        }
        found.sort_unstable_by_key(|unit| self.label(*unit));
        found
    }

    fn clear_marks(&mut self, before: &[NodeId], behind: &[NodeId]) {
        for unit in before.iter().chain(behind) {
            self.marks[unit.index()] = 0;
        }
    }

    /// Gives the places of all these units to them anew: the first from below, the last from above,
    /// and one in between to the units that become one; its other places go.
    fn share_places(&mut self, first: &[NodeId], merged: &[NodeId], last: &[NodeId]) {
        let all = first.iter().chain(merged).chain(last);
        let mut places: Vec<_> = all.map(|unit| self.standings[unit.index()].place).collect();
        places.sort_unstable_by_key(|place| self.order.label(*place));
        let (low, rest) = places.split_at(first.len());
        let (middle, high) = rest.split_at(merged.len());
        let (first_middle, surplus) = middle
            .split_first()
            .map_or((None, middle), |(place, surplus)| (Some(*place), surplus));
        for (unit, place) in first.iter().zip(low).chain(last.iter().zip(high)) {
            self.move_unit(*unit, *place);
        }
        for unit in merged {
            if let Some(place) = first_middle {
                self.move_unit(*unit, place);
            }
        }
        for place in surplus {
            self.order.remove(*place);
        }
    }

    fn move_unit(&mut self, unit: NodeId, place: u32) {
        // Two disjoint borrows: the members of a cycle are listed beside the standings.
        let cycle = self.standings[unit.index()].cycle;
        match self.cycles.get(&cycle) {
            Some(cycle) => {
                for member in &cycle.members {
                    self.standings[member.index()].place = place;
                }
            }
            None => self.standings[unit.index()].place = place,
        }
    }
}
