//! One moment of the store: all records and the recent history, as one immutable value.
//!
//! Both backends share it. A writer clones the current state (a few reference counts), changes the
//! clone, and publishes it; readers keep whichever state they took. Records and history are one
//! value, so a read at an older revision can never see one without the other.

use std::ops::Bound;
use std::sync::{Arc, OnceLock};

use imbl::{OrdMap, Vector};

use crate::{
    Bucket, Compare, Error, Event, EventKind, Key, Op, Page, RangeQuery, Record, Revision, Txn,
    Usage,
};

/// All records at one revision, and the events that led there since [`State::compacted`].
#[derive(Clone, Default)]
pub(crate) struct State {
    pub(crate) revision: Revision,
    /// Events after this revision are all in the log; those up to it are gone.
    pub(crate) compacted: Revision,
    pub(crate) buckets: OrdMap<Bucket, Arc<BucketState>>,
    pub(crate) log: Vector<Arc<Event>>,
    /// How many bytes of values only the log still needs.
    pub(crate) superseded_bytes: u64,
    /// How many bytes the records take.
    pub(crate) records_bytes: u64,
}

/// The records and the events of one bucket.
#[derive(Clone)]
pub(crate) struct BucketState {
    bucket: Bucket,
    pub(crate) records: OrdMap<Arc<str>, Arc<Record>>,
    pub(crate) log: Vector<Arc<Event>>,
    /// The newest revision whose events of this bucket are gone. It trails `State::compacted`
    /// when the bucket is quiet, so that a watch of a quiet bucket never counts as too slow.
    pub(crate) dropped: Revision,
}

/// What a transaction would do, or did.
pub(crate) enum Verdict {
    /// It was applied: these are its events, none if it changed nothing.
    Applied(Vec<Arc<Event>>),
    /// This write's comparison does not hold.
    Conflict {
        index: usize,
        current: Option<Record>,
    },
    /// The records would take more room than the transaction allows.
    Full { bytes: u64, bytes_max: u64 },
}

impl BucketState {
    fn new(bucket: Bucket) -> Self {
        Self {
            bucket,
            records: OrdMap::new(),
            log: Vector::new(),
            dropped: Revision::ZERO,
        }
    }
}

impl State {
    pub(crate) fn get(&self, key: &Key) -> Option<&Arc<Record>> {
        self.buckets.get(&key.bucket)?.records.get(&*key.name)
    }

    pub(crate) fn usage(&self) -> Usage {
        Usage {
            records_bytes: self.records_bytes,
            history_bytes: self.superseded_bytes,
        }
    }

    pub(crate) fn count(&self, bucket: &Bucket) -> usize {
        self.buckets
            .get(bucket)
            .map_or(0, |bucket| bucket.records.len())
    }

    pub(crate) fn bucket_names(&self) -> Vec<Bucket> {
        self.buckets
            .iter()
            .filter(|(_, state)| !state.records.is_empty())
            .map(|(bucket, _)| bucket.clone())
            .collect()
    }

    /// A page of the newest state, or of an older one with the events since then undone.
    pub(crate) fn range(&self, query: &RangeQuery) -> Result<Page, Error> {
        let at = query.at.unwrap_or(self.revision);
        if at > self.revision {
            return Err(Error::Future {
                asked: at,
                newest: self.revision,
            });
        }
        if at < self.compacted {
            return Err(Error::Compacted {
                asked: at,
                oldest: self.compacted,
            });
        }
        let page = |records, remaining| Page {
            records,
            revision: at,
            remaining,
        };
        let Some(bucket) = self.buckets.get(&query.bucket) else {
            return Ok(page(Vec::new(), 0));
        };
        let matching = |name: &str| {
            name.starts_with(&query.prefix)
                && query.after.as_deref().is_none_or(|after| name > after)
        };
        let records = bucket.records_at(at, matching);
        let start = match query.after.as_deref() {
            Some(after) if after >= query.prefix.as_str() => Bound::Excluded(after),
            _ => Bound::Included(query.prefix.as_str()),
        };
        let mut found = records
            .range::<_, str>((start, Bound::Unbounded))
            .take_while(|(name, _)| name.starts_with(&query.prefix));
        let limit = query.limit.unwrap_or(usize::MAX);
        let taken: Vec<Record> = found
            .by_ref()
            .take(limit)
            .map(|(_, record)| Record::clone(record))
            .collect();
        let remaining = found.count();
        Ok(page(taken, remaining))
    }

