//! The invariants of the machine, computed the naive way. For tests: the cost is that of everything.

use crate::command::Phase;
use crate::event::{ObjectKey, Role};
use crate::object::Flight;
use crate::scheduler::Scheduler;

impl<K: ObjectKey> Scheduler<K> {
    /// Checks, between two steps, all that the machine keeps up to date.
    ///
    /// # Errors
    /// When something is out of date: which object, and what.
    pub fn verify(&self) -> Result<(), String> {
        self.graph.verify()?;
        if !self.ripple.is_at_rest() || !self.early.is_empty() || !self.ordinary.is_empty() {
            return Err("a step has left work behind".to_owned());
        }
        for node in self.graph.nodes() {
            let name = format!("{:?}", self.graph.key(node));
            let object = self.object(node);
            let tally = self.ripple.of(node);
            if self.graph.unit(node) == node {
                self.ripple.verify(&self.graph, node)?;
            }
            if self.ghosts.contains(node) {
                self.verify_ghost(node)?;
                continue;
            }
            let run = self.runs.get(&node);
            let flight = match (run.map(|run| run.cancelled.is_some()), object.flight) {
                (None, Flight::None) | (Some(false), Flight::Running) => true,
                (Some(true), flight) => matches!(flight, Flight::Cancelled | Flight::Stuck),
                _ => false,
            };
            if !flight || tally.flying != run.is_some() || tally.due != object.due.is_some() {
                return Err(format!("{name} contradicts itself: {object:?}, {tally:?}"));
            }
            let ordinary = run.filter(|run| run.cancelled.is_none());
            let ordinary = ordinary.is_some_and(|run| run.phase == Phase::Ordinary);
            if ordinary && self.ripple.of(self.graph.unit(node)).active_parents > 0 {
                return Err(format!("{name} runs below an active object"));
            }
            if !object.exists() && self.graph.refs(node).next().is_some() {
                return Err(format!("{name} doesn't exist and has refs"));
            }
            if self.graph.is_alone(node) && !object.exists() && run.is_none() {
                return Err(format!("{name} is kept for nothing"));
            }
            let held = self.relatives_hold(node).is_some();
            if !held && (object.role == Role::Passive || self.is_not_preceded(node)) {
                return Err(format!("{name} could start and doesn't"));
            }
        }
        Ok(())
    }

    /// Whether no delete or rename goes before an object (R8).
    fn is_not_preceded(&self, node: landform_graph::NodeId) -> bool {
        let phase = self.object(node).phase();
        let needs = self.needs(node);
        let mut barriers = needs.iter().filter_map(|scope| self.barriers.of(scope));
        barriers.all(|barrier| barrier.is_free_for(phase))
    }
}
