//! What is stored in the end, without what legitimately differs between two runs: versions, times, uids,
//! and how often something was written.

use std::collections::{BTreeMap, BTreeSet};

use futures::FutureExt as _;
use landform_api::keys::ANNOTATION_MAKER;
use landform_api::writer::Maker;
use landform_store::memory::MemoryStore;
use landform_store::{Bucket, Key, RangeQuery, Store as _};
use serde_json::{Map, Value};

/// Objects by `bucket name`, as comparable text.
pub type EndState = BTreeMap<String, String>;

/// Fields of metadata that differ between two runs that did the same.
const INCIDENTAL: [&str; 5] = [
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "generation",
    "managedFields",
];
/// Buckets whose objects tell of the way, not of the end.
const OF_THE_WAY: [&str; 2] = ["events", "events.events.k8s.io"];

/// Every object that is stored, by `bucket name`.
#[must_use]
pub fn objects(store: &MemoryStore) -> BTreeMap<String, Value> {
    objects_below(store, "")
}

/// The object in this place, which is `bucket name`.
pub(crate) fn object_at(store: &MemoryStore, place: &str) -> Option<Value> {
    let (bucket, name) = place.split_once(' ')?;
    let record = store.get(&Key::new(&Bucket::new(bucket), name));
    let record = record.now_or_never()?.ok()??;
    serde_json::from_slice(&record.value).ok()
}

/// Every object whose name, with its namespace, begins like this.
pub(crate) fn objects_below(store: &MemoryStore, prefix: &str) -> BTreeMap<String, Value> {
    let mut objects = BTreeMap::new();
    // A store in memory answers at once.
    let buckets = store.buckets().now_or_never().and_then(Result::ok);
    for bucket in buckets.unwrap_or_default() {
        let query = RangeQuery {
            bucket: bucket.clone(),
            prefix: prefix.to_owned(),
            after: None,
            limit: None,
            at: None,
        };
        let page = store.range(query).now_or_never().and_then(Result::ok);
        for record in page.into_iter().flat_map(|page| page.records) {
            let object = serde_json::from_slice(&record.value).unwrap_or(Value::Null);
            objects.insert(format!("{bucket} {}", record.key.name), object);
        }
    }
    objects
}

/// The state that counts. Owners are named by what they are, since uids differ.
#[must_use]
pub fn end_state(store: &MemoryStore) -> EndState {
    let objects = objects(store);
    let uid = |object: &Value| object["metadata"]["uid"].as_str().map(str::to_owned);
    let names: BTreeMap<String, &String> = objects
        .iter()
        .filter_map(|(name, object)| uid(object).map(|uid| (uid, name)))
        .collect();
    let mut state = EndState::new();
    for (name, object) in &objects {
        let bucket = name.split(' ').next().unwrap_or_default();
        if OF_THE_WAY.contains(&bucket) {
            continue;
        }
        let mut object = object.clone();
        if let Value::Object(metadata) = &mut object["metadata"] {
            for field in INCIDENTAL {
                metadata.remove(field);
            }
            let owners = metadata.get_mut("ownerReferences");
            for owner in owners.and_then(Value::as_array_mut).into_iter().flatten() {
                let known = owner["uid"].as_str().and_then(|uid| names.get(uid));
                owner["uid"] = known.map_or("nobody's", |name| name.as_str()).into();
            }
            if let Some(note) = metadata
                .get_mut("annotations")
                .and_then(|all| all.get_mut(ANNOTATION_MAKER))
            {
                let maker = note.as_str().and_then(Maker::read);
                let known = maker.and_then(|maker| names.get(&maker.uid).copied());
                *note = known.map_or("nobody's", |name| name.as_str()).into();
            }
        }
        state.insert(name.clone(), object.to_string());
    }
    state
}

/// What two states differ in, a line for each object; empty when nothing.
#[must_use]
pub fn differences(expected: &EndState, found: &EndState) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, expected) in expected {
        match found.get(name) {
            None => lines.push(format!("{name} is missing: {expected}")),
            Some(found) if found != expected => {
                let parse = |text: &str| serde_json::from_str(text).unwrap_or(Value::Null);
                let mut paths = Vec::new();
                compare(&parse(expected), &parse(found), "", &mut paths);
                lines.push(format!("{name} differs:\n    {}", paths.join("\n    ")));
            }
            Some(_) => {}
        }
    }
    for (name, found) in found {
        if !expected.contains_key(name) {
            lines.push(format!("{name} should not be there: {found}"));
        }
    }
    lines
}

/// Where two values differ, and how.
fn compare(expected: &Value, found: &Value, path: &str, lines: &mut Vec<String>) {
    match (expected, found) {
        (Value::Object(fields), Value::Object(others)) => {
            let names: BTreeSet<&String> = fields.keys().chain(others.keys()).collect();
            for name in names {
                let field = |object: &Map<String, Value>| object.get(name).cloned();
                let (one, other) = (field(fields), field(others));
                let path = format!("{path}.{name}");
                let (one, other) = (one.unwrap_or_default(), other.unwrap_or_default());
                compare(&one, &other, &path, lines);
            }
        }
        (Value::Array(values), Value::Array(others)) if values.len() == others.len() => {
            for (at, (one, other)) in values.iter().zip(others).enumerate() {
                compare(one, other, &format!("{path}.{at}"), lines);
            }
        }
        _ if expected == found => {}
        _ => lines.push(format!("{path} is {found} instead of {expected}")),
    }
}
