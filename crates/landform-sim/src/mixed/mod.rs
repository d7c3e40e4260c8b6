//! Everything at once: hooks, renames, definitions that are edited, foreign writers, several namespaces.
//!
//! Two kinds with the same fields, `Parcel` and `Crate`, are reconciled by hooks through the real
//! `Reconciler` objects. A parcel's number is the sum of its value and of its refs' numbers. The spec's mood says what
//! the hook answers besides: an error, with or without a retry, that it waits, that it wants to be called again.
//!
//! Reading order: `hook.rs` is the server that is called, `machine.rs` runs the same as a command, `oracle.rs` holds everything to the rules with nothing but the
//! store's log (`crate::log`), the calls and the engine's trace; `causes.rs` says whether a run has a cause, `waiting.rs`
//! whether one waits for a reason; `people.rs` are writers that know nothing
//! of each other, `world.rs` puts all into a process, `plan.rs` makes scenarios and `run.rs` runs them.
//!
//! # What is replaced
//! The hook's socket, by a pipe: HTTP, the pool of connections, timeouts and cancellation are real. Calls of URLs end with
//! the process. The operating system, for hooks that are commands: what a call does with its process group, and what
//! comes before the first call, is real. Project directories have no place here.

mod causes;
mod hook;
mod machine;
mod oracle;
mod people;
mod plan;
mod run;
mod waiting;
mod world;

use serde_json::{Value, json};

use crate::simulation::{Failure, Template};
use crate::user::ObjectName;

pub use plan::Plan;
pub use run::run;
pub use world::MixedWorld;

const GROUP: &str = "sim.landform.dev";
const API_VERSION: &str = "sim.landform.dev/v1";
/// The namespaces that are used.
const NAMESPACES: [&str; 2] = ["default", "other"];
/// A call that isn't answered by then is given up.
const TIMEOUT: std::time::Duration = std::time::Duration::from_secs(30);

/// One of the two kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Its deletes come first in the whole namespace (R8).
    Parcel,
    /// Its deletes take long, and hold up only what is related (R8b).
    Crate,
}

impl Kind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Parcel, Self::Crate];

    /// As in manifests.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Parcel => "Parcel",
            Self::Crate => "Crate",
        }
    }

    fn plural(self) -> &'static str {
        match self {
            Self::Parcel => "parcels",
            Self::Crate => "crates",
        }
    }

    fn bucket(self) -> String {
        format!("{}.{GROUP}", self.plural())
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Which versions a definition has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Versions {
    /// If not, its objects are there and can't be read.
    served: bool,
    /// Besides `v1` there is `v2` with another field, which is stored from then on.
    second: bool,
}

impl Versions {
    const FIRST: Self = Self {
        served: true,
        second: false,
    };
}

/// What a user writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Spec {
    /// What its children are called after: names may change.
    key: String,
    value: u64,
    refs: Vec<String>,
    children: u64,
    mood: &'static str,
}

/// The mood of an object whose delete hangs at the first call.
const STUCK: &str = "stuck";

/// What a hook may answer besides; the last of them comes to an end.
const MOODS: [&str; 8] = [
    "error",
    "refuse",
    "wait",
    "again",
    "again-at-once",
    "error-again",
    "refuse-again",
    "",
];

impl Spec {
    fn object(&self, kind: Kind, namespace: &str, name: &str) -> Value {
        json!({
            "apiVersion": API_VERSION, "kind": kind.name(),
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"key": self.key, "value": self.value, "refs": self.refs, "children": self.children,
                "mood": self.mood},
        })
    }
}

fn object_name(kind: Kind, namespace: &str, name: &str) -> ObjectName {
    ObjectName {
        api_version: API_VERSION.into(),
        kind: kind.name().into(),
        namespace: namespace.into(),
        name: name.into(),
    }
}

fn definition(kind: Kind, versions: Versions) -> Value {
    let plural = kind.plural();
    let Versions { served, second } = versions;
    let version = |name: &str, storage: bool| {
        let mut spec = json!({
            "key": {"type": "string"}, "value": {"type": "integer"}, "children": {"type": "integer"},
            "refs": {"type": "array", "items": {"type": "string"}}, "mood": {"type": "string"},
        });
        if name == "v2" {
            spec["colour"] = json!({"type": "string"});
        }
        json!({
            "name": name, "served": served, "storage": storage, "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "spec": {"type": "object", "properties": spec},
                "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            }}},
        })
    };
    let mut versions = vec![version("v1", !second)];
    versions.extend(second.then(|| version("v2", true)));
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": kind.bucket()},
        "spec": {
            "group": GROUP, "scope": "Namespaced", "versions": versions,
            "names": {"plural": plural, "singular": kind.name().to_lowercase(), "kind": kind.name(),
                "listKind": format!("{}List", kind.name())},
        },
    })
}

/// How the hook of a kind is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Url,
    Command,
}

/// The Reconciler of a kind, with the number of objects that run at once.
fn reconciler(kind: Kind, concurrency: u64, call: Call) -> Value {
    let order = match kind {
        Kind::Parcel => "Strict",
        Kind::Crate => "Related",
    };
    let hook = match call {
        Call::Url => json!({"url": format!("http://hooks.sim/{}", kind.plural())}),
        Call::Command => json!({"command": ["reconcile", kind.plural()]}),
    };
    json!({
        "apiVersion": "landform.dev/v1alpha1", "kind": "Reconciler",
        "metadata": {"name": kind.plural()},
        "spec": {
            "for": {"group": GROUP, "version": "v1", "kind": kind.name()},
            "refs": [{"path": ".spec.refs[*]"}], "owns": [{"version": "v1", "kind": "ConfigMap"}],
            "hook": hook,
            "timeout": "30s", "concurrency": concurrency, "finalize": true, "order": order,
        },
    })
}

/// The number of objects of a kind that run at once: more than there are.
const CONCURRENCY: u64 = 64;

/// A disk with all definitions, a second namespace and both Reconcilers.
///
/// # Errors
/// When the server refuses one of them.
pub fn template() -> Result<Template, Failure> {
    let limits = landform_yaml::Budget::FILE;
    let reconcilers = landform_yaml::parse_one(landform_engine::hooks::DEFINITION, &limits)
        .map_err(|error| Failure(error.to_string()))?;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}});
    let mut objects = vec![reconcilers, namespace];
    objects.extend(Kind::ALL.map(|kind| definition(kind, Versions::FIRST)));
    objects.extend(Kind::ALL.map(|kind| reconciler(kind, CONCURRENCY, Call::Url)));
    Template::new(&objects)
}
