//! After a change: counters made true, and stale runs cancelled (R6, R7).

use std::collections::{BTreeSet, VecDeque};

use landform_graph::NodeId;

use crate::command::{Cause, Phase, Reason, Report};
use crate::event::ObjectKey;
use crate::scheduler::Scheduler;

/// An ancestor that a delete or a rename must wait for.
#[derive(Clone, Copy)]
pub(crate) struct Blocker {
    pub(crate) node: NodeId,
    /// Whether it is a direct ref.
    pub(crate) near: bool,
}

impl<K: ObjectKey> Scheduler<K> {
    /// Lets a change of one object take its course.
    pub(crate) fn flow(&mut self, by: NodeId) {
        loop {
            // Who is stale is asked when the counters are true.
            while !self.ripple.is_true() {
                self.ripple.run(&self.graph);
                self.sync_cycles();
            }
            for unit in std::mem::take(&mut self.ripple.overtaken) {
                self.overtake(unit, by);
            }
            for unit in std::mem::take(&mut self.ripple.joined) {
                for below in self.busy_from(vec![unit]) {
                    self.overtake(below, by);
                }
            }
            for node in std::mem::take(&mut self.early_due) {
                self.cancel_below(node);
            }
            for unit in std::mem::take(&mut self.ripple.freed) {
                self.candidate(unit);
            }
            if std::mem::take(&mut self.ripple.loosened) {
                for node in std::mem::take(&mut self.waiting.far) {
                    self.candidate(node);
                }
            }
            if self.ripple.is_at_rest() && self.early_due.is_empty() {
                return;
            }
        }
    }

    /// Members of new cycles stop and say so; former members run.
    fn sync_cycles(&mut self) {
        // Cutting a marked member changes units again: first all of them, then whoever is left.
        let mut nodes = BTreeSet::new();
        while !self.ripple.regrouped.is_empty() {
            let regrouped = std::mem::take(&mut self.ripple.regrouped);
            let marked = regrouped.iter().filter(|node| self.must_be_cut(**node));
            for node in marked.copied().collect::<BTreeSet<_>>() {
                self.cut_refs(node);
            }
            nodes.extend(regrouped);
        }
        for node in nodes {
            let exists = self.object(node).exists();
            let was_cyclic = std::mem::take(&mut self.object_mut(node).cyclic);
            if let Some(path) = self.graph.cycle_path(node).cloned() {
                self.object_mut(node).cyclic = true;
                self.report(node, Report::Cyclic(path));
                self.cancel(node, Cause::Cycle);
            } else if was_cyclic && exists {
                self.report(node, Report::CycleBroken);
                self.set_due(node, Reason::CycleBroken);
            }
            self.recount(node);
            self.candidate(node);
            self.release_waiting(node);
        }
    }

    /// Cancels the runs of a unit that must not go on below what is active above it.
    fn overtake(&mut self, unit: NodeId, by: NodeId) {
        if !self.graph.contains(unit) || self.ripple.of(unit).active_parents == 0 {
            return;
        }
        let members: Vec<_> = self.graph.members(unit).collect();
        for member in members {
            let node = self.ghosts.run_at(member);
            let run = self.runs.get(&node).filter(|run| run.cancelled.is_none());
            let ancestor = match run.map(|run| run.phase) {
                None => continue,
                Some(Phase::Ordinary) if by == node => self.active_ref(unit),
                Some(Phase::Ordinary) => Some(by),
                Some(phase) => self.blocker(member, phase).map(|blocker| blocker.node),
            };
            let ancestor = ancestor.and_then(|ancestor| self.graph.key(ancestor).cloned());
            if let Some(ancestor) = ancestor {
                self.cancel(node, Cause::Ancestor(ancestor));
            }
        }
    }

    fn active_ref(&self, unit: NodeId) -> Option<NodeId> {
        let mut refs = self.graph.unit_refs(unit);
        refs.find(|to| self.ripple.of(*to).active)
    }

    /// A delete or a rename that became due cancels what runs below it in its own or a later phase.
    /// Ordinary runs there are cancelled already, when they became overtaken.
    fn cancel_below(&mut self, node: NodeId) {
        let object = self.object(node);
        let (phase, due) = (object.phase(), object.due.is_some());
        let busy = self.ripple.of(self.graph.unit(node)).busy_children > 0;
        let Some(key) = self.graph.key(node).cloned() else {
            return;
        };
        if !due || !busy || self.graph.is_cyclic(node) {
            return;
        }
        let children = self.graph.unit_dependents(node).collect();
        for unit in self.busy_from(children) {
            let members: Vec<_> = self.graph.members(unit).collect();
            for member in members {
                let node = self.ghosts.run_at(member);
                if self.runs.get(&node).is_some_and(|run| run.phase >= phase) {
                    self.cancel(node, Cause::Ancestor(key.clone()));
                }
            }
        }
    }

    /// The busy ones among some units, and all busy units below them.
    fn busy_from(&self, units: Vec<NodeId>) -> BTreeSet<NodeId> {
        let mut found = BTreeSet::new();
        let mut next = units;
        while let Some(unit) = next.pop() {
            let known = self.graph.contains(unit) && self.graph.unit(unit) == unit;
            if known && self.ripple.of(unit).busy && found.insert(unit) {
                next.extend(self.graph.unit_dependents(unit));
            }
        }
        found
    }

    /// The nearest ancestor that is in flight, or due in this phase or an earlier one.
    ///
    /// An ancestor that matters is active, and so is everything between it and the node: the search
    /// leaves out whatever is idle.
    pub(crate) fn blocker(&self, node: NodeId, phase: Phase) -> Option<Blocker> {
        let mut seen = BTreeSet::new();
        let mut next: VecDeque<_> = self.graph.unit_refs(node).map(|to| (to, true)).collect();
        while let Some((unit, near)) = next.pop_front() {
            if !self.ripple.of(unit).active || !seen.insert(unit) {
                continue;
            }
            let blocks = |member: &NodeId| {
                let object = self.object(*member);
                let due = object.due.is_some() && !self.graph.is_cyclic(*member);
                self.ripple.of(*member).flying || (due && object.phase() <= phase)
            };
            if let Some(node) = self.graph.members(unit).find(blocks) {
                return Some(Blocker { node, near });
            }
            next.extend(self.graph.unit_refs(unit).map(|to| (to, false)));
        }
        None
    }

    /// Deletes and renames that waited for this object look again.
    pub(crate) fn release_waiting(&mut self, node: NodeId) {
        for waiting in self.waiting.for_ancestor.remove(&node).unwrap_or_default() {
            self.waiting.far.remove(&waiting);
            self.candidate(waiting);
        }
    }
}
