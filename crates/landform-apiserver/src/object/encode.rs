//! The stored form of an object, and what is served from it.
//!
//! An object is serialised once, when it is written. Its stored form always begins with
//! `{"apiVersion":"…","kind":"…","metadata":{` and has no resourceVersion: the revision is known
//! only after the commit. Serving it means copying the bytes with the revision put in after that
//! opening; nothing is parsed. The same trick serves another version of the same kind, which
//! differs in its apiVersion only.

use serde_json::Value;

use super::Object;

/// The stored form. `apiVersion`, `kind` and `metadata` come first, the rest in key order.
#[must_use]
pub fn stored(object: &Object) -> Vec<u8> {
    let mut out = Vec::with_capacity(2048);
    out.extend_from_slice(b"{\"apiVersion\":");
    write_value(&mut out, object.get("apiVersion").unwrap_or(&Value::Null));
    out.extend_from_slice(b",\"kind\":");
    write_value(&mut out, object.get("kind").unwrap_or(&Value::Null));
    out.extend_from_slice(b",\"metadata\":{");
    let mut first = true;
    if let Some(Value::Object(metadata)) = object.get("metadata") {
        for (key, value) in metadata.iter().filter(|(key, _)| *key != "resourceVersion") {
            write_field(&mut out, &mut first, key, value);
        }
    }
    out.push(b'}');
    let mut first = false;
    for (key, value) in object {
        if !matches!(key.as_str(), "apiVersion" | "kind" | "metadata") {
            write_field(&mut out, &mut first, key, value);
        }
    }
    out.push(b'}');
    out
}

fn write_field(out: &mut Vec<u8>, first: &mut bool, key: &str, value: &Value) {
    if !std::mem::take(first) {
        out.push(b',');
    }
    // Writing to a Vec can't fail, and a Value has no key that isn't a string.
    let _ = serde_json::to_writer(&mut *out, key);
    out.push(b':');
    write_value(out, value);
}

fn write_value(out: &mut Vec<u8>, value: &Value) {
    let _ = serde_json::to_writer(&mut *out, value);
}

/// What the opening of a stored object says, and where its metadata's fields begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening<'a> {
    /// The quoted apiVersion, as it stands in the JSON text.
    pub api_version: &'a [u8],
    /// From the comma after the apiVersion to the brace that opens the metadata, inclusive.
    pub middle: &'a [u8],
    /// The fields of the metadata and everything after it.
    pub rest: &'a [u8],
}

const START: &[u8] = b"{\"apiVersion\":";
const KIND: &[u8] = b",\"kind\":";
const METADATA: &[u8] = b",\"metadata\":{";

/// Takes the opening of a stored object apart; `None` when it is not in the stored form.
#[must_use]
pub fn opening(stored: &[u8]) -> Option<Opening<'_>> {
    let after_start = stored.strip_prefix(START)?;
    let version_length = quoted_length(after_start)?;
    let after_version = &after_start[version_length..];
    let kind = after_version.strip_prefix(KIND)?;
    let kind_length = quoted_length(kind)?;
    kind[kind_length..].strip_prefix(METADATA)?;
    let middle_length = KIND.len() + kind_length + METADATA.len();
    Some(Opening {
        api_version: &after_start[..version_length],
        middle: &after_version[..middle_length],
        rest: &after_version[middle_length..],
    })
}

/// The length of a JSON string without escapes, with its quotes.
fn quoted_length(text: &[u8]) -> Option<usize> {
    let inner = text.strip_prefix(b"\"")?;
    let end = inner
        .iter()
        .position(|byte| *byte == b'"' || *byte == b'\\')?;
    (inner[end] == b'"').then_some(end + 2)
}

/// Appends the served form: the stored one with its revision, in the version asked for.
///
/// A value that is not in the stored form (it was damaged, or written by something else) is
/// appended as it is.
pub fn serve_into(out: &mut Vec<u8>, stored: &[u8], revision: u64, api_version: Option<&str>) {
    let Some(opening) = opening(stored) else {
        out.extend_from_slice(stored);
        return;
    };
    out.extend_from_slice(START);
    match api_version {
        Some(version) => {
            let _ = serde_json::to_writer(&mut *out, version);
        }
        None => out.extend_from_slice(opening.api_version),
    }
    out.extend_from_slice(opening.middle);
    out.extend_from_slice(b"\"resourceVersion\":\"");
    out.extend_from_slice(revision.to_string().as_bytes());
    out.push(b'"');
    if opening.rest.first() != Some(&b'}') {
        out.push(b',');
    }
    out.extend_from_slice(opening.rest);
}

/// The served form of one object.
#[cfg(test)]
pub fn served(stored: &[u8], revision: u64, api_version: Option<&str>) -> Vec<u8> {
    let mut out = Vec::with_capacity(stored.len() + 48);
    serve_into(&mut out, stored, revision, api_version);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn object(value: Value) -> Object {
        match value {
            Value::Object(object) => object,
            other => panic!("not an object: {other}"),
        }
    }

    #[test]
    fn the_stored_form_begins_with_version_kind_and_metadata() {
        let stored = stored(&object(json!({
            "data": {"z": "1", "a": "2"},
            "kind": "ConfigMap",
            "apiVersion": "v1",
            "metadata": {"name": "x", "resourceVersion": "7"},
        })));
        assert_eq!(
            String::from_utf8(stored).unwrap(),
            r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":"2","z":"1"}}"#
        );
    }

    #[test]
    fn serving_puts_in_the_revision_and_another_version() {
        let stored = stored(&object(json!({
            "apiVersion": "a.b/v1", "kind": "K", "metadata": {"name": "x"}, "spec": {"n": 1},
        })));
        let text = String::from_utf8(served(&stored, 42, Some("a.b/v2"))).unwrap();
        assert_eq!(
            text,
            r#"{"apiVersion":"a.b/v2","kind":"K","metadata":{"resourceVersion":"42","name":"x"},"spec":{"n":1}}"#
        );
    }

    #[test]
    fn an_object_without_metadata_fields_is_still_valid_json() {
        let stored = stored(&object(
            json!({"apiVersion": "v1", "kind": "K", "metadata": {}}),
        ));
        let value: Value = serde_json::from_slice(&served(&stored, 1, None)).unwrap();
        assert_eq!(value["metadata"], json!({"resourceVersion": "1"}));
    }

    fn json_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>()
                .prop_filter("finite", |f| f.is_finite())
                .prop_map(Value::from),
            ".*".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map(".*", inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        /// Whatever an object holds (big integers, odd keys, any text), what is served is what was
        /// written, plus its resourceVersion.
        #[test]
        fn what_is_served_is_what_was_written(data in json_value(), name in ".*", revision in any::<u64>()) {
            let mut written = json!({
                "apiVersion": "x.y/v1", "kind": "Thing", "metadata": {"name": name}, "data": data,
            });
            let bytes = stored(&object(written.clone()));
            let read: Value = serde_json::from_slice(&served(&bytes, revision, None)).unwrap();
            written["metadata"]["resourceVersion"] = json!(revision.to_string());
            prop_assert_eq!(read, written);
        }

        #[test]
        fn taking_an_opening_apart_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = opening(&bytes);
            let _ = served(&bytes, 1, Some("v1"));
        }
    }
}
