//! What must be patched so that a child is as the hook wants it, and nothing else of it changes.
//!
//! As in kubectl's client-side apply there are three values: what was applied last, what is wanted now,
//! and what is there. A field that is wanted is set when it differs. A field that was applied last and is
//! wanted no more goes. All other fields are somebody else's, or the server's defaults, and stay.
//!
//! Lists have no names inside that we could know of, so a list is one value. The server puts defaults
//! into the items of lists, though: a list that is wanted as it was applied last, and whose items are
//! there with perhaps more fields than wanted, is left alone.
//!
//! What was applied last is remembered as a *shape*: the names of the fields, a sum for each list, no
//! values. It is all that is needed, it is short, and a Secret isn't copied into an annotation.

use serde_json::{Map, Number, Value};

/// The names of a value's fields, with a sum in the place of each list.
#[must_use]
pub fn shape(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| (name.clone(), shape(value)));
            Value::Object(fields.collect())
        }
        Value::Array(_) => Value::String(format!("{:016x}", sum(value.to_string().as_bytes()))),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Value::Null,
    }
}

/// The merge patch that brings `live` to `wanted`; `None` when there is nothing to change. `last` is the
/// [`shape`] of what was applied last.
#[must_use]
pub fn patch(last: &Value, wanted: &Value, live: &Value) -> Option<Value> {
    let (Value::Object(wanted), Value::Object(live)) = (wanted, live) else {
        return (!same(last, wanted, live)).then(|| wanted.clone());
    };
    let mut change = Map::new();
    for (name, wanted) in wanted {
        let last = last.get(name).unwrap_or(&Value::Null);
        let inner = match live.get(name) {
            Some(live) => patch(last, wanted, live),
            None => Some(wanted.clone()),
        };
        change.extend(inner.map(|inner| (name.clone(), inner)));
    }
    if let Value::Object(last) = last {
        let dropped = last.keys().filter(|name| !wanted.contains_key(*name));
        let dropped = dropped.filter(|name| live.contains_key(*name));
        change.extend(dropped.map(|name| (name.clone(), Value::Null)));
    }
    (!change.is_empty()).then_some(Value::Object(change))
}

/// A value without fields that are null: to a merge patch they mean that a field goes.
#[must_use]
pub fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
            let fields = fields.map(|(name, value)| (name, without_nulls(value)));
            Value::Object(fields.collect())
        }
        other @ (Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)) => other,
    }
}

/// Whether something that isn't a map is as wanted.
fn same(last: &Value, wanted: &Value, live: &Value) -> bool {
    match (wanted, live) {
        (Value::Array(_), Value::Array(_)) => {
            wanted == live || (*last == shape(wanted) && covers(live, wanted))
        }
        _ => covers(live, wanted),
    }
}

/// Whether all that is wanted is there.
fn covers(live: &Value, wanted: &Value) -> bool {
    match (wanted, live) {
        (Value::Object(wanted), Value::Object(live)) => wanted.iter().all(|(name, wanted)| {
            let live = live.get(name).unwrap_or(&Value::Null);
            covers(live, wanted)
        }),
        (Value::Array(wanted), Value::Array(live)) => {
            let mut pairs = wanted.iter().zip(live);
            wanted.len() == live.len() && pairs.all(|(wanted, live)| covers(live, wanted))
        }
        (Value::Number(wanted), Value::Number(live)) => same_number(wanted, live),
        _ => wanted == live,
    }
}

/// Many languages write `1` as `1.0`.
fn same_number(left: &Number, right: &Number) -> bool {
    left == right || (left.as_f64() == right.as_f64() && (left.is_f64() != right.is_f64()))
}

