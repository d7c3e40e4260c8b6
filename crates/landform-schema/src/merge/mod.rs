//! Patches that are merged into an object: strategic merge patch and JSON merge patch (RFC 7386).
//!
//! Reading order: `strategic` (objects and directives), `lists` (entries and their order).

mod lists;
mod strategic;
#[cfg(test)]
mod tests;

use serde_json::Value;

pub use strategic::strategic_merge;

/// What is wrong with a strategic merge patch, and where in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct MergeError {
    /// The place in the patch, `spec.containers[0]`; `<root>` for the patch itself.
    pub path: String,
    /// What is wrong and what would be right.
    pub problem: String,
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
