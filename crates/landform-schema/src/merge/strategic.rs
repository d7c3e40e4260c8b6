//! Strategic merge patch: objects merge field by field, lists as their schema says.
//!
//! Directives of the patch: `$patch: replace|delete|merge` in an object or list entry,
//! `$retainKeys` (all other fields go), `$deleteFromPrimitiveList/FIELD`,
//! `$setElementOrder/FIELD`, and null, which deletes a field.

use landform_api::FieldPath;
use serde_json::{Map, Value};

use super::{MergeError, lists};
use crate::Schema;
use crate::schema::node::{Additional, Arena, MergeStrategy, NodeId};

pub(super) const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList/";
const SET_ORDER: &str = "$setElementOrder/";

/// Merges a strategic merge patch into an object, as the schema of its kind says.
///
/// # Errors
/// A directive that isn't understood, a list entry without its merge key, or a patch that is no
/// object.
pub fn strategic_merge(
    schema: &Schema,
    original: &Value,
    patch: &Value,
) -> Result<Value, MergeError> {
    let mut merge = Merge {
        arena: &schema.arena,
        path: FieldPath::root(),
    };
    let Value::Object(patch) = patch else {
        return Err(merge.error("a strategic merge patch must be an object"));
    };
    let empty = Map::new();
    let original = original.as_object().unwrap_or(&empty);
    merge
        .map(Some(schema.root), original, patch)
        .map(Value::Object)
}

/// A walk over a patch, with the place where it is.
pub(super) struct Merge<'a> {
    arena: &'a Arena,
    pub(super) path: FieldPath,
}

/// What the schema knows of a field.
struct FieldInfo {
    node: Option<NodeId>,
    strategy: MergeStrategy,
}

