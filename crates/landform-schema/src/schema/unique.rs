//! Uniqueness of the entries of lists that are sets or maps.

use std::collections::BTreeSet;

use landform_api::FieldReason;
use serde_json::{Map, Value};

use super::validate::Walk;

/// Entries of a set must differ.
pub(crate) fn set(walk: &mut Walk<'_>, entries: &[Value]) {
    let mut seen = BTreeSet::new();
    for (index, entry) in entries.iter().enumerate() {
        if !seen.insert(entry.to_string()) {
            let mark = walk.path.push_index(index);
            walk.refuse(FieldReason::Duplicate, Some(entry), String::new());
            walk.path.pop(mark);
        }
    }
}

/// Entries of a map-like list must differ in their keys.
pub(crate) fn map(walk: &mut Walk<'_>, keys: &[Box<str>], entries: &[Value]) {
    let mut seen = BTreeSet::new();
    for (index, entry) in entries.iter().enumerate() {
        let Some(fields) = entry.as_object() else {
            continue;
        };
        if !seen.insert(identity(keys, fields)) {
            let mark = walk.path.push_index(index);
            let shown = identity(keys, fields);
            walk.refuse(FieldReason::Duplicate, None, shown);
            walk.path.pop(mark);
        }
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
