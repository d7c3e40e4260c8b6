//! CustomResourceDefinitions: their conditions are settled in the write that creates or changes
//! them, so a definition is usable the moment that its write is acknowledged.

use landform_api::keys::FINALIZER_CRD;
use landform_api::{FieldError, FieldPath, FieldReason};
use landform_store::Revision;
use serde_json::{Value, json};

use super::KindRules;
use crate::object::{Object, meta};
use crate::registry::{DefinitionNames, Kinds, from_definition};

pub(super) struct DefinitionRules;

impl KindRules for DefinitionRules {
    fn prepare_create(&self, object: &mut Object) {
        fill_names(object);
        meta::add_finalizer(object, FINALIZER_CRD);
    }

    fn prepare_update(&self, object: &mut Object, _old: &Object) {
        fill_names(object);
    }

    fn validate(&self, object: &Object, old: Option<&Object>) -> Vec<FieldError> {
        // A definition that is going must always be able to go, whatever is wrong with it.
        if meta::is_marked(object) {
            return Vec::new();
        }
        let mut errors = from_definition(object, Revision::ZERO)
            .err()
            .unwrap_or_default();
        if let Some(old) = old {
            for field in ["group", "scope"] {
                immutable(object, old, &["spec", field], &mut errors);
            }
            for field in ["plural", "kind"] {
                immutable(object, old, &["spec", "names", field], &mut errors);
            }
            stored_versions_stay(object, &mut errors);
        } else {
            errors.extend(unapproved(object));
        }
        errors
    }
}

/// Groups of Kubernetes' own domains take a word of its community, as on any cluster.
fn unapproved(object: &Object) -> Option<FieldError> {
    const APPROVED: &str = "api-approved.kubernetes.io";
    let group = at(object, &["spec", "group"]).as_str().unwrap_or_default();
    let is_protected = ["k8s.io", "kubernetes.io"].iter().any(|domain| {
        let rest = group.strip_suffix(domain);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    });
    let given = at(object, &["metadata", "annotations"]);
    let given = given[APPROVED].as_str().unwrap_or_default();
    let is_url = given.starts_with("https://") || given.starts_with("http://");
    if !is_protected || is_url || given.starts_with("unapproved") {
        return None;
    }
    let path = FieldPath::of("metadata.annotations").key(APPROVED);
    Some(FieldError::with_value(
        &path,
        FieldReason::Required,
        &Value::from(given),
        "the group is protected: give the address of its approval, or \"unapproved\" and why",
    ))
}

fn at<'a>(object: &'a Object, path: &[&str]) -> &'a Value {
    let [first, rest @ ..] = path else {
        return &Value::Null;
    };
    rest.iter().fold(
        object.get(*first).unwrap_or(&Value::Null),
        |value, field| &value[*field],
    )
}

fn immutable(object: &Object, old: &Object, path: &[&str], errors: &mut Vec<FieldError>) {
    let new = at(object, path);
    if new != at(old, path) {
        errors.push(FieldError::with_value(
            &FieldPath::of(&path.join(".")),
            FieldReason::Invalid,
            new,
            "field is immutable",
        ));
    }
}

/// A version that objects may be stored in can't be dropped.
fn stored_versions_stay(object: &Object, errors: &mut Vec<FieldError>) {
    let versions = at(object, &["spec", "versions"])
        .as_array()
        .cloned()
        .unwrap_or_default();
    let stored = at(object, &["status", "storedVersions"])
        .as_array()
        .cloned()
        .unwrap_or_default();
    for (index, name) in stored.iter().enumerate() {
        if !versions.iter().any(|version| version["name"] == *name) {
            errors.push(FieldError::with_value(
                &FieldPath::of("status.storedVersions").index(index),
                FieldReason::Invalid,
                name,
                "must appear in spec.versions: objects may still be stored in it",
            ));
        }
    }
}

/// Singular and listKind follow from plural and kind when they are not given.
fn fill_names(object: &mut Object) {
    let Some(names) = object
        .get_mut("spec")
        .and_then(|spec| spec.get_mut("names"))
        .and_then(Value::as_object_mut)
    else {
        return;
    };
    let kind = names
        .get("kind")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    // What is no text is for the schema to refuse.
    let absent = |value: Option<&Value>| value.is_none_or(|value| value.is_null() || value == "");
    if absent(names.get("singular")) {
        names.insert("singular".into(), json!(kind.to_lowercase()));
    }
    if absent(names.get("listKind")) {
        names.insert("listKind".into(), json!(format!("{kind}List")));
    }
    if let Some(Value::Object(spec)) = object.get_mut("spec") {
        spec.entry("conversion")
            .or_insert_with(|| json!({"strategy": "None"}));
    }
}

