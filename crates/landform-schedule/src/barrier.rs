//! Deletes before renames before ordinary runs, in each namespace (R8).

use std::collections::{BTreeMap, BTreeSet};

use landform_graph::NodeId;

use crate::command::Phase;

/// The unfinished deletes and renames of a namespace, and who waits for them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Barrier {
    pub(crate) deletes: BTreeSet<NodeId>,
    pub(crate) renames: BTreeSet<NodeId>,
    pub(crate) held: BTreeSet<NodeId>,
}

/// The barriers of the namespaces that have one: mostly none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Barriers {
    by_namespace: BTreeMap<Box<str>, Barrier>,
}

impl Barriers {
    pub(crate) fn of(&self, namespace: &str) -> Option<&Barrier> {
        self.by_namespace.get(namespace)
    }

    /// All barriers, by namespace.
    #[cfg(test)]
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &Barrier)> {
        let all = self.by_namespace.iter();
        all.map(|(namespace, barrier)| (&**namespace, barrier))
    }

    /// Whether no namespace has a barrier, so that nobody need ask for its own.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_namespace.is_empty()
    }

    /// Counts a node's delete or rename.
    pub(crate) fn enter(&mut self, namespace: &str, node: NodeId, phase: Phase) {
        let barrier = match self.by_namespace.get_mut(namespace) {
            Some(barrier) => barrier,
            None => self.by_namespace.entry(namespace.into()).or_default(),
        };
        if let Some(set) = barrier.set(phase) {
            set.insert(node);
        }
    }

    /// Ends a node's delete or rename; returns those who waited for the last one.
    pub(crate) fn leave(
        &mut self,
        namespace: &str,
        node: NodeId,
        phase: Phase,
    ) -> BTreeSet<NodeId> {
        let Some(barrier) = self.by_namespace.get_mut(namespace) else {
            return BTreeSet::new();
        };
        let mut released = BTreeSet::new();
        if let Some(set) = barrier.set(phase) {
            set.remove(&node);
            if set.is_empty() {
                released = std::mem::take(&mut barrier.held);
            }
        }
        if barrier.deletes.is_empty() && barrier.renames.is_empty() {
            self.by_namespace.remove(namespace);
        }
        released
    }

    /// Whether a run of this phase may start; if not, the node is told when that changes.
    pub(crate) fn admit(&mut self, namespace: &str, node: NodeId, phase: Phase) -> bool {
        let Some(barrier) = self.by_namespace.get_mut(namespace) else {
            return true;
        };
        let free = match phase {
            Phase::Delete => true,
            Phase::Rename => barrier.deletes.is_empty(),
            Phase::Ordinary => barrier.deletes.is_empty() && barrier.renames.is_empty(),
        };
        if !free {
            barrier.held.insert(node);
        }
        free
    }
}

impl Barrier {
    fn set(&mut self, phase: Phase) -> Option<&mut BTreeSet<NodeId>> {
        match phase {
            Phase::Delete => Some(&mut self.deletes),
            Phase::Rename => Some(&mut self.renames),
            Phase::Ordinary => None,
        }
    }
}
