//! A time that an object asked for starves nobody (R12b).
//!
//! An object that must run cancels what runs below it (R6). If it is only a time that brings it, and comes again and
//! again, those below would never get to their end. So such an object first lets those below finish that are at
//! work or must run; but not for ever, if they are always at work.

use std::collections::BTreeSet;

use landform_graph::NodeId;

use crate::command::{Command, Reason};
use crate::event::ObjectKey;
use crate::object::{Flight, Timer};
use crate::scheduler::Scheduler;

/// An object whose time has come waits this long for those below it at most.
const LONGEST_MS: u64 = 60_000;

impl<K: ObjectKey> Scheduler<K> {
    pub(crate) fn set_timer(&mut self, node: NodeId, at_ms: u64, reason: Reason) {
        let timer = Timer {
            at_ms,
            reason,
            waited: false,
        };
        self.timers.insert(node, timer);
        self.push(node, |key| Command::SetTimer { key, at_ms });
    }

    /// Whether an object whose time has come must wait for those below it; then it is noted.
    pub(crate) fn waits_for_those_below(&mut self, node: NodeId, timer: Timer) -> bool {
        if timer.reason != Reason::Retrigger || timer.waited {
            return false;
        }
        let Some(below) = self.at_work_below(node) else {
            return false;
        };
        self.set_timer(node, timer.at_ms.saturating_add(LONGEST_MS), timer.reason);
        if let Some(timer) = self.timers.get_mut(&node) {
            timer.waited = true;
        }
        self.patient.insert(node, below);
        true
    }

    /// Objects that have waited for those below them run when these are done; says whether there are any.
    pub(crate) fn end_patience(&mut self) -> bool {
        let cut = std::mem::take(&mut self.cut_edges);
        let looks = |below: NodeId| cut || !self.is_at_work(below);
        let nodes = self.patient.iter().filter(|(_, below)| looks(**below));
        let nodes: Vec<_> = nodes.map(|(node, _)| *node).collect();
        let mut ended = false;
        for node in nodes {
            if let Some(below) = self.at_work_below(node) {
                self.patient.insert(node, below);
            } else {
                self.set_due(node, Reason::Retrigger);
                self.flow(node);
                ended = true;
            }
        }
        ended
    }

    /// Some object below this one that runs or must run.
    fn at_work_below(&self, node: NodeId) -> Option<NodeId> {
        let mut seen = BTreeSet::from([node]);
        let mut next: Vec<_> = self.graph.dependents(node).collect();
        while let Some(below) = next.pop() {
            if seen.insert(below) {
                if self.is_at_work(below) {
                    return Some(below);
                }
                next.extend(self.graph.dependents(below));
            }
        }
        None
    }

    fn is_at_work(&self, node: NodeId) -> bool {
        if self.graph.key(node).is_none() {
            return false;
        }
        let object = self.object(node);
        let must = object.due.is_some() && !self.graph.is_cyclic(node);
        must || object.flight != Flight::None
    }
}
