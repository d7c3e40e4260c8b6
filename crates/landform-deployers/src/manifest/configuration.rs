//! What a deploy item of this type says, as types; `parse.rs` reads them.

use std::collections::BTreeMap;
use std::time::Duration;

use landform_api::jsonpath::JsonPath;
use landform_api::schedule::Schedule;
use serde_json::Value;

use super::object::ObjectName;

/// A whole configuration.
#[derive(Debug)]
pub(super) struct Configuration {
    pub(super) manifests: Vec<Manifest>,
    pub(super) strategy: Strategy,
    pub(super) readiness: Readiness,
    pub(super) delete_timeout: Duration,
    pub(super) exports: Vec<Export>,
    pub(super) schedule: Option<Schedule>,
    /// Paths of fields that nobody knows.
    pub(super) unknown: Vec<String>,
}

/// One object that should be at the target.
#[derive(Debug)]
pub(super) struct Manifest {
    pub(super) path: String,
    pub(super) policy: Policy,
    pub(super) value: Value,
}

/// What may be done with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Policy {
    /// It is created, updated and deleted.
    Manage,
    /// As `manage`, but somebody else's object is left alone.
    Fallback,
    /// It is created and updated, never deleted.
    Keep,
    /// Nothing is done.
    Ignore,
    /// It is created and deleted, never updated.
    Immutable,
}

impl Policy {
    const ALL: [(&str, Self); 5] = [
        ("manage", Self::Manage),
        ("fallback", Self::Fallback),
        ("keep", Self::Keep),
        ("ignore", Self::Ignore),
        ("immutable", Self::Immutable),
    ];

    pub(super) fn parse(text: &str) -> Option<Self> {
        let found = Self::ALL.into_iter().find(|(name, _)| *name == text);
        found.map(|(_, policy)| policy)
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Manage => "manage",
            Self::Fallback => "fallback",
            Self::Keep => "keep",
            Self::Ignore => "ignore",
            Self::Immutable => "immutable",
        }
    }

    /// Whether its object goes when it is wanted no more.
    pub(super) fn deletes(self) -> bool {
        match self {
            Self::Manage | Self::Fallback | Self::Immutable => true,
            Self::Keep | Self::Ignore => false,
        }
    }
}

/// How an object that exists is brought to what is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strategy {
    /// Fields are set, and those that were applied before and are wanted no more go. Somebody else's write
    /// in between is noticed.
    Update,
    /// As `update`, whatever others write in between.
    Patch,
    /// Only what is missing is added.
    Merge,
    /// Fields are set, nothing is removed.
    MergeOverwrite,
}

impl Strategy {
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text {
            "update" => Some(Self::Update),
            "patch" => Some(Self::Patch),
            "merge" => Some(Self::Merge),
            "mergeOverwrite" => Some(Self::MergeOverwrite),
            _ => None,
        }
    }
}

/// When what was deployed counts as ready.
#[derive(Debug)]
pub(super) struct Readiness {
    pub(super) default_checks: bool,
    pub(super) timeout: Duration,
    pub(super) custom: Vec<CustomCheck>,
}

/// Requirements for some objects.
#[derive(Debug)]
pub(super) struct CustomCheck {
    pub(super) name: String,
    pub(super) timeout: Duration,
    pub(super) objects: Vec<ObjectName>,
    pub(super) labels: Option<LabelSelector>,
    pub(super) requirements: Vec<Requirement>,
}

/// All objects of a kind that have some labels.
#[derive(Debug)]
pub(super) struct LabelSelector {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) labels: BTreeMap<String, String>,
}

/// What a field must be.
#[derive(Debug)]
pub(super) struct Requirement {
    pub(super) path_text: String,
    pub(super) path: JsonPath,
    pub(super) operator: Operator,
    pub(super) values: Vec<Value>,
}

/// How a field is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Exists,
    DoesNotExist,
    In,
    NotIn,
}

/// A value that is read from an object at the target.
#[derive(Debug)]
pub(super) struct Export {
    pub(super) key: String,
    pub(super) path_text: String,
    pub(super) path: JsonPath,
    /// None is the only object of the item.
    pub(super) from: Option<ObjectName>,
    pub(super) reference: Option<ObjectReference>,
    pub(super) timeout: Duration,
}

/// The path of an export leads to the name of another object, and the value is there.
#[derive(Debug)]
pub(super) struct ObjectReference {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) path_text: String,
    pub(super) path: JsonPath,
}
