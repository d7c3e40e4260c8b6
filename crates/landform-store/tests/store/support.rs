//! What several tests need: keys, values, dumps of a store, and processes to be killed.

use std::process::{Command, Stdio};

use bytes::Bytes;
use futures::FutureExt;
use landform_store::embedded::{EmbeddedStore, Options};
use landform_store::{
    Bucket, Compare, Error, Key, Op, RangeQuery, Record, Revision, Store, Txn, TxnOutcome,
};

/// Tells a child process where to work.
pub(crate) const DIRECTORY: &str = "LANDFORM_TEST_DIRECTORY";

pub(crate) fn bucket() -> Bucket {
    Bucket::new("configmaps")
}

pub(crate) fn key(name: &str) -> Key {
    Key::new(&bucket(), name)
}

pub(crate) fn put(name: &str, value: impl Into<Bytes>) -> Txn {
    Txn::one(key(name), Compare::Any, Op::Put(value.into()))
}

pub(crate) fn delete(name: &str) -> Txn {
    Txn::one(key(name), Compare::Any, Op::Delete)
}

pub(crate) fn open(directory: &std::path::Path) -> Result<EmbeddedStore, Error> {
    EmbeddedStore::open(directory, Options::default())
}

pub(crate) async fn commit(store: &dyn Store, txn: Txn) -> Revision {
    match store.commit(txn).await.unwrap() {
        TxnOutcome::Committed(revision) => revision,
        TxnOutcome::Conflict { index, .. } => panic!("write {index} conflicts"),
    }
}

pub(crate) fn all(at: Option<Revision>) -> RangeQuery {
    RangeQuery {
        bucket: bucket(),
        prefix: String::new(),
        after: None,
        limit: None,
        at,
    }
}

/// All records of a bucket. Reads of our stores are ready at once.
pub(crate) fn records(store: &dyn Store, at: Option<Revision>) -> Vec<Record> {
    let page = store.range(all(at)).now_or_never().unwrap();
    page.unwrap().records
}

/// All that can be read of a store, to compare it with another time.
pub(crate) fn dump(store: &dyn Store) -> String {
    use std::fmt::Write;
    let mut text = format!("{} {}\n", store.revision(), store.compacted());
    for record in records(store, None) {
        writeln!(text, "{record:?}").unwrap();
    }
    let mut watch = store.watch_all(store.compacted()).unwrap();
    while let Some(Ok(events)) = watch.next().now_or_never() {
        for event in events {
            let (record, previous) = (&event.record, &event.previous);
            writeln!(text, "{event:?} {record:?} {previous:?}").unwrap();
        }
    }
    text
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
}

/// This test binary once more, to run one ignored test as a process of its own.
pub(crate) fn child(test: &str, directory: &std::path::Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([test, "--exact", "--ignored", "--nocapture"])
        .env(DIRECTORY, directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    command
}

/// Where this process was told to work, if it is a child.
pub(crate) fn child_directory() -> Option<std::path::PathBuf> {
    std::env::var_os(DIRECTORY).map(Into::into)
}

/// A small generator: the same seed gives the same numbers.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}
