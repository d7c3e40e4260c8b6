//! The difference between two states of an object, and whether somebody else's is in its way.

use serde_json::{Map, Value};

/// The merge patch that leads from one value to another; `None` when they are the same.
pub(super) fn patch(old: &Value, new: &Value) -> Option<Value> {
    let (Value::Object(old), Value::Object(new)) = (old, new) else {
        return (old != new).then(|| new.clone());
    };
    let mut change = Map::new();
    for (name, value) in new {
        let inner = match old.get(name) {
            Some(old) => patch(old, value),
            None => Some(value.clone()),
        };
        change.extend(inner.map(|inner| (name.clone(), inner)));
    }
    let gone = old.keys().filter(|name| !new.contains_key(*name));
    change.extend(gone.map(|name| (name.clone(), Value::Null)));
    (!change.is_empty()).then_some(Value::Object(change))
}

/// The fields of a patch that are no longer as they were when the patch was made.
pub(super) fn conflicts(patch: &Value, old: &Value, live: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare("", patch, old, live, &mut found);
    found
}

fn compare(path: &str, patch: &Value, old: &Value, live: &Value, found: &mut Vec<String>) {
    match patch {
        Value::Object(fields) if old.is_object() && live.is_object() => {
            for (name, patch) in fields {
                let inner = if path.is_empty() {
                    name.clone()
                } else {
                    format!("{path}.{name}")
                };
                compare(&inner, patch, &old[name], &live[name], found);
            }
        }
        // Both may have wanted the same.
        patch if old != live && patch != live => found.push(path.to_owned()),
        _ => {}
    }
}

/// Carries a merge patch out.
pub(super) fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    if let Some(fields) = target.as_object_mut() {
        for (name, value) in patch {
            if value.is_null() {
                fields.remove(name);
            } else {
                merge(fields.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_patch_leads_from_the_old_to_the_new() {
        let table = [
            (json!({"a": 1}), json!({"a": 1})),
            (
                json!({"a": 1, "b": {"c": 1, "d": 2}}),
                json!({"b": {"c": 2}}),
            ),
            (json!({"a": [1, 2]}), json!({"a": [2]})),
            (json!({"a": {"b": 1}}), json!({"a": "text"})),
        ];
        for (old, new) in table {
            let mut merged = old.clone();
            match patch(&old, &new) {
                Some(patch) => merge(&mut merged, &patch),
                None => assert_eq!(old, new),
            }
            assert_eq!(merged, new);
        }
    }

    #[test]
    fn only_what_both_have_changed_is_a_conflict() {
        let old = json!({"data": {"a": "1", "b": "1"}});
        let mine = patch(&old, &json!({"data": {"a": "2", "b": "1"}})).unwrap();
        let others = |a: &str, b: &str| json!({"data": {"a": a, "b": b}});
        assert!(conflicts(&mine, &old, &others("1", "9")).is_empty());
        assert!(conflicts(&mine, &old, &others("2", "1")).is_empty());
        assert_eq!(conflicts(&mine, &old, &others("9", "1")), ["data.a"]);
    }
}
