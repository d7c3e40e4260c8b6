//! Which resource each kind is, as its source found out; read by runs.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use landform_api::{GroupKind, GroupVersionKind};
use tokio::sync::watch;

use crate::source::Resource;

type Slot = watch::Receiver<Option<Arc<Resource>>>;

/// A table that all runs share.
#[derive(Clone, Default)]
pub(crate) struct Resources(Arc<RwLock<BTreeMap<GroupKind, Slot>>>);

impl Resources {
    /// What a kind is; `None` when nobody follows it or the API doesn't know it.
    pub(crate) fn find(&self, kind: &GroupVersionKind) -> Option<Arc<Resource>> {
        self.of(&GroupKind {
            group: kind.group.clone(),
            kind: kind.kind.clone(),
        })
    }

    pub(crate) fn of(&self, kind: &GroupKind) -> Option<Arc<Resource>> {
        let slots = self.0.read().unwrap_or_else(PoisonError::into_inner);
        slots.get(kind).and_then(|slot| slot.borrow().clone())
    }

    pub(crate) fn set(&self, kind: GroupKind, slot: Slot) {
        let mut slots = self.0.write().unwrap_or_else(PoisonError::into_inner);
        slots.insert(kind, slot);
    }
}
