//! Stored objects that are larger than an object may be: versions before the budget took some that are nested so deep
//! that they can't be decoded.
//!
//! Whatever is in the store can be listed, shown and deleted, and its metadata can be changed. Of an object that is over
//! the budget everything but its metadata is carried along as the bytes that it has; in its place stands [`CARRIED`].

use std::collections::BTreeMap;

use landform_api::{Budget, budget};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Object, encode};

/// What is stored has what the server adds, so that it may have a few more bytes than what was sent.
const STORED: Budget = Budget {
    bytes: usize::MAX,
    ..Budget::OBJECT
};
/// What stands for a field that is carried along.
const CARRIED: &str = "(more than an object may have; delete it, or replace the object)";
/// What every object has, and nothing of which can be too large on its own.
const DECODED: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// A stored object, decoded as far as the budget reaches.
///
/// # Errors
/// When it is no JSON object.
pub fn read(stored: &[u8]) -> serde_json::Result<Object> {
    // Nothing is built beyond the budget.
    if let Ok(Value::Object(object)) = budget::decode(stored, &STORED) {
        return Ok(object);
    }
    fields(stored)?
        .into_iter()
        .map(|(name, text)| {
            let value = if DECODED.contains(&name.as_str()) {
                serde_json::from_str(text.get())?
            } else {
                Value::String(CARRIED.into())
            };
            Ok((name, value))
        })
        .collect()
}

/// What is unusual about a stored object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// In words, after its name.
    pub what: String,
    /// Whether a request can delete it.
    pub can_be_deleted: bool,
}

/// What is unusual about a stored object; `None` for one within the budget.
#[must_use]
pub fn remark(stored: &[u8]) -> Option<Remark> {
    if fields(stored).is_err() {
        return Some(Remark {
            what: "is no JSON object: no request can read or delete it".to_owned(),
            can_be_deleted: false,
        });
    }
    let why = match budget::decode(stored, &STORED) {
        Ok(_) => return None,
        Err(error) => error.to_string(),
    };
    Some(Remark {
        what: format!("is more than an object may be ({why}): only its metadata can be changed"),
        can_be_deleted: read(stored).is_ok(),
    })
}

/// The stored form of an object that was read from `before`.
#[must_use]
pub fn write(object: &Object, before: &[u8]) -> Vec<u8> {
    let is_carried = |value: &Value| value.as_str() == Some(CARRIED);
    if !object.values().any(is_carried) {
        return encode::stored(object);
    }
    let Ok(fields) = fields(before) else {
        return encode::stored(object);
    };
    let (carried, decoded): (Object, Object) = object
        .clone()
        .into_iter()
        .partition(|(name, value)| is_carried(value) && fields.contains_key(name));
    let mut out = encode::stored(&decoded);
    out.pop();
    for name in carried.keys() {
        if let Some(text) = fields.get(name) {
            out.push(b',');
            let _ = serde_json::to_writer(&mut out, name);
            out.push(b':');
            out.extend_from_slice(text.get().as_bytes());
        }
    }
    out.push(b'}');
    out
}

/// The fields of an object, each as text: skipping over a value needs no stack.
fn fields(stored: &[u8]) -> serde_json::Result<BTreeMap<String, &RawValue>> {
    serde_json::from_slice(stored)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn deep(levels: usize) -> String {
        format!(
            r#"{{"apiVersion":"v1","kind":"K","metadata":{{"name":"a","finalizers":["x/y"]}},"spec":{}1{},"status":{{"n":1}}}}"#,
            "[".repeat(levels),
            "]".repeat(levels)
        )
    }

    #[test]
    fn what_is_too_deep_is_carried_along_while_metadata_changes() {
        for levels in [100, 127, 200, 500_000] {
            let stored = deep(levels);
            let mut object = read(stored.as_bytes()).unwrap();
            assert_eq!(object["metadata"]["name"], json!("a"));
            assert_eq!(object["spec"], json!(CARRIED));
            object["metadata"]["finalizers"] = json!([]);
            let written = String::from_utf8(write(&object, stored.as_bytes())).unwrap();
            let expected = stored.replace(r#"["x/y"]"#, "[]");
            let fields = |text: &str| -> Vec<(String, String)> {
                let fields: BTreeMap<String, Box<RawValue>> = serde_json::from_str(text).unwrap();
                let texts = fields.into_iter();
                texts
                    .map(|(name, text)| (name, text.get().len().to_string()))
                    .collect()
            };
            assert_eq!(written.len(), expected.len());
            assert_eq!(fields(&written), fields(&expected));
        }
    }

    #[test]
    fn what_is_over_the_budget_is_remarked_and_can_be_deleted() {
        assert_eq!(remark(deep(50).as_bytes()), None);
        for (stored, can_be_deleted) in [
            (deep(110), true),
            (deep(500), true),
            ("[]".into(), false),
            ("{".into(), false),
        ] {
            let remark = remark(stored.as_bytes()).unwrap();
            assert_eq!(remark.can_be_deleted, can_be_deleted, "{remark:?}");
        }
    }

    #[test]
    fn an_object_within_the_budget_is_decoded_whole() {
        let stored = deep(99);
        let object = read(stored.as_bytes()).unwrap();
        assert!(object["spec"].is_array());
        assert_eq!(write(&object, stored.as_bytes()), encode::stored(&object));
    }

    #[test]
    fn a_text_of_the_sender_is_not_taken_for_what_is_carried() {
        let stored = br#"{"apiVersion":"v1","kind":"K","metadata":{}}"#;
        let mut object = read(stored).unwrap();
        object.insert("note".into(), json!(CARRIED));
        assert_eq!(write(&object, stored), encode::stored(&object));
    }
}
