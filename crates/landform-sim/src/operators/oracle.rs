//! What must never happen to operators, found by reading the log of the store write by write.
//!
//! - O15: a resource has an owner that exists, and at most one controller.
//! - O16, O17: while the app type is wanted no resource is lost, and neither is what all versions install.
//! - O16: an operator isn't taken down while it is the only owner of a resource.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::FutureExt as _;
use landform_store::{Event, EventKind, Revision, Store as _};
use parking_lot::Mutex;
use serde_json::Value;

use super::RESOURCES;
use crate::disk::Disk;

/// Reads the log of one simulation. Clones share what they know.
#[derive(Clone)]
pub(super) struct Oracle {
    disk: Disk,
    inner: Arc<Mutex<Inner>>,
}

#[derive(Default)]
struct Inner {
    read: u64,
    objects: BTreeMap<String, Value>,
    broken: Option<String>,
}

impl Oracle {
    pub(super) fn new(disk: &Disk) -> Self {
        let inner = Inner {
            read: disk.store().revision().0,
            ..Inner::default()
        };
        Self {
            disk: disk.clone(),
            inner: Arc::new(Mutex::new(inner)),
        }
    }

    /// Reads on; the first rule that was broken.
    pub(super) fn check(&self) -> Result<(), String> {
        let mut inner = self.inner.lock();
        let after = Revision(inner.read);
        let Ok(mut watch) = self.disk.store().watch_all(after) else {
            return Err("the log was cut off before the oracle has read it".into());
        };
        while let Some(Ok(events)) = watch.next().now_or_never() {
            for event in events {
                inner.read = event.revision.0;
                inner.event(&event);
            }
        }
        inner.broken.clone().map_or(Ok(()), Err)
    }
}

fn is_marked(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

fn owners(object: &Value) -> impl Iterator<Item = &Value> {
    let owners = object["metadata"]["ownerReferences"].as_array();
    owners.into_iter().flatten()
}

impl Inner {
    fn of(&self, kind: &str) -> impl Iterator<Item = &Value> {
        let all = self.objects.values();
        all.filter(move |object| object["kind"] == *kind)
    }

    fn event(&mut self, event: &Event) {
        let key = format!("{} {}", event.record.key.bucket, event.record.key.name);
        let object: Value = serde_json::from_slice(&event.record.value).unwrap_or(Value::Null);
        let gone = event.kind == EventKind::Deleted;
        match event.kind {
            EventKind::Deleted => self.objects.remove(&key),
            EventKind::Created | EventKind::Updated => self.objects.insert(key, object.clone()),
        };
        let problem = match object["kind"].as_str() {
            Some("ConfigMap") => self.config_map(&object, gone),
            Some("OperatorVersion") if gone => self.orphans(),
            Some("Execution") if gone || is_marked(&object) => self.taken_down(&object),
            _ => None,
        };
        if let Some(problem) = problem {
            let at = event.revision.0;
            self.broken.get_or_insert(format!("at {at}: {problem}"));
        }
    }

    /// Whether somebody wants the operator.
    fn wanted(&self) -> bool {
        self.of("AppType").any(|found| !is_marked(found))
    }

    fn config_map(&self, object: &Value, gone: bool) -> Option<String> {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let ours = RESOURCES.contains(&name);
        if gone {
            let lost = (ours || name == "etcd-operator") && self.wanted();
            return lost.then(|| format!("{name} is lost"));
        }
        let controllers = owners(object).filter(|owner| owner["controller"] == true);
        if controllers.count() > 1 {
            return Some(format!("O15: {name} has two controllers"));
        }
        (ours && !self.has_owner(object)).then(|| format!("O15: nobody owns {name}"))
    }

    fn has_owner(&self, resource: &Value) -> bool {
        let versions: Vec<_> = self.of("OperatorVersion").collect();
        owners(resource).any(|owner| {
            let mut versions = versions.iter();
            versions.any(|version| version["metadata"]["uid"] == owner["uid"])
        })
    }

    fn resources(&self) -> impl Iterator<Item = &Value> {
        self.of("ConfigMap").filter(|found| {
            let name = found["metadata"]["name"].as_str().unwrap_or_default();
            RESOURCES.contains(&name)
        })
    }

    /// A version is gone: nobody may have needed it.
    fn orphans(&self) -> Option<String> {
        let orphan = self.resources().find(|found| !self.has_owner(found))?;
        Some(format!(
            "O15: nobody owns {} any more",
            orphan["metadata"]["name"]
        ))
    }

    /// An operator is taken down.
    fn taken_down(&self, execution: &Value) -> Option<String> {
        let version = owners(execution).next()?["uid"].clone();
        let resource = self.resources().find(|found| {
            let mut all = owners(found).peekable();
            all.peek().is_some() && all.all(|owner| owner["uid"] == version)
        })?;
        Some(format!(
            "O16: {} goes while it is the only owner of {}",
            execution["metadata"]["name"], resource["metadata"]["name"]
        ))
    }
}