impl Merge<'_> {
    pub(super) fn error(&self, problem: impl Into<String>) -> MergeError {
        MergeError {
            path: self.path.to_string(),
            problem: problem.into(),
        }
    }

    /// Merges two objects.
    pub(super) fn map(
        &mut self,
        node: Option<NodeId>,
        original: &Map<String, Value>,
        patch: &Map<String, Value>,
    ) -> Result<Map<String, Value>, MergeError> {
        match patch.get(PATCH).map(|directive| directive.as_str()) {
            None | Some(Some("merge")) => {}
            Some(Some("replace")) => return Ok(without_directives(patch)),
            Some(Some("delete")) => return Ok(Map::new()),
            Some(_) => {
                return Err(self.error("$patch must be \"replace\", \"delete\" or \"merge\""));
            }
        }
        let mut merged = self.retain_keys(original, patch)?;
        for (name, change) in patch {
            if name == PATCH || name == RETAIN_KEYS {
                continue;
            }
            let field = [DELETE_FROM, SET_ORDER]
                .iter()
                .find_map(|prefix| name.strip_prefix(prefix));
            match field {
                // A directive for a list that the patch also changes is handled with the list.
                Some(field) if patch.contains_key(field) => {}
                Some(field) => self.field(node, &mut merged, patch, field, None)?,
                None => self.field(node, &mut merged, patch, name, Some(change))?,
            }
        }
        Ok(merged)
    }

    /// Drops the fields that `$retainKeys` doesn't name.
    fn retain_keys(
        &self,
        original: &Map<String, Value>,
        patch: &Map<String, Value>,
    ) -> Result<Map<String, Value>, MergeError> {
        let Some(directive) = patch.get(RETAIN_KEYS) else {
            return Ok(original.clone());
        };
        let Some(keys) = directive.as_array() else {
            return Err(self.error("$retainKeys must be a list of field names"));
        };
        let named = |name: &str| keys.iter().any(|key| key.as_str() == Some(name));
        let stray = patch
            .iter()
            .find(|(name, change)| !name.starts_with('$') && !change.is_null() && !named(name));
        if let Some((name, _)) = stray {
            return Err(self.error(format!(
                "the patch sets {name:?}, so $retainKeys must name it too"
            )));
        }
        let kept = original.iter().filter(|(name, _)| named(name));
        Ok(kept
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect())
    }

    fn field(
        &mut self,
        node: Option<NodeId>,
        merged: &mut Map<String, Value>,
        patch: &Map<String, Value>,
        name: &str,
        change: Option<&Value>,
    ) -> Result<(), MergeError> {
        let mark = self.path.push_field(name);
        let info = self.info(node, name);
        let delete = patch.get(&format!("{DELETE_FROM}{name}"));
        let order = patch.get(&format!("{SET_ORDER}{name}"));
        if let Some(change) = change {
            match (merged.get(name), change) {
                (_, Value::Null) => {
                    merged.remove(name);
                }
                (Some(Value::Object(before)), Value::Object(change)) => {
                    let value = self.map(info.node, before, change)?;
                    merged.insert(name.to_owned(), Value::Object(value));
                }
                (None, Value::Object(change)) => {
                    let value = self.map(info.node, &Map::new(), change)?;
                    merged.insert(name.to_owned(), Value::Object(value));
                }
                (before, Value::Array(_)) if info.strategy.merge => {
                    let before = before
                        .and_then(Value::as_array)
                        .cloned()
                        .unwrap_or_default();
                    merged.insert(name.to_owned(), Value::Array(before));
                }
                (_, change) => {
                    merged.insert(name.to_owned(), clean(change));
                }
            }
        }
        let changes = change
            .and_then(Value::as_array)
            .filter(|_| info.strategy.merge);
        if changes.is_some() || delete.is_some() || order.is_some() {
            let list = lists::Change {
                items: info.node.and_then(|id| self.arena.get(id).items),
                key: info.strategy.key.as_deref(),
                changes,
                delete: self.list_directive(delete)?,
                order: self.list_directive(order)?,
            };
            lists::merge(self, merged, name, &list)?;
        }
        self.path.pop(mark);
        Ok(())
    }

    fn list_directive<'v>(
        &self,
        value: Option<&'v Value>,
    ) -> Result<Option<&'v [Value]>, MergeError> {
        match value {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Array(entries)) => Ok(Some(entries)),
            Some(_) => {
                Err(self.error("$setElementOrder and $deleteFromPrimitiveList must be lists"))
            }
        }
    }

    fn info(&self, node: Option<NodeId>, name: &str) -> FieldInfo {
        let unknown = FieldInfo {
            node: None,
            strategy: MergeStrategy::default(),
        };
        let Some(node) = node.map(|id| self.arena.get(id)) else {
            return unknown;
        };
        match (node.property(name), node.additional) {
            (Some(property), _) => FieldInfo {
                node: Some(property.node),
                strategy: property.merge.clone(),
            },
            (None, Additional::Schema(child)) => FieldInfo {
                node: Some(child),
                ..unknown
            },
            (None, Additional::Any | Additional::No) => unknown,
        }
    }
}

/// A value of the patch as it is stored: without directives, deletions and nulls.
pub(super) fn clean(value: &Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(without_directives(map)),
        Value::Array(entries) => {
            let kept = entries.iter().filter(|entry| !is_directive_only(entry));
            Value::Array(kept.map(clean).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

fn without_directives(map: &Map<String, Value>) -> Map<String, Value> {
    let kept = map.iter().filter(|(name, value)| {
        !value.is_null()
            && *name != PATCH
            && *name != RETAIN_KEYS
            && !name.starts_with(DELETE_FROM)
            && !name.starts_with(SET_ORDER)
    });
    kept.map(|(name, value)| (name.clone(), clean(value)))
        .collect()
}

/// An entry that only says what happens to others: `{$patch: replace}` or a deletion.
fn is_directive_only(entry: &Value) -> bool {
    let directive = entry.get(PATCH).and_then(Value::as_str);
    directive == Some("delete")
        || directive.is_some() && entry.as_object().is_some_and(|map| map.len() == 1)
}
