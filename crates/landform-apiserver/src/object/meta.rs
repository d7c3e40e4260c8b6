//! Reading and writing an object's `metadata`.
//!
//! Objects are plain JSON; these functions know where the metadata's fields are and answer with
//! empty values where a field is absent or has another type (validation reports the latter).

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::Object;
use crate::uids::Reference;

/// The metadata; an empty map when there is none.
#[must_use]
pub fn metadata(object: &Object) -> &Map<String, Value> {
    static EMPTY: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    object
        .get("metadata")
        .and_then(Value::as_object)
        .unwrap_or(&EMPTY)
}

/// The metadata, made when there is none.
pub fn metadata_mut(object: &mut Object) -> &mut Map<String, Value> {
    let slot = object.entry("metadata").or_insert_with(|| json!({}));
    if !slot.is_object() {
        *slot = json!({});
    }
    match slot {
        Value::Object(map) => map,
        _ => unreachable!("just made an object"),
    }
}

/// A text field of the metadata; empty when absent.
#[must_use]
pub fn text<'a>(object: &'a Object, field: &str) -> &'a str {
    metadata(object)
        .get(field)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Sets a text field of the metadata, or removes it when the text is empty.
pub fn set_text(object: &mut Object, field: &str, value: &str) {
    if value.is_empty() {
        metadata_mut(object).remove(field);
    } else {
        metadata_mut(object).insert(field.into(), json!(value));
    }
}

/// `metadata.name`.
#[must_use]
pub fn name(object: &Object) -> &str {
    text(object, "name")
}

/// `metadata.namespace`.
#[must_use]
pub fn namespace(object: &Object) -> &str {
    text(object, "namespace")
}

/// `metadata.uid`.
#[must_use]
pub fn uid(object: &Object) -> &str {
    text(object, "uid")
}

/// `metadata.generation`; zero when absent.
#[must_use]
pub fn generation(object: &Object) -> i64 {
    metadata(object)
        .get("generation")
        .and_then(Value::as_i64)
        .unwrap_or_default()
}

/// Whether the object is marked for deletion (G2).
#[must_use]
pub fn is_marked(object: &Object) -> bool {
    !text(object, "deletionTimestamp").is_empty()
}

/// Its references to owners; none when they can't be read.
pub(crate) fn owner_references(object: &Object) -> Vec<Reference> {
    let list = metadata(object).get("ownerReferences");
    list.and_then(|list| Vec::deserialize(list).ok())
        .unwrap_or_default()
}

/// `metadata.finalizers`.
#[must_use]
pub fn finalizers(object: &Object) -> Vec<&str> {
    metadata(object)
        .get("finalizers")
        .and_then(Value::as_array)
        .map(|list| list.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default()
}

/// Adds a finalizer unless it is there.
pub fn add_finalizer(object: &mut Object, finalizer: &str) {
    if !finalizers(object).contains(&finalizer) {
        let list = metadata_mut(object)
            .entry("finalizers")
            .or_insert_with(|| json!([]));
        match list {
            Value::Array(list) => list.push(json!(finalizer)),
            Value::Null => *list = json!([finalizer]),
            // What is no list is for the schema to refuse.
            _ => {}
        }
    }
}

/// Removes a finalizer; says whether it was there.
pub fn remove_finalizer(object: &mut Object, finalizer: &str) -> bool {
    let metadata = metadata_mut(object);
    let Some(Value::Array(list)) = metadata.get_mut("finalizers") else {
        return false;
    };
    let before = list.len();
    list.retain(|entry| entry.as_str() != Some(finalizer));
    let removed = list.len() < before;
    if list.is_empty() {
        metadata.remove("finalizers");
    }
    removed
}

/// What selectors look at, read from an encoded object without building the rest of it.
#[derive(Debug, Default, Deserialize)]
pub struct Peek {
    /// The object's metadata.
    #[serde(default)]
    pub metadata: PeekMetadata,
}

impl Peek {
    /// Reads a stored object as far as its metadata goes; an empty one when it can't be read.
    #[must_use]
    pub fn of(stored: &[u8]) -> Self {
        let Some(opening) = super::encode::opening(stored) else {
            return serde_json::from_slice(stored).unwrap_or_default();
        };
        // The metadata with its brace; what comes after it isn't looked at.
        let from = stored.len() - opening.rest.len() - 1;
        let mut text = serde_json::Deserializer::from_slice(&stored[from..]);
        let metadata = PeekMetadata::deserialize(&mut text).unwrap_or_default();
        Self { metadata }
    }
}

/// The part of the metadata that is peeked at.
#[derive(Debug, Default, Deserialize)]
pub struct PeekMetadata {
    /// The labels.
    #[serde(default)]
    pub labels: std::collections::BTreeMap<String, String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finalizers_are_added_once_and_removed_whole() {
        let mut object = Object::new();
        add_finalizer(&mut object, "a");
        add_finalizer(&mut object, "a");
        add_finalizer(&mut object, "b");
        assert_eq!(finalizers(&object), ["a", "b"]);
        assert!(remove_finalizer(&mut object, "a"));
        assert!(!remove_finalizer(&mut object, "a"));
        assert!(remove_finalizer(&mut object, "b"));
        assert!(!metadata(&object).contains_key("finalizers"));
    }
}
