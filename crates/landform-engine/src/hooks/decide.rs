//! From the children that a hook wants and those that exist to what must be done. Pure.

use std::collections::{BTreeMap, BTreeSet};

use landform_api::GroupVersionKind;
use serde_json::{Map, Value, json};

use super::three_way;
use crate::authorship::Change;
use crate::key::is_name;

/// On a child: the uid of the object that owns it, so that children are found without reading all.
pub const LABEL_OWNER: &str = "landform.dev/owner";
/// On a child: the shape of what was applied last, so that fields that a hook drops go.
pub const ANNOTATION_LAST_APPLIED: &str = "landform.dev/last-applied";

/// A hook lists this many children at most.
pub(crate) const CHILDREN_MAX: usize = 10_000;
/// This many problems of an answer are told.
const PROBLEMS_TOLD_MAX: usize = 100;

/// The object whose children are looked at.
#[derive(Clone, Debug)]
pub(crate) struct Owner {
    pub(crate) kind: GroupVersionKind,
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) deleting: bool,
}

/// A kind of which children may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnedKind {
    pub(crate) name: GroupVersionKind,
    pub(crate) scope: Scope,
}

/// Where the objects of a kind are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Namespaced,
    Cluster,
    /// The API doesn't serve the kind.
    Unknown,
}

/// What names a child.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ChildName {
    pub(crate) kind: GroupVersionKind,
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
}

/// A child with what it is or should be.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Child {
    pub(crate) name: ChildName,
    pub(crate) value: Value,
}

/// One write.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    Create(Child),
    /// A merge patch that holds the uid, so that it never meets another object of that name.
    Patch(Child),
    /// The same; it leaves nothing of the content that was there (C6).
    Replace(Child),
    Delete {
        name: ChildName,
        uid: String,
    },
}

/// What to do, and what can't be done.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Decision {
    pub(crate) actions: Vec<Action>,
    pub(crate) problems: Vec<String>,
}

/// Reads the children that a hook lists. Problems name no kind and no name that isn't the object's or the Reconciler's own: what
/// a hook answered is for its log. One that is wrong spoils the whole answer: nothing is applied,
/// and above all nothing is deleted, by an answer that can't have been meant.
///
/// # Errors
/// What is wrong, child by child.
pub(crate) fn wanted(
    owner: &Owner,
    kinds: &[OwnedKind],
    listed: &[Value],
) -> Result<Vec<Child>, Vec<String>> {
    if listed.len() > CHILDREN_MAX {
        return Err(vec![format!(
            "owned lists {} children, and an object has at most {CHILDREN_MAX}",
            listed.len()
        )]);
    }
    let mut children: Vec<Child> = Vec::new();
    let mut names = BTreeSet::new();
    let mut problems = Vec::new();
    for (at, value) in listed.iter().enumerate() {
        if problems.len() >= PROBLEMS_TOLD_MAX {
            break;
        }
        match child(owner, kinds, value) {
            Err(problem) => problems.push(format!("owned[{at}] {problem}")),
            Ok(child) if !names.insert(child.name.clone()) => {
                problems.push(format!("owned[{at}] is listed twice"));
            }
            Ok(child) => children.push(child),
        }
    }
    if problems.is_empty() {
        Ok(children)
    } else {
        Err(problems)
    }
}

/// What must be done so that exactly the wanted children exist, as they are wanted.
///
/// `existing` holds all objects that the owner owns, and all that have the name of a wanted child. While
/// the owner is being deleted nothing is created: the collector would take it away again. `is_foreign` says of a child
/// whether others than its hook wrote parts of it.
pub(crate) fn decide(
    owner: &Owner,
    wanted: &[Child],
    existing: &[Child],
    is_foreign: &dyn Fn(&Value) -> bool,
) -> Decision {
    let mut decision = Decision::default();
    let mut by_name: BTreeMap<&ChildName, &Child> = BTreeMap::new();
    for found in existing {
        by_name.entry(&found.name).or_insert(found);
    }
    for child in wanted {
        match by_name.get(&child.name) {
            None if owner.deleting => {}
            None => decision.actions.push(create(owner, child)),
            Some(found) if !is_owned(owner, &found.value) => decision.problems.push(format!(
                "{} exists and is not owned by this {}; it is left alone",
                child.name, owner.kind.kind
            )),
            // It will be gone soon, which brings a run that makes it anew.
            Some(found) if is_marked(&found.value) => {}
            Some(found) => {
                let foreign = is_foreign(&found.value);
                decision.actions.extend(update(child, found, foreign));
            }
        }
    }
    let wanted: BTreeSet<&ChildName> = wanted.iter().map(|child| &child.name).collect();
    for found in existing {
        let kept = wanted.contains(&found.name);
        if !kept && is_owned(owner, &found.value) && !is_marked(&found.value) {
            decision.actions.push(Action::Delete {
                name: found.name.clone(),
                uid: uid(&found.value).to_owned(),
            });
        }
    }
    decision
}

/// Whether an object names the owner, by uid, as one of its owners.
pub(crate) fn is_owned(owner: &Owner, value: &Value) -> bool {
    let references = value
        .pointer("/metadata/ownerReferences")
        .and_then(Value::as_array);
    references
        .into_iter()
        .flatten()
        .any(|reference| reference.get("uid").and_then(Value::as_str) == Some(owner.uid.as_str()))
}

fn is_marked(value: &Value) -> bool {
    value
        .pointer("/metadata/deletionTimestamp")
        .is_some_and(Value::is_string)
}

