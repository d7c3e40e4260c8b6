//! Objects before and after, and what they are called in a plan.
//!
//! Names of nested objects follow from uids, and a uid that a fork gave is worth nothing: what is new and owned
//! is called by its owners and by the name that a blueprint gives it.

use std::collections::BTreeMap;

use futures::FutureExt as _;
use landform_api::landscaper::{keys, labels};
use landform_store::memory::MemoryStore;
use landform_store::{Bucket, Key, RangeQuery, Record, Store as _};
use serde_json::Value;

use crate::model::ObjectView;
use crate::question::group;

/// What stands for the part of a name that isn't known before.
const CUT: &str = "…";
/// Owners of owners are followed so far.
const DEPTH: usize = 32;
/// Generated names end in so many characters, of these.
const SUFFIX: (usize, &str) = (5, "bcdfghjklmnpqrstvwxz2456789");

/// Two states of a store: all objects before something happened, and after.
pub(crate) struct Objects<'a> {
    pub(crate) before: &'a MemoryStore,
    pub(crate) after: &'a MemoryStore,
    /// Where the objects of a kind are, by group and kind.
    buckets: BTreeMap<(String, String), Bucket>,
}

/// One object, where it is stored and as it is.
#[derive(Clone)]
pub(crate) struct Found {
    pub(crate) key: Key,
    pub(crate) value: Value,
}

impl<'a> Objects<'a> {
    pub(crate) fn new(before: &'a MemoryStore, after: &'a MemoryStore) -> Self {
        let mut buckets = BTreeMap::new();
        for store in [before, after] {
            let names = store.buckets().now_or_never().and_then(Result::ok);
            for bucket in names.unwrap_or_default() {
                if let Some(value) = first(store, &bucket) {
                    let name = (group(text(&value["apiVersion"])), text(&value["kind"]));
                    buckets.insert((name.0.to_owned(), name.1.to_owned()), bucket);
                }
            }
        }
        Self {
            before,
            after,
            buckets,
        }
    }

    /// An object as it was before.
    pub(crate) fn old(&self, key: &Key) -> Option<Value> {
        read(self.before, key)
    }

    /// An object as it is afterwards.
    pub(crate) fn new_of(&self, key: &Key) -> Option<Value> {
        read(self.after, key)
    }

    /// An object by what people call it: as it is afterwards, or else as it was.
    pub(crate) fn find(&self, kind: &str, namespace: &str, name: &str) -> Option<Found> {
        let buckets = self.buckets.iter().filter(|((_, found), _)| found == kind);
        buckets
            .filter_map(|(_, bucket)| self.look(bucket, namespace, name))
            .next()
    }

    fn look(&self, bucket: &Bucket, namespace: &str, name: &str) -> Option<Found> {
        let keys = [
            Key::new(bucket, &format!("{namespace}/{name}")),
            Key::new(bucket, name),
        ];
        keys.into_iter().find_map(|key| {
            let value = self.new_of(&key).or_else(|| self.old(&key))?;
            Some(Found { key, value })
        })
    }

    /// All objects of a kind, as they are afterwards.
    pub(crate) fn of_kind(&self, group: &str, kind: &str) -> Vec<Found> {
        let name = (group.to_owned(), kind.to_owned());
        let Some(bucket) = self.buckets.get(&name) else {
            return Vec::new();
        };
        let records = range(self.after, bucket, None).into_iter();
        let found = records.filter_map(|record| {
            let value: Value = serde_json::from_slice(&record.value).ok()?;
            Some(Found {
                key: record.key,
                value,
            })
        });
        found.collect()
    }

    /// The object that owns another one: its controller, or else the first.
    pub(crate) fn owner(&self, object: &Value) -> Option<Found> {
        let owners = object["metadata"]["ownerReferences"].as_array()?;
        let controller = owners.iter().find(|owner| owner["controller"] == true);
        let owner = controller.or(owners.first())?;
        let group = group(text(&owner["apiVersion"])).to_owned();
        let bucket = self
            .buckets
            .get(&(group, text(&owner["kind"]).to_owned()))?;
        let namespace = text(&object["metadata"]["namespace"]);
        let name = text(&owner["name"]);
        let found = self.look(bucket, namespace, name)?;
        (found.value["metadata"]["uid"] == owner["uid"]).then_some(found)
    }

