//! The target of all deploy items: numbers, by installation and item, that survive every crash. It knows who
//! may write to it, and when.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::FutureExt as _;
use landform_api::landscaper::keys;
use landform_store::{Bucket, Key, Store as _};
use parking_lot::Mutex;
use serde_json::Value;

use super::bucket;
use crate::disk::{Disk, Life};

/// What exists outside of the cluster. Clones share it.
#[derive(Clone, Default)]
pub(super) struct Target {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Default)]
struct Inner {
    things: BTreeMap<String, Thing>,
    writes: u64,
    /// What was deployed since it was last asked for.
    news: Vec<News>,
    broken: Option<String>,
}

/// What one deploy item has made.
struct Thing {
    number: u64,
    execution: String,
    item: String,
    /// The item's name in the API.
    object: String,
}

/// A number that was deployed.
pub(super) struct News {
    /// The revision of the store then.
    pub(super) at: u64,
    pub(super) place: String,
    pub(super) number: u64,
}

/// Who writes to the target: one call for one item.
pub(super) struct Writer<'a> {
    pub(super) disk: &'a Disk,
    pub(super) life: &'a Life,
    /// The item's metadata when the call began.
    pub(super) item: &'a kube::core::ObjectMeta,
}

impl Writer<'_> {
    fn label(&self, key: &str) -> &str {
        let labels = self.item.labels.as_ref();
        labels
            .and_then(|labels| labels.get(key))
            .map_or("", String::as_str)
    }

    fn name(&self) -> &str {
        self.item.name.as_deref().unwrap_or_default()
    }

    /// The same in every run: templates' names from the root down, instead of generated ones.
    fn place(&self) -> String {
        let installation = path(self.disk, self.label(keys::MANAGED_BY));
        format!("{installation}.{}", self.label(keys::ITEM_NAME))
    }

    fn owner(&self) -> String {
        let owners = self.item.owner_references.iter().flatten();
        owners.map(|owner| owner.uid.clone()).collect()
    }

    /// The item as it is stored at this moment, if it is still the same one.
    fn stored(&self) -> Option<Value> {
        let stored = stored(self.disk, "DeployItem", self.name())?;
        let same = stored["metadata"]["uid"].as_str() == self.item.uid.as_deref();
        same.then_some(stored)
    }
}

/// Whether an item that exists depends on another one of its execution.
fn needs(disk: &Disk, object: &str, name: &str) -> bool {
    let item = stored(disk, "DeployItem", object).unwrap_or(Value::Null);
    let names = &item["metadata"]["annotations"][keys::DEPENDS_ON];
    let mut names = names.as_str().unwrap_or_default().split(',');
    names.any(|needed| needed == name)
}

/// Whether an object is being deleted, or gone.
fn is_going(disk: &Disk, kind: &str, name: &str) -> bool {
    stored(disk, kind, name)
        .is_none_or(|object| object["metadata"]["deletionTimestamp"].is_string())
}

fn stored(disk: &Disk, kind: &str, name: &str) -> Option<Value> {
    let key = Key::new(&Bucket::new(&bucket(kind)), &format!("default/{name}"));
    // A store in memory answers at once.
    let record = disk.store().get(&key).now_or_never()?.ok()??;
    serde_json::from_slice(&record.value).ok()
}

/// An installation by the names of templates, from the root down.
fn path(disk: &Disk, name: &str) -> String {
    let object = stored(disk, "Installation", name).unwrap_or(Value::Null);
    let metadata = &object["metadata"];
    let parent = metadata["labels"][keys::ENCOMPASSED_BY].as_str();
    let template = metadata["annotations"][keys::SUBINSTALLATION_NAME].as_str();
    match parent.zip(template) {
        Some((parent, template)) => format!("{}.{template}", path(disk, parent)),
        None => name.to_owned(),
    }
}

impl Target {
    /// What was deployed since the last call.
    pub(super) fn news(&self) -> Vec<News> {
        std::mem::take(&mut self.inner.lock().news)
    }

    /// Makes or changes what belongs to an item, and says whether it was made. A process that is dead can't.
    pub(super) fn put(&self, writer: &Writer<'_>, number: u64) -> bool {
        if writer.life.is_over() {
            return false;
        }
        let problem = match writer.stored() {
            None => Some("it is gone".to_owned()),
            Some(item) => ended(&item),
        };
        let mut inner = self.inner.lock();
        inner.writes += 1;
        inner.news.push(News {
            at: writer.disk.store().revision().0,
            place: writer.place(),
            number,
        });
        if let Some(problem) = problem {
            let what = format!(
                "the fence: {} is written to its target though {problem}",
                writer.name()
            );
            inner.broken.get_or_insert(what);
        }
        let thing = Thing {
            number,
            execution: writer.owner(),
            item: writer.label(keys::ITEM_NAME).to_owned(),
            object: writer.name().to_owned(),
        };
        inner.things.insert(writer.place(), thing).is_none()
    }

    /// Takes away what belongs to an item.
    pub(super) fn remove(&self, writer: &Writer<'_>) {
        if writer.life.is_over() {
            return;
        }
        let marked = writer
            .stored()
            .is_some_and(|item| item["metadata"]["deletionTimestamp"].is_string());
        let mut inner = self.inner.lock();
        inner.writes += 1;
        let (name, execution) = (writer.label(keys::ITEM_NAME), writer.owner());
        let disk = writer.disk;
        // What others deleted is made again, and those that depend on it stay.
        let all_go = is_going(disk, "Execution", &execution);
        let needed_by = inner.things.values().find(|thing| {
            thing.execution == execution
                && needs(disk, &thing.object, name)
                && (all_go || is_going(disk, "DeployItem", &thing.object))
        });
        let problem = match needed_by {
            Some(other) => Some(format!(
                "E10: {name} is taken from its target while {}, which depends on it, is there",
                other.item
            )),
            None if !marked => Some(format!(
                "{name} is taken from its target, and it is not being deleted"
            )),
            None => None,
        };
        inner.things.remove(&writer.place());
        if let Some(problem) = problem {
            inner.broken.get_or_insert(problem);
        }
    }

    /// The first rule that was broken.
    pub(super) fn check(&self) -> Result<(), String> {
        self.inner.lock().broken.clone().map_or(Ok(()), Err)
    }

    /// How often something was written.
    pub(super) fn writes(&self) -> u64 {
        self.inner.lock().writes
    }

    /// What exists.
    pub(super) fn numbers(&self) -> BTreeMap<String, u64> {
        let inner = self.inner.lock();
        let things = inner.things.iter();
        things
            .map(|(place, thing)| (place.clone(), thing.number))
            .collect()
    }
}

/// Whether the work on an item has ended as far as anybody can read: then nothing may be written for it.
fn ended(item: &Value) -> Option<String> {
    let (metadata, status) = (&item["metadata"], &item["status"]);
    let phase = status["phase"].as_str().unwrap_or_default();
    let is_final = matches!(phase, "Succeeded" | "Failed");
    let annotations = &metadata["annotations"];
    let asked = [keys::RECONCILE_TIME, keys::OPERATION]
        .iter()
        .any(|key| annotations[*key].is_string());
    let current = status["observedGeneration"] == metadata["generation"];
    (is_final && current && !asked).then(|| format!("its phase is {phase}"))
}