fn uid(value: &Value) -> &str {
    value
        .pointer("/metadata/uid")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn child(owner: &Owner, kinds: &[OwnedKind], value: &Value) -> Result<Child, String> {
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str);
    let text = |pointer: &str| text(pointer).filter(|text| !text.is_empty());
    let api_version = text("/apiVersion").ok_or("has no apiVersion")?;
    let kind = text("/kind").ok_or("has no kind")?;
    let name = text("/metadata/name").ok_or("has no metadata.name")?;
    if !is_name(name) {
        return Err("has no name that an object can have".to_owned());
    }
    let allowed = kinds
        .iter()
        .find(|allowed| allowed.name.kind == kind && allowed.name.api_version() == api_version);
    let Some(allowed) = allowed else {
        return Err("is of a kind that spec.owns doesn't list".to_owned());
    };
    let given = text("/metadata/namespace");
    if given.is_some_and(|given| !is_name(given)) {
        return Err("is in no namespace that can be".to_owned());
    }
    let namespace = namespace(owner, allowed, given)
        .map_err(|problem| format!("({}) {problem}", allowed.name.kind))?;
    let name = ChildName {
        kind: allowed.name.clone(),
        namespace,
        name: name.to_owned(),
    };
    let value = applied(owner, &name, value);
    Ok(Child { name, value })
}

/// The namespace of a child. An owner in a namespace can own only what is in the same one: the
/// collector finds owners by that rule.
fn namespace(
    owner: &Owner,
    kind: &OwnedKind,
    given: Option<&str>,
) -> Result<Option<String>, String> {
    let owners = owner.namespace.as_deref();
    match (kind.scope, owners, given) {
        (Scope::Unknown, _, _) => Err("is of a kind that the API doesn't know".to_owned()),
        (Scope::Cluster, None, None) => Ok(None),
        (Scope::Cluster, None, Some(_)) => Err("has a namespace, and its kind has none".to_owned()),
        (Scope::Cluster, Some(_), _) => Err(format!(
            "is of a kind without namespaces, and {} is in one: it can't be its owner",
            owner.name
        )),
        (Scope::Namespaced, None, None) => Err("has no metadata.namespace".to_owned()),
        (Scope::Namespaced, None, Some(given)) => Ok(Some(given.to_owned())),
        (Scope::Namespaced, Some(owners), Some(given)) if given != owners => Err(format!(
            "is in another namespace than its owner, which is in {owners}: that can't be its owner"
        )),
        (Scope::Namespaced, Some(owners), _) => Ok(Some(owners.to_owned())),
    }
}

/// What a child should be: what the hook says, less what isn't the hook's to say, plus our label. A hook
/// may thus answer with what it was shown.
fn applied(owner: &Owner, name: &ChildName, value: &Value) -> Value {
    let mut value = three_way::without_nulls(value.clone());
    let map = |value: Option<&Value>| {
        value
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default()
    };
    let given = map(value.get("metadata"));
    let mut labels = map(given.get("labels"));
    labels.insert(LABEL_OWNER.to_owned(), json!(owner.uid));
    let mut annotations = map(given.get("annotations"));
    annotations.remove(ANNOTATION_LAST_APPLIED);
    let mut metadata = Map::new();
    metadata.insert("name".to_owned(), json!(name.name));
    if let Some(namespace) = &name.namespace {
        metadata.insert("namespace".to_owned(), json!(namespace));
    }
    metadata.insert("labels".to_owned(), Value::Object(labels));
    // Even when it is empty: a map that is dropped goes as a whole, with what others put into it.
    metadata.insert("annotations".to_owned(), Value::Object(annotations));
    if let Some(fields) = value.as_object_mut() {
        fields.remove("status");
        fields.insert("metadata".to_owned(), Value::Object(metadata));
    }
    value
}

fn create(owner: &Owner, child: &Child) -> Action {
    let mut child = child.clone();
    let memory = memory(&child);
    child.value["metadata"]["annotations"][ANNOTATION_LAST_APPLIED] = json!(memory);
    child.value["metadata"]["ownerReferences"] = json!([{
        "apiVersion": owner.kind.api_version(),
        "kind": owner.kind.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": true,
        "blockOwnerDeletion": true,
    }]);
    Action::Create(child)
}

fn update(child: &Child, found: &Child, foreign: bool) -> Option<Action> {
    let pointer = format!(
        "/metadata/annotations/{}",
        ANNOTATION_LAST_APPLIED.replace('/', "~1")
    );
    let last = found.value.pointer(&pointer).and_then(Value::as_str);
    let shape = last
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    let mut patch = three_way::patch(&shape, &child.value, &found.value);
    let memory = memory(child);
    if last != Some(memory.as_str()) {
        let patch = patch.get_or_insert_with(|| json!({}));
        patch["metadata"]["annotations"][ANNOTATION_LAST_APPLIED] = json!(memory);
    }
    let change = Change::new(patch, &child.value, &found.value, foreign)?;
    let mut value = change.patch;
    value["metadata"]["uid"] = json!(uid(&found.value));
    let child = Child {
        name: child.name.clone(),
        value,
    };
    Some(if change.whole {
        Action::Replace(child)
    } else {
        Action::Patch(child)
    })
}

/// The text that is remembered of a child.
fn memory(child: &Child) -> String {
    three_way::shape(&child.value).to_string()
}

/// `ConfigMap shop/web`, as in messages.
impl std::fmt::Display for ChildName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ", self.kind.kind)?;
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}/")?;
        }
        f.write_str(&self.name)
    }
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
