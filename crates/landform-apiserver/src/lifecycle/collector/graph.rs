//! Who owns whom: dependents by their owner's uid (G1, G5).
//!
//! Every operation costs time in the number of edges it touches, never in the number of objects.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use landform_store::Key;
use serde::Deserialize;

/// A reference from a dependent to its owner.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Link {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) uid: String,
    /// Whether the owner, when it is deleted in the foreground, waits for this dependent.
    pub(super) block_owner_deletion: bool,
}

/// The owner graph. Only objects that have owners, or wait for the collector, take room in it.
#[derive(Default)]
pub(super) struct OwnerGraph {
    /// The references of every object that has some.
    owners: HashMap<Key, Box<[Link]>>,
    /// The dependents of an owner, by its uid.
    dependents: HashMap<Arc<str>, BTreeSet<Key>>,
    /// Objects that wait for the collector, by uid.
    waiting: HashMap<Arc<str>, Key>,
}

impl OwnerGraph {
    /// Adds an object, or moves its edges when its owners changed.
    pub(super) fn put(&mut self, key: &Key, uid: &str, owners: Vec<Link>, waits: bool) {
        self.unlink(key);
        for owner in &owners {
            self.dependents
                .entry(owner.uid.as_str().into())
                .or_default()
                .insert(key.clone());
        }
        if !owners.is_empty() {
            self.owners.insert(key.clone(), owners.into());
        }
        if waits {
            self.waiting.insert(uid.into(), key.clone());
        }
    }

    /// Removes an object; returns the dependents that it leaves behind.
    pub(super) fn remove(&mut self, key: &Key, uid: &str) -> Vec<Key> {
        self.unlink(key);
        self.waiting.remove(uid);
        self.dependents_of(uid)
    }

    fn unlink(&mut self, key: &Key) {
        let Some(links) = self.owners.remove(key) else {
            return;
        };
        for owner in &links {
            let uid = owner.uid.as_str();
            if let Some(set) = self.dependents.get_mut(uid) {
                set.remove(key);
                if set.is_empty() {
                    self.dependents.remove(uid);
                }
            }
        }
    }

    /// The direct dependents of a uid.
    pub(super) fn dependents_of(&self, uid: &str) -> Vec<Key> {
        self.dependents
            .get(uid)
            .into_iter()
            .flatten()
            .cloned()
            .collect()
    }

    /// Whether a dependent's reference to this uid makes the owner wait for it.
    pub(super) fn blocks(&self, dependent: &Key, uid: &str) -> bool {
        let links = self.owners.get(dependent).map_or(&[][..], |links| links);
        links
            .iter()
            .any(|owner| owner.uid == uid && owner.block_owner_deletion)
    }

    /// The owners of an object that wait for the collector.
    pub(super) fn owners_waiting(&self, key: &Key) -> Vec<Key> {
        let links = self.owners.get(key).map_or(&[][..], |links| links);
        links
            .iter()
            .filter_map(|owner| self.waiting.get(owner.uid.as_str()).cloned())
            .collect()
    }

    /// Whether nothing is known of this key.
    pub(super) fn is_stranger(&self, key: &Key) -> bool {
        !self.owners.contains_key(key)
    }

    /// Whether nobody owns or waits.
    pub(super) fn is_empty(&self) -> bool {
        self.owners.is_empty() && self.waiting.is_empty()
    }

    /// Every object that has owners, in order: whoever starts twice on one store does the same twice.
    pub(super) fn owned(&self) -> BTreeSet<Key> {
        self.owners.keys().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use landform_store::Bucket;

    fn key(name: &str) -> Key {
        Key::new(&Bucket::new("things"), name)
    }

    fn owned_by(uids: &[&str]) -> Vec<Link> {
        uids.iter()
            .map(|uid| Link {
                uid: (*uid).into(),
                ..Link::default()
            })
            .collect()
    }

    #[test]
    fn g5_a_leaf_added_before_its_owner_gives_the_same_graph() {
        for order in [["owner", "leaf"], ["leaf", "owner"]] {
            let mut graph = OwnerGraph::default();
            for name in order {
                let owners = if name == "leaf" {
                    owned_by(&["owner"])
                } else {
                    Vec::new()
                };
                graph.put(&key(name), name, owners, false);
            }
            assert_eq!(graph.dependents_of("owner"), [key("leaf")], "{order:?}");
        }
    }

    #[test]
    fn g9_moving_a_dependent_moves_its_edges_and_keeps_its_own_dependents() {
        let mut graph = OwnerGraph::default();
        graph.put(&key("a"), "a", Vec::new(), true);
        graph.put(&key("b"), "b", Vec::new(), false);
        graph.put(&key("child"), "child", owned_by(&["a"]), false);
        graph.put(
            &key("grandchild"),
            "grandchild",
            owned_by(&["child"]),
            false,
        );
        assert_eq!(graph.owners_waiting(&key("child")), [key("a")]);
        graph.put(&key("child"), "child", owned_by(&["b"]), false);
        assert_eq!(graph.dependents_of("a"), []);
        assert_eq!(graph.dependents_of("b"), [key("child")]);
        assert_eq!(graph.dependents_of("child"), [key("grandchild")]);
        assert_eq!(graph.owners_waiting(&key("child")), []);
    }

    #[test]
    fn g5_removing_an_object_tells_whom_it_leaves_behind() {
        let mut graph = OwnerGraph::default();
        graph.put(&key("a"), "a", Vec::new(), false);
        graph.put(&key("b"), "b", owned_by(&["a", "gone"]), false);
        assert_eq!(graph.remove(&key("a"), "a"), [key("b")]);
        assert_eq!(graph.remove(&key("b"), "b"), []);
        assert_eq!(graph.remove(&key("a"), "a"), []);
        assert_eq!(graph.dependents_of("gone"), []);
        assert!(graph.is_empty());
    }
}
