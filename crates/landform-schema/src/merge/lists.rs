//! Merging of lists: by key, as sets of scalars, and the order of the result.
//!
//! Entries that the patch names come in the patch's order; the others keep the order they had. An
//! entry that is new comes before those that only the original has, as in Kubernetes.

use std::collections::{BTreeMap, BTreeSet};

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
    let before = Places::of(original, change.key);
    let mut list = original.clone();
    if let Some(delete) = change.delete {
        let deleted = Places::of(delete, None);
        list.retain(|entry| deleted.find(entry).is_none());
    }
    if let Some(changes) = change.changes {
        list = if uses_objects(&list) || uses_objects(changes) {
            by_key(merge, list, changes, change)?
        } else {
            as_set(list, changes)
        };
        list = ordered(list, &Places::of(changes, change.key), &before);
    }
    if let Some(order) = change.order {
        let wanted = Places::of(order, change.key);
        check_order(merge, &wanted, change)?;
        list = ordered(list, &wanted, &before);
    }
    object.insert(name.to_owned(), Value::Array(list));
    Ok(())
}

/// Where entries stand in a list, by what tells them apart: of equal ones, the first.
struct Places<'k> {
    key: Option<&'k str>,
    places: BTreeMap<String, usize>,
}

impl<'k> Places<'k> {
    fn of(list: &[Value], key: Option<&'k str>) -> Self {
        let mut places = BTreeMap::new();
        for (place, entry) in list.iter().enumerate() {
            if let Some(identity) = identity(entry, key) {
                places.entry(identity).or_insert(place);
            }
        }
        Self { key, places }
    }

    fn find(&self, entry: &Value) -> Option<usize> {
        self.places.get(&identity(entry, self.key)?).copied()
    }
}

/// What tells an entry from others: its merge key if it is an object of a list that has one, else all of it. An
/// object without its merge key is like no other.
fn identity(entry: &Value, key: Option<&str>) -> Option<String> {
    match (key, entry) {
        (Some(key), Value::Object(fields)) => Some(format!("{{{}", fields.get(key)?)),
        _ => Some(entry.to_string()),
    }
}

fn uses_objects(list: &[Value]) -> bool {
    list.iter().any(Value::is_object)
}

fn as_set(mut list: Vec<Value>, changes: &[Value]) -> Vec<Value> {
    let mut present: BTreeSet<String> = list.iter().map(Value::to_string).collect();
    for entry in changes {
        if present.insert(entry.to_string()) {
            list.push(entry.clone());
        }
    }
    list
}

fn by_key(
    merge: &mut Merge<'_>,
    list: Vec<Value>,
    changes: &[Value],
    change: &Change<'_>,
) -> Result<Vec<Value>, MergeError> {
    let Some(key) = change.key else {
        return Err(merge.error("this list of objects has no merge key; replace it as a whole"));
    };
    let replaced = changes
        .iter()
        .any(|entry| entry.get(PATCH).and_then(Value::as_str) == Some("replace"));
    let mut list = Keyed::of(if replaced { Vec::new() } else { list }, key);
    for (index, entry) in changes.iter().enumerate() {
        let mark = merge.path.push_index(index);
        apply(merge, &mut list, entry, change.items)?;
        merge.path.pop(mark);
    }
    Ok(list.entries.into_iter().flatten().collect())
}

/// A list whose entries are found by their merge key. What was deleted leaves its place empty.
struct Keyed<'k> {
    key: &'k str,
    entries: Vec<Option<Value>>,
    places: BTreeMap<String, Vec<usize>>,
}

impl<'k> Keyed<'k> {
    fn of(list: Vec<Value>, key: &'k str) -> Self {
        let mut keyed = Self {
            key,
            entries: Vec::with_capacity(list.len()),
            places: BTreeMap::new(),
        };
        for entry in list {
            keyed.push(entry);
        }
        keyed
    }

    fn push(&mut self, entry: Value) {
        if let Some(identity) = entry.get(self.key) {
            let places = self.places.entry(identity.to_string()).or_default();
            places.push(self.entries.len());
        }
        self.entries.push(Some(entry));
    }

    /// The first entry with this merge key.
    fn find(&mut self, identity: &Value) -> Option<&mut Value> {
        let place = *self.places.get(&identity.to_string())?.first()?;
        self.entries.get_mut(place)?.as_mut()
    }

    /// Removes all entries with this merge key.
    fn remove(&mut self, identity: &Value) {
        for place in self
            .places
            .remove(&identity.to_string())
            .unwrap_or_default()
        {
            if let Some(entry) = self.entries.get_mut(place) {
                *entry = None;
            }
        }
    }
}

/// Carries out one entry of the patch.
fn apply(
    merge: &mut Merge<'_>,
    list: &mut Keyed<'_>,
    entry: &Value,
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
    let Some(identity) = fields.get(list.key) else {
        if directive == Some("replace") && fields.len() == 1 {
            return Ok(());
        }
        return Err(merge.error(format!("the entry lacks its merge key {:?}", list.key)));
    };
    match directive {
        Some("delete") => list.remove(identity),
        None | Some("merge") => match list.find(identity) {
            Some(found) => {
                if let Value::Object(before) = found {
                    *found = Value::Object(merge.map(items, before, fields)?);
                }
            }
            None => list.push(Value::Object(merge.map(items, &Map::new(), fields)?)),
        },
        Some("replace") => list.push(clean(entry)),
        Some(other) => {
            let problem =
                format!("$patch must be \"replace\", \"delete\" or \"merge\", not {other:?}");
            return Err(merge.error(problem));
        }
    }
    Ok(())
}

/// Brings the entries that the patch names into its order and weaves in the others, which keep the order that they had.
fn ordered(list: Vec<Value>, wanted: &Places<'_>, original: &Places<'_>) -> Vec<Value> {
    let (mut named, others): (Vec<_>, Vec<_>) = list
        .into_iter()
        .map(|entry| (wanted.find(&entry), original.find(&entry), entry))
        .partition(|(place, ..)| place.is_some());
    named.sort_by_key(|(place, ..)| *place);
    let mut result = Vec::with_capacity(named.len() + others.len());
    let mut named = named.into_iter().peekable();
    for (_, before, other) in others {
        let comes_first = |entry: &(_, Option<usize>, Value)| match (before, entry.1) {
            (Some(other), Some(entry)) => other >= entry,
            _ => true,
        };
        while let Some((.., entry)) = named.next_if(comes_first) {
            result.push(entry);
        }
        result.push(other);
    }
    result.extend(named.map(|(.., entry)| entry));
    result
}

/// The order must name every entry that the patch sets.
fn check_order(
    merge: &Merge<'_>,
    order: &Places<'_>,
    change: &Change<'_>,
) -> Result<(), MergeError> {
    for entry in change.changes.into_iter().flatten() {
        let directive = entry.get(PATCH).is_some();
        if !directive && order.find(entry).is_none() {
            let shown = change.key.and_then(|key| entry.get(key)).unwrap_or(entry);
            return Err(merge.error(format!(
                "$setElementOrder must name every entry that the patch sets, but lacks {shown}"
            )));
        }
    }
    Ok(())
}
