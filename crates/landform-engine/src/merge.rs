//! The smallest JSON merge patch from one value to another.

use serde_json::{Map, Value};

/// What must be merged into `from` to get `to`; `None` when they are the same already.
///
/// Lists are replaced as a whole, as RFC 7386 has it. A `null` inside `to` can't be said by a merge
/// patch and comes out as an absent field.
pub(crate) fn patch(from: &Value, to: &Value) -> Option<Value> {
    let (Value::Object(from), Value::Object(to)) = (from, to) else {
        return (from != to).then(|| to.clone());
    };
    let removed = from.keys().filter(|name| !to.contains_key(*name));
    let mut change: Map<String, Value> = removed.map(|name| (name.clone(), Value::Null)).collect();
    for (name, to) in to {
        match from.get(name) {
            None if to.is_null() => {}
            None => {
                change.insert(name.clone(), to.clone());
            }
            Some(from) => {
                if let Some(inner) = patch(from, to) {
                    change.insert(name.clone(), inner);
                }
            }
        }
    }
    (!change.is_empty()).then_some(Value::Object(change))
}

#[cfg(test)]
mod tests {
    use super::patch;
    use serde_json::{Value, json};

    #[test]
    fn only_what_differs_is_patched() {
        let table = [
            (json!({"a": 1}), json!({"a": 1}), None),
            (json!({"a": 1}), json!({"a": 2}), Some(json!({"a": 2}))),
            (
                json!({"a": 1, "b": 2}),
                json!({"a": 1}),
                Some(json!({"b": null})),
            ),
            (
                json!({"a": {"b": 1, "c": 2}}),
                json!({"a": {"b": 1, "c": 3}}),
                Some(json!({"a": {"c": 3}})),
            ),
            (
                json!({"a": [1]}),
                json!({"a": [1, 2]}),
                Some(json!({"a": [1, 2]})),
            ),
            (Value::Null, json!({"a": 1}), Some(json!({"a": 1}))),
            (Value::Null, json!({}), Some(json!({}))),
            (json!({}), json!({"a": null}), None),
        ];
        for (from, to, expected) in table {
            assert_eq!(patch(&from, &to), expected, "{from} → {to}");
        }
    }
}
