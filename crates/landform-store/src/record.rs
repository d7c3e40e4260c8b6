//! Records and events: what reads and watches return.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use crate::Key;

/// A point in the store's history. Zero is before everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(pub u64);

impl Revision {
    /// Before the first transaction.
    pub const ZERO: Self = Self(0);
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A key's value, and when it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The key.
    pub key: Key,
    /// The value, shared, never copied by the store.
    pub value: Bytes,
    /// The revision that created the key (since it last did not exist).
    pub created: Revision,
    /// The revision that wrote this value.
    pub modified: Revision,
}

/// What a transaction did to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// The key did not exist before.
    Created,
    /// The key had another value before.
    Updated,
    /// The key is gone.
    Deleted,
}

/// One change of one key.
pub struct Event {
    /// When; no other event has this revision.
    pub revision: Revision,
    /// What was done.
    pub kind: EventKind,
    /// The record after a create or update; before a delete, the last one.
    pub record: Record,
    /// The record before an update; `None` for a create, and for a delete (`record` is it).
    pub previous: Option<Record>,
    /// Where readers keep what they made of this event (an encoding, say), so that a thousand
    /// watchers of it make it once. The store never looks inside.
    pub memo: OnceLock<Arc<dyn Any + Send + Sync>>,
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event")
            .field("revision", &self.revision)
            .field("kind", &self.kind)
            .field("key", &self.record.key)
            .finish_non_exhaustive()
    }
}
