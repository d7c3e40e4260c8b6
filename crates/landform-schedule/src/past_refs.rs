//! What a run has referred to protects it until it has returned, also when the reference is gone (R6, R9b).
//!
//! A program that was started with an object's refs works with them until it has returned. If a ref is taken away
//! meanwhile, or an object on the way to it goes or gets another name, the graph doesn't know of that run any more. So
//! when edges go, the runs at and below them keep the names of all that was above, until they have returned.

use std::collections::{BTreeMap, BTreeSet};

use landform_graph::NodeId;

use crate::command::Cause;
use crate::event::{ObjectKey, Role};
use crate::scheduler::Scheduler;

/// The runs that had referred to an object and do so no more, by its name: mostly none.
#[derive(Clone, Debug)]
pub(crate) struct PastRefs<K> {
    runs: BTreeMap<K, BTreeSet<NodeId>>,
    /// The same the other way round, so that a run that returns costs what it had referred to.
    names: BTreeMap<NodeId, BTreeSet<K>>,
}

impl<K> Default for PastRefs<K> {
    fn default() -> Self {
        Self {
            runs: BTreeMap::new(),
            names: BTreeMap::new(),
        }
    }
}

impl<K: ObjectKey> PastRefs<K> {
    /// The objects whose runs had referred to a name.
    pub(crate) fn to(&self, key: &K) -> impl Iterator<Item = NodeId> {
        self.runs.get(key).into_iter().flatten().copied()
    }

    /// Everything, by name: for tests that compare states.
    #[cfg(test)]
    pub(crate) fn all(&self) -> impl Iterator<Item = (&K, &BTreeSet<NodeId>)> {
        self.runs.iter()
    }

    fn add(&mut self, key: K, run: NodeId) {
        if self.runs.entry(key.clone()).or_default().insert(run) {
            self.names.entry(run).or_default().insert(key);
        }
    }

    /// Forgets a run; returns the names that it was the last to keep.
    fn forget(&mut self, run: NodeId) -> Vec<K> {
        let names = self.names.remove(&run).unwrap_or_default();
        let mut free = Vec::new();
        for key in names {
            if let Some(runs) = self.runs.get_mut(&key) {
                runs.remove(&run);
                if runs.is_empty() {
                    self.runs.remove(&key);
                    free.push(key);
                }
            }
        }
        free
    }
}

impl<K: ObjectKey> Scheduler<K> {
    /// Whether a run that had referred to an object has not returned.
    pub(crate) fn is_past_ref(&self, node: NodeId) -> bool {
        let key = self.graph.key(node);
        key.is_some_and(|key| self.past_refs.to(key).next().is_some())
    }

    /// An object is about to lose these refs: runs at and below it keep them, and all that is above them.
    pub(crate) fn keep_past_refs(&mut self, node: NodeId, lost: Vec<NodeId>) {
        if lost.is_empty() || self.runs.is_empty() {
            return;
        }
        let mut runs = self.runs_below(node);
        if self.runs.contains_key(&node) {
            runs.insert(node);
        }
        if runs.is_empty() {
            return;
        }
        let above = reached(lost, |node| self.graph.refs(node));
        for to in above {
            if let Some(key) = self.graph.key(to) {
                for run in runs.iter().filter(|run| **run != to) {
                    self.past_refs.add(key.clone(), *run);
                }
            }
        }
    }

    /// An object has another name: runs that refer to it, or had, have referred to the new one.
    pub(crate) fn keep_renamed(&mut self, from: &K, to: &K) {
        let mut runs: BTreeSet<_> = self.past_refs.to(from).collect();
        if let Some(node) = self.graph.find(from) {
            runs.extend(self.runs_below(node));
        }
        for run in runs {
            self.past_refs.add(to.clone(), run);
        }
    }

    /// A renamed object goes while the run under its former name goes on. It may come back under this name, when its
    /// kind was not reconciled for a moment.
    pub(crate) fn keep_former_run(&mut self, node: NodeId) {
        let former = self.waiting.former_of.remove(&node);
        if let (Some(run), Some(key)) = (former, self.graph.key(node).cloned()) {
            self.past_refs.add(key, run);
        }
    }

    /// A run has returned: what only it had referred to may run.
    pub(crate) fn forget_past_refs(&mut self, run: NodeId) {
        for key in self.past_refs.forget(run) {
            if let Some(node) = self.graph.find(&key) {
                self.candidate(node);
            }
        }
    }

    /// An object that must run cancels the runs that had referred to it, as those that refer to it now (R6).
    pub(crate) fn cancel_past_dependents(&mut self, node: NodeId) {
        let object = *self.object(node);
        let Some(key) = self.graph.key(node).cloned() else {
            return;
        };
        let must_run = object.due.is_some() && object.role == Role::Reconciled;
        if !must_run || self.graph.is_cyclic(node) {
            return;
        }
        let runs: Vec<_> = self.past_refs.to(&key).collect();
        for run in runs {
            let later = self.runs.get(&run);
            if later.is_some_and(|later| later.phase >= object.phase()) {
                self.cancel(run, Cause::Ancestor(key.clone()));
            }
        }
    }

    fn runs_below(&self, node: NodeId) -> BTreeSet<NodeId> {
        let below = reached(self.graph.dependents(node), |node| {
            self.graph.dependents(node)
        });
        let runs = below.into_iter();
        runs.filter(|node| self.runs.contains_key(node)).collect()
    }
}

/// Some nodes, and all that follows them.
fn reached<I: Iterator<Item = NodeId>>(
    first: impl IntoIterator<Item = NodeId>,
    next: impl Fn(NodeId) -> I,
) -> BTreeSet<NodeId> {
    let mut found = BTreeSet::new();
    let mut left: Vec<_> = first.into_iter().collect();
    while let Some(node) = left.pop() {
        if found.insert(node) {
            left.extend(next(node));
        }
    }
    found
}
