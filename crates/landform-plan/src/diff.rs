//! What differs between two states of an object, for people: without what Landform and the server keep for
//! themselves, and without secrets.

use serde_json::{Map, Value};

use crate::model::FieldChange;

/// Fields of metadata that only the server or controllers write.
const MANAGED: [&str; 10] = [
    "resourceVersion",
    "uid",
    "generation",
    "creationTimestamp",
    "managedFields",
    "selfLink",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "finalizers",
    "ownerReferences",
];
/// Labels and annotations of these domains belong to Landform.
const DOMAINS: [&str; 2] = ["landform.dev", "landscaper.gardener.cloud"];
/// What kubectl remembers.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Which values of an object may be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// Somebody wrote it, and sees what he wrote; secrets stay hidden.
    Values,
    /// It was made from values that came from anywhere: only the places are shown.
    Places,
}

/// What differs. `None` is an object that doesn't exist.
pub(crate) fn diff(
    before: Option<&Value>,
    after: Option<&Value>,
    shown: Shown,
) -> Vec<FieldChange> {
    let kind = after.or(before).and_then(|object| object["kind"].as_str());
    let (before, after) = (before.map(plain), after.map(plain));
    let mut changes = Vec::new();
    compare("", before.as_ref(), after.as_ref(), &mut changes);
    for change in &mut changes {
        if shown == Shown::Places || is_secret(kind.unwrap_or_default(), &change.path) {
            change.hidden = true;
            change.from = None;
            change.to = None;
        }
    }
    changes
}

fn is_secret(kind: &str, path: &str) -> bool {
    let begins = |field: &str| path == field || path.starts_with(&format!("{field}."));
    match kind {
        "Secret" => begins("data") || begins("stringData"),
        "Target" => begins("spec.config"),
        _ => false,
    }
}

/// An object without its name, its status and what is managed.
fn plain(object: &Value) -> Value {
    let Value::Object(fields) = object else {
        return Value::Null;
    };
    let mut fields: Map<_, _> = fields.clone();
    for name in ["apiVersion", "kind", "status"] {
        fields.remove(name);
    }
    if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
        metadata.retain(|name, _| {
            !MANAGED.contains(&name.as_str()) && name != "name" && name != "namespace"
        });
        for names in ["labels", "annotations"] {
            if let Some(Value::Object(names)) = metadata.get_mut(names) {
                names.retain(|name, _| !is_managed(name));
            }
        }
    }
    Value::Object(fields)
}

fn is_managed(name: &str) -> bool {
    let domain = name.split_once('/').map_or("", |(domain, _)| domain);
    let is_of = |ours: &str| domain == ours || domain.ends_with(&format!(".{ours}"));
    name == LAST_APPLIED || DOMAINS.into_iter().any(is_of)
}

fn compare(
    path: &str,
    before: Option<&Value>,
    after: Option<&Value>,
    changes: &mut Vec<FieldChange>,
) {
    if before == after || (is_empty(before) && is_empty(after)) {
        return;
    }
    let fields = |value: Option<&Value>| match value {
        Some(Value::Object(fields)) => Some(fields.clone()),
        None => Some(Map::new()),
        Some(_) => None,
    };
    let no_leaf = before.is_some_and(Value::is_object) || after.is_some_and(Value::is_object);
    if let (true, Some(old), Some(new)) = (no_leaf, fields(before), fields(after)) {
        let added = new.keys().filter(|name| !old.contains_key(*name));
        for name in old.keys().chain(added) {
            compare(&below(path, name), old.get(name), new.get(name), changes);
        }
        return;
    }
    if let (Some(Value::Array(old)), Some(Value::Array(new))) = (before, after)
        && old.len() == new.len()
    {
        for (index, (old, new)) in old.iter().zip(new).enumerate() {
            compare(&format!("{path}[{index}]"), Some(old), Some(new), changes);
        }
        return;
    }
    changes.push(FieldChange {
        path: path.to_owned(),
        from: before.cloned(),
        to: after.cloned(),
        hidden: false,
    });
}

fn is_empty(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::Object(fields)) => fields.values().all(|value| is_empty(Some(value))),
        Some(_) => false,
    }
}

fn below(path: &str, name: &str) -> String {
    let plain = name
        .chars()
        .all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    match (path, plain) {
        ("", true) => name.to_owned(),
        (_, true) => format!("{path}.{name}"),
        (_, false) => format!("{path}[{name:?}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn paths(before: &Value, after: &Value) -> Vec<String> {
        let changes = diff(Some(before), Some(after), Shown::Values).into_iter();
        changes.map(|change| change.path).collect()
    }

    #[test]
    fn a_field_is_named_by_its_path() {
        let before = json!({"kind": "X", "spec": {"a": 1, "list": [1, {"b": 2}], "gone": true}});
        let after = json!({"kind": "X", "spec": {"a": 2, "list": [1, {"b": 3}], "new/er": 1}});
        let expected = ["spec.a", "spec.list[1].b", "spec.gone", "spec[\"new/er\"]"];
        let mut found = paths(&before, &after);
        found.sort();
        let mut expected = expected.map(str::to_owned).to_vec();
        expected.sort();
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_managed_is_no_difference() {
        let object = |version: &str, annotation: &str| {
            json!({
                "kind": "X", "status": {"phase": annotation},
                "metadata": {
                    "name": "x", "resourceVersion": version, "uid": version, "finalizers": [version],
                    "annotations": {"landform.dev/applied": annotation},
                    "labels": {"data.landscaper.gardener.cloud/hash": annotation},
                },
            })
        };
        assert_eq!(paths(&object("1", "a"), &object("2", "b")), [""; 0]);
        let bare = json!({"kind": "X", "metadata": {"name": "x"}});
        assert_eq!(paths(&object("1", "a"), &bare), [""; 0]);
    }

    #[test]
    fn secrets_and_what_landform_made_show_places_without_values() {
        let secret = |value: &str| json!({"kind": "Secret", "type": value, "data": {"key": value}});
        let found = diff(
            Some(&secret("canary1")),
            Some(&secret("canary2")),
            Shown::Values,
        );
        let text = serde_json::to_string(&found[0]).unwrap();
        assert_eq!(text, r#"{"path":"data.key","hidden":true}"#);
        assert_eq!(found[1].to, Some(json!("canary2")));
        let item = |value: &str| json!({"kind": "DeployItem", "spec": {"config": value}});
        let found = diff(
            Some(&item("canary1")),
            Some(&item("canary2")),
            Shown::Places,
        );
        assert!(!serde_json::to_string(&found).unwrap().contains("canary"));
    }
}
