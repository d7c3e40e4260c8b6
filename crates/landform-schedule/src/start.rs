//! The end of a step: whatever nothing holds back any more starts.

use landform_graph::NodeId;

use crate::command::{Command, Phase, Reason};
use crate::event::{ObjectKey, Role, RunId};
use crate::flow::Blocker;
use crate::object::{Flight, Run, Writes};
use crate::scheduler::Scheduler;

/// What an object that must run waits for, apart from deletes and renames that go first.
pub(crate) enum Hold {
    /// It must not run at all: not due, in flight, in a cycle.
    Itself,
    /// A ref is active.
    Refs,
    /// A run that refers to it, or has, or was started under its former name, hasn't returned.
    Dependents,
    /// A delete or rename waits for this ancestor.
    Ancestor(Blocker),
}

impl<K: ObjectKey> Scheduler<K> {
    pub(crate) fn settle(&mut self) {
        loop {
            let next = self.early.pop_front().or_else(|| self.ordinary.pop_front());
            let Some(node) = next else {
                if self.end_patience() {
                    continue;
                }
                break;
            };
            self.object_mut(node).candidate = false;
            if self.graph.key(node).is_none() {
                continue;
            }
            if self.may_start(node) {
                self.start(node);
            }
        }
    }

    /// Whether nothing holds an object back; if something does, it is told of the end of that.
    fn may_start(&mut self, node: NodeId) -> bool {
        if let Some(hold) = self.relatives_hold(node) {
            if let Hold::Ancestor(blocker) = hold {
                let waiting = &mut self.waiting;
                let list = waiting.for_ancestor.entry(blocker.node).or_default();
                list.insert(node);
                if !blocker.near {
                    waiting.far.insert(node);
                }
            }
            return false;
        }
        let object = self.object(node);
        let (phase, role) = (object.phase(), object.role);
        if role == Role::Passive || self.barriers.is_empty() {
            return true;
        }
        let needs = self.needs(node);
        self.barriers.admit(&needs, node, phase)
    }

    /// What holds an object back, apart from deletes and renames that go first (R3, R4, R6, R7).
    pub(crate) fn relatives_hold(&self, node: NodeId) -> Option<Hold> {
        let object = self.object(node);
        let tally = self.ripple.of(node);
        if object.due.is_none() || object.flight != Flight::None || self.graph.is_cyclic(node) {
            return Some(Hold::Itself);
        }
        if object.role == Role::Passive {
            // Nothing runs, so nothing below can be disturbed.
            return (tally.active_parents > 0).then_some(Hold::Refs);
        }
        if tally.busy_children > 0 {
            return Some(Hold::Dependents);
        }
        if tally.active_parents > 0 {
            let phase = object.phase();
            if phase == Phase::Ordinary {
                return Some(Hold::Refs);
            }
            if let Some(blocker) = self.blocker(node, phase) {
                return Some(Hold::Ancestor(blocker));
            }
        }
        None
    }

    fn start(&mut self, node: NodeId) {
        let object = *self.object(node);
        let reason = self.clear_due(node).unwrap_or(Reason::Asked);
        if object.role == Role::Passive {
            self.recount(node);
            self.release_waiting(node);
            self.trigger_dependents(node);
            return self.flow(node);
        }
        let id = RunId(self.next_run);
        self.next_run += 1;
        let phase = object.phase();
        let run = Run {
            id,
            reason,
            phase,
            cancelled: None,
            aside: self.troubles.contains_key(&node),
            writes: Writes::default(),
        };
        self.runs.insert(node, run);
        self.objects_of_runs.insert(id, node);
        self.object_mut(node).flight = Flight::Running;
        self.ripple.set_flying(&self.graph, node, true);
        self.recount(node);
        let former = self.former_names.get_mut(&node);
        let former_name = former.map(|former| {
            former.tried = true;
            former.name.clone()
        });
        self.push(node, |key| Command::Start {
            run: id,
            key,
            reason,
            phase,
            former_name,
        });
        self.flow(node);
    }

    /// Whoever refers to an object runs after it has run, appeared, changed or gone (R2, R11). An object
    /// that nobody reconciles passes that on only when it changed itself.
    pub(crate) fn trigger_dependents(&mut self, node: NodeId) {
        let dependents: Vec<_> = self.graph.dependents(node).collect();
        for dependent in dependents {
            let passive = self.object(dependent).role == Role::Passive;
            if dependent != node && !passive {
                self.set_due(dependent, Reason::Ref);
            }
        }
    }
}
