//! A crash after any single write of the collector is repaired by the next one (G10).
//!
//! The process stops after its i-th commit: that commit is stored, but neither it nor any later one
//! is ever answered. Then everything is dropped, and a new server with a new collector runs on the
//! same store. The end must be that of the run without a crash, whatever i is.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::BoxFuture;
use landform_store::memory::MemoryStore;
use landform_store::{
    Bucket, Error, Key, Page, RangeQuery, Record, Revision, Store, Txn, TxnOutcome, Usage, Watch,
    WatchError,
};
use tokio::sync::Notify;

use crate::harness::{PATIENCE, World};

/// A store whose process stops after so many commits.
struct Stopping {
    inner: Arc<MemoryStore>,
    left: AtomicUsize,
    stopped: Arc<Notify>,
}

impl Store for Stopping {
    fn commit(&self, txn: Txn) -> BoxFuture<'_, Result<TxnOutcome, Error>> {
        Box::pin(async move {
            let left = self
                .left
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                    left.checked_sub(1)
                });
            match left {
                Err(_) => std::future::pending().await,
                Ok(1) => {
                    self.inner.commit(txn).await?;
                    self.stopped.notify_one();
                    std::future::pending().await
                }
                Ok(_) => self.inner.commit(txn).await,
            }
        })
    }

    fn revision(&self) -> Revision {
        self.inner.revision()
    }

    fn compacted(&self) -> Revision {
        self.inner.compacted()
    }

    fn usage(&self) -> Usage {
        self.inner.usage()
    }

    fn get(&self, key: &Key) -> BoxFuture<'_, Result<Option<Record>, Error>> {
        self.inner.get(key)
    }

    fn range(&self, query: RangeQuery) -> BoxFuture<'_, Result<Page, Error>> {
        self.inner.range(query)
    }

    fn count(&self, bucket: &Bucket) -> BoxFuture<'_, Result<usize, Error>> {
        self.inner.count(bucket)
    }

    fn watch(
        &self,
        bucket: &Bucket,
        prefix: &str,
        after: Revision,
    ) -> Result<Box<dyn Watch>, WatchError> {
        self.inner.watch(bucket, prefix, after)
    }

    fn watch_all(&self, after: Revision) -> Result<Box<dyn Watch>, WatchError> {
        self.inner.watch_all(after)
    }

    fn compact(&self, before: Revision) -> BoxFuture<'_, Result<(), Error>> {
        self.inner.compact(before)
    }

    fn buckets(&self) -> BoxFuture<'_, Result<Vec<Bucket>, Error>> {
        self.inner.buckets()
    }

    fn backup<'a>(&'a self, file: &'a Path) -> BoxFuture<'a, Result<Revision, Error>> {
        self.inner.backup(file)
    }

    fn fork(&self) -> BoxFuture<'_, Result<MemoryStore, Error>> {
        self.inner.fork()
    }

    fn close(&self) -> BoxFuture<'_, Result<(), Error>> {
        self.inner.close()
    }
}

/// Objects (name, owners, finalizers), what is done to them, and who is left (`*`: marked).
struct Scenario {
    name: &'static str,
    objects: &'static [(
        &'static str,
        &'static [&'static str],
        &'static [&'static str],
    )],
    deletes: &'static [(&'static str, Option<&'static str>)],
    moves: &'static [(&'static str, &'static [&'static str])],
    left: &'static [&'static str],
}

