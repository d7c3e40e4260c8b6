//! Random histories against a plain map: whatever the store says must be what the model says.

mod plain;

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use landform_store::embedded::{self, EmbeddedStore};
use landform_store::memory::MemoryStore;
use landform_store::{
    Compare, Error, HistoryLimits, Key, Op, RangeQuery, Revision, Store, Txn, TxnOutcome, Watch,
    WatchError,
};
use proptest::prelude::*;

use self::plain::{
    Contents, Model, ModelCompare, NAMES, PREFIXES, Step, Write, as_model, bucket, key, place, step,
};

/// A watch of the store, and what the model says it must still deliver.
struct Watching {
    watch: Box<dyn Watch>,
    bucket: Option<usize>,
    prefix: &'static str,
    /// The model's events before this position are delivered, or were never this watch's.
    position: usize,
}

/// A store under test, with its model.
struct Tested {
    store: Option<Arc<dyn Store>>,
    directory: Option<tempfile::TempDir>,
    limits: HistoryLimits,
    model: Model,
    watches: Vec<Watching>,
}

impl Tested {
    fn new(directory: Option<tempfile::TempDir>, limits: HistoryLimits) -> Self {
        let mut tested = Self {
            store: None,
            directory,
            limits,
            model: Model::default(),
            watches: Vec::new(),
        };
        tested.model.states.push(Contents::new());
        tested.store = Some(match &tested.directory {
            None => Arc::new(MemoryStore::with_limits(tested.limits.clone())),
            Some(directory) => tested.open(directory.path()),
        });
        tested
    }

    fn open(&self, directory: &Path) -> Arc<dyn Store> {
        let options = embedded::Options {
            history: self.limits.clone(),
            ..embedded::Options::default()
        };
        Arc::new(EmbeddedStore::open(directory, options).unwrap())
    }

    fn store(&self) -> Arc<dyn Store> {
        Arc::clone(self.store.as_ref().unwrap())
    }

    async fn run(&mut self, step: &Step) {
        match step {
            Step::Commit(writes) => self.commit(writes).await,
            Step::Range {
                bucket,
                prefix,
                after,
                limit,
                back,
            } => {
                let at = back.map(|back| self.model.back(back));
                let after = after.map(|name| NAMES[name]);
                self.range(*bucket, PREFIXES[*prefix], after, *limit, at)
                    .await;
            }
            Step::Watch {
                bucket,
                prefix,
                back,
            } => self.watch(*bucket, PREFIXES[*prefix], self.model.back(*back)),
            Step::Drain(which) => {
                if !self.watches.is_empty() {
                    let which = which % self.watches.len();
                    self.drain(which);
                }
            }
            Step::Compact { back } => {
                let before = self.model.back(*back);
                self.store().compact(Revision(before)).await.unwrap();
                assert!(self.store().compacted().0 >= before);
            }
            Step::Fork => {
                let fork = self.store().fork().await.unwrap();
                assert_eq!(fork.revision(), self.store().revision());
                let elsewhere = Txn::one(key(0, "fork"), Compare::Absent, Op::Put(Bytes::new()));
                fork.commit(elsewhere).await.unwrap();
                let unseen = self.store().get(&key(0, "fork")).await.unwrap();
                assert!(unseen.is_none());
            }
            Step::Reopen => self.reopen().await,
        }
        let store = self.store();
        assert_eq!(store.revision().0, self.model.revision());
        // The history's limits may have dropped more than was asked for.
        self.model.compacted = store.compacted().0;
        assert!(self.model.compacted <= self.model.revision());
    }

    async fn commit(&mut self, writes: &[Write]) {
        let txn = self.model.txn(writes);
        let compared_again = (0..writes.len()).any(|at| {
            let again = |before: &Write| {
                (before.bucket, before.name) == (writes[at].bucket, writes[at].name)
            };
            writes[..at].iter().any(again) && !matches!(writes[at].compare, ModelCompare::Any)
        });
        let outcome = self.store().commit(txn.clone()).await;
        if compared_again {
            assert!(matches!(outcome, Err(Error::DuplicateKey(_))));
            return;
        }
        match (self.model.conflict(&txn), outcome.unwrap()) {
            (None, TxnOutcome::Committed(revision)) => {
                self.model.apply(&txn);
                assert_eq!(revision.0, self.model.revision());
                for (key, _, _) in &txn.writes {
                    self.get(key).await;
                }
            }
            (Some(expected), TxnOutcome::Conflict { index, current }) => {
                assert_eq!(index, expected);
                let found = self.model.now().get(&place(&txn.writes[index].0));
                let current = current.map(|record| (record.created.0, record.modified.0));
                assert_eq!(current, found.map(|found| (found.1, found.2)));
            }
            (expected, outcome) => panic!("expected conflict {expected:?}, got {outcome:?}"),
        }
    }

    async fn get(&self, key: &Key) {
        let found = self.store().get(key).await.unwrap();
        let found = found.map(|record| {
            assert_eq!(record.key, *key);
            (record.value.to_vec(), record.created.0, record.modified.0)
        });
        assert_eq!(found.as_ref(), self.model.now().get(&place(key)));
    }

