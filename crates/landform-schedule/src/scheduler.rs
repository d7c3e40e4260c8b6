//! The machine: what it keeps, and how one step goes.
//!
//! Events first change what is known and cancel what is stale. When all events of a step are in, `flow`
//! has made the counters true, and `settle` starts whatever nothing holds back any more. Starting at the
//! end of a step makes "all in one step" mean what people expect (T1, T9).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use landform_graph::{NodeId, ReferenceGraph};

use crate::barrier::{Barriers, Scope};
use crate::command::{Cause, Command, Phase, Reason, Report};
use crate::event::{Event, ObjectKey, Order, Role, RunId, Version};
use crate::ghosts::Ghosts;
use crate::object::{Flight, Former, Object, Presence, Run, Timer, Trouble, Waiting};
use crate::ripple::Ripple;

/// The scheduler of reconcilers as a state machine: same events, same commands.
#[derive(Clone)]
pub struct Scheduler<K> {
    pub(crate) graph: ReferenceGraph<K>,
    pub(crate) ripple: Ripple,
    pub(crate) objects: Vec<Object>,
    pub(crate) runs: BTreeMap<NodeId, Run<K>>,
    pub(crate) objects_of_runs: BTreeMap<RunId, NodeId>,
    pub(crate) former_names: BTreeMap<NodeId, Former<K>>,
    pub(crate) troubles: BTreeMap<NodeId, Trouble>,
    pub(crate) timers: BTreeMap<NodeId, Timer>,
    /// Versions that runs have written and that the watch hasn't shown yet.
    pub(crate) own_versions: BTreeMap<NodeId, Vec<Version>>,
    /// Marked objects whose refs don't count, because they were in a cycle.
    pub(crate) cut: BTreeSet<NodeId>,
    pub(crate) barriers: Barriers<K>,
    /// Among whom objects' deletes and renames go first, where that isn't their namespace.
    pub(crate) orders: BTreeMap<NodeId, Order<K>>,
    pub(crate) waiting: Waiting,
    pub(crate) ghosts: Ghosts,
    /// Objects whose time has come and that wait for those below them: for this one at present (R12b).
    pub(crate) patient: BTreeMap<NodeId, NodeId>,
    /// Whether a reference was taken back since the patient were last looked at.
    pub(crate) cut_edges: bool,
    /// Objects that may be able to start: deletes and renames, and the others.
    pub(crate) early: VecDeque<NodeId>,
    pub(crate) ordinary: VecDeque<NodeId>,
    /// Deletes and renames that became due: runs below them may be stale.
    pub(crate) early_due: Vec<NodeId>,
    pub(crate) next_run: u64,
    pub(crate) seed: u64,
    pub(crate) commands: Vec<Command<K>>,
}

