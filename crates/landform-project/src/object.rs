//! The objects of a project: what names them, and where they stand.

use std::fmt;
use std::sync::Arc;

use landform_api::project::ProjectProblem;
use landform_api::{GroupKind, GroupVersionKind};
use serde_json::Value;

/// What names an object. Versions of a kind are the same objects, so there is no version in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId {
    /// The API group; empty for the core group.
    pub group: String,
    /// The kind.
    pub kind: String,
    /// The namespace; none for objects of the cluster.
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
}

impl ObjectId {
    /// An object of a kind; one of the cluster has an empty namespace.
    pub(crate) fn of(kind: &GroupKind, namespace: &str, name: &str) -> Self {
        Self {
            group: kind.group.clone(),
            kind: kind.kind.clone(),
            namespace: (!namespace.is_empty()).then(|| namespace.to_owned()),
            name: name.to_owned(),
        }
    }
}

/// `Installation shop/db`, as in messages.
impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{} {namespace}/{}", self.kind, self.name),
            None => write!(f, "{} {}", self.kind, self.name),
        }
    }
}

/// An object as a file has it, before anybody knows whether its kind is in namespaces.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// The kind.
    pub kind: GroupVersionKind,
    /// The namespace that it names.
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
    /// The object itself.
    pub object: Arc<Value>,
    /// The line where it begins, from 1; 0 when that can't be said.
    pub line: usize,
    /// The column.
    pub column: usize,
    /// The line itself.
    pub excerpt: String,
}

/// An object that a project wants.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// The kind in the version that the file names.
    pub kind: GroupVersionKind,
    /// The file, relative to the project's directory.
    pub file: String,
    /// Where it begins there.
    pub line: usize,
    /// The column.
    pub column: usize,
    /// The line itself.
    pub excerpt: String,
    /// The object, with everything that Landform adds to it.
    pub object: Arc<Value>,
    /// The name that it had before, if the file says so.
    pub renamed_from: Option<String>,
    /// Whether it only has to be there: one that others made is left alone.
    pub only_there: bool,
}

impl Wanted {
    /// A problem at this object's place.
    #[must_use]
    pub fn problem(&self, message: impl Into<String>) -> ProjectProblem {
        ProjectProblem {
            file: self.file.clone(),
            line: self.line,
            column: self.column,
            excerpt: self.excerpt.clone(),
            message: message.into(),
        }
    }
}
