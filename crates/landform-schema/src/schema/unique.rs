//! Uniqueness of the entries of lists that are sets or maps.

use std::collections::BTreeSet;

use landform_api::FieldReason;
use serde_json::{Map, Value};

use super::place::Place;
use super::validate::Walk;

/// Up to this length, comparing each with each is cheaper than any index.
const SHORT: usize = 16;

/// Entries of a set must differ.
pub(crate) fn set(walk: &mut Walk<'_>, entries: &[Value], place: &Place<'_>) {
    let same = |a: &Value, b: &Value| a == b;
    for index in duplicates(entries, same, Value::to_string) {
        walk.refuse(
            &place.index(index),
            FieldReason::Duplicate,
            entries.get(index),
            format_args!(""),
        );
    }
}

/// Entries of a map-like list must differ in their keys.
pub(crate) fn map(walk: &mut Walk<'_>, keys: &[Box<str>], entries: &[Value], place: &Place<'_>) {
    let same = |a: &Value, b: &Value| same_keys(keys, a, b);
    let spelled = |entry: &Value| match entry.as_object() {
        Some(fields) => identity(keys, fields),
        None => entry.to_string(),
    };
    for index in duplicates(entries, same, spelled) {
        if let Some(fields) = entries.get(index).and_then(Value::as_object) {
            let shown = identity(keys, fields);
            walk.refuse(
                &place.index(index),
                FieldReason::Duplicate,
                None,
                format_args!("{shown}"),
            );
        }
    }
}

/// The entries that repeat an earlier one.
fn duplicates(
    entries: &[Value],
    same: impl Fn(&Value, &Value) -> bool,
    spelled: impl Fn(&Value) -> String,
) -> Vec<usize> {
    if entries.len() <= SHORT {
        let repeats = |(index, entry): &(usize, &Value)| {
            entries
                .iter()
                .take(*index)
                .any(|earlier| same(earlier, entry))
        };
        return entries
            .iter()
            .enumerate()
            .filter(repeats)
            .map(|(index, _)| index)
            .collect();
    }
    let mut seen = BTreeSet::new();
    let repeats = |(_, entry): &(usize, &Value)| !seen.insert(spelled(entry));
    entries
        .iter()
        .enumerate()
        .filter(repeats)
        .map(|(index, _)| index)
        .collect()
}

/// Whether two entries have the same keys.
pub(crate) fn same_keys(keys: &[Box<str>], a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => keys
            .iter()
            .all(|key| a.get(key.as_ref()) == b.get(key.as_ref())),
        _ => false,
    }
}

/// The keys of an entry as JSON text.
pub(crate) fn identity(keys: &[Box<str>], fields: &Map<String, Value>) -> String {
    let mut text = String::from("{");
    for key in keys {
        if let Some(value) = fields.get(key.as_ref()) {
            if text.len() > 1 {
                text.push(',');
            }
            text.push_str(&format!("\"{key}\":{value}"));
        }
    }
    text.push('}');
    text
}
