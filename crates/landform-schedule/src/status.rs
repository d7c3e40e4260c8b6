//! What people see of an object (R13).

use std::collections::BTreeSet;
use std::sync::Arc;

use landform_graph::NodeId;

use crate::barrier::Barrier;
use crate::command::{Cause, Reason};
use crate::event::{ObjectKey, RunId};
use crate::object::Flight;
use crate::scheduler::Scheduler;
use crate::start::Hold;

/// The most objects that are named as what an object waits for.
const NAMED: usize = 8;

/// Where an object stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status<K> {
    /// What it is doing.
    pub standing: Standing<K>,
    /// The error of its last run, while nothing else is going to happen before the retry.
    pub last_error: Option<Arc<str>>,
    /// When it runs again by itself.
    pub next_run_at_ms: Option<u64>,
}

/// What an object is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing<K> {
    /// Nothing.
    Idle,
    /// It must run, or an object that it refers to must.
    Pending {
        /// Why it must run; none when it is only going to be triggered by its refs.
        reason: Option<Reason>,
        /// What it waits for; the first few.
        on: Vec<Wait<K>>,
    },
    /// It runs.
    Running {
        /// The run.
        run: RunId,
        /// Why it was started.
        reason: Reason,
    },
    /// Its run was told to return and hasn't yet.
    Cancelling {
        /// The run.
        run: RunId,
        /// By whom it was told.
        cause: Cause<K>,
    },
    /// As [`Standing::Cancelling`], and for so long that it was reported.
    Stuck {
        /// The run.
        run: RunId,
        /// By whom it was told.
        cause: Cause<K>,
    },
    /// It is in a cycle of references and doesn't run.
    Cyclic(Arc<str>),
}

/// Something that an object waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wait<K> {
    /// An object that it refers to, or further up, must have run.
    Ref(K),
    /// A cancelled run of an object that refers to it must have returned.
    Dependent(K),
    /// The run under its former name must have returned.
    FormerName(K),
    /// A delete that goes first must have run (R8).
    Delete(K),
    /// A rename that goes first must have run (R8).
    Rename(K),
}

impl<K: ObjectKey> Scheduler<K> {
    /// The cycle of references that an object is in.
    pub fn cycle(&self, key: &K) -> Option<Arc<str>> {
        let node = self.graph.find(key)?;
        self.graph.cycle_path(node).cloned()
    }

    /// What an object refers to, whether that exists or not.
    pub fn refs<'a>(&'a self, key: &K) -> impl Iterator<Item = &'a K> {
        let node = self.graph.find(key);
        let refs = node.into_iter().flat_map(|node| self.graph.refs(node));
        refs.filter_map(|node| self.graph.key(node))
    }

    /// Where an object stands; none when it doesn't exist.
    #[must_use]
    pub fn status(&self, key: &K) -> Option<Status<K>> {
        let node = self.graph.find(key)?;
        let object = self.object(node);
        if !object.exists() {
            return None;
        }
        let standing = self.standing(node);
        let trouble = self.troubles.get(&node);
        let trouble = trouble.filter(|_| standing == Standing::Idle);
        Some(Status {
            standing,
            last_error: trouble.map(|trouble| trouble.error.clone()),
            next_run_at_ms: self.timers.get(&node).map(|timer| timer.at_ms),
        })
    }

    fn standing(&self, node: NodeId) -> Standing<K> {
        if let Some(run) = self.runs.get(&node) {
            let (id, reason) = (run.id, run.reason);
            return match (&run.cancelled, self.object(node).flight) {
                (None, _) => Standing::Running { run: id, reason },
                (Some(cause), Flight::Stuck) => Standing::Stuck {
                    run: id,
                    cause: cause.clone(),
                },
                (Some(cause), _) => Standing::Cancelling {
                    run: id,
                    cause: cause.clone(),
                },
            };
        }
        if let Some(path) = self.graph.cycle_path(node) {
            return Standing::Cyclic(path.clone());
        }
        if !self.ripple.of(node).active {
            return Standing::Idle;
        }
        Standing::Pending {
            reason: self.object(node).due,
            on: self.waits(node),
        }
    }

    fn waits(&self, node: NodeId) -> Vec<Wait<K>> {
        let key = |node: NodeId| self.graph.key(node).cloned();
        match self.relatives_hold(node) {
            Some(Hold::Itself | Hold::Refs) => {
                let refs = self.graph.refs(node);
                let active = refs.filter(|to| self.ripple.of(self.graph.unit(*to)).active);
                let active = active.take(NAMED).filter_map(key);
                active.map(Wait::Ref).collect()
            }
            Some(Hold::Ancestor(blocker)) => key(blocker.node).map(Wait::Ref).into_iter().collect(),
            Some(Hold::Dependents) => {
                let former = self.former_names.get(&node).map(|former| &former.name);
                let waits_for = |run: K| match former == Some(&run) {
                    true => Wait::FormerName(run),
                    false => Wait::Dependent(run),
                };
                let flying = self.flying_below(node).into_iter();
                flying.filter_map(key).map(waits_for).collect()
            }
            None => self.preceded_by(node),
        }
    }

    /// Runs below an object that haven't returned, by their objects; the first few.
    fn flying_below(&self, node: NodeId) -> BTreeSet<NodeId> {
        let mut seen = BTreeSet::new();
        let mut flying = BTreeSet::new();
        let mut next: Vec<_> = self.graph.unit_dependents(node).collect();
        while let Some(unit) = next.pop() {
            if flying.len() >= NAMED {
                break;
            }
            if self.ripple.of(unit).busy && seen.insert(unit) {
                let members = self.graph.members(unit);
                let members = members.filter(|member| self.ripple.of(*member).flying);
                flying.extend(members.map(|member| self.ghosts.run_at(member)));
                next.extend(self.graph.unit_dependents(unit));
            }
        }
        flying
    }

    /// Deletes and renames that go before an object; the first few.
    fn preceded_by(&self, node: NodeId) -> Vec<Wait<K>> {
        let key = |node: &NodeId| self.graph.key(*node).cloned();
        let needs = self.needs(node);
        let barriers: Vec<_> = needs
            .iter()
            .filter_map(|scope| self.barriers.of(scope))
            .collect();
        let others = |set: fn(&Barrier) -> &BTreeSet<NodeId>| {
            let all: BTreeSet<_> = barriers.iter().flat_map(|barrier| set(barrier)).collect();
            let others = all.into_iter().filter(|other| **other != node);
            others.take(NAMED).filter_map(key).collect::<Vec<_>>()
        };
        let deletes = others(|barrier| &barrier.deletes).into_iter();
        let renames = others(|barrier| &barrier.renames).into_iter();
        let deletes = deletes.map(Wait::Delete);
        deletes.chain(renames.map(Wait::Rename)).collect()
    }
}
