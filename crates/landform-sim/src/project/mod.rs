//! A project's directory: people save, break, rename, swap, move, remove and restore files, while the network is
//! faulty, others write the objects, and the process crashes.
//!
//! Files are real, in a directory of their own; the reconciler reads them as it always does. Only who tells that a
//! file changed is replaced (`directory.rs`), so that it happens at a simulated time.
//!
//! Reading order: `directory.rs` has the files, `plan.rs` with `moves.rs` makes scenarios, `world.rs` puts the project
//! into a process, `oracle.rs` follows the store's log by uid and compares what is stored with what the files
//! say, `run.rs` runs a scenario.
//!
//! # What people keep to
//! A rename is found by content, so nothing is edited and renamed before the project has come to rest, and no two
//! objects have the same content. All else may happen at any time.

mod directory;
mod moves;
mod oracle;
mod plan;
mod run;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Value, json};

use crate::simulation::{Failure, Template};
use crate::user::ObjectName;

pub use run::run;
pub use world::ProjectWorld;

const GROUP: &str = "sim.landform.dev";
const PROJECT: &str = "shop";
/// The namespace of objects that name none; the project makes it.
const HOME: &str = "web";
/// A namespace that is others'.
const ELSEWHERE: &str = "other";
/// How long an object may be missing from the files.
const GRACE: Duration = Duration::from_secs(2);

/// What an object is to those who planned it, whatever it is called.
type Who = u32;

/// A kind of objects that stand in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Map,
    Widget,
}

impl Kind {
    const ALL: [Self; 2] = [Self::Map, Self::Widget];

    const fn bucket(self) -> &'static str {
        match self {
            Self::Map => "configmaps",
            Self::Widget => "widgets.sim.landform.dev",
        }
    }

    const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Map => ("v1", "ConfigMap"),
            Self::Widget => ("sim.landform.dev/v1", "Widget"),
        }
    }
}

/// An object as a file has it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Doc {
    who: Who,
    kind: Kind,
    /// Whether it names the namespace that is others'.
    elsewhere: bool,
    name: String,
    /// No two objects ever have the same one.
    value: u64,
    /// What the file says that it was called before.
    renamed_from: Option<String>,
}

impl Doc {
    fn namespace(&self) -> &'static str {
        if self.elsewhere { ELSEWHERE } else { HOME }
    }

    /// As the store knows it.
    fn place(&self) -> String {
        format!("{} {}/{}", self.kind.bucket(), self.namespace(), self.name)
    }

    fn object_name(&self) -> ObjectName {
        let (api_version, kind) = self.kind.names();
        ObjectName {
            api_version: api_version.into(),
            kind: kind.into(),
            namespace: self.namespace().into(),
            name: self.name.clone(),
        }
    }

    fn manifest(&self) -> Value {
        let (api_version, kind) = self.kind.names();
        let mut object = json!({
            "apiVersion": api_version, "kind": kind, "metadata": {"name": self.name},
        });
        if self.elsewhere {
            object["metadata"]["namespace"] = json!(ELSEWHERE);
        }
        if let Some(former) = &self.renamed_from {
            object["metadata"]["annotations"]["landform.dev/renamed-from"] = json!(former);
        }
        let (field, content) = self.content();
        object[field] = content;
        object
    }

    /// Where its content is, and what.
    fn content(&self) -> (&'static str, Value) {
        match self.kind {
            Kind::Map => ("data", json!({"value": self.value.to_string()})),
            Kind::Widget => ("spec", json!({"size": self.value})),
        }
    }
}

/// What all files say at a moment.
#[derive(Clone, Debug, Default)]
struct Said {
    /// The objects that can be read, with their files.
    docs: BTreeMap<Who, (String, Doc)>,
    /// Those that stand in files that can't be read: nothing may be concluded from their absence.
    unsure: BTreeSet<Who>,
}

fn widgets() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": Kind::Widget.bucket()},
        "spec": {
            "group": GROUP, "scope": "Namespaced",
            "names": {"kind": "Widget", "listKind": "WidgetList", "plural": "widgets", "singular": "widget"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {"size": {"type": "integer"}}},
                }}},
            }],
        },
    })
}

/// The object that stands for the directory.
fn manifest() -> Value {
    json!({
        "apiVersion": "landform.dev/v1alpha1", "kind": "Project",
        "metadata": {"name": PROJECT}, "spec": {"directory": PROJECT, "deletions": "Grace"},
    })
}

/// A disk with all definitions, and a namespace that is others'.
///
/// # Errors
/// When the server refuses one of them.
pub fn template() -> Result<Template, Failure> {
    let mut objects = landform_api::project::definition::definitions();
    objects.push(widgets());
    objects.push(json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ELSEWHERE},
    }));
    Template::new(&objects)
}
