//! A store that keeps everything in memory: for tests, plans and simulations.
//!
//! It gives every guarantee of the trait but durability.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use parking_lot::Mutex;

use crate::embedded::backup_state;
use crate::feed::Feed;
use crate::history::{History, HistoryLimits};
use crate::state::{State, Verdict};
use crate::{
    Bucket, Error, Key, Page, RangeQuery, Record, Revision, Store, Txn, TxnOutcome, Usage, Watch,
    WatchError,
};

/// A store in memory.
pub struct MemoryStore {
    feed: Arc<Feed>,
    /// Held while a transaction is applied; readers never take it.
    writer: Mutex<History>,
}

impl MemoryStore {
    /// An empty store with the default limits of history.
    #[must_use]
    pub fn new() -> Self {
        Self::with_limits(HistoryLimits::default())
    }

    /// An empty store.
    #[must_use]
    pub fn with_limits(limits: HistoryLimits) -> Self {
        Self::from_state(State::default(), limits)
    }

    pub(crate) fn from_state(state: State, limits: HistoryLimits) -> Self {
        Self {
            feed: Feed::new(state),
            writer: Mutex::new(History::new(limits)),
        }
    }

    fn apply(&self, txn: &Txn) -> Result<TxnOutcome, Error> {
        txn.check_keys()?;
        let mut history = self.writer.lock();
        if self.feed.is_closed() {
            return Err(Error::Closed);
        }
        let mut state = State::clone(&self.feed.state());
        match state.apply(txn) {
            Verdict::Conflict { index, current } => Ok(TxnOutcome::Conflict { index, current }),
            Verdict::Full { bytes, bytes_max } => Err(Error::Full { bytes, bytes_max }),
            Verdict::Applied(events) => {
                let revision = state.revision;
                if !events.is_empty() {
                    history.step(&mut state, events.len(), Instant::now());
                    self.feed.publish(state, &events);
                }
                Ok(TxnOutcome::Committed(revision))
            }
        }
    }

    fn compact_now(&self, before: Revision) -> Result<(), Error> {
        let mut history = self.writer.lock();
        let mut state = State::clone(&self.feed.state());
        if before > state.revision {
            return Err(Error::Future {
                asked: before,
                newest: state.revision,
            });
        }
        history.ask(before);
        while history.is_behind(&state) {
            history.step(&mut state, 0, Instant::now());
        }
        self.feed.publish(state, &[]);
        Ok(())
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for MemoryStore {
    fn drop(&mut self) {
        self.feed.close();
    }
}

impl Store for MemoryStore {
    fn revision(&self) -> Revision {
        self.feed.state().revision
    }

    fn compacted(&self) -> Revision {
        self.feed.state().compacted
    }

    fn usage(&self) -> Usage {
        self.feed.state().usage()
    }

    fn get(&self, key: &Key) -> BoxFuture<'_, Result<Option<Record>, Error>> {
        let record = self.feed.state().get(key).map(|found| Record::clone(found));
        ready(Ok(record)).boxed()
    }

    fn range(&self, query: RangeQuery) -> BoxFuture<'_, Result<Page, Error>> {
        ready(self.feed.state().range(&query)).boxed()
    }

    fn count(&self, bucket: &Bucket) -> BoxFuture<'_, Result<usize, Error>> {
        ready(Ok(self.feed.state().count(bucket))).boxed()
    }

    fn commit(&self, txn: Txn) -> BoxFuture<'_, Result<TxnOutcome, Error>> {
        ready(self.apply(&txn)).boxed()
    }

    fn watch(
        &self,
        bucket: &Bucket,
        prefix: &str,
        after: Revision,
    ) -> Result<Box<dyn Watch>, WatchError> {
        self.feed.watch_bucket(bucket, prefix, after)
    }

    fn watch_all(&self, after: Revision) -> Result<Box<dyn Watch>, WatchError> {
        self.feed.watch_all(after)
    }

    fn compact(&self, before: Revision) -> BoxFuture<'_, Result<(), Error>> {
        ready(self.compact_now(before)).boxed()
    }

    fn buckets(&self) -> BoxFuture<'_, Result<Vec<Bucket>, Error>> {
        ready(Ok(self.feed.state().bucket_names())).boxed()
    }

    fn backup<'a>(&'a self, file: &'a Path) -> BoxFuture<'a, Result<Revision, Error>> {
        backup_state(State::clone(&self.feed.state()), file, None)
    }

    fn fork(&self) -> BoxFuture<'_, Result<MemoryStore, Error>> {
        let state = State::clone(&self.feed.state());
        let limits = self.writer.lock().limits().clone();
        ready(Ok(Self::from_state(state, limits))).boxed()
    }

    fn close(&self) -> BoxFuture<'_, Result<(), Error>> {
        self.feed.close();
        ready(Ok(())).boxed()
    }
}
