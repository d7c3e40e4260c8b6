//! The kinds that the engine follows, and what it knows of their objects.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use kube::core::{DynamicObject, ObjectMeta};
use landform_api::{GroupKind, GroupVersionKind};
use landform_schedule::Version;
use tokio::task::JoinHandle;

use crate::key::Key;
use crate::reconciler::{Reconciler, Related};

/// Where reading a kind stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// It has never been listed.
    Listing,
    /// Its objects are known and watched.
    Watching,
    /// The API doesn't know it.
    Absent,
    /// It can't be read at present.
    Failing(String),
}

/// A kind that the engine follows.
pub(crate) struct Kind {
    pub(crate) name: GroupVersionKind,
    pub(crate) key: Arc<GroupKind>,
    pub(crate) reconciler: Option<Arc<dyn Reconciler>>,
    /// Reconcilers' kinds that its objects lead to.
    pub(crate) leads: Vec<(Arc<GroupKind>, Related)>,
    /// Whether some object refers to one of its objects.
    pub(crate) referenced: bool,
    pub(crate) reading: Reading,
    /// Whether everybody who needs this kind knows what there is of it: it was listed once, or can't be.
    pub(crate) settled: bool,
    pub(crate) objects: BTreeMap<Key, Known>,
    pub(crate) epoch: u64,
    pub(crate) source: Option<Task>,
}

/// What is remembered of an object.
pub(crate) struct Known {
    pub(crate) version: Version,
    pub(crate) uid: Option<Arc<str>>,
    /// Objects that run when this one changes.
    pub(crate) leads_to: Vec<Key>,
    /// Moves when this one changed in a way that matters to them.
    pub(crate) movement: u64,
}

/// A task that ends when it is dropped.
pub(crate) struct Task(pub(crate) JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Kind {
    pub(crate) fn new(name: GroupVersionKind) -> Self {
        let key = Arc::new(group_kind(&name));
        Self {
            name,
            key,
            reconciler: None,
            leads: Vec::new(),
            referenced: false,
            reading: Reading::Listing,
            settled: false,
            objects: BTreeMap::new(),
            epoch: 0,
            source: None,
        }
    }

    /// The name of one of its objects.
    pub(crate) fn key_of(&self, metadata: &ObjectMeta) -> Key {
        let namespace = metadata.namespace.as_deref().unwrap_or_default();
        let name = metadata.name.as_deref().unwrap_or_default();
        Key::new(self.key.clone(), namespace, name)
    }

    /// What to remember of one of its objects.
    pub(crate) fn known(&self, object: &DynamicObject) -> Known {
        let mut leads_to: Vec<_> = self
            .leads
            .iter()
            .flat_map(|(kind, related)| {
                let named = guarded(&kind.kind, || (related.leads_to)(object)).unwrap_or_default();
                named.into_iter().map(|(namespace, name)| {
                    Key::new(
                        kind.clone(),
                        namespace.as_deref().unwrap_or_default(),
                        &name,
                    )
                })
            })
            .collect();
        leads_to.sort();
        leads_to.dedup();
        let version = version_of(object);
        let mut hasher = DefaultHasher::new();
        for (kind, related) in &self.leads {
            match &related.movement {
                None => version.hash(&mut hasher),
                Some(movement) => {
                    guarded(&kind.kind, || movement(object)).hash(&mut hasher);
                    object.metadata.uid.hash(&mut hasher);
                }
            }
        }
        Known {
            version,
            uid: object.metadata.uid.as_deref().map(Into::into),
            leads_to,
            movement: hasher.finish(),
        }
    }
}

/// The resourceVersion; 0 when it isn't a number, which no API server that we know of does.
pub(crate) fn version_of(object: &DynamicObject) -> Version {
    let text = object.metadata.resource_version.as_deref();
    Version(text.and_then(|text| text.parse().ok()).unwrap_or(0))
}

pub(crate) fn group_kind(kind: &GroupVersionKind) -> GroupKind {
    GroupKind {
        group: kind.group.clone(),
        kind: kind.kind.clone(),
    }
}

/// Calls into a reconciler's code, which may panic; then there is no answer.
pub(crate) fn guarded<T>(whose: &str, call: impl FnOnce() -> T) -> Option<T> {
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call));
    if result.is_err() {
        tracing::error!(
            kind = whose,
            "a reconciler panicked while an object was read: this is a bug in it"
        );
    }
    result.ok()
}
