//! Objects that are stored and can't be read, because no version of their kind is served. Pure.

use landform_apiserver::UNDELETABLE;
use landform_controllers::collector::responsible;
use landform_engine::custom_kinds::{CustomKind, CustomKinds, Partial};
use serde_json::Value;

use super::act::{Advice, person};
use super::judge::{Cause, Sort, Waiting};
use crate::object::ObjectRef;

/// What is known of an object that can't be read.
pub(super) struct Stored {
    /// The name of its kind's definition.
    definition: String,
    finalizers: Vec<String>,
}

/// An object, if it is stored and its kind isn't served.
pub(super) fn find(custom: &CustomKinds, name: &ObjectRef) -> Option<Stored> {
    let kind = custom.unserved(&name.group_kind())?;
    let is = |object: &&Partial| {
        object.metadata.name.as_deref() == Some(&name.name)
            && object.metadata.namespace.as_deref().unwrap_or_default() == name.namespace
    };
    let found = kind.unserved.iter().find(is)?;
    Some(Stored {
        definition: kind.definition(),
        finalizers: others(found),
    })
}

/// Finalizers that Landform doesn't remove by itself.
fn others(object: &Partial) -> Vec<String> {
    let finalizers = object.metadata.finalizers.iter().flatten();
    let others = finalizers.filter(|name| !responsible(name).starts_with("Landform's"));
    others.cloned().collect()
}

/// What in a marked namespace, or of a marked definition's kind, is held by finalizers and can't be read. The rest goes
/// along with it.
pub(super) fn within(custom: &CustomKinds, object: &Value) -> Vec<Waiting> {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let is_namespace = object["apiVersion"] == "v1" && object["kind"] == "Namespace";
    let is_definition = object["kind"] == "CustomResourceDefinition";
    let inside = |kind: &CustomKind, found: &Partial| {
        (is_definition && kind.definition() == name)
            || (is_namespace && found.metadata.namespace.as_deref() == Some(name))
    };
    let kinds = custom.items.iter().filter(|kind| !kind.served);
    let found = kinds.flat_map(|kind| kind.unserved.iter().map(move |found| (kind, found)));
    let held = found.filter(|(kind, found)| inside(kind, found) && !others(found).is_empty());
    let waits = held.map(|(kind, found)| Waiting {
        object: ObjectRef {
            api_version: format!("{}/{}", kind.group, kind.version),
            kind: kind.kind.clone(),
            namespace: found.metadata.namespace.clone().unwrap_or_default(),
            name: found.metadata.name.clone().unwrap_or_default(),
        },
        rule: None,
        reason: format!("it is held by {}", others(found).join(", ")),
    });
    waits.collect()
}

/// What to do about an object whose kind isn't served.
pub(super) fn about(name: &ObjectRef, stored: &Stored) -> (Cause, Advice) {
    let Stored {
        definition,
        finalizers,
    } = stored;
    let serve = format!(
        "serve a version of {definition} again: run landform edit crd/{definition} and set served to true in spec.versions"
    );
    let act = match finalizers.first() {
        Some(first) => format!(
            "{serve}; then {} can remove the finalizer {first}",
            responsible(first)
        ),
        None if !can_be_deleted(&name.namespace) => {
            format!("{serve}; or delete the definition, which takes it along")
        }
        None => format!(
            "{serve}; or delete the definition or the namespace {}, which take it along",
            name.namespace
        ),
    };
    let held = match finalizers.as_slice() {
        [] => String::new(),
        held => format!(", and it is held by {}", held.join(", ")),
    };
    let message = format!(
        "{name} can't be reached: no version of {definition} is served at the moment{held}"
    );
    (cause("NotServed", message), person(act))
}

/// Whether there is such a namespace, and the API server would delete it.
fn can_be_deleted(namespace: &str) -> bool {
    !namespace.is_empty() && !UNDELETABLE.contains(&namespace)
}

/// What to do about an object that is waited for and whose kind doesn't exist.
pub(super) fn about_undefined(name: &ObjectRef) -> (Cause, Advice) {
    let kind = &name.kind;
    let message = format!(
        "{name} can't be reached: the API knows no kind {kind} in the group {:?}",
        name.group()
    );
    let act = format!("install the definition of the kind {kind}; Landform goes on by itself then");
    (cause("NotDefined", message), person(act))
}

fn cause(reason: &str, message: String) -> Cause {
    Cause {
        sort: Sort::Waits,
        rule: None,
        reason: reason.to_owned(),
        message,
    }
}
