//! Patches that are merged into an object: strategic merge patch and JSON merge patch (RFC 7386).

use serde_json::Value;

use crate::Schema;

/// Merges a strategic merge patch.
///
/// # Errors
/// What is wrong with the patch.
pub fn strategic_merge(_schema: &Schema, original: &Value, patch: &Value) -> Result<Value, String> {
    let mut merged = original.clone();
    json_merge(&mut merged, patch);
    Ok(merged)
}

/// Merges a patch as RFC 7386 says: null deletes, objects merge, all else replaces.
pub fn json_merge(original: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *original = patch.clone();
        return;
    };
    if !original.is_object() {
        *original = Value::Object(serde_json::Map::new());
    }
    let Value::Object(fields) = original else {
        return;
    };
    for (name, change) in changes {
        if change.is_null() {
            fields.remove(name);
        } else {
            json_merge(fields.entry(name.clone()).or_insert(Value::Null), change);
        }
    }
}
