//! What this item has made, or is about to make: `status.providerStatus`.
//!
//! An entry is written before its object is created, without a uid, and gets the uid afterwards. An object
//! is deleted by its recorded uid; without one, only when it carries the item's mark (see `ownership`).

use serde_json::{Map, Value, json};

use super::configuration::Policy;
use super::object::ObjectName;

const API_VERSION: &str = "manifest.deployer.landscaper.gardener.cloud/v1alpha2";

/// One object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) policy: Policy,
    pub(super) object: ObjectName,
    pub(super) uid: Option<String>,
}

/// All objects, in the order in which they are applied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Inventory {
    /// The name of the Target where they are.
    pub(super) target: Option<String>,
    pub(super) entries: Vec<Entry>,
}

impl Inventory {
    /// Reads what was remembered, by Landscaper too.
    pub(super) fn read(status: Option<&Value>) -> Self {
        let list = status.and_then(|status| status["managedResources"].as_array());
        let entries = list.into_iter().flatten().filter_map(read_entry);
        let target = status.and_then(|status| status["target"].as_str());
        Self {
            target: target.map(str::to_owned),
            entries: entries.collect(),
        }
    }

    /// As it is remembered.
    pub(super) fn write(&self) -> Value {
        let resources: Vec<_> = self.entries.iter().map(write_entry).collect();
        json!({
            "apiVersion": API_VERSION,
            "kind": "ProviderStatus",
            "target": self.target,
            "managedResources": resources,
        })
    }

    pub(super) fn find(&self, object: &ObjectName) -> Option<&Entry> {
        let mut entries = self.entries.iter();
        entries.find(|entry| entry.object.same_object(object))
    }

    /// Notes an object in place of what was known of it.
    pub(super) fn put(&mut self, entry: Entry) {
        let mut entries = self.entries.iter_mut();
        match entries.find(|known| known.object.same_object(&entry.object)) {
            Some(known) => *known = entry,
            None => self.entries.push(entry),
        }
        // Stable: within a rank the order is that of the manifests.
        self.entries.sort_by_key(|entry| entry.object.rank());
    }

    pub(super) fn forget(&mut self, object: &ObjectName) {
        self.entries
            .retain(|entry| !entry.object.same_object(object));
    }
}

fn read_entry(value: &Value) -> Option<Entry> {
    // Landscaper's first version had the reference itself here.
    let resource = value.get("resource").unwrap_or(value);
    let text = |field: &str| {
        let text = resource[field].as_str();
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let policy = value["policy"].as_str().and_then(Policy::parse);
    Some(Entry {
        policy: policy.unwrap_or(Policy::Manage),
        object: ObjectName {
            api_version: text("apiVersion").unwrap_or_else(|| "v1".into()),
            kind: text("kind")?,
            namespace: text("namespace"),
            name: text("name")?,
        },
        uid: text("uid"),
    })
}

fn write_entry(entry: &Entry) -> Value {
    let object = &entry.object;
    let mut resource = Map::new();
    resource.insert("apiVersion".into(), json!(object.api_version));
    resource.insert("kind".into(), json!(object.kind));
    resource.insert("name".into(), json!(object.name));
    if let Some(namespace) = &object.namespace {
        resource.insert("namespace".into(), json!(namespace));
    }
    if let Some(uid) = &entry.uid {
        resource.insert("uid".into(), json!(uid));
    }
    json!({"policy": entry.policy.as_str(), "resource": resource})
}