    /// Applies a transaction whole or not at all. Each write takes the next revision, so that a watch can be
    /// resumed after any one of them.
    pub(crate) fn apply(&mut self, txn: &Txn) -> Verdict {
        for (index, (key, compare, _)) in txn.writes.iter().enumerate() {
            let current = self.get(key);
            let holds = match compare {
                Compare::Any => true,
                Compare::Absent => current.is_none(),
                Compare::ModifiedAt(revision) => {
                    current.is_some_and(|record| record.modified == *revision)
                }
                Compare::CreatedAt(revision) => {
                    current.is_some_and(|record| record.created == *revision)
                }
            };
            if !holds {
                return Verdict::Conflict {
                    index,
                    current: current.map(|record| Record::clone(record)),
                };
            }
        }
        if let Some(bytes_max) = txn.records_bytes_max {
            let (bytes, after) = (self.records_bytes, self.records_bytes_after(txn));
            if after > bytes && after > bytes_max {
                return Verdict::Full { bytes, bytes_max };
            }
        }
        let mut events = Vec::with_capacity(txn.writes.len());
        for (key, _, op) in &txn.writes {
            let revision = Revision(self.revision.0 + 1);
            if let Some(event) = self.write(key, op, revision) {
                self.revision = revision;
                events.push(event);
            }
        }
        Verdict::Applied(events)
    }

    /// How many bytes the records would take after a transaction.
    fn records_bytes_after(&self, txn: &Txn) -> u64 {
        let mut bytes = self.records_bytes;
        for (index, (key, _, op)) in txn.writes.iter().enumerate() {
            // Only the last write of a key counts.
            if txn
                .writes
                .iter()
                .skip(index + 1)
                .any(|(later, ..)| later == key)
            {
                continue;
            }
            let before = self.get(key).map_or(0, |record| room(key, &record.value));
            bytes = match op {
                Op::Put(value) => (bytes + room(key, value)).saturating_sub(before),
                Op::Delete => bytes.saturating_sub(before),
                Op::Check => bytes,
            };
        }
        bytes
    }

    /// Applies one write and logs its event, if it has one.
    pub(crate) fn write(&mut self, key: &Key, op: &Op, revision: Revision) -> Option<Arc<Event>> {
        let event = match op {
            Op::Check => return None,
            Op::Delete => {
                self.get(key)?;
                let bucket = self.bucket_mut(&key.bucket);
                let last = bucket.records.remove(&*key.name)?;
                self.records_bytes -= room(key, &last.value);
                Event {
                    revision,
                    kind: EventKind::Deleted,
                    record: Arc::unwrap_or_clone(last),
                    previous: None,
                    memo: OnceLock::new(),
                }
            }
            Op::Put(value) => {
                let bucket = self.bucket_mut(&key.bucket);
                let previous = bucket.records.get(&*key.name).cloned();
                let record = Record {
                    // One shared key per name, however often the caller spells it anew.
                    key: previous.as_ref().map_or_else(
                        || Key {
                            bucket: bucket.bucket.clone(),
                            name: Arc::clone(&key.name),
                        },
                        |previous| previous.key.clone(),
                    ),
                    value: value.clone(),
                    created: previous.as_ref().map_or(revision, |record| record.created),
                    modified: revision,
                };
                bucket
                    .records
                    .insert(Arc::clone(&record.key.name), Arc::new(record.clone()));
                let before = previous.as_ref().map_or(0, |last| room(key, &last.value));
                self.records_bytes = self.records_bytes + room(key, value) - before;
                Event {
                    revision,
                    kind: match previous {
                        Some(_) => EventKind::Updated,
                        None => EventKind::Created,
                    },
                    record,
                    previous: previous.map(Arc::unwrap_or_clone),
                    memo: OnceLock::new(),
                }
            }
        };
        let event = Arc::new(event);
        self.superseded_bytes += superseded_bytes(&event);
        self.bucket_mut(&key.bucket)
            .log
            .push_back(Arc::clone(&event));
        self.log.push_back(Arc::clone(&event));
        Some(event)
    }

