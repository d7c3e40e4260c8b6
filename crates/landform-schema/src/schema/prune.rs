//! Removes the fields that a schema doesn't know.

use landform_api::budget::PROBLEMS_LISTED_MAX;
use serde_json::{Map, Value};

use super::node::{Additional, Arena, NodeId};
use super::place::Place;

/// Prunes a value and returns the paths of what was removed, as many as are ever reported.
///
/// Keys of maps are spelled like fields here, since that is how unknown fields are reported.
pub(crate) fn prune(arena: &Arena, root: NodeId, value: &mut Value) -> Vec<String> {
    let mut removed = Vec::new();
    prune_value(arena, root, value, &Place::root(""), &mut removed);
    removed
}

fn prune_value(
    arena: &Arena,
    id: NodeId,
    value: &mut Value,
    place: &Place<'_>,
    removed: &mut Vec<String>,
) {
    match value {
        Value::Object(map) => prune_object(arena, id, map, place, removed),
        Value::Array(entries) => {
            let Some(items) = arena.get(id).items else {
                return;
            };
            for (index, entry) in entries.iter_mut().enumerate() {
                if entry.is_object() || entry.is_array() {
                    prune_value(arena, items, entry, &place.index(index), removed);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn prune_object(
    arena: &Arena,
    id: NodeId,
    map: &mut Map<String, Value>,
    place: &Place<'_>,
    removed: &mut Vec<String>,
) {
    let node = arena.get(id);
    let keeps_unknown = node.preserve_unknown || node.additional != Additional::No;
    let mut unknown = false;
    for (name, value) in map.iter_mut() {
        match node.field(name) {
            Some(child) if value.is_object() || value.is_array() => {
                prune_value(arena, child, value, &place.field(name), removed);
            }
            Some(_) => {}
            None => unknown = true,
        }
    }
    if unknown && !keeps_unknown {
        map.retain(|name, _| {
            let known = node.property(name).is_some();
            if !known && removed.len() < PROBLEMS_LISTED_MAX {
                removed.push(place.field(name).path().to_string());
            }
            known
        });
    }
}
