//! A state of the machine without what makes no difference: numbers of runs, versions, ids. For tests
//! that visit all states.

use crate::event::ObjectKey;
use crate::scheduler::Scheduler;
use landform_graph::NodeId;

impl<K: ObjectKey> Scheduler<K> {
    /// Two machines with the same fingerprint go on in the same way.
    pub(crate) fn fingerprint(&self) -> Vec<String> {
        let key = |node: &NodeId| self.graph.key(*node).map(ToString::to_string);
        let keys = |nodes: &mut dyn Iterator<Item = &NodeId>| -> Vec<_> {
            let mut keys: Vec<_> = nodes.map(key).collect();
            keys.sort();
            keys
        };
        let name = |node| {
            let ghost = self.ghosts.contains(node);
            (key(&self.ghosts.run_at(node)), ghost)
        };
        let mut lines: Vec<_> = self
            .graph
            .nodes()
            .map(|node| {
                let object = self.object(node);
                let run = self.runs.get(&node);
                let run = run.map(|run| (run.phase, run.cancelled.is_some(), run.writes.removed));
                let refs: Vec<_> = self.graph.refs(node).collect();
                let refs = keys(&mut refs.iter());
                let state = (object.presence, object.due.is_some(), object.flight);
                let former = self.former_names.get(&node);
                let former = former.map(|former| (former.name.to_string(), former.tried));
                let waiting = self.waiting.for_ancestor.get(&node);
                let waiting = waiting.map(|nodes| keys(&mut nodes.iter()));
                let far = self.waiting.far.contains(&node);
                let cut = (self.cut.contains(&node), self.patient.contains_key(&node));
                let own = self.ripple.of(node);
                let tally = crate::ripple::Tally {
                    due: own.due,
                    flying: own.flying,
                    ..*self.ripple.of(self.graph.unit(node))
                };
                format!(
                    "{:?} {state:?} {run:?} {refs:?} {former:?} {waiting:?} {far} {cut:?} {tally:?}",
                    name(node)
                )
            })
            .collect();
        lines.sort();
        for (scope, barrier) in self.barriers.all() {
            let sets = [&barrier.deletes, &barrier.renames, &barrier.held];
            let sets = sets.map(|set| keys(&mut set.iter()));
            lines.push(format!("{scope:?} {sets:?}"));
        }
        lines
    }
}