    /// An object and its owners, innermost first.
    pub(crate) fn chain(&self, found: &Found) -> Vec<Found> {
        let mut chain = vec![found.clone()];
        while let Some(owner) = chain.last().and_then(|last| self.owner(&last.value)) {
            if chain.len() >= DEPTH || chain.iter().any(|known| known.key == owner.key) {
                break;
            }
            chain.push(owner);
        }
        chain
    }

    /// What an object is called in a plan.
    pub(crate) fn view(&self, found: &Found) -> ObjectView {
        let mut path = Vec::new();
        let mut shown = String::new();
        let mut outer: Option<Found> = None;
        for link in self.chain(found).into_iter().rev() {
            shown = match &outer {
                Some(owner) => self.name_below(&link, owner, &shown),
                None => text(&link.value["metadata"]["name"]).to_owned(),
            };
            path.push(format!("{}/{shown}", text(&link.value["kind"])));
            outer = Some(link);
        }
        let metadata = &found.value["metadata"];
        ObjectView {
            api_version: text(&found.value["apiVersion"]).to_owned(),
            kind: text(&found.value["kind"]).to_owned(),
            namespace: text(&metadata["namespace"]).to_owned(),
            known_as: labels::in_metadata(metadata, keys::DATA_KEY)
                // What is new is named by its key already.
                .filter(|key| metadata["name"] == shown && shown != *key)
                .map(ToOwned::to_owned),
            name: shown,
            path,
        }
    }

    /// Whether an object is there since before.
    fn is_old(&self, found: &Found) -> bool {
        let old = self.old(&found.key);
        old.is_some_and(|old| old["metadata"]["uid"] == found.value["metadata"]["uid"])
    }

    fn name_below(&self, found: &Found, owner: &Found, owner_shown: &str) -> String {
        let metadata = &found.value["metadata"];
        let name = text(&metadata["name"]);
        if self.is_old(found) {
            return name.to_owned();
        }
        let marked = |key: &str| {
            let label = labels::in_metadata(metadata, key);
            label.or_else(|| metadata["annotations"][key].as_str())
        };
        let logical = [keys::ITEM_NAME, keys::SUBINSTALLATION_NAME];
        if let Some(logical) = logical.into_iter().find_map(marked) {
            return format!("{logical}-{CUT}");
        }
        if text(&found.value["kind"]) != "Execution" && marked(keys::DATA_CONTEXT).is_some() {
            let key = marked(keys::DATA_KEY).unwrap_or("exports");
            let source = marked(keys::DATA_SOURCE_TYPE).unwrap_or_default();
            return match source {
                "" => format!("{key}-{CUT}"),
                source => format!("{key}-{source}-{CUT}"),
            };
        }
        let owner_name = text(&owner.value["metadata"]["name"]);
        let (shown, rest) = match name.strip_prefix(owner_name) {
            Some(rest) => (owner_shown, rest),
            None => ("", name),
        };
        let cut = if self.is_old(owner) {
            None
        } else {
            without_suffix(rest)
        };
        match cut {
            Some(kept) => format!("{shown}{kept}{CUT}"),
            None => format!("{shown}{rest}"),
        }
    }
}

/// A name without what was generated at its end, if it ends like that.
fn without_suffix(name: &str) -> Option<&str> {
    let at = name.len().checked_sub(SUFFIX.0)?;
    let (kept, suffix) = name.split_at_checked(at)?;
    let generated = suffix.chars().all(|c| SUFFIX.1.contains(c));
    generated.then_some(kept)
}

/// A store in memory answers at once.
fn read(store: &MemoryStore, key: &Key) -> Option<Value> {
    let record = store.get(key).now_or_never()?.ok()??;
    let value: Value = serde_json::from_slice(&record.value).ok()?;
    value["metadata"].is_object().then_some(value)
}

fn first(store: &MemoryStore, bucket: &Bucket) -> Option<Value> {
    let records = range(store, bucket, Some(1));
    serde_json::from_slice(&records.first()?.value).ok()
}

fn range(store: &MemoryStore, bucket: &Bucket, limit: Option<usize>) -> Vec<Record> {
    let query = RangeQuery {
        bucket: bucket.clone(),
        prefix: String::new(),
        after: None,
        limit,
        at: None,
    };
    let page = store.range(query).now_or_never().and_then(Result::ok);
    page.map(|page| page.records).unwrap_or_default()
}

/// A string, or nothing.
pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