/// Sets the conditions, the accepted names and the stored versions that follow from the spec and
/// from the names that other kinds have already taken.
pub fn settle(object: &mut Object, kinds: &Kinds, now: &str) {
    let name = meta::name(object).to_owned();
    let group = at(object, &["spec", "group"])
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let names: DefinitionNames =
        serde_json::from_value(at(object, &["spec", "names"]).clone()).unwrap_or_default();
    let taken = taken_name(&name, &group, &names, kinds);
    let was_established = condition(object, "Established").is_some_and(|c| c["status"] == "True");
    let storage: Vec<Value> = at(object, &["spec", "versions"])
        .as_array()
        .into_iter()
        .flatten()
        .filter(|version| version["storage"] == true)
        .map(|version| version["name"].clone())
        .collect();
    let accepted = at(object, &["spec", "names"]).clone();
    let marked = meta::is_marked(object);

    let status = object.entry("status").or_insert_with(|| json!({}));
    let mut stored = status["storedVersions"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    for version in storage {
        if !stored.contains(&version) {
            stored.push(version);
        }
    }
    status["storedVersions"] = json!(stored);
    match &taken {
        None => {
            status["acceptedNames"] = accepted;
            set_condition(
                status,
                "NamesAccepted",
                "True",
                "NoConflicts",
                "no conflicts found",
                now,
            );
            let message = "the initial names have been accepted";
            set_condition(
                status,
                "Established",
                "True",
                "InitialNamesAccepted",
                message,
                now,
            );
        }
        Some((reason, message)) => {
            if status["acceptedNames"].is_null() {
                status["acceptedNames"] = json!({"plural": "", "kind": ""});
            }
            set_condition(status, "NamesAccepted", "False", reason, message, now);
            if !was_established {
                let message = "not all names are accepted";
                set_condition(status, "Established", "False", "NotAccepted", message, now);
            }
        }
    }
    if marked {
        let message = "CustomResource deletion is in progress";
        set_condition(
            status,
            "Terminating",
            "True",
            "InstanceDeletionInProgress",
            message,
            now,
        );
    }
}

/// The first name that another kind of the same group has, as reason and message.
fn taken_name(
    own: &str,
    group: &str,
    names: &DefinitionNames,
    kinds: &Kinds,
) -> Option<(&'static str, String)> {
    let others = kinds
        .definitions()
        .values()
        .filter(|d| d.name != own && d.established);
    let mut plurals = Vec::new();
    let mut kind_names = Vec::new();
    for other in others.filter(|other| other.group == group) {
        plurals
            .extend([&other.names.plural, &other.names.singular].map(|n| (n.clone(), &other.name)));
        plurals.extend(
            other
                .names
                .short_names
                .iter()
                .map(|n| (n.clone(), &other.name)),
        );
        kind_names
            .extend([&other.names.kind, &other.names.list_kind].map(|n| (n.clone(), &other.name)));
    }
    let conflict = |wanted: &str, taken: &[(String, &String)]| {
        taken
            .iter()
            .find(|(name, _)| name == wanted)
            .map(|(_, by)| format!("{wanted:?} is already in use by {by}"))
    };
    if let Some(message) = conflict(&names.plural, &plurals) {
        return Some(("PluralConflict", message));
    }
    if let Some(message) = conflict(&names.singular, &plurals) {
        return Some(("SingularConflict", message));
    }
    for short in &names.short_names {
        if let Some(message) = conflict(short, &plurals) {
            return Some(("ShortNamesConflict", message));
        }
    }
    if let Some(message) = conflict(&names.kind, &kind_names) {
        return Some(("KindConflict", message));
    }
    if let Some(message) = conflict(&names.list_kind, &kind_names) {
        return Some(("ListKindConflict", message));
    }
    None
}

fn condition<'a>(object: &'a Object, type_: &str) -> Option<&'a Value> {
    at(object, &["status", "conditions"])
        .as_array()?
        .iter()
        .find(|c| c["type"] == type_)
}

/// Sets one condition; its transition time moves only when its status changes.
fn set_condition(
    status: &mut Value,
    type_: &str,
    value: &str,
    reason: &str,
    message: &str,
    now: &str,
) {
    let mut list = status["conditions"].as_array().cloned().unwrap_or_default();
    let fresh = json!({
        "type": type_, "status": value, "reason": reason, "message": message, "lastTransitionTime": now,
    });
    match list.iter_mut().find(|c| c["type"] == type_) {
        Some(found) => {
            let since = found["lastTransitionTime"].clone();
            let unchanged = found["status"] == value;
            *found = fresh;
            if unchanged && !since.is_null() {
                found["lastTransitionTime"] = since;
            }
        }
        None => list.push(fresh),
    }
    status["conditions"] = json!(list);
}
