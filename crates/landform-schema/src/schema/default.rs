//! Fills in the values that an author left out.
//!
//! Nulls come first: where a schema doesn't allow null, a null means "not given", so it is dropped
//! and the default takes its place. A default is filled in only where its parent object exists.

use serde_json::{Map, Value};

use super::node::{Additional, Arena, Node, NodeId, Property};
use crate::builtin::table::When;

/// Applies the defaults of a schema to a value.
pub(crate) fn apply(arena: &Arena, id: NodeId, value: &mut Value) {
    match value {
        Value::Object(map) => object(arena, arena.get(id), map),
        Value::Array(entries) => {
            let Some(items) = arena.get(id).items else {
                return;
            };
            let node = arena.get(items);
            for entry in entries {
                if let (Value::Null, false, Some(default)) = (&*entry, node.nullable, &node.default)
                {
                    *entry = Value::clone(default);
                }
                apply(arena, items, entry);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn object(arena: &Arena, node: &Node, map: &mut Map<String, Value>) {
    if map
        .values()
        .any(|value| value.is_null() || value.as_str() == Some(""))
    {
        drop_missing(arena, node, map);
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
            map.insert(property.name.to_string(), Value::clone(default));
        }
    }
    for (name, value) in map.iter_mut() {
        if (value.is_object() || value.is_array())
            && let Some(child) = node.field(name)
        {
            apply(arena, child, value);
        }
    }
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
fn drop_missing(arena: &Arena, node: &Node, map: &mut Map<String, Value>) {
    let fallback = match node.additional {
        Additional::Schema(child) => arena.get(child).default.as_ref(),
        Additional::Any | Additional::No => None,
    };
    if let Some(default) = fallback {
        for (name, value) in map.iter_mut() {
            if value.is_null() && node.property(name).is_none() {
                *value = Value::clone(default);
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
}
