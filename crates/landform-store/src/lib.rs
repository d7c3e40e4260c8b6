//! A revisioned key-value store with transactions and exact watches.
//!
//! One counter, the *revision*, orders everything: each write of a key takes the next one. Those of a
//! transaction follow each other and become readable together. Reads name a revision or take the newest;
//! a watch is the exact suffix of the log after a revision (C5), after each event anew.
//!
//! - [`Store`] is what the API server needs of any backend; docs/adr/0002 shows that etcd fits.
//! - [`memory::MemoryStore`] keeps everything in memory: tests, plans, simulations.
//! - [`embedded::EmbeddedStore`] adds a journal on disk: a write is durable before it is acknowledged.
//!
//! # Example
//! ```
//! use landform_store::{Bucket, Compare, Key, Op, Revision, Store, Txn, memory::MemoryStore};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let store = MemoryStore::new();
//! let pods = Bucket::new("pods");
//! let create = Txn::one(Key::new(&pods, "shop/web"), Compare::Absent, Op::Put("{}".into()));
//! store.commit(create).await?;
//!
//! let mut watch = store.watch(&pods, "shop/", Revision::ZERO)?;
//! let events = watch.next().await?;
//! assert_eq!(&*events[0].record.key.name, "shop/web");
//! # Ok(())
//! # }
//! ```
//!
//! # Guarantees
//! - A transaction is applied whole or not at all; the newest state has all of it or nothing.
//! - An acknowledged transaction survives kill -9 and power loss (embedded).
//! - A watch delivers each event after its start revision once, in order, without gaps; one that
//!   falls behind the compacted history ends with [`WatchError::Compacted`], never with a gap.
//! - Reads never wait for writes. Whoever saw a write acknowledged reads it.
//! - What is read from disk is what was written, or an error that names what is not (embedded).

pub mod embedded;
pub mod history;
pub mod key;
pub mod memory;
pub mod record;
pub mod seal;
pub mod txn;

mod error;
mod feed;
mod state;

use std::path::Path;

use futures::future::BoxFuture;

pub use error::{Error, WatchError};
pub use history::HistoryLimits;
pub use key::{Bucket, Key};
pub use record::{Event, EventKind, Record, Revision};
pub use txn::{Compare, Op, Txn, TxnOutcome};

/// What to read: keys of one bucket that start with a prefix, in key order.
#[derive(Clone, Debug)]
pub struct RangeQuery {
    /// The bucket to read in.
    pub bucket: Bucket,
    /// What the rest of the key must start with; empty for the whole bucket.
    pub prefix: String,
    /// Only keys (without their bucket) strictly after this one: where the page before ended.
    pub after: Option<String>,
    /// At most so many records; `None` for all.
    pub limit: Option<usize>,
    /// The state as of this revision; `None` for the newest.
    pub at: Option<Revision>,
}

/// One page of records and the revision that it shows.
#[derive(Clone, Debug)]
pub struct Page {
    /// In key order.
    pub records: Vec<Record>,
    /// The revision that this page is the state of.
    pub revision: Revision,
    /// How many more keys match after this page.
    pub remaining: usize,
}

/// A watch that has begun: an iterator over events that waits for the next ones.
pub trait Watch: Send {
    /// The next events, at least one, oldest first; waits until there are some.
    ///
    /// Dropping the future loses nothing: the next call returns the same events.
    fn next(&mut self) -> BoxFuture<'_, Result<Vec<std::sync::Arc<Event>>, WatchError>>;

    /// Everything up to and including this revision has been delivered by [`Watch::next`].
    ///
    /// It moves on even when no event matches, which is what bookmarks are made of.
    fn progress(&self) -> Revision;
}

/// What a store keeps in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The newest records.
    pub records_bytes: u64,
    /// Values that only the history still needs.
    pub history_bytes: u64,
}

/// A backend. Cheap to share behind an `Arc`; every method may be called from any task.
pub trait Store: Send + Sync + 'static {
    /// The newest revision whose writes are readable here.
    fn revision(&self) -> Revision;

    /// The oldest revision that reads may still name; watches may start at it or later.
    fn compacted(&self) -> Revision;

    /// What is kept in memory.
    fn usage(&self) -> Usage;

    /// Why writes are refused for now, if they are: a full disk, or one in doubt.
    fn trouble(&self) -> Option<Error> {
        None
    }

    /// The newest record of a key.
    fn get(&self, key: &Key) -> BoxFuture<'_, Result<Option<Record>, Error>>;

    /// A page of records of one consistent state.
    fn range(&self, query: RangeQuery) -> BoxFuture<'_, Result<Page, Error>>;

    /// How many keys a bucket holds, without reading them.
    fn count(&self, bucket: &Bucket) -> BoxFuture<'_, Result<usize, Error>>;

    /// Applies a transaction if all its comparisons hold.
    ///
    /// Resolves only after the write is as durable as the backend can make it. Once called, the
    /// transaction may be applied even if the future is dropped.
    fn commit(&self, txn: Txn) -> BoxFuture<'_, Result<TxnOutcome, Error>>;

    /// The events of one bucket after a revision.
    ///
    /// Starting is immediate and atomic: no event between the read that gave `after` and this call
    /// is lost. A start below the compacted revision is refused; one in the future waits for it.
    fn watch(
        &self,
        bucket: &Bucket,
        prefix: &str,
        after: Revision,
    ) -> Result<Box<dyn Watch>, WatchError>;

    /// The events of all buckets after a revision.
    fn watch_all(&self, after: Revision) -> Result<Box<dyn Watch>, WatchError>;

    /// Drops the history before a revision; the newest record of each key stays.
    fn compact(&self, before: Revision) -> BoxFuture<'_, Result<(), Error>>;

    /// The buckets that hold at least one key.
    fn buckets(&self) -> BoxFuture<'_, Result<Vec<Bucket>, Error>>;

    /// Writes a consistent copy of the newest state to one file, while running.
    fn backup<'a>(&'a self, file: &'a Path) -> BoxFuture<'a, Result<Revision, Error>>;

    /// A consistent copy of the store as it is now, in memory and on its own from here on.
    ///
    /// Values and history are shared, not copied: it costs next to nothing until it is written to.
    fn fork(&self) -> BoxFuture<'_, Result<memory::MemoryStore, Error>>;

    /// Finishes the writes that were begun, refuses new ones, ends the watches.
    ///
    /// Reads go on. Closing twice is fine.
    fn close(&self) -> BoxFuture<'_, Result<(), Error>>;
}