const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "fan",
        objects: &[
            ("a", &[], &[]),
            ("b", &["a"], &[]),
            ("c", &["a"], &[]),
            ("d", &["a"], &[]),
            ("e", &[], &[]),
        ],
        deletes: &[("a", None)],
        moves: &[],
        left: &["e"],
    },
    Scenario {
        name: "chain",
        objects: &[
            ("a", &[], &[]),
            ("b", &["a"], &[]),
            ("c", &["b"], &[]),
            ("d", &["c"], &[]),
        ],
        deletes: &[("b", None)],
        moves: &[],
        left: &["a"],
    },
    Scenario {
        name: "tree",
        objects: &[
            ("a", &[], &[]),
            ("b", &["a"], &[]),
            ("c", &["a"], &[]),
            ("d", &["b"], &[]),
            ("e", &["b"], &[]),
            ("f", &["c"], &[]),
        ],
        deletes: &[("a", Some("Foreground"))],
        moves: &[],
        left: &[],
    },
    Scenario {
        name: "diamond",
        objects: &[
            ("a", &[], &[]),
            ("b", &["a"], &[]),
            ("c", &["a"], &[]),
            ("d", &["b", "c"], &[]),
        ],
        deletes: &[("a", None)],
        moves: &[],
        left: &[],
    },
    Scenario {
        name: "shared owners",
        objects: &[
            ("a", &[], &[]),
            ("b", &[], &[]),
            ("s", &["a", "b"], &[]),
            ("t", &["s"], &[]),
            ("u", &["a"], &[]),
        ],
        deletes: &[("a", Some("Background"))],
        moves: &[],
        left: &["b", "s", "t"],
    },
    Scenario {
        name: "moved dependents",
        objects: &[
            ("a", &[], &[]),
            ("b", &[], &[]),
            ("m", &["a"], &[]),
            ("n", &["m"], &[]),
            ("o", &["a"], &[]),
        ],
        deletes: &[("a", None)],
        moves: &[("m", &["b"])],
        left: &["b", "m", "n"],
    },
    Scenario {
        name: "mixed policies",
        objects: &[
            ("a", &[], &[]),
            ("b", &["a"], &[]),
            ("c", &[], &[]),
            ("d", &["c"], &[]),
            ("e", &[], &[]),
            ("f", &["e"], &[]),
            ("g", &[], &[]),
            ("h", &["g"], &[]),
        ],
        deletes: &[
            ("a", None),
            ("c", Some("Background")),
            ("e", Some("Foreground")),
            ("g", Some("Orphan")),
        ],
        moves: &[],
        left: &["h"],
    },
    Scenario {
        name: "foreign finalizers",
        objects: &[
            ("a", &[], &[]),
            ("b", &["a"], &["x.io/hold"]),
            ("c", &["b"], &[]),
            ("d", &["a"], &[]),
        ],
        deletes: &[("a", None)],
        moves: &[],
        left: &["a*", "b*"],
    },
];

/// Makes the objects and does what is to be done, with nobody collecting.
async fn prepare(scenario: &Scenario) -> Arc<MemoryStore> {
    let store = Arc::new(MemoryStore::new());
    let world = World::on(store.clone()).await;
    for (name, owners, finalizers) in scenario.objects {
        world.make_held(name, owners, finalizers).await;
    }
    for (name, owners) in scenario.moves {
        assert_eq!(world.own(name, owners).await, 200);
    }
    for (name, policy) in scenario.deletes {
        assert_eq!(world.delete(name, *policy).await, 200);
    }
    store
}

/// The end of a run without a crash.
async fn undisturbed(scenario: &Scenario) -> BTreeSet<String> {
    let mut world = World::on(prepare(scenario).await).await;
    world.collect();
    world.left(scenario.left).await;
    world.picture().await
}

/// Crashes after so many commits and starts again; says whether it came to a crash.
async fn crash_after(scenario: &Scenario, commits: usize, expected: &BTreeSet<String>) -> bool {
    let inner = prepare(scenario).await;
    let stopped = Arc::new(Notify::new());
    let store = Arc::new(Stopping {
        inner: inner.clone(),
        left: AtomicUsize::new(commits),
        stopped: stopped.clone(),
    });
    let mut world = World::on(store.clone()).await;
    world.collect();
    let ended = world.until("the end without a crash", async || {
        (world.picture().await == *expected).then_some(())
    });
    tokio::select! {
        () = ended => {}
        () = stopped.notified() => {}
        () = tokio::time::sleep(PATIENCE) => panic!("{}: neither crash nor end", scenario.name),
    }
    let crashed = store.left.load(Ordering::SeqCst) == 0;
    drop(world);
    let mut again = World::on(inner).await;
    again.collect();
    again.left(scenario.left).await;
    assert_eq!(
        again.picture().await,
        *expected,
        "{}, after {commits}",
        scenario.name
    );
    crashed
}

#[tokio::test]
async fn g10_a_crash_after_any_write_ends_as_if_there_had_been_none() {
    for scenario in SCENARIOS {
        let expected = undisturbed(scenario).await;
        let mut commits = 1;
        while crash_after(scenario, commits, &expected).await {
            commits += 1;
        }
        assert!(
            commits > 2,
            "{}: it crashed {} times only",
            scenario.name,
            commits - 1
        );
    }
}
