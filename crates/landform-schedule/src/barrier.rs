//! Deletes before renames before ordinary runs, among those who are ordered together (R8, R8b).

use std::collections::{BTreeMap, BTreeSet};

use landform_graph::NodeId;

use crate::command::Phase;
use crate::event::{ObjectKey, Order};

/// Something that deletes and renames hold, and for which others wait.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope<K> {
    /// A namespace, for objects whose order is strict.
    Namespace(Box<str>),
    /// An object, for what it owns.
    Owner(K),
    /// What an object owns, for the object.
    OwnedBy(K),
    /// A name that objects give to others.
    Name(K),
}

/// The unfinished deletes and renames of a scope, and who waits for them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Barrier {
    pub(crate) deletes: BTreeSet<NodeId>,
    pub(crate) renames: BTreeSet<NodeId>,
    pub(crate) held: BTreeSet<NodeId>,
}

/// The barriers of the scopes that have one: mostly none.
#[derive(Clone, Debug)]
pub(crate) struct Barriers<K> {
    by_scope: BTreeMap<Scope<K>, Barrier>,
}

impl<K> Default for Barriers<K> {
    fn default() -> Self {
        Self {
            by_scope: BTreeMap::new(),
        }
    }
}

impl<K: ObjectKey> Order<K> {
    /// What an object holds while it is deleted or renamed.
    pub(crate) fn holds(&self, key: &K) -> Vec<Scope<K>> {
        self.scopes(key, Scope::Owner, Scope::OwnedBy)
    }

    /// What must be free before an object runs.
    pub(crate) fn needs(&self, key: &K) -> Vec<Scope<K>> {
        self.scopes(key, Scope::OwnedBy, Scope::Owner)
    }

    fn scopes(
        &self,
        key: &K,
        own: impl FnOnce(K) -> Scope<K>,
        of_owner: impl Fn(K) -> Scope<K>,
    ) -> Vec<Scope<K>> {
        match self {
            Self::Strict => vec![Scope::Namespace(key.namespace().into())],
            Self::Related { owners, names } => {
                let owners = owners.iter().cloned().map(of_owner);
                let names = names.iter().cloned().map(Scope::Name);
                std::iter::once(own(key.clone()))
                    .chain(owners)
                    .chain(names)
                    .collect()
            }
            Self::Free => Vec::new(),
        }
    }
}

impl<K: ObjectKey> Barriers<K> {
    pub(crate) fn of(&self, scope: &Scope<K>) -> Option<&Barrier> {
        self.by_scope.get(scope)
    }

    /// All barriers, by scope.
    #[cfg(test)]
    pub(crate) fn all(&self) -> impl Iterator<Item = (&Scope<K>, &Barrier)> {
        self.by_scope.iter()
    }

    /// Whether there is no barrier at all, so that nobody need ask for its own.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_scope.is_empty()
    }

    /// Counts a node's delete or rename.
    pub(crate) fn enter(&mut self, scopes: Vec<Scope<K>>, node: NodeId, phase: Phase) {
        for scope in scopes {
            if let Some(set) = self.by_scope.entry(scope).or_default().set(phase) {
                set.insert(node);
            }
        }
    }

    /// Ends a node's delete or rename; returns those who waited for the last one of a scope.
    pub(crate) fn leave(
        &mut self,
        scopes: Vec<Scope<K>>,
        node: NodeId,
        phase: Phase,
    ) -> BTreeSet<NodeId> {
        let mut released = BTreeSet::new();
        for scope in scopes {
            let Some(barrier) = self.by_scope.get_mut(&scope) else {
                continue;
            };
            if let Some(set) = barrier.set(phase) {
                set.remove(&node);
                if set.is_empty() {
                    released.append(&mut barrier.held);
                }
            }
            if barrier.deletes.is_empty() && barrier.renames.is_empty() {
                self.by_scope.remove(&scope);
            }
        }
        released
    }

    /// Whether a run of this phase may start; if not, the node is told when that changes.
    pub(crate) fn admit(&mut self, needs: &[Scope<K>], node: NodeId, phase: Phase) -> bool {
        for scope in needs {
            if let Some(barrier) = self.by_scope.get_mut(scope)
                && !barrier.is_free_for(phase)
            {
                barrier.held.insert(node);
                return false;
            }
        }
        true
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

    /// Whether a run of this phase has nothing to wait for here.
    pub(crate) fn is_free_for(&self, phase: Phase) -> bool {
        match phase {
            Phase::Delete => true,
            Phase::Rename => self.deletes.is_empty(),
            Phase::Ordinary => self.deletes.is_empty() && self.renames.is_empty(),
        }
    }
}
