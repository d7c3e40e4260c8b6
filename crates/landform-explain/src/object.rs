//! How objects are named, and the kinds that are known without asking the API.

use std::fmt;

use landform_api::landscaper::{keys, labels};
use landform_api::{GroupKind, catalog, landscaper, project};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// So much of a name that is a sum tells it from others.
const LETTERS_OF_A_SUM: usize = 7;
/// The group of definitions of kinds.
const DEFINITIONS: &str = "apiextensions.k8s.io";

/// An object's name, complete.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectRef {
    /// Group and version.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The namespace; empty for objects of the cluster.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl ObjectRef {
    /// Names an object.
    #[must_use]
    pub fn new(kind: &KindRef, namespace: &str, name: &str) -> Self {
        Self {
            api_version: kind.api_version.clone(),
            kind: kind.kind.clone(),
            namespace: if kind.namespaced { namespace } else { "" }.to_owned(),
            name: name.to_owned(),
        }
    }

    /// An object of a kind of Landform's or of the core, in a namespace.
    #[must_use]
    pub fn known(kind: &str, namespace: &str, name: &str) -> Option<Self> {
        known(kind).map(|kind| Self::new(&kind, namespace, name))
    }

    /// An object as a status names it: without a version, and without a group where the kind is known anyway. A
    /// version that must be asked for is left out: `GROUP/`.
    #[must_use]
    pub fn told(group: &str, kind: &str, namespace: &str, name: &str) -> Self {
        let known = match group {
            "" => known(kind),
            group => known_in(group, kind),
        };
        if let Some(known) = known {
            return Self::new(&known, namespace, name);
        }
        Self {
            api_version: match group {
                "" => "v1".to_owned(),
                group => format!("{group}/"),
            },
            kind: kind.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    /// The name that an object has, from its own text.
    #[must_use]
    pub fn of(object: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Self {
            api_version: text(&object["apiVersion"]),
            kind: text(&object["kind"]),
            namespace: text(&object["metadata"]["namespace"]),
            name: text(&object["metadata"]["name"]),
        }
    }

    /// The group; empty for the core group.
    #[must_use]
    pub fn group(&self) -> &str {
        self.api_version
            .split_once('/')
            .map_or("", |(group, _)| group)
    }

    /// Without the version: two versions of an object are the same object.
    #[must_use]
    pub fn group_kind(&self) -> GroupKind {
        GroupKind {
            group: self.group().to_owned(),
            kind: self.kind.clone(),
        }
    }

    /// The path below a view: `GROUP/KIND/NAMESPACE/NAME`.
    #[must_use]
    pub fn path(&self) -> String {
        let group = if self.group().is_empty() {
            "core"
        } else {
            self.group()
        };
        let namespace = if self.namespace.is_empty() {
            "-"
        } else {
            &self.namespace
        };
        format!("{group}/{}/{namespace}/{}", self.kind, self.name)
    }
}

/// `Installation/web`: as the command line names objects.
impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind, self.name)
    }
}

/// What people call an object whose own name is a sum: the key of data or of a target. None where the name says it.
#[must_use]
pub fn known_as(object: &Value) -> Option<String> {
    let metadata = &object["metadata"];
    let Some(key) = labels::in_metadata(metadata, keys::DATA_KEY) else {
        // What an execution gives its installation has no key.
        let inner = labels::in_metadata(metadata, keys::DATA_CONTEXT).is_some();
        return (inner && object["kind"] == "DataObject").then(|| "exports".to_owned());
    };
    let name = metadata["name"].as_str()?;
    (!key.is_empty() && key != name).then(|| key.to_owned())
}

/// `DataObject/connection (reoq4m5…)`, or the name alone where that says it. The whole name is in the form for programs.
#[must_use]
pub fn shown(kind: &str, name: &str, known_as: Option<&str>) -> String {
    let Some(known) = known_as else {
        return format!("{kind}/{name}");
    };
    let begin: String = name.chars().take(LETTERS_OF_A_SUM).collect();
    let rest = if begin.len() < name.len() { "…" } else { "" };
    format!("{kind}/{known} ({begin}{rest})")
}

/// A kind, as objects and URLs name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindRef {
    /// Group and version.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The plural, as in URLs.
    pub plural: String,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
}

/// A kind that statuses name without a group.
#[must_use]
pub fn known(kind: &str) -> Option<KindRef> {
    let (api_version, namespaced) = match kind {
        "Installation" | "Execution" | "DeployItem" | "DataObject" | "Target" | "Context" => {
            (landscaper::API_VERSION.to_owned(), true)
        }
        "AppType" | "OperatorVersion" => (catalog::API_VERSION.to_owned(), true),
        "Catalog" => (catalog::API_VERSION.to_owned(), false),
        "Project" | "Reconciler" => (format!("{}/{}", project::GROUP, project::VERSION), false),
        "Secret" | "ConfigMap" | "ServiceAccount" | "Event" | "Pod" | "Service" => {
            ("v1".to_owned(), true)
        }
        "Namespace" => ("v1".to_owned(), false),
        "CustomResourceDefinition" => (format!("{DEFINITIONS}/v1"), false),
        _ => return None,
    };
    Some(KindRef {
        api_version,
        kind: kind.to_owned(),
        plural: format!("{}s", kind.to_lowercase()),
        namespaced,
    })
}

/// A kind that is known without asking, if it is of this group.
#[must_use]
pub fn known_in(group: &str, kind: &str) -> Option<KindRef> {
    known(kind).filter(|found| {
        found
            .api_version
            .split_once('/')
            .map_or("", |(group, _)| group)
            == group
    })
}