    /// Puts a record that is known to be the newest of its key, without an event.
    pub(crate) fn load(&mut self, record: Record) {
        let added = room(&record.key, &record.value);
        let bucket = self.bucket_mut(&record.key.bucket);
        let before = bucket
            .records
            .insert(Arc::clone(&record.key.name), Arc::new(record));
        let before = before.map_or(0, |last| room(&last.key, &last.value));
        self.records_bytes = self.records_bytes + added - before;
    }

    /// Removes a record without an event: it was gone before the history began.
    pub(crate) fn unload(&mut self, key: &Key) {
        if self.get(key).is_some()
            && let Some(last) = self.bucket_mut(&key.bucket).records.remove(&*key.name)
        {
            self.records_bytes -= room(key, &last.value);
        }
    }

    /// The bucket's own, shared name, so that equal names are stored once.
    pub(crate) fn shared_bucket(&self, name: &str) -> Option<&Bucket> {
        self.buckets.get(name).map(|state| &state.bucket)
    }

    /// Drops the events of the oldest transaction in the log, and moves `compacted` past it.
    ///
    /// A transaction goes as a whole: half of one would be a watch with a gap.
    pub(crate) fn drop_oldest(&mut self) -> Vec<Arc<Event>> {
        let Some(revision) = self.oldest_revision() else {
            return Vec::new();
        };
        let mut dropped = Vec::new();
        while self.oldest_revision() == Some(revision)
            && let Some(event) = self.log.pop_front()
        {
            let bucket = self.bucket_mut(&event.record.key.bucket);
            // The bucket's log is a subsequence of the whole log: its front is this very event.
            bucket.log.pop_front();
            bucket.dropped = revision;
            self.superseded_bytes -= superseded_bytes(&event);
            dropped.push(event);
        }
        self.compacted = self.compacted.max(revision);
        dropped
    }

    pub(crate) fn oldest_revision(&self) -> Option<Revision> {
        self.log.front().map(|event| event.revision)
    }

    fn bucket_mut(&mut self, bucket: &Bucket) -> &mut BucketState {
        let state = self
            .buckets
            .entry(bucket.clone())
            .or_insert_with(|| Arc::new(BucketState::new(bucket.clone())));
        Arc::make_mut(state)
    }
}

impl BucketState {
    /// The records as of a revision; those whose names don't match may be of any later one.
    fn records_at(
        &self,
        revision: Revision,
        matching: impl Fn(&str) -> bool,
    ) -> OrdMap<Arc<str>, Arc<Record>> {
        let mut records = self.records.clone();
        let newest_first = (first_after(&self.log, revision)..self.log.len()).rev();
        for event in newest_first.filter_map(|index| self.log.get(index)) {
            let name = &event.record.key.name;
            if !matching(name) {
                continue;
            }
            let before = match event.kind {
                EventKind::Created => None,
                EventKind::Updated => event.previous.clone(),
                EventKind::Deleted => Some(event.record.clone()),
            };
            match before {
                Some(record) => records.insert(Arc::clone(name), Arc::new(record)),
                None => records.remove(&**name),
            };
        }
        records
    }
}

/// The position of the first event after a revision.
pub(crate) fn first_after(log: &Vector<Arc<Event>>, revision: Revision) -> usize {
    // Most callers ask near the very end: watches that keep up, reads of a recent state.
    for position in (log.len().saturating_sub(4)..log.len()).rev() {
        if log
            .get(position)
            .is_some_and(|event| event.revision <= revision)
        {
            return position + 1;
        }
    }
    match log.binary_search_by(|event| match event.revision <= revision {
        true => std::cmp::Ordering::Less,
        false => std::cmp::Ordering::Greater,
    }) {
        Ok(position) | Err(position) => position,
    }
}

/// What a record takes besides its value and its name: its places in the maps, counters and the like.
const RECORD_BYTES: u64 = 256;

/// The bytes that a record takes.
fn room(key: &Key, value: &[u8]) -> u64 {
    (key.name.len() + value.len()) as u64 + RECORD_BYTES
}

/// The size of the value that this event replaced or removed: only the log keeps it alive.
fn superseded_bytes(event: &Event) -> u64 {
    let superseded = match event.kind {
        EventKind::Created => None,
        EventKind::Updated => event.previous.as_ref(),
        EventKind::Deleted => Some(&event.record),
    };
    superseded.map_or(0, |record| record.value.len() as u64)
}