impl<K: ObjectKey> Scheduler<K> {
    /// A machine that knows no objects. The seed decides the jitter of retries.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            graph: ReferenceGraph::new(),
            ripple: Ripple::default(),
            objects: Vec::new(),
            runs: BTreeMap::new(),
            objects_of_runs: BTreeMap::new(),
            former_names: BTreeMap::new(),
            troubles: BTreeMap::new(),
            timers: BTreeMap::new(),
            own_versions: BTreeMap::new(),
            cut: BTreeSet::new(),
            barriers: Barriers::default(),
            orders: BTreeMap::new(),
            waiting: Waiting::default(),
            ghosts: Ghosts::default(),
            patient: BTreeMap::new(),
            cut_edges: false,
            early: VecDeque::new(),
            ordinary: VecDeque::new(),
            early_due: Vec::new(),
            next_run: 1,
            seed,
            commands: Vec::new(),
        }
    }

    /// One event as a step of its own.
    pub fn handle(&mut self, event: Event<K>) -> Vec<Command<K>> {
        let mut commands = Vec::new();
        self.step([event], &mut commands);
        commands
    }

    /// Several events at once: what may start is decided after the last one.
    pub fn step(
        &mut self,
        events: impl IntoIterator<Item = Event<K>>,
        commands: &mut Vec<Command<K>>,
    ) {
        for event in events {
            self.take_in(event);
        }
        self.settle();
        commands.append(&mut self.commands);
    }

    fn take_in(&mut self, event: Event<K>) {
        match event {
            Event::Listed(sights) => self.listed(sights),
            Event::Seen(sight) => self.seen(&sight),
            Event::Gone { key } => self.gone(&key),
            Event::Renamed { from, taken, sight } => self.renamed(&from, taken, &sight),
            Event::Asked { key } => self.asked(&key),
            Event::Related { key } => self.related(&key),
            Event::TimeReached { key, at_ms } => self.time_reached(&key, at_ms),
            Event::WriteBegan { run } => self.write_began(run),
            Event::WriteEnded { run, answer } => self.write_ended(run, answer),
            Event::Finished {
                run,
                outcome,
                now_ms,
            } => self.finished(run, outcome, now_ms),
            Event::Late { run } => self.late(run),
            Event::Overdue { run } => self.overdue(run),
        }
    }

    pub(crate) fn object(&self, node: NodeId) -> &Object {
        &self.objects[node.index()]
    }

    pub(crate) fn object_mut(&mut self, node: NodeId) -> &mut Object {
        &mut self.objects[node.index()]
    }

    pub(crate) fn grow(&mut self) {
        let bound = self.graph.bound();
        if self.objects.len() < bound {
            self.objects.resize(bound, Object::default());
        }
        self.ripple.grow(bound);
    }

    pub(crate) fn push(&mut self, node: NodeId, command: impl FnOnce(K) -> Command<K>) {
        if let Some(key) = self.graph.key(node) {
            self.commands.push(command(key.clone()));
        }
    }

    pub(crate) fn report(&mut self, node: NodeId, report: Report) {
        self.push(node, |key| Command::Report { key, report });
    }

    /// Notes that an object must run, and says so. `flow` comes after.
    pub(crate) fn set_due(&mut self, node: NodeId, reason: Reason) {
        let object = self.object(node);
        let quiet = object.due.is_some() || object.role == Role::Passive || !object.exists();
        self.demand(node, reason);
        if !quiet {
            self.report(node, Report::Queued(reason));
        }
    }

    /// Notes that an object must run. `flow` comes after.
    pub(crate) fn demand(&mut self, node: NodeId, reason: Reason) {
        let object = self.object_mut(node);
        if !object.exists() {
            return;
        }
        let before = object.due;
        object.due = Some(before.map_or(reason, |before| before.min(reason)));
        if object.phase() != Phase::Ordinary {
            self.early_due.push(node);
        }
        if before.is_none() {
            self.ripple.set_due(&self.graph, node, true);
            self.clear_timer(node);
        }
        self.recount(node);
        self.candidate(node);
    }

    /// Takes back that an object must run. `recount` and `flow` come after.
    pub(crate) fn clear_due(&mut self, node: NodeId) -> Option<Reason> {
        self.ripple.set_due(&self.graph, node, false);
        self.object_mut(node).due.take()
    }

    pub(crate) fn clear_timer(&mut self, node: NodeId) {
        self.patient.remove(&node);
        if self.timers.remove(&node).is_some() {
            self.push(node, |key| Command::ClearTimer { key });
        }
    }

    /// Puts an object into the queue of those that may be able to start.
    pub(crate) fn candidate(&mut self, node: NodeId) {
        let object = self.object_mut(node);
        let passive = object.role == Role::Passive;
        if object.due.is_none() || (object.candidate && !passive) {
            return;
        }
        object.candidate = true;
        match (object.role, object.phase()) {
            // Before all others: whoever depends on it must know first that it is due.
            (Role::Passive, _) => self.early.push_front(node),
            (Role::Reconciled, Phase::Delete | Phase::Rename) => self.early.push_back(node),
            (Role::Reconciled, Phase::Ordinary) => self.ordinary.push_back(node),
        }
    }

    /// Among whom an object's deletes and renames go first.
    fn order(&self, node: NodeId) -> &Order<K> {
        self.orders.get(&node).unwrap_or(&Order::Strict)
    }

    /// What must be free before an object runs.
    pub(crate) fn needs(&self, node: NodeId) -> Vec<Scope<K>> {
        let key = self.graph.key(node);
        key.map_or_else(Vec::new, |key| self.order(node).needs(key))
    }

    /// Sets among whom an object's deletes and renames go first, and counts them there.
    pub(crate) fn set_order(&mut self, node: NodeId, order: &Order<K>) {
        if self.order(node) == order {
            return;
        }
        self.count(node, None);
        match order {
            Order::Strict => self.orders.remove(&node),
            Order::Related { .. } | Order::Free => self.orders.insert(node, order.clone()),
        };
        self.recount(node);
        self.candidate(node);
    }

    /// Puts an object into the sets of the barriers where it belongs now. A delete or rename that has
    /// failed, or whose run is over its time, is tried again beside all others: it holds nobody longer than its
    /// first run may take (R8b).
    pub(crate) fn recount(&mut self, node: NodeId) {
        let object = *self.object(node);
        let early = |phase: Phase| Some(phase).filter(|phase| *phase != Phase::Ordinary);
        let running = self.runs.get(&node);
        let waits = object.due.is_some()
            && !self.troubles.contains_key(&node)
            && object.flight != Flight::Stuck
            && running.is_none_or(|run| !run.aside)
            && object.role == Role::Reconciled
            && !self.graph.is_cyclic(node);
        let next = early(object.phase()).filter(|_| waits);
        let running = running.filter(|run| run.cancelled.is_none() && !run.aside);
        let running = running.and_then(|run| early(run.phase));
        self.count(node, [next, running].into_iter().flatten().min());
    }

    fn count(&mut self, node: NodeId, counted: Option<Phase>) {
        let before = std::mem::replace(&mut self.object_mut(node).counted, counted);
        if counted == before {
            return;
        }
        let Some(key) = self.graph.key(node) else {
            return;
        };
        let scopes = self.order(node).holds(key);
        if let Some(phase) = counted {
            self.barriers.enter(scopes.clone(), node, phase);
        }
        if let Some(phase) = before {
            for held in self.barriers.leave(scopes, node, phase) {
                self.candidate(held);
            }
        }
    }

    /// Tells an object's run to return; the object runs again, for the same reason (R9).
    pub(crate) fn cancel(&mut self, node: NodeId, cause: Cause<K>) {
        if let Some(reason) = self.stop(node, cause) {
            self.set_due(node, reason);
        }
    }

    /// Tells a run to return whose object isn't the one that it was started for any more. Returns
    /// the reason of that run, unless it was told before.
    pub(crate) fn stop(&mut self, node: NodeId, cause: Cause<K>) -> Option<Reason> {
        let run = self.runs.get_mut(&node)?;
        if run.cancelled.is_some() {
            return None;
        }
        run.cancelled = Some(cause.clone());
        let (run, reason) = (run.id, run.reason);
        self.object_mut(node).flight = Flight::Cancelled;
        self.push(node, |key| Command::Cancel { run, key, cause });
        self.recount(node);
        Some(reason)
    }

    /// Forgets a node that nothing needs any more.
    pub(crate) fn release(&mut self, node: NodeId) {
        let object = self.object(node);
        if object.exists() || object.flight != Flight::None {
            return;
        }
        self.orders.remove(&node);
        if self.graph.release(node) {
            let candidate = self.object(node).candidate;
            *self.object_mut(node) = Object {
                candidate,
                ..Object::default()
            };
            self.ripple.forget(node);
            self.own_versions.remove(&node);
            self.waiting.far.remove(&node);
        }
    }

    /// Refs of a marked object in a cycle count no more, or it could never be deleted.
    pub(crate) fn must_be_cut(&self, node: NodeId) -> bool {
        self.object(node).presence == Presence::Marked && self.graph.is_cyclic(node)
    }

    pub(crate) fn cut_refs(&mut self, node: NodeId) {
        self.cut.insert(node);
        let refs: Vec<_> = self.graph.refs(node).collect();
        self.keep_past_refs(node, &refs);
        self.graph.set_refs(node, &[], &mut self.ripple);
        for to in refs {
            self.release(to);
        }
    }
}
