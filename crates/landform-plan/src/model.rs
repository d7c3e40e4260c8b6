//! A plan: what would happen, in which order, and what nobody can know before.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// So much of a name that is a sum tells it from others.
const LETTERS_OF_A_SUM: usize = 7;

/// What a change would do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Plan {
    /// What would happen, in this order.
    pub changes: Vec<Change>,
    /// What can't be known before something has run.
    pub unknown: Vec<Unknown>,
    /// What was taken for granted.
    pub assumed: Vec<Assumption>,
    /// What would fail, or wait for somebody.
    pub problems: Vec<Problem>,
    /// What happens anyway, because it was begun before.
    pub already_under_way: Vec<Change>,
    /// How far it reaches.
    pub blast_radius: BlastRadius,
    /// Whether everything came to rest. When not, there is more than is told here.
    pub settled: bool,
    /// The revision of the store that the plan was made from.
    pub revision: u64,
}

impl Plan {
    /// Whether anything would change.
    #[must_use]
    pub fn has_changes(&self) -> bool {
        !self.changes.is_empty() || !self.unknown.is_empty() || !self.settled
    }

    /// Whether there is nothing at all to tell.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.has_changes() && self.problems.is_empty()
    }

    /// How many changes of a kind there are.
    #[must_use]
    pub fn count(&self, action: Action) -> usize {
        let changes = self.changes.iter();
        changes.filter(|change| change.action == action).count()
    }
}

/// What would happen to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Action {
    /// It appears.
    Create,
    /// Its fields change.
    Change,
    /// It goes.
    Delete,
    /// A deployer brings it to its target.
    Deploy,
    /// A deployer takes it away from its target.
    Remove,
    /// It gets another name.
    Rename,
}

/// One thing that would happen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// Its place in the order, from 1.
    pub order: usize,
    /// What would happen.
    pub action: Action,
    /// To which object.
    pub object: ObjectView,
    /// What somebody wrote that leads to it, as `KIND/NAME`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// The fields that differ.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diff: Vec<FieldChange>,
    /// What would be applied to the target, by kind and name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub target_objects: Vec<String>,
}

/// An object of a plan. What doesn't exist yet has no uid, and names that follow from uids are cut: `db-…`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectView {
    /// Group and version.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The namespace; empty for objects of the cluster.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The name.
    pub name: String,
    /// What people call it, where its name is a sum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_as: Option<String>,
    /// Its owners, outermost first, and itself, each as `KIND/NAME`.
    pub path: Vec<String>,
}

impl ObjectView {
    /// The path as people read it.
    #[must_use]
    pub fn shown(&self) -> String {
        let mut path = self.path.clone();
        if let (Some(last), Some(known)) = (path.last_mut(), &self.known_as) {
            let begin: String = self.name.chars().take(LETTERS_OF_A_SUM).collect();
            *last = format!("{}/{known} ({begin}…)", self.kind);
        }
        path.join(" > ")
    }

    /// `KIND/NAME`.
    #[must_use]
    pub fn short(&self) -> String {
        format!("{}/{}", self.kind, self.name)
    }
}

/// One field that differs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FieldChange {
    /// Where it is, for instance `spec.replicas`.
    pub path: String,
    /// What it was; none when it is new, or not to be shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Value>,
    /// What it would be; none when it goes, or is not to be shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Value>,
    /// Whether its values are not shown: they are, or may hold, a secret.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hidden: bool,
}

/// Something that can't be known before.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Unknown {
    /// What must have run before.
    pub before: ObjectView,
    /// Why nobody knows.
    pub reason: String,
    /// What waits for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub affects: Vec<String>,
}

/// Something that was taken for granted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Assumption {
    /// Of which object.
    pub object: ObjectView,
    /// What.
    pub what: String,
}

/// Something that would go wrong, or would wait for somebody.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// To which object it would happen.
    pub object: ObjectView,
    /// What, as its status would say it.
    pub message: String,
}

/// How far a change reaches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BlastRadius {
    /// How many objects of the API would change.
    pub objects: usize,
    /// The outermost installations that are touched, as `NAMESPACE/NAME`.
    pub installations: BTreeSet<String>,
    /// How many deploy items would be deployed or removed.
    pub items: usize,
    /// The namespaces in which something changes.
    pub namespaces: BTreeSet<String>,
}
