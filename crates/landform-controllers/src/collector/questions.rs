//! Whether an object exists: which questions are open, and what the answers mean (G12b).
//!
//! The graph knows what watches have shown. That an owner isn't in it says nothing: its kind may not be served, its list
//! may have failed, it may be between two names. So a node that others refer to and that has no object is a
//! question, one for each uid however many dependents it has; and so is an object that may have gone
//! without its watch showing it, because its kind is served no more. [`super::confirm`] asks. Absence is final: a uid
//! never comes back.

use std::collections::BTreeSet;

use landform_graph::NodeId;
use landform_graph::owners::Uid;

use super::client::{Address, Partial};
use super::kinds::{Kind, KindId};
use super::state::{DOUBTED, FollowedKind, Health, State};

/// An object with more owners than these is read once for the questions about all of them.
const OWNERS_READ_ALONE: usize = 16;

/// A question whether the object with a uid exists.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) uid: Uid,
    /// Whether it was here: then its kind was served, and what is stored says all about it.
    pub(crate) was_here: bool,
    /// Where it was, if it still counts as being here.
    pub(crate) address: Option<Address>,
    /// A dependent, which says what it is called.
    pub(crate) referrer: Option<Referrer>,
}

/// An object that refers to what is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Referrer {
    pub(crate) address: Address,
    pub(crate) uid: Uid,
    pub(crate) namespace: String,
    /// Its resourceVersion as it was last seen, if it has many owners: what it says of them is then read once for all.
    pub(crate) shared_version: Option<String>,
}

/// What is known after a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// No object has this uid, and none will.
    Absent,
    /// It exists, whether or not its kind is followed.
    Exists(String),
    /// It can't be known now, and why.
    Unknown(String),
}

/// An owner that is neither here nor known to be absent.
pub(crate) struct UnknownOwner<'a> {
    pub(crate) uid: &'a Uid,
    pub(crate) dependents: usize,
    pub(crate) why: &'a str,
}

impl State {
    /// The question that a node is, if it is one.
    pub(crate) fn question(&self, node: NodeId) -> Option<Question> {
        let uid = self.graph.uid(node)?.clone();
        if let Some(record) = self.graph.get(node) {
            return record.is(DOUBTED).then(|| Question {
                uid,
                was_here: true,
                address: Some(self.address(record)),
                referrer: None,
            });
        }
        if self.graph.is_absent(node) {
            return None;
        }
        let referrer = |node: NodeId| {
            let record = self.graph.get(node)?;
            let is_followed = self.kind(record.kind).health != Health::Gone;
            let has_many = self.graph.owners(node).nth(OWNERS_READ_ALONE).is_some();
            is_followed.then_some(Referrer {
                address: self.address(record),
                uid: self.graph.uid(node)?.clone(),
                namespace: self.namespace(record.namespace).to_owned(),
                shared_version: has_many.then(|| record.version.to_string()),
            })
        };
        let mut dependents = self.graph.dependents(node);
        let referrer = dependents.find_map(|dependent| referrer(dependent.node));
        let is_asked_for = self.graph.dependent_count(node) > 0;
        is_asked_for.then(|| Question {
            uid,
            was_here: self.graph.was_here(node),
            address: None,
            referrer,
        })
    }

    /// Has it found out whether owners exist; those that were asked for in vain have their own time.
    pub(crate) fn ask_for(&mut self, uids: &[Uid]) {
        for uid in uids {
            if let Some(node) = self.graph.find(uid) {
                self.queue.push_unless_waiting(node);
            }
        }
    }

    /// An object may have gone, or has another name: it stays until that is known.
    pub(crate) fn doubt(&mut self, uid: &Uid) {
        if let Some(node) = self.graph.find(uid) {
            self.doubt_node(node);
        }
    }

    fn doubt_node(&mut self, node: NodeId) {
        if let Some(record) = self.graph.get_mut(node) {
            record.set(DOUBTED);
            if self.started {
                self.queue.push(node);
            }
        }
    }

    /// Takes in the objects of a kind that isn't served, as they are stored: they hold their owners back.
    pub(crate) fn take_hidden(&mut self, kind: &Kind, objects: &[Partial]) -> KindId {
        let id = self.kind_id(kind);
        self.begin_list(id);
        for object in objects {
            self.put(id, &object.metadata);
        }
        self.end_list(id);
        self.drop_kind(id);
        id
    }

    /// A namespace is being emptied, of what isn't served, too; no watch shows that.
    pub(crate) fn doubt_hidden_in(&mut self, namespace: &str) {
        let namespace = self.find_namespace(namespace);
        for node in self.hidden(&BTreeSet::new()) {
            if self.graph.get(node).map(|record| record.namespace) == namespace {
                self.doubt_node(node);
            }
        }
    }

    /// All objects that can't be reached, of other kinds than these.
    fn hidden(&self, except: &BTreeSet<KindId>) -> Vec<NodeId> {
        let gone = |kind: &&FollowedKind| kind.health == Health::Gone;
        let hidden = self.kinds.iter().filter(gone);
        let nodes = hidden.flat_map(|kind| kind.members.iter().copied());
        let other = |node: &NodeId| {
            let record = self.graph.get(*node);
            record.is_some_and(|record| !except.contains(&record.kind))
        };
        nodes.filter(other).collect()
    }

    /// Other kinds are served than before: what was unknown may be known now. What of the kinds that aren't served is stored
    /// was shown for some of them.
    pub(crate) fn ask_again(&mut self, shown: &BTreeSet<KindId>) {
        for node in self.hidden(shown) {
            self.doubt_node(node);
        }
        let failed = self.queue.failures().map(|(node, _)| node);
        let unknown = failed.filter(|node| self.graph.get(*node).is_none());
        // In their order, so that a simulation does the same twice.
        let unknown: BTreeSet<NodeId> = unknown.collect();
        for node in unknown {
            self.queue.push(node);
        }
    }

    /// A kind is served no more. Its objects are as they were last seen: the API changes none of them, until
    /// they go with their definition or their namespace.
    pub(crate) fn drop_kind(&mut self, kind: KindId) {
        self.kind_mut(kind).health = Health::Gone;
    }

    /// Takes in an answer.
    pub(crate) fn answered(&mut self, uid: &Uid, answer: &Answer) {
        let Some(node) = self.graph.find(uid) else {
            return;
        };
        let doubted = self.graph.get(node).is_some_and(|found| found.is(DOUBTED));
        match answer {
            // It was seen again since: what its watch shows comes in order.
            Answer::Absent if self.graph.get(node).is_some() && !doubted => {}
            Answer::Absent => {
                self.remove_node(node);
                // The node is forgotten together with its object when nothing refers to it.
                if let Some(node) = self.graph.find(uid) {
                    self.graph.confirm_absent(node);
                    self.push_dependents(node);
                }
            }
            Answer::Exists(_) | Answer::Unknown(_) => {
                if let Some(record) = self.graph.get_mut(node)
                    && doubted
                {
                    record.clear(DOUBTED);
                    self.queue.push(node);
                }
            }
        }
    }

    /// Owners of which it can't be known whether they exist, and why.
    pub(crate) fn unknown_owners(&self) -> impl Iterator<Item = UnknownOwner<'_>> {
        self.queue.failures().filter_map(|(node, why)| {
            let unknown = self.graph.get(node).is_none() && !self.graph.is_absent(node);
            unknown.then_some(UnknownOwner {
                uid: self.graph.uid(node)?,
                dependents: self.graph.dependent_count(node),
                why,
            })
        })
    }
}
