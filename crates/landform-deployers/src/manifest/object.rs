//! How objects at a target are named, and in which order they come and go.

use std::fmt;

use landform_api::kind::split_api_version;

/// The name of an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ObjectName {
    pub(super) api_version: String,
    pub(super) kind: String,
    /// None for objects of the whole cluster.
    pub(super) namespace: Option<String>,
    pub(super) name: String,
}

impl ObjectName {
    /// The API group; empty for the core group.
    pub(super) fn group(&self) -> &str {
        split_api_version(&self.api_version).map_or("", |(group, _)| group)
    }

    /// Whether both name the same object, perhaps in another version.
    pub(super) fn same_object(&self, other: &Self) -> bool {
        self.group() == other.group()
            && (&self.kind, &self.namespace, &self.name)
                == (&other.kind, &other.namespace, &other.name)
    }

    /// What it needs is applied before it, and what needs it is removed before it.
    pub(super) fn rank(&self) -> Rank {
        match (self.group(), self.kind.as_str(), &self.namespace) {
            ("apiextensions.k8s.io", "CustomResourceDefinition", _) => Rank::Definition,
            ("", "Namespace", _) => Rank::Namespace,
            (_, _, None) => Rank::Cluster,
            (_, _, Some(_)) => Rank::Namespaced,
        }
    }

    /// Whether messages about it may repeat what it holds.
    pub(super) fn is_secret(&self) -> bool {
        self.kind == "Secret"
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{} {namespace}/{}", self.kind, self.name),
            None => write!(f, "{} {}", self.kind, self.name),
        }
    }
}

/// The stages of a deployment, in their order; objects are removed in the reverse order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    Definition,
    Namespace,
    Cluster,
    Namespaced,
}
