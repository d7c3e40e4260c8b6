//! What must be written so that an object is as wanted; nothing when it is so already.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use landform_api::keys::ANNOTATION_RETRIGGER_AT;
use landform_api::landscaper::keys;
use landform_engine::hooks::three_way;
use serde_json::{Map, Value, json};

use super::configuration::Strategy;
use super::ownership::{ANNOTATION_ADOPT, ANNOTATION_ITEM, LABEL_ITEM};

/// On each object: the names of the fields that were applied last, so that those that are wanted no more
/// go. It holds no values.
const ANNOTATION_LAST_APPLIED: &str = landform_engine::hooks::ANNOTATION_LAST_APPLIED;
/// A longer memory is not kept: annotations have a limit. Fields that are then dropped stay.
const LONGEST_MEMORY: usize = 100_000;
/// Labels hold no longer names.
const LONGEST_LABEL: usize = 63;
/// Metadata that only the server writes.
const SERVER_METADATA: [&str; 9] = [
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "selfLink",
    "generateName",
];

/// Annotations that ask for something, and go when it is done.
const REQUESTS: [&str; 5] = [
    keys::OPERATION,
    keys::RECONCILE_TIME,
    keys::ABORT_TIME,
    keys::ROTATE_TOKEN,
    ANNOTATION_RETRIGGER_AT,
];

/// The deploy item, as its objects know it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item<'a> {
    pub(super) name: &'a str,
    pub(super) uid: &'a str,
}

/// A manifest as it should be at the target: with the item's mark and without what only servers write.
pub(super) fn wanted(manifest: &Value, namespace: Option<&str>, item: Item<'_>) -> Value {
    let mut wanted = three_way::without_nulls(manifest.clone());
    if let Value::Object(fields) = &mut wanted {
        fields.remove("status");
        let text = |field: &str| fields.get(field).and_then(Value::as_str);
        if (text("apiVersion"), text("kind")) == (Some("v1"), Some("Secret")) {
            normalize_secret(fields);
        }
    }
    let metadata = map_at(&mut wanted, "metadata");
    for field in SERVER_METADATA {
        metadata.remove(field);
    }
    match namespace {
        Some(namespace) => metadata.insert("namespace".into(), json!(namespace)),
        None => metadata.remove("namespace"),
    };
    let label = if item.name.len() > LONGEST_LABEL {
        item.uid
    } else {
        item.name
    };
    let metadata = &mut wanted["metadata"];
    map_at(metadata, "labels").insert(LABEL_ITEM.into(), json!(label));
    let annotations = map_at(metadata, "annotations");
    annotations.remove(ANNOTATION_ADOPT);
    annotations.remove(ANNOTATION_LAST_APPLIED);
    annotations.insert(ANNOTATION_ITEM.into(), json!(item.uid));
    wanted
}

/// Whether a manifest says that somebody else's object may be taken over.
pub(super) fn adopts(manifest: &Value) -> bool {
    manifest["metadata"]["annotations"][ANNOTATION_ADOPT] == "true"
}

/// The same without what it asks of Landform: an operation is carried out once and then taken away, so it is no state
/// that an object could have. Two items that wrote it into each other again and again would never come to rest.
pub(super) fn without_requests(wanted: &Value) -> Value {
    let mut wanted = wanted.clone();
    let annotations = wanted["metadata"].get_mut("annotations");
    if let Some(annotations) = annotations.and_then(Value::as_object_mut) {
        annotations.retain(|key, _| !REQUESTS.contains(&key.as_str()));
    }
    wanted
}

/// What is sent to create an object.
pub(super) fn creation(wanted: &Value) -> Value {
    let mut body = wanted.clone();
    if let Some(memory) = memory(&without_requests(wanted)) {
        body["metadata"]["annotations"][ANNOTATION_LAST_APPLIED] = json!(memory);
    }
    body
}