/// FNV-1a: short, and the same in every version of this program.
fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn only_what_is_wanted_or_was_applied_is_touched() {
        let item = json!([{"name": "web", "image": "a"}]);
        let defaulted = json!([{"name": "web", "image": "a", "policy": "Always"}]);
        let table = [
            (
                "as wanted",
                json!({"a": 1}),
                json!({"a": 1}),
                json!({"a": 1}),
                None,
            ),
            (
                "somebody else's field stays",
                json!({"a": 1}),
                json!({"a": 1}),
                json!({"a": 1, "b": 2}),
                None,
            ),
            (
                "drift is put right",
                json!({"a": 1}),
                json!({"a": 1}),
                json!({"a": 2}),
                Some(json!({"a": 1})),
            ),
            (
                "a lost field comes back",
                json!({"a": 1}),
                json!({"a": 1}),
                json!({}),
                Some(json!({"a": 1})),
            ),
            (
                "a field that is wanted no more goes",
                json!({"a": {"x": 1, "y": 1}}),
                json!({"a": {"x": 1}}),
                json!({"a": {"x": 1, "y": 1, "z": 1}}),
                Some(json!({"a": {"y": null}})),
            ),
            (
                "and is not missed",
                json!({"a": 1, "b": 1}),
                json!({"a": 1}),
                json!({"a": 1}),
                None,
            ),
            (
                "nothing was applied: what is there stays",
                json!(null),
                json!({"a": 1}),
                json!({"b": 2}),
                Some(json!({"a": 1})),
            ),
            (
                "defaults in items",
                json!({"c": item}),
                json!({"c": item}),
                json!({"c": defaulted}),
                None,
            ),
            (
                "another list than before is set as a whole",
                json!({"c": [{"name": "web", "image": "a", "extra": 1}]}),
                json!({"c": item}),
                json!({"c": [{"name": "web", "image": "a", "extra": 1}]}),
                Some(json!({"c": item})),
            ),
            (
                "an item too many is drift",
                json!({"c": [1]}),
                json!({"c": [1]}),
                json!({"c": [1, 2]}),
                Some(json!({"c": [1]})),
            ),
            (
                "1 is 1.0",
                json!({"a": 1.0}),
                json!({"a": 1.0}),
                json!({"a": 1}),
                None,
            ),
            (
                "1 is not '1'",
                json!({"a": 1}),
                json!({"a": 1}),
                json!({"a": "1"}),
                Some(json!({"a": 1})),
            ),
            (
                "a map in the place of a list",
                json!({"a": [1]}),
                json!({"a": {"b": 1}}),
                json!({"a": [1]}),
                Some(json!({"a": {"b": 1}})),
            ),
        ];
        for (what, last, wanted, live, expected) in table {
            assert_eq!(patch(&shape(&last), &wanted, &live), expected, "{what}");
        }
    }

    #[test]
    fn a_shape_holds_no_values() {
        let shape = shape(&json!({"data": {"password": "secret", "n": 1}, "list": ["secret"]}));
        assert_eq!(shape["data"], json!({"password": null, "n": null}));
        assert!(!shape.to_string().contains("secret"), "{shape}");
    }

    #[test]
    fn fields_that_are_null_are_not_wanted() {
        let value = without_nulls(json!({"a": null, "b": {"c": null, "d": 1}, "e": [null]}));
        assert_eq!(value, json!({"b": {"d": 1}, "e": [null]}));
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            (0..3_i64).prop_map(Value::from),
            "[ab]".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[abc]", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn after_the_patch_there_is_nothing_left_to_patch(last in any_json(), wanted in any_json(), live in any_json()) {
            let mut patched = live.clone();
            if let Some(change) = patch(&shape(&last), &wanted, &live) {
                merge(&mut patched, &change);
            }
            prop_assert!(covers(&patched, &wanted), "{patched} lacks something of {wanted}");
            prop_assert_eq!(patch(&shape(&wanted), &wanted, &patched), None);
        }
    }

    /// RFC 7386, for the test.
    fn merge(target: &mut Value, patch: &Value) {
        let Value::Object(patch) = patch else {
            *target = patch.clone();
            return;
        };
        if !target.is_object() {
            *target = json!({});
        }
        for (name, value) in patch {
            if value.is_null() {
                target.as_object_mut().unwrap().remove(name);
            } else {
                merge(&mut target[name.as_str()], value);
            }
        }
    }
}
