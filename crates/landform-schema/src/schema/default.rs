//! Fills in the values that an author left out.
//!
//! Nulls come first: where a schema doesn't allow null, a null means "not given", so it is dropped
//! and the default takes its place. A default is filled in only where its parent object exists.
//!
//! A short list of empty objects can ask for many defaults, so what is filled in is counted as it is made.

use landform_api::Budget;
use landform_api::budget::{Exceeded, Size};
use serde_json::{Map, Value};

use super::node::{Additional, Arena, Node, NodeId, Property};
use crate::builtin::table::When;

/// Applies the defaults of a schema to a value; what they add may be as large as an object may be.
///
/// # Errors
/// What the defaults add too much of. Some of them are filled in then.
pub(crate) fn apply(arena: &Arena, id: NodeId, value: &mut Value) -> Result<(), Exceeded> {
    fill(arena, id, value, &mut Added::default())
}

/// What defaults have added so far.
#[derive(Default)]
pub(crate) struct Added(Size);

impl Added {
    /// A copy of a default below a key of this length, if there is room for it.
    fn copy(&mut self, key_bytes: usize, default: &Value) -> Result<Value, Exceeded> {
        let size = Size::of(default);
        self.0.cells += size.cells;
        self.0.bytes += size.bytes + key_bytes + 4;
        let most = Budget::OBJECT;
        if self.0.cells > most.cells {
            return Err(Exceeded::Cells(most.cells));
        }
        if self.0.bytes > most.bytes {
            return Err(Exceeded::Bytes(most.bytes));
        }
        Ok(default.clone())
    }
}

/// As [`apply`], for one of several values that may be so large together.
pub(crate) fn fill(
    arena: &Arena,
    id: NodeId,
    value: &mut Value,
    added: &mut Added,
) -> Result<(), Exceeded> {
    match value {
        Value::Object(map) => object(arena, arena.get(id), map, added),
        Value::Array(entries) => {
            let Some(items) = arena.get(id).items else {
                return Ok(());
            };
            let node = arena.get(items);
            for entry in entries {
                if let (Value::Null, false, Some(default)) = (&*entry, node.nullable, &node.default)
                {
                    *entry = added.copy(0, default)?;
                }
                fill(arena, items, entry, added)?;
            }
            Ok(())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

fn object(
    arena: &Arena,
    node: &Node,
    map: &mut Map<String, Value>,
    added: &mut Added,
) -> Result<(), Exceeded> {
    if map
        .values()
        .any(|value| value.is_null() || value.as_str() == Some(""))
    {
        drop_missing(arena, node, map, added)?;
    }
    for property in node
        .defaulted
        .iter()
        .filter_map(|index| node.properties.get(*index))
    {
        if let Some(default) = &property.default
            && !map.contains_key(property.name.as_ref())
            && applies(property, map)
        {
            let value = added.copy(property.name.len(), default)?;
            map.insert(property.name.to_string(), value);
        }
    }
    for (name, value) in map.iter_mut() {
        if (value.is_object() || value.is_array())
            && let Some(child) = node.field(name)
        {
            fill(arena, child, value, added)?;
        }
    }
    Ok(())
}

/// Whether what a default depends on holds.
fn applies(property: &Property, map: &Map<String, Value>) -> bool {
    match &property.default_when {
        None => true,
        Some(When::Absent(sibling)) => !map.contains_key(sibling.as_ref()),
        Some(When::Is(sibling, values)) => {
            let given = map.get(sibling.as_ref()).and_then(Value::as_str);
            given.is_some_and(|given| values.iter().any(|value| **value == *given))
        }
    }
}

/// Drops what stands for "not given": nulls, and empty strings where they mean the same.
fn drop_missing(
    arena: &Arena,
    node: &Node,
    map: &mut Map<String, Value>,
    added: &mut Added,
) -> Result<(), Exceeded> {
    let fallback = match node.additional {
        Additional::Schema(child) => arena.get(child).default.as_ref(),
        Additional::Any | Additional::No => None,
    };
    if let Some(default) = fallback {
        for (name, value) in map.iter_mut() {
            if value.is_null() && node.property(name).is_none() {
                *value = added.copy(0, default)?;
            }
        }
    }
    map.retain(|name, value| match value {
        Value::Null => node
            .field(name)
            .is_none_or(|child| arena.get(child).nullable),
        Value::String(text) if text.is_empty() => node
            .property(name)
            .is_none_or(|property| !property.empty_is_missing),
        _ => true,
    });
    Ok(())
}