/// The merge patch that brings an object to what is wanted; none when it is so already. What is wanted has no requests any
/// more ([`without_requests`]).
pub(super) fn change(strategy: Strategy, wanted: &Value, live: &Value) -> Option<Value> {
    let applied = live["metadata"]["annotations"][ANNOTATION_LAST_APPLIED].as_str();
    let last = applied.and_then(|text| serde_json::from_str(text).ok());
    let last: Value = last.unwrap_or(Value::Null);
    let change = match strategy {
        Strategy::Update | Strategy::Patch => three_way::patch(&last, wanted, live),
        Strategy::MergeOverwrite => three_way::patch(&within(&last, wanted), wanted, live),
        Strategy::Merge => missing(wanted, live),
    };
    let memory = memory(wanted).filter(|memory| Some(memory.as_str()) != applied);
    if change.is_none() && memory.is_none() {
        return None;
    }
    let mut change = change.unwrap_or_else(|| json!({}));
    if let Some(memory) = memory {
        let annotations = map_at(map_value(&mut change, "metadata"), "annotations");
        annotations.insert(ANNOTATION_LAST_APPLIED.into(), json!(memory));
    }
    Some(change)
}

fn memory(wanted: &Value) -> Option<String> {
    let memory = three_way::shape(wanted).to_string();
    (memory.len() <= LONGEST_MEMORY).then_some(memory)
}

/// The part of a shape that is still wanted: nothing outside of it is removed.
fn within(last: &Value, wanted: &Value) -> Value {
    let (Value::Object(last), Value::Object(wanted)) = (last, wanted) else {
        return last.clone();
    };
    let fields = last.iter().filter_map(|(name, last)| {
        let wanted = wanted.get(name)?;
        Some((name.clone(), within(last, wanted)))
    });
    Value::Object(fields.collect())
}

/// What is wanted and not there at all.
fn missing(wanted: &Value, live: &Value) -> Option<Value> {
    let (Value::Object(wanted), Value::Object(live)) = (wanted, live) else {
        return None;
    };
    let mut change = Map::new();
    for (name, wanted) in wanted {
        let inner = match live.get(name) {
            Some(live) if !live.is_null() => missing(wanted, live),
            _ => Some(wanted.clone()),
        };
        change.extend(inner.map(|inner| (name.clone(), inner)));
    }
    (!change.is_empty()).then_some(Value::Object(change))
}

/// As the server will keep it: `stringData` becomes part of `data`, and base64 has no line breaks.
fn normalize_secret(fields: &mut Map<String, Value>) {
    let mut data = match fields.remove("data") {
        Some(Value::Object(data)) => data,
        Some(other) => {
            // The server says what is wrong with it.
            fields.insert("data".into(), other);
            return;
        }
        None => Map::new(),
    };
    for value in data.values_mut() {
        let Value::String(text) = value else { continue };
        let compact: String = text.split_ascii_whitespace().collect();
        if let Ok(bytes) = STANDARD.decode(&compact) {
            *text = STANDARD.encode(bytes);
        }
    }
    match fields.remove("stringData") {
        Some(Value::Object(texts)) if texts.values().all(Value::is_string) => {
            for (name, text) in texts {
                let bytes = text.as_str().unwrap_or_default();
                data.insert(name, json!(STANDARD.encode(bytes)));
            }
        }
        Some(other) => {
            fields.insert("stringData".into(), other);
        }
        None => {}
    }
    if !data.is_empty() {
        fields.insert("data".into(), Value::Object(data));
    }
}

/// A field as a map, made when it is missing or something else.
fn map_at<'a>(value: &'a mut Value, field: &str) -> &'a mut Map<String, Value> {
    let inner = map_value(value, field);
    if !inner.is_object() {
        *inner = Value::Object(Map::new());
    }
    match inner {
        Value::Object(map) => map,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            unreachable!("it was just made a map")
        }
    }
}

fn map_value<'a>(value: &'a mut Value, field: &str) -> &'a mut Value {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    if !value[field].is_object() {
        value[field] = Value::Object(Map::new());
    }
    &mut value[field]
}