    async fn range(
        &self,
        in_bucket: usize,
        prefix: &str,
        after: Option<&str>,
        limit: Option<usize>,
        at: Option<u64>,
    ) {
        let query = RangeQuery {
            bucket: bucket(in_bucket),
            prefix: prefix.to_owned(),
            after: after.map(str::to_owned),
            limit,
            at: at.map(Revision),
        };
        let result = self.store().range(query).await;
        let at = at.unwrap_or(self.model.revision());
        if at < self.model.compacted {
            assert!(matches!(result, Err(Error::Compacted { .. })));
            return;
        }
        let page = result.unwrap();
        let expected = self.model.matching(at, in_bucket, prefix, after);
        let shown = limit.unwrap_or(usize::MAX).min(expected.len());
        assert_eq!(page.revision.0, at);
        assert_eq!(page.remaining, expected.len() - shown);
        let records: Vec<_> = page
            .records
            .iter()
            .map(|record| {
                let value = record.value.to_vec();
                (
                    place(&record.key),
                    (value, record.created.0, record.modified.0),
                )
            })
            .collect();
        assert_eq!(
            records,
            expected.into_iter().take(shown).collect::<Vec<_>>()
        );
        let count = self.store().count(&bucket(in_bucket)).await.unwrap();
        let newest = self
            .model
            .matching(self.model.revision(), in_bucket, "", None);
        assert_eq!(count, newest.len());
    }

    fn watch(&mut self, in_bucket: Option<usize>, prefix: &'static str, after: u64) {
        let started = match in_bucket {
            Some(index) => self.store().watch(&bucket(index), prefix, Revision(after)),
            None => self.store().watch_all(Revision(after)),
        };
        match started {
            Ok(watch) => {
                assert!(after >= self.model.compacted, "started below the history");
                self.watches.push(Watching {
                    watch,
                    bucket: in_bucket,
                    prefix: if in_bucket.is_some() { prefix } else { "" },
                    position: self.model.events.partition_point(|event| event.0 <= after),
                });
            }
            Err(WatchError::Compacted { asked, oldest }) => {
                assert!(after < self.model.compacted);
                assert_eq!((asked.0, oldest.0), (after, self.model.compacted));
            }
            Err(WatchError::Closed) => panic!("the store is open"),
        }
    }

    /// Takes all that a watch has: the exact rest of the model's log, or, when an event that it
    /// has not seen is gone, the error that says so.
    fn drain(&mut self, which: usize) {
        let watching = &mut self.watches[which];
        let in_its_bucket: Vec<_> = self.model.events[watching.position..]
            .iter()
            .filter(|event| watching.bucket.is_none_or(|bucket| event.1 == bucket))
            .collect();
        let gap = in_its_bucket
            .first()
            .is_some_and(|event| event.0 <= self.model.compacted);
        if gap {
            let next = watching.watch.next().now_or_never();
            assert!(matches!(next, Some(Err(WatchError::Compacted { .. }))));
            self.watches.remove(which);
            return;
        }
        let expected: Vec<_> = in_its_bucket
            .into_iter()
            .filter(|event| event.3.starts_with(watching.prefix))
            .cloned()
            .collect();
        let progress = watching.watch.progress().0;
        match expected.first() {
            Some(first) => assert!(progress < first.0),
            None => assert!(progress >= self.model.revision()),
        }
        let mut delivered = Vec::new();
        while let Some(events) = watching.watch.next().now_or_never() {
            let events = events.unwrap();
            assert!(!events.is_empty());
            delivered.extend(events.iter().map(|event| as_model(event)));
        }
        assert_eq!(delivered, expected);
        assert!(watching.watch.progress().0 >= self.model.revision());
        watching.position = self.model.events.len();
    }

    /// A restart keeps records, revision and history; the watches start again where they were.
    async fn reopen(&mut self) {
        let Some(directory) = &self.directory else {
            return;
        };
        let path = directory.path().to_owned();
        let compacted = self.model.compacted;
        let positions: Vec<_> = self
            .watches
            .drain(..)
            .map(|watching| {
                (
                    watching.bucket,
                    watching.prefix,
                    watching.watch.progress().0,
                )
            })
            .collect();
        self.store().close().await.unwrap();
        self.store = None;
        self.store = Some(self.open(&path));
        assert_eq!(self.store().compacted().0, compacted);
        for (bucket, prefix, progress) in positions {
            if progress >= compacted {
                self.watch(bucket, prefix, progress);
            }
        }
    }
}

fn run(directory: Option<tempfile::TempDir>, limits: HistoryLimits, steps: &[Step]) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut tested = Tested::new(directory, limits);
        for step in steps {
            tested.run(step).await;
        }
        for which in (0..tested.watches.len()).rev() {
            tested.drain(which);
        }
    });
}

/// Either limits that never matter here, or such that history is dropped all the time.
fn limits() -> impl Strategy<Value = HistoryLimits> {
    let tight = HistoryLimits {
        max_events: 12,
        ..HistoryLimits::default()
    };
    prop_oneof![Just(HistoryLimits::default()), Just(tight)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn c4_c5_memory_store_behaves_like_a_plain_map_with_a_log(
        limits in limits(),
        steps in prop::collection::vec(step(), 1..80),
    ) {
        run(None, limits, &steps);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn c4_c5_embedded_store_behaves_like_a_plain_map_with_a_log(
        limits in limits(),
        steps in prop::collection::vec(step(), 1..80),
    ) {
        run(Some(tempfile::tempdir().unwrap()), limits, &steps);
    }
}
