//! Merging of lists: by key, as sets of scalars, and the order of the result.
//!
//! Entries that the patch names come in the patch's order; the others keep the order they had. An
//! entry that is new comes before those that only the original has, as in Kubernetes.

use serde_json::{Map, Value};

use super::MergeError;
use super::strategic::{Merge, PATCH, clean};
use crate::schema::node::NodeId;

/// What a patch does to one list.
pub(super) struct Change<'a> {
    pub(super) items: Option<NodeId>,
    pub(super) key: Option<&'a str>,
    pub(super) changes: Option<&'a Vec<Value>>,
    pub(super) delete: Option<&'a [Value]>,
    pub(super) order: Option<&'a [Value]>,
}

/// Carries out what a patch does to the list at a field.
pub(super) fn merge(
    merge: &mut Merge<'_>,
    object: &mut Map<String, Value>,
    name: &str,
    change: &Change<'_>,
) -> Result<(), MergeError> {
    let Some(Value::Array(original)) = object.get(name) else {
        return Ok(());
    };
    let original = original.clone();
    let mut list = original.clone();
    if let Some(delete) = change.delete {
        list.retain(|entry| !delete.contains(entry));
    }
    if let Some(changes) = change.changes {
        list = if uses_objects(&list) || uses_objects(changes) {
            by_key(merge, list, changes, change)?
        } else {
            as_set(list, changes)
        };
        list = ordered(list, changes, &original, change.key);
    }
    if let Some(order) = change.order {
        check_order(merge, order, change)?;
        list = ordered(list, order, &original, change.key);
    }
    object.insert(name.to_owned(), Value::Array(list));
    Ok(())
}

fn uses_objects(list: &[Value]) -> bool {
    list.iter().any(Value::is_object)
}

fn as_set(mut list: Vec<Value>, changes: &[Value]) -> Vec<Value> {
    for entry in changes {
        if !list.contains(entry) {
            list.push(entry.clone());
        }
    }
    list
}

fn by_key(
    merge: &mut Merge<'_>,
    mut list: Vec<Value>,
    changes: &[Value],
    change: &Change<'_>,
) -> Result<Vec<Value>, MergeError> {
    let Some(key) = change.key else {
        return Err(merge.error("this list of objects has no merge key; replace it as a whole"));
    };
    if changes
        .iter()
        .any(|entry| entry.get(PATCH).and_then(Value::as_str) == Some("replace"))
    {
        list = Vec::new();
    }
    for (index, entry) in changes.iter().enumerate() {
        let mark = merge.path.push_index(index);
        apply(merge, &mut list, entry, key, change.items)?;
        merge.path.pop(mark);
    }
    Ok(list)
}

/// Carries out one entry of the patch.
fn apply(
    merge: &mut Merge<'_>,
    list: &mut Vec<Value>,
    entry: &Value,
    key: &str,
    items: Option<NodeId>,
) -> Result<(), MergeError> {
    let Some(fields) = entry.as_object() else {
        return Err(merge.error("an entry of a list of objects must be an object"));
    };
    let directive = match fields.get(PATCH) {
        None => None,
        Some(Value::String(directive)) => Some(directive.as_str()),
        Some(_) => return Err(merge.error("$patch must be a string")),
    };
    let Some(identity) = fields.get(key) else {
        if directive == Some("replace") && fields.len() == 1 {
            return Ok(());
        }
        return Err(merge.error(format!("the entry lacks its merge key {key:?}")));
    };
    let found = list
        .iter()
        .position(|other| other.get(key) == Some(identity));
    match (directive, found) {
        (Some("delete"), Some(_)) => list.retain(|other| other.get(key) != Some(identity)),
        (Some("delete"), None) => {}
        (None | Some("merge"), Some(index)) => {
            if let Some(Value::Object(before)) = list.get(index) {
                let merged = merge.map(items, before, fields)?;
                if let Some(slot) = list.get_mut(index) {
                    *slot = Value::Object(merged);
                }
            }
        }
        (None | Some("merge"), None) => {
            list.push(Value::Object(merge.map(items, &Map::new(), fields)?));
        }
        (Some("replace"), _) => list.push(clean(entry)),
        (Some(other), _) => {
            let problem =
                format!("$patch must be \"replace\", \"delete\" or \"merge\", not {other:?}");
            return Err(merge.error(problem));
        }
    }
    Ok(())
}

/// Whether two entries stand for the same thing.
fn same_entry(a: &Value, b: &Value, key: Option<&str>) -> bool {
    match key {
        Some(key) if a.is_object() || b.is_object() => {
            a.get(key).is_some() && a.get(key) == b.get(key)
        }
        _ => a == b,
    }
}

fn position(list: &[Value], entry: &Value, key: Option<&str>) -> Option<usize> {
    list.iter().position(|other| same_entry(other, entry, key))
}

/// Brings the entries that the patch names into its order and weaves in the others.
fn ordered(
    list: Vec<Value>,
    wanted: &[Value],
    original: &[Value],
    key: Option<&str>,
) -> Vec<Value> {
    let (mut named, others): (Vec<Value>, Vec<Value>) = list
        .into_iter()
        .partition(|entry| position(wanted, entry, key).is_some());
    named.sort_by_key(|entry| position(wanted, entry, key));
    let mut result = Vec::with_capacity(named.len() + others.len());
    let mut named = named.into_iter().peekable();
    for other in others {
        let before = position(original, &other, key);
        while let Some(entry) = named.peek() {
            let first = match (before, position(original, entry, key)) {
                (Some(other), Some(entry)) => other < entry,
                _ => false,
            };
            if first {
                break;
            }
            result.extend(named.next());
        }
        result.push(other);
    }
    result.extend(named);
    result
}

/// The order must name every entry that the patch sets.
fn check_order(merge: &Merge<'_>, order: &[Value], change: &Change<'_>) -> Result<(), MergeError> {
    for entry in change.changes.into_iter().flatten() {
        let directive = entry.get(PATCH).is_some();
        if !directive && position(order, entry, change.key).is_none() {
            let shown = change.key.and_then(|key| entry.get(key)).unwrap_or(entry);
            return Err(merge.error(format!(
                "$setElementOrder must name every entry that the patch sets, but lacks {shown}"
            )));
        }
    }
    Ok(())
}
