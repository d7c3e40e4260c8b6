//! A store so plain that it is obviously right, and the random steps that are taken with it.

use std::collections::BTreeMap;

use bytes::Bytes;
use landform_store::{Bucket, Compare, Event, EventKind, Key, Op, Revision, Txn};
use proptest::prelude::*;

/// Few buckets and names, so that writes meet.
pub(crate) const BUCKETS: [&str; 2] = ["pods", "secrets"];
pub(crate) const NAMES: [&str; 6] = ["a", "a/x", "a/y", "b/x", "b/y", "c"];
pub(crate) const PREFIXES: [&str; 4] = ["", "a", "a/", "b/"];

/// What may happen to a store. Small numbers stand for "so many revisions ago".
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Commit(Vec<Write>),
    Range {
        bucket: usize,
        prefix: usize,
        after: Option<usize>,
        limit: Option<usize>,
        back: Option<u64>,
    },
    /// Starts a watch, of one bucket or of all.
    Watch {
        bucket: Option<usize>,
        prefix: usize,
        back: u64,
    },
    /// Lets one of the watches deliver what it has.
    Drain(usize),
    Compact {
        back: u64,
    },
    /// Checks a copy and writes to it; the store must not notice.
    Fork,
    Reopen,
}

#[derive(Clone, Debug)]
pub(crate) struct Write {
    pub(crate) bucket: usize,
    pub(crate) name: usize,
    pub(crate) compare: ModelCompare,
    pub(crate) op: ModelOp,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum ModelCompare {
    Any,
    Absent,
    /// The key's present revision, or zero.
    Fresh,
    /// One that the key never had, or no longer has.
    Stale,
    /// The revision since which the key exists, or zero.
    Lasting,
    /// An earlier one.
    Reborn,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum ModelOp {
    Put(u8),
    Delete,
    Check,
}

pub(crate) fn write() -> impl Strategy<Value = Write> {
    let compare = prop_oneof![
        4 => Just(ModelCompare::Any),
        1 => Just(ModelCompare::Absent),
        2 => Just(ModelCompare::Fresh),
        1 => Just(ModelCompare::Stale),
        1 => Just(ModelCompare::Lasting),
        1 => Just(ModelCompare::Reborn),
    ];
    let op = prop_oneof![
        5 => any::<u8>().prop_map(ModelOp::Put),
        2 => Just(ModelOp::Delete),
        1 => Just(ModelOp::Check),
    ];
    (0..BUCKETS.len(), 0..NAMES.len(), compare, op).prop_map(|(bucket, name, compare, op)| Write {
        bucket,
        name,
        compare,
        op,
    })
}

pub(crate) fn step() -> impl Strategy<Value = Step> {
    let range = (
        0..BUCKETS.len(),
        0..PREFIXES.len(),
        prop::option::of(0..NAMES.len()),
        prop::option::of(0..5usize),
        prop::option::of(0..8u64),
    );
    let watch = (
        prop::option::of(0..BUCKETS.len()),
        0..PREFIXES.len(),
        0..10u64,
    );
    prop_oneof![
        12 => prop::collection::vec(write(), 1..4).prop_map(Step::Commit),
        4 => range.prop_map(|(bucket, prefix, after, limit, back)| Step::Range {
            bucket, prefix, after, limit, back,
        }),
        3 => watch.prop_map(|(bucket, prefix, back)| Step::Watch { bucket, prefix, back }),
        4 => (0..8usize).prop_map(Step::Drain),
        1 => (0..12u64).prop_map(|back| Step::Compact { back }),
        1 => Just(Step::Fork),
        1 => Just(Step::Reopen),
    ]
}

/// Name to (value, created, modified), per bucket.
pub(crate) type Contents = BTreeMap<(usize, String), (Vec<u8>, u64, u64)>;

/// An event as the model knows it: revision, bucket, kind, name, value, previous value.
pub(crate) type ModelEvent = (u64, usize, EventKind, String, Vec<u8>, Option<Vec<u8>>);

#[derive(Default)]
pub(crate) struct Model {
    /// The contents at each revision since the beginning: plain, wasteful, obviously right.
    pub(crate) states: Vec<Contents>,
    pub(crate) events: Vec<ModelEvent>,
    pub(crate) compacted: u64,
}

impl Model {
    pub(crate) fn revision(&self) -> u64 {
        self.states.len() as u64 - 1
    }

    pub(crate) fn now(&self) -> &Contents {
        self.states.last().unwrap()
    }

    /// The revision so many steps back, at least zero.
    pub(crate) fn back(&self, back: u64) -> u64 {
        self.revision().saturating_sub(back)
    }

    pub(crate) fn txn(&self, writes: &[Write]) -> Txn {
        let mut txn = Txn::default();
        for write in writes {
            let current = self
                .now()
                .get(&(write.bucket, NAMES[write.name].to_owned()));
            let compare = match write.compare {
                ModelCompare::Any => Compare::Any,
                ModelCompare::Absent => Compare::Absent,
                ModelCompare::Fresh => {
                    Compare::ModifiedAt(Revision(current.map_or(0, |found| found.2)))
                }
                ModelCompare::Stale => {
                    Compare::ModifiedAt(Revision(current.map_or(1, |found| found.2 - 1)))
                }
                ModelCompare::Lasting => {
                    Compare::CreatedAt(Revision(current.map_or(0, |found| found.1)))
                }
                ModelCompare::Reborn => {
                    Compare::CreatedAt(Revision(current.map_or(1, |found| found.1 - 1)))
                }
            };
            let op = match write.op {
                ModelOp::Put(byte) => Op::Put(Bytes::from(vec![byte; 3])),
                ModelOp::Delete => Op::Delete,
                ModelOp::Check => Op::Check,
            };
            txn = txn.and(key(write.bucket, NAMES[write.name]), compare, op);
        }
        txn
    }

    /// The position of the first write whose comparison does not hold.
    pub(crate) fn conflict(&self, txn: &Txn) -> Option<usize> {
        txn.writes.iter().position(|(key, compare, _)| {
            let current = self.now().get(&place(key));
            match compare {
                Compare::Any => false,
                Compare::Absent => current.is_some(),
                Compare::ModifiedAt(revision) => current.is_none_or(|found| found.2 != revision.0),
                Compare::CreatedAt(revision) => current.is_none_or(|found| found.1 != revision.0),
            }
        })
    }

    pub(crate) fn apply(&mut self, txn: &Txn) {
        for (key, _, op) in &txn.writes {
            let revision = self.revision() + 1;
            let mut next = self.now().clone();
            let before = self.events.len();
            let (bucket, name) = place(key);
            let old = next.get(&(bucket, name.clone())).cloned();
            match (op, old) {
                (Op::Put(value), old) => {
                    let created = old.as_ref().map_or(revision, |found| found.1);
                    let kind = match old {
                        Some(_) => EventKind::Updated,
                        None => EventKind::Created,
                    };
                    next.insert((bucket, name.clone()), (value.to_vec(), created, revision));
                    let previous = old.map(|found| found.0);
                    self.events
                        .push((revision, bucket, kind, name, value.to_vec(), previous));
                }
                (Op::Delete, Some(old)) => {
                    next.remove(&(bucket, name.clone()));
                    self.events
                        .push((revision, bucket, EventKind::Deleted, name, old.0, None));
                }
                (Op::Delete, None) | (Op::Check, _) => {}
            }
            if self.events.len() > before {
                self.states.push(next);
            }
        }
    }

    pub(crate) fn matching(
        &self,
        at: u64,
        bucket: usize,
        prefix: &str,
        after: Option<&str>,
    ) -> Contents {
        self.states[at as usize]
            .iter()
            .filter(|((its_bucket, name), _)| {
                *its_bucket == bucket
                    && name.starts_with(prefix)
                    && after.is_none_or(|after| name.as_str() > after)
            })
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    }
}

pub(crate) fn bucket(index: usize) -> Bucket {
    Bucket::new(BUCKETS[index])
}

pub(crate) fn key(bucket_index: usize, name: &str) -> Key {
    Key::new(&bucket(bucket_index), name)
}

pub(crate) fn place(key: &Key) -> (usize, String) {
    let bucket = BUCKETS
        .iter()
        .position(|name| *name == key.bucket.as_str())
        .unwrap();
    (bucket, key.name.to_string())
}

pub(crate) fn as_model(event: &Event) -> ModelEvent {
    let (bucket, name) = place(&event.record.key);
    let previous = event.previous.as_ref().map(|record| record.value.to_vec());
    let value = event.record.value.to_vec();
    (event.revision.0, bucket, event.kind, name, value, previous)
}
