//! Runs write, return, and fail to return (R5, R9, R12).

use std::sync::Arc;

use landform_graph::NodeId;

use crate::backoff;
use crate::command::{Cause, Phase, Reason, Report, Touch};
use crate::event::{Answer, ObjectKey, Outcome, Retry, RunId, Version};
use crate::object::{Flight, Presence, Run, Trouble};
use crate::scheduler::Scheduler;

impl<K: ObjectKey> Scheduler<K> {
    pub(crate) fn write_began(&mut self, run: RunId) {
        let node = self.objects_of_runs.get(&run);
        if let Some(run) = node.and_then(|node| self.runs.get_mut(node)) {
            run.writes.under_way += 1;
        }
    }

    pub(crate) fn write_ended(&mut self, run: RunId, answer: Answer) {
        let Some(node) = self.objects_of_runs.get(&run).copied() else {
            return;
        };
        if let Answer::Version(version) = answer {
            self.wrote(node, version);
        }
        let Some(run) = self.runs.get_mut(&node) else {
            return;
        };
        let writes = &mut run.writes;
        writes.under_way = writes.under_way.saturating_sub(1);
        if answer == Answer::Deleted {
            writes.removed = true;
            writes.held_gone = false;
        }
        if writes.under_way == 0 {
            self.decide_held(node);
        }
        self.flow(node);
    }

    /// A version is this run's own: it was seen already and held, or the watch will show it.
    fn wrote(&mut self, node: NodeId, version: Version) {
        let Some(run) = self.runs.get_mut(&node) else {
            return;
        };
        let held = &mut run.writes.held;
        if let Some(at) = held.iter().position(|(seen, _)| *seen == version) {
            let (_, reason) = held.remove(at);
            self.changed_by_itself(node, reason);
        } else if self.object(node).exists() && self.object(node).version < version {
            self.own_versions.entry(node).or_default().push(version);
        }
    }

    /// No write is under way any more: what is still held was done by others.
    fn decide_held(&mut self, node: NodeId) {
        let Some(run) = self.runs.get_mut(&node) else {
            return;
        };
        let held = std::mem::take(&mut run.writes.held);
        let gone = std::mem::take(&mut run.writes.held_gone);
        for (_, reason) in held {
            self.changed_by_others(node, reason);
        }
        if gone {
            self.stop(node, Cause::Object(Touch::Gone));
        }
    }

    pub(crate) fn finished(&mut self, run: RunId, outcome: Outcome, now_ms: u64) {
        let Some(node) = self.objects_of_runs.remove(&run) else {
            return;
        };
        // A write that was never answered can't vouch for what was seen.
        self.decide_held(node);
        let Some(run) = self.runs.remove(&node) else {
            return;
        };
        self.object_mut(node).flight = Flight::None;
        self.ripple.set_flying(&self.graph, node, false);
        let complete = run.cancelled.is_none() && outcome != Outcome::Cancelled;
        if complete && run.writes.removed && self.object(node).exists() {
            // It has removed its object; the watch will say so, and then the dependents run, once,
            // and see that the ref is missing (T7).
        } else if complete {
            self.complete(node, &run, outcome, now_ms);
            self.trigger_dependents(node);
        } else if run.cancelled.is_none() {
            self.set_due(node, run.reason.min(Reason::GaveUp));
        }
        let past_refs = self.dispel(node);
        self.recount(node);
        self.candidate(node);
        self.release_waiting(node);
        self.flow(node);
        for to in past_refs {
            self.release(to);
        }
        self.release(node);
    }

    fn complete(&mut self, node: NodeId, run: &Run<K>, outcome: Outcome, now_ms: u64) {
        if !self.object(node).exists() {
            return;
        }
        match outcome {
            Outcome::Succeeded { retrigger_at_ms } => {
                self.troubles.remove(&node);
                if run.phase == Phase::Rename {
                    self.former_names.remove(&node);
                }
                let object = self.object_mut(node);
                if run.phase == Phase::Rename && object.presence == Presence::Renamed {
                    object.presence = Presence::Live;
                }
                if let Some(at_ms) = retrigger_at_ms {
                    self.run_at(node, at_ms, now_ms, Reason::Retrigger);
                }
            }
            Outcome::Failed {
                error,
                retry,
                retrigger_at_ms,
            } => {
                let failures = self.note_failure(node, error);
                let pause_ms = backoff::pause_ms(self.seed, run.id.0, failures);
                let retry_at_ms = match retry {
                    Retry::Backoff => Some(now_ms.saturating_add(pause_ms)),
                    Retry::AtMs(at_ms) => Some(at_ms),
                    Retry::OnChange => None,
                };
                let retry = retry_at_ms.map(|at_ms| (at_ms, Reason::Retry));
                let retrigger = retrigger_at_ms.map(|at_ms| (at_ms, Reason::Retrigger));
                if let Some((at_ms, reason)) = retry.into_iter().chain(retrigger).min() {
                    self.run_at(node, at_ms, now_ms, reason);
                }
            }
            Outcome::Cancelled => {}
        }
    }

    fn note_failure(&mut self, node: NodeId, error: Arc<str>) -> u32 {
        let failures = self.troubles.get(&node).map_or(0, |known| known.failures);
        let failures = failures.saturating_add(1);
        self.troubles.insert(node, Trouble { error, failures });
        failures
    }

    /// Runs an object again at a time; at once, before its dependents, if that is past (T12).
    fn run_at(&mut self, node: NodeId, at_ms: u64, now_ms: u64, reason: Reason) {
        if at_ms <= now_ms {
            self.set_due(node, reason);
        } else if self.object(node).due.is_none() {
            self.set_timer(node, at_ms, reason);
        }
    }

    pub(crate) fn late(&mut self, run: RunId) {
        let Some(node) = self.objects_of_runs.get(&run).copied() else {
            return;
        };
        if let Some(run) = self.runs.get_mut(&node) {
            run.aside = true;
        }
        self.recount(node);
    }

    pub(crate) fn overdue(&mut self, run: RunId) {
        let Some(node) = self.objects_of_runs.get(&run).copied() else {
            return;
        };
        if self.object(node).flight == Flight::Cancelled {
            self.object_mut(node).flight = Flight::Stuck;
            self.report(node, Report::Stuck(run));
            self.recount(node);
        }
    }
}
