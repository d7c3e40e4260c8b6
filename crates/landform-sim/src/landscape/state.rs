//! What is stored in the end, in words that are the same in every run that did the same.
//!
//! Generated names become the names of templates from the root down, generations become `current` or
//! `behind`, times become `set` or nothing. Everything else is compared as it is.

use std::collections::BTreeMap;

use landform_api::landscaper::keys;
use serde_json::{Value, json};

use super::bucket;
use crate::disk::Disk;
use crate::end_state::{EndState, end_state, objects};

/// Times, which differ between runs.
const TIMES: [&str; 4] = [
    "lastTransitionTime",
    "lastUpdateTime",
    "lastReconcileTime",
    "deletionTimestamp",
];
/// Annotations whose values are times.
const TIMES_IN_ANNOTATIONS: [&str; 2] = [keys::RECONCILE_TIME, keys::ABORT_TIME];
/// An annotation that tells of the way.
const RETRIGGER: &str = "landform.dev/retrigger-at";

/// Everything that is stored in the end.
pub(crate) fn landscape_state(disk: &Disk) -> EndState {
    let stored = Stored(objects(disk.store()));
    let names = stored.names();
    let mut state = EndState::new();
    for (name, text) in end_state(disk.store()) {
        let mut object: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
        stored.generations(&name, &mut object);
        without_times(&mut object);
        annotations(&mut object);
        without_hold_in_circle(&mut object);
        let mut line = format!("{name} {object}");
        for (generated, canonical) in &names {
            line = line.replace(generated, canonical);
        }
        let (bucket, rest) = line.split_once(' ').unwrap_or_default();
        let (name, text) = rest.split_once(' ').unwrap_or_default();
        state.insert(format!("{bucket} {name}"), text.to_owned());
    }
    state
}

/// An installation in a circle that has never deployed anything may have been looked at before the circle was closed, or
/// not. Only in the first case it is held, and it makes no difference: there is nothing to hold it for.
fn without_hold_in_circle(object: &mut Value) {
    let status = &object["status"];
    let is_new = status["observedGeneration"].is_null();
    let codes = status["lastError"]["codes"].as_array();
    let mut codes = codes.into_iter().flatten();
    let in_circle = codes.any(|code| code == "ERR_CYCLIC_DEPENDENCIES");
    if is_new
        && in_circle
        && let Value::Object(metadata) = &mut object["metadata"]
    {
        metadata.remove("finalizers");
    }
}

struct Stored(BTreeMap<String, Value>);

impl Stored {
    fn get(&self, kind: &str, name: &str) -> &Value {
        let key = format!("{} default/{name}", bucket(kind));
        self.0.get(&key).unwrap_or(&Value::Null)
    }

    fn generation(&self, kind: &str, name: &str) -> &Value {
        &self.get(kind, name)["metadata"]["generation"]
    }

    fn of(&self, kind: &str) -> impl Iterator<Item = (&str, &Value)> {
        let prefix = format!("{} default/", bucket(kind));
        let all = self.0.iter();
        all.filter_map(move |(key, object)| {
            let metadata = &object["metadata"];
            key.starts_with(&prefix)
                .then(|| (metadata["name"].as_str().unwrap_or_default(), metadata))
        })
    }

    fn path(&self, installation: &str) -> String {
        let metadata = &self.get("Installation", installation)["metadata"];
        let parent = metadata["labels"][keys::ENCOMPASSED_BY].as_str();
        let template = metadata["annotations"][keys::SUBINSTALLATION_NAME].as_str();
        match parent.zip(template) {
            Some((parent, template)) => format!("{}.{template}", self.path(parent)),
            None => installation.to_owned(),
        }
    }

    /// Generated names with what takes their place; those that are part of others come later.
    fn names(&self) -> Vec<(String, String)> {
        let mut names = BTreeMap::new();
        for (name, _) in self.of("Installation") {
            names.insert(name.to_owned(), self.path(name));
        }
        for (name, metadata) in self.of("DeployItem") {
            let labels = &metadata["labels"];
            let execution = labels[keys::MANAGED_BY].as_str().unwrap_or_default();
            let item = labels[keys::ITEM_NAME].as_str().unwrap_or_default();
            names.insert(name.to_owned(), format!("{}.{item}", self.path(execution)));
        }
        for (name, metadata) in self.of("DataObject") {
            let labels = &metadata["labels"];
            let key = labels[keys::DATA_KEY].as_str().unwrap_or_default();
            if let Some(context) = labels[keys::DATA_CONTEXT].as_str() {
                let (kind, installation) = context.split_once('.').unwrap_or_default();
                let path = self.path(installation);
                names.insert(name.to_owned(), format!("{kind}.{path}:{key}"));
            }
        }
        let mut names: Vec<_> = names
            .into_iter()
            .filter(|(name, canonical)| name != canonical)
            .collect();
        names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        names
    }

    /// Puts a word in the place of every generation.
    fn generations(&self, name: &str, object: &mut Value) {
        let own = self.0.get(name).unwrap_or(&Value::Null);
        let generation = own["metadata"]["generation"].clone();
        let status = &mut object["status"];
        for field in ["observedGeneration", "endedGeneration"] {
            compare(&mut status[field], &generation);
        }
        let items = status["deployItemRefs"].as_array_mut();
        for item in items.into_iter().flatten() {
            let name = item["ref"]["name"].as_str().unwrap_or_default().to_owned();
            let generation = self.generation("DeployItem", &name);
            compare(&mut item["ref"]["observedGeneration"], generation);
        }
        let updates = status["execGenerations"].as_array_mut();
        for update in updates.into_iter().flatten() {
            compare(&mut update["observedGeneration"], &generation);
        }
        let imports = status["imports"].as_array_mut();
        for import in imports.into_iter().flatten() {
            if let Some(source) = import["sourceRef"]["name"].as_str() {
                let exporter = self.get("Installation", source);
                let exported = exporter["status"]["configGeneration"].clone();
                compare(&mut import["configGeneration"], &exported);
            }
        }
        if status["configGeneration"].is_string() {
            status["configGeneration"] = json!("set");
        }
        if let Some(conditions) = status["conditions"].as_array_mut() {
            conditions.sort_by_key(|condition| condition["type"].to_string());
        }
        prune(object);
    }
}

fn compare(found: &mut Value, present: &Value) {
    if !found.is_null() {
        *found = json!(if *found == *present {
            "current"
        } else {
            "behind"
        });
    }
}

/// Takes away what asking for it has put there.
fn prune(object: &mut Value) {
    match object {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(prune);
        }
        Value::Array(values) => values.iter_mut().for_each(prune),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn without_times(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if TIMES.contains(&name.as_str()) {
                    *value = json!("set");
                }
                without_times(value);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(without_times),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn annotations(object: &mut Value) {
    let Some(Value::Object(metadata)) = object.get_mut("metadata") else {
        return;
    };
    if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
        annotations.remove(RETRIGGER);
        for (key, value) in annotations.iter_mut() {
            if TIMES_IN_ANNOTATIONS.contains(&key.as_str()) {
                *value = json!("set");
            }
        }
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
    }
}
