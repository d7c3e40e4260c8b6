//! The disk, and a store on it that can take the process down with a write.
//!
//! The disk is a memory store that outlives processes. [`CrashingStore`] is how one process sees it:
//! it counts writes, and after one that the plan or a fault names, the write is durable but the
//! process is dead: nobody hears of it, and nothing more is read or written.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use landform_store::memory::MemoryStore;
use landform_store::{
    Bucket, Error, Key, Op, Page, RangeQuery, Record, Revision, Store, Txn, TxnOutcome, Usage,
    Watch, WatchError,
};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::fault::{Fault, Faults};
use crate::trace::Trace;

/// The longest time that a commit takes.
const SLOW_COMMIT_MS: u64 = 5;

/// What outlives a crash.
#[derive(Clone)]
pub struct Disk {
    store: Arc<MemoryStore>,
    plan: Arc<Mutex<Plan>>,
    trace: Trace,
    who: Arc<str>,
}

#[derive(Debug, Default)]
struct Plan {
    writes: u64,
    /// The process dies after the write of this number.
    crash_after: Option<u64>,
    last: String,
    /// What was written when it did.
    crashed_on: Option<String>,
}

impl Disk {
    /// A disk with this content.
    #[must_use]
    pub fn new(store: MemoryStore, trace: Trace) -> Self {
        Self {
            store: Arc::new(store),
            plan: Arc::default(),
            trace,
            who: "store".into(),
        }
    }

    /// What is on it, past crashes and faults.
    #[must_use]
    pub fn store(&self) -> &MemoryStore {
        &self.store
    }

    /// How many writes there were.
    #[must_use]
    pub fn writes(&self) -> u64 {
        self.plan.lock().writes
    }

    /// What the last write wrote.
    #[must_use]
    pub fn last_write(&self) -> String {
        self.plan.lock().last.clone()
    }

    /// What was written right before the crash that [`Disk::crash_after`] asked for.
    #[must_use]
    pub fn crashed_on(&self) -> Option<String> {
        self.plan.lock().crashed_on.clone()
    }

    /// Lets the process die after so many more writes.
    pub fn crash_after(&self, more: u64) {
        let mut plan = self.plan.lock();
        plan.crash_after = Some(plan.writes + more);
    }

    /// Counts a write; says whether it is the last that the process makes.
    fn wrote(&self, what: &str, revision: Revision) -> bool {
        let mut plan = self.plan.lock();
        plan.writes += 1;
        plan.last.clear();
        plan.last.push_str(what);
        let writes = plan.writes;
        let crashes = plan.crash_after.take_if(|at| *at <= writes).is_some();
        if crashes {
            plan.crashed_on = Some(what.to_owned());
        }
        drop(plan);
        self.trace.note(&self.who, format!("{revision} {what}"));
        crashes
    }
}

/// Whether a process lives.
#[derive(Debug, Default)]
pub struct Life {
    over: AtomicBool,
    ended: Notify,
}

impl Life {
    /// Whether it is over: what its tasks still do before they are dropped must have no effect.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    /// Ends it.
    pub fn end(&self) {
        self.over.store(true, Ordering::SeqCst);
        self.ended.notify_waiters();
        self.ended.notify_one();
    }

    /// Resolves when it is over.
    pub async fn ended(&self) {
        while !self.is_over() {
            self.ended.notified().await;
        }
    }
}

/// The disk as one process sees it.
pub struct CrashingStore {
    disk: Disk,
    life: Arc<Life>,
    faults: Faults,
}

impl CrashingStore {
    /// The store of a process with this life.
    #[must_use]
    pub fn new(disk: Disk, life: Arc<Life>, faults: Faults) -> Self {
        Self { disk, life, faults }
    }

    /// What a live process gets; a dead one waits for ever.
    fn alive<'a, T: Send + 'a>(
        &'a self,
        answer: impl FnOnce(&'a MemoryStore) -> BoxFuture<'a, T>,
    ) -> BoxFuture<'a, T> {
        if self.life.is_over() {
            futures::future::pending().boxed()
        } else {
            answer(&self.disk.store)
        }
    }
}

/// A transaction's writes in words.
fn in_words(txn: &Txn) -> String {
    let mut words = String::new();
    for (key, _, op) in &txn.writes {
        let verb = match op {
            Op::Put(_) => "put",
            Op::Delete => "remove",
            Op::Check => continue,
        };
        if !words.is_empty() {
            words.push_str(", ");
        }
        words.push_str(verb);
        words.push(' ');
        words.push_str(key.bucket.as_str());
        words.push(' ');
        words.push_str(&key.name);
    }
    words
}

impl Store for CrashingStore {
    fn revision(&self) -> Revision {
        self.disk.store.revision()
    }

    fn compacted(&self) -> Revision {
        self.disk.store.compacted()
    }

    fn usage(&self) -> Usage {
        self.disk.store.usage()
    }

    fn get(&self, key: &Key) -> BoxFuture<'_, Result<Option<Record>, Error>> {
        let key = key.clone();
        self.alive(|store| store.get(&key))
    }

    fn range(&self, query: RangeQuery) -> BoxFuture<'_, Result<Page, Error>> {
        self.alive(|store| store.range(query))
    }

    fn count(&self, bucket: &Bucket) -> BoxFuture<'_, Result<usize, Error>> {
        self.alive(|store| store.count(bucket))
    }

    fn commit(&self, txn: Txn) -> BoxFuture<'_, Result<TxnOutcome, Error>> {
        async move {
            if self.life.is_over() {
                return futures::future::pending().await;
            }
            if self.faults.strikes_silently(Fault::SlowCommit) {
                let time = 1 + self.faults.chance().below(SLOW_COMMIT_MS);
                tokio::time::sleep(std::time::Duration::from_millis(time)).await;
                if self.life.is_over() {
                    return futures::future::pending().await;
                }
            }
            let what = in_words(&txn);
            let outcome = self.disk.store.commit(txn).await?;
            if let TxnOutcome::Committed(revision) = outcome
                && !what.is_empty()
                && (self.disk.wrote(&what, revision)
                    || self.faults.strikes(Fault::Crash, || what.clone()))
            {
                self.life.end();
                return futures::future::pending().await;
            }
            Ok(outcome)
        }
        .boxed()
    }

    fn watch(
        &self,
        bucket: &Bucket,
        prefix: &str,
        after: Revision,
    ) -> Result<Box<dyn Watch>, WatchError> {
        self.disk.store.watch(bucket, prefix, after)
    }

    fn watch_all(&self, after: Revision) -> Result<Box<dyn Watch>, WatchError> {
        self.disk.store.watch_all(after)
    }

    fn compact(&self, before: Revision) -> BoxFuture<'_, Result<(), Error>> {
        self.alive(|store| store.compact(before))
    }

    fn buckets(&self) -> BoxFuture<'_, Result<Vec<Bucket>, Error>> {
        self.alive(|store| store.buckets())
    }

    fn backup<'a>(&'a self, file: &'a Path) -> BoxFuture<'a, Result<Revision, Error>> {
        self.disk.store.backup(file)
    }

    fn fork(&self) -> BoxFuture<'_, Result<MemoryStore, Error>> {
        self.disk.store.fork()
    }

    /// The process closes its door; the disk stays.
    fn close(&self) -> BoxFuture<'_, Result<(), Error>> {
        futures::future::ready(Ok(())).boxed()
    }
}
