//! What a run has referred to protects it until it has returned, also when the reference is gone (R6, R9b).
//!
//! A program that was started with an object's refs works with them until it has returned. If a ref is taken away
//! meanwhile, or an object on the way to it goes or gets another name, no path of the graph leads from that run to what
//! it works with. So the run gets a *ghost*: an anonymous node that refers to what was lost, and is in flight as long
//! as the run is. Nothing refers to a ghost, so it closes no cycle and holds back nothing below it. All else follows
//! from the counters: what is above a ghost waits for it, and what becomes active there cancels its run.
//!
//! A loss costs the refs that are lost and the descendants of their object, which must run because of it (R16). What
//! is above the lost refs is never walked: if it loses refs later, it finds the ghost among its descendants.

use std::collections::{BTreeMap, BTreeSet};

use landform_graph::NodeId;

use crate::command::Phase;
use crate::event::ObjectKey;
use crate::scheduler::Scheduler;

/// The ghosts of the runs that have one: mostly none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ghosts {
    of_runs: BTreeMap<NodeId, Ghost>,
    /// The runs that ghosts stand for, by the nodes of the ghosts.
    runs: BTreeMap<NodeId, NodeId>,
}

#[derive(Clone, Debug)]
struct Ghost {
    node: NodeId,
    refs: BTreeSet<NodeId>,
}

impl Ghosts {
    /// The object whose run is in flight at a node: that of the node, or the one that its ghost stands for.
    pub(crate) fn run_at(&self, node: NodeId) -> NodeId {
        self.runs.get(&node).copied().unwrap_or(node)
    }

    pub(crate) fn contains(&self, node: NodeId) -> bool {
        self.runs.contains_key(&node)
    }
}

impl<K: ObjectKey> Scheduler<K> {
    /// An object is about to lose these refs: runs at and below it have referred to them.
    pub(crate) fn keep_past_refs(&mut self, node: NodeId, lost: &[NodeId]) {
        if !lost.is_empty() {
            for run in self.runs_from(node) {
                self.haunt(run, lost);
            }
        }
    }

    /// An object has another name: runs at and below the former one have referred to the new one.
    pub(crate) fn keep_renamed(&mut self, from: &K, to: &K) {
        let Some(from) = self.graph.find(from).filter(|_| from != to) else {
            return;
        };
        let runs = self.runs_from(from);
        if !runs.is_empty() {
            let to = self.graph.intern(to);
            self.grow();
            for run in runs {
                self.haunt(run, &[to]);
            }
        }
    }

    /// Runs at and below an object, by their objects. Of what is active the counters know whether a run is at or below
    /// it; of what is idle all descendants are asked, and these must run when it changes.
    fn runs_from(&mut self, node: NodeId) -> BTreeSet<NodeId> {
        let mut runs = BTreeSet::new();
        if self.runs.is_empty() {
            return runs;
        }
        self.ripple.run(&self.graph);
        let mut seen = BTreeSet::new();
        let mut next = vec![self.graph.unit(node)];
        while let Some(unit) = next.pop() {
            let tally = self.ripple.of(unit);
            if (tally.busy || !tally.active) && seen.insert(unit) {
                let members = self.graph.members(unit);
                let flying = members.filter(|member| self.ripple.of(*member).flying);
                runs.extend(flying.map(|member| self.ghosts.run_at(member)));
                next.extend(self.graph.unit_dependents(unit));
            }
        }
        runs
    }

    /// Gives refs to a run's ghost.
    fn haunt(&mut self, run: NodeId, refs: &[NodeId]) {
        if !self.ghosts.of_runs.contains_key(&run) {
            let node = self.graph.add_anonymous();
            self.grow();
            self.ripple.set_flying(&self.graph, node, true);
            self.ghosts.runs.insert(node, run);
            let refs = BTreeSet::new();
            self.ghosts.of_runs.insert(run, Ghost { node, refs });
        }
        if let Some(ghost) = self.ghosts.of_runs.get_mut(&run) {
            for to in refs {
                if ghost.refs.insert(*to) {
                    self.graph.link(ghost.node, *to, &mut self.ripple);
                }
            }
        }
    }

    /// A run has returned: its ghost goes. Returns what the ghost has referred to, which may be released after `flow`.
    pub(crate) fn dispel(&mut self, run: NodeId) -> BTreeSet<NodeId> {
        let Some(Ghost { node, refs }) = self.ghosts.of_runs.remove(&run) else {
            return BTreeSet::new();
        };
        self.ghosts.runs.remove(&node);
        self.graph.set_refs(node, &[], &mut self.ripple);
        self.graph.release(node);
        self.ripple.forget(node);
        refs
    }

    /// What is wrong with a node that is a ghost.
    pub(crate) fn verify_ghost(&self, node: NodeId) -> Result<(), String> {
        let run = self.ghosts.run_at(node);
        let ghost = self.ghosts.of_runs.get(&run);
        let is_its_own = ghost.is_some_and(|ghost| {
            ghost.node == node && self.graph.refs(node).collect::<BTreeSet<_>>() == ghost.refs
        });
        let is_needed = self.runs.contains_key(&run) && self.ripple.of(node).flying;
        let is_last = self.graph.dependents(node).next().is_none();
        let overtaken = self.runs.get(&run).is_some_and(|run| {
            let active_parents = self.ripple.of(node).active_parents;
            run.cancelled.is_none() && run.phase == Phase::Ordinary && active_parents > 0
        });
        if is_its_own && is_needed && is_last && !overtaken {
            return Ok(());
        }
        Err(format!(
            "{ghost:?} is no ghost of {:?}",
            self.graph.key(run)
        ))
    }
}
