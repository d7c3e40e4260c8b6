//! Plain examples of each method; the model test covers their combinations.

use bytes::Bytes;
use futures::FutureExt;
use landform_store::memory::MemoryStore;
use landform_store::{
    Bucket, Compare, Error, EventKind, Key, Op, RangeQuery, Revision, Store, Txn, TxnOutcome,
    WatchError,
};

use crate::support::{all, bucket, commit, delete, key, put};

#[tokio::test]
async fn c4_stale_write_conflicts_and_a_fresh_one_goes_through() {
    let store = MemoryStore::new();
    let first = commit(&store, put("a", "1")).await;
    let second = commit(&store, put("a", "2")).await;
    let value = Op::Put(Bytes::from_static(b"3"));
    let stale = Txn::one(key("b"), Compare::Absent, value.clone()).and(
        key("a"),
        Compare::ModifiedAt(first),
        value.clone(),
    );
    match store.commit(stale).await.unwrap() {
        TxnOutcome::Conflict { index, current } => {
            assert_eq!(index, 1);
            assert_eq!(current.unwrap().modified, second);
        }
        TxnOutcome::Committed(revision) => panic!("a stale write was committed at {revision}"),
    }
    assert_eq!(store.revision(), second);
    assert!(store.get(&key("b")).await.unwrap().is_none());

    let fresh = Txn::one(key("a"), Compare::ModifiedAt(second), value);
    let third = commit(&store, fresh).await;
    let record = store.get(&key("a")).await.unwrap().unwrap();
    assert_eq!(
        (&record.value[..], record.created, record.modified),
        (&b"3"[..], first, third)
    );
}

#[tokio::test]
async fn c5_watch_delivers_the_suffix_and_resumes() {
    let store = MemoryStore::new();
    let first = commit(&store, put("a", "1")).await;
    commit(&store, put("a", "2")).await;
    let mut watch = store.watch(&bucket(), "", first).unwrap();
    let events = watch.next().await.unwrap();
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].kind, EventKind::Updated);
    assert_eq!(&events[0].previous.as_ref().unwrap().value[..], b"1");

    let deleted = commit(&store, delete("a")).await;
    let events = watch.next().await.unwrap();
    assert_eq!(
        (events[0].kind, events[0].revision),
        (EventKind::Deleted, deleted)
    );
    assert_eq!(&events[0].record.value[..], b"2");
    assert!(watch.next().now_or_never().is_none());

    // Another bucket moves on: the watch has nothing to deliver, but it progresses.
    let other = Key::new(&Bucket::new("secrets"), "x");
    let newest = commit(&store, Txn::one(other, Compare::Any, Op::Put(Bytes::new()))).await;
    assert_eq!(watch.progress(), newest);
}

#[tokio::test]
async fn c5_watch_below_the_compacted_history_ends_with_an_error() {
    let store = MemoryStore::new();
    let first = commit(&store, put("a", "1")).await;
    let mut slow = store.watch(&bucket(), "", first).unwrap();
    let mut quiet = store.watch(&Bucket::new("quiet"), "", first).unwrap();
    commit(&store, put("a", "2")).await;
    let third = commit(&store, put("a", "3")).await;
    store.compact(third).await.unwrap();
    assert_eq!(store.compacted(), third);
    assert!(matches!(
        slow.next().now_or_never().unwrap(),
        Err(WatchError::Compacted { asked, oldest }) if asked == first && oldest == third
    ));
    assert!(store.watch(&bucket(), "", first).is_err());
    assert!(
        quiet.next().now_or_never().is_none(),
        "nothing of its bucket was lost"
    );
    let error = store.range(all(Some(first))).await.unwrap_err();
    assert!(matches!(error, Error::Compacted { .. }));
    assert_eq!(
        store.range(all(Some(third))).await.unwrap().records.len(),
        1
    );
    let future = Revision(third.0 + 1);
    assert!(matches!(
        store.compact(future).await,
        Err(Error::Future { .. })
    ));
}

#[tokio::test]
async fn c5_a_long_replay_comes_in_parts_and_each_write_has_a_revision_of_its_own() {
    let store = MemoryStore::new();
    for turn in 0..200 {
        let three = (0..3).fold(Txn::default(), |txn, index| {
            txn.and(
                key(&format!("{turn}-{index}")),
                Compare::Any,
                Op::Put(Bytes::new()),
            )
        });
        commit(&store, three).await;
    }
    let mut watch = store.watch(&bucket(), "", Revision::ZERO).unwrap();
    let (mut parts, mut seen) = (0, Vec::new());
    while let Some(events) = watch.next().now_or_never() {
        let events = events.unwrap();
        assert_eq!(watch.progress(), events.last().unwrap().revision);
        seen.extend(events.iter().map(|event| event.revision.0));
        parts += 1;
    }
    let expected: Vec<u64> = (1..=600).collect();
    assert_eq!(seen, expected);
    assert!(
        parts > 1,
        "one answer of any size would do for a slow client"
    );
}

#[tokio::test]
async fn pages_of_an_older_revision_are_consistent() {
    let store = MemoryStore::new();
    for name in ["n1/a", "n1/b", "n1/c", "n2/a"] {
        commit(&store, put(name, "old")).await;
    }
    let at = store.revision();
    let query = RangeQuery {
        prefix: "n1/".into(),
        limit: Some(2),
        ..all(None)
    };
    let first = store.range(query.clone()).await.unwrap();
    assert_eq!(
        (first.records.len(), first.remaining, first.revision),
        (2, 1, at)
    );
    commit(&store, delete("n1/c")).await;
    commit(&store, put("n1/d", "new")).await;
    let second = RangeQuery {
        after: Some("n1/b".into()),
        at: Some(at),
        ..query
    };
    let second = store.range(second).await.unwrap();
    assert_eq!(second.records.len(), 1);
    assert_eq!(&*second.records[0].key.name, "n1/c");
    assert_eq!((second.remaining, second.revision), (0, at));
}

#[tokio::test]
async fn a_fork_goes_its_own_way() {
    let store = MemoryStore::new();
    commit(&store, put("a", "1")).await;
    let fork = store.fork().await.unwrap();
    commit(&fork, put("a", "2")).await;
    commit(&store, put("b", "1")).await;
    assert_eq!(
        &store.get(&key("a")).await.unwrap().unwrap().value[..],
        b"1"
    );
    assert!(fork.get(&key("b")).await.unwrap().is_none());
}

#[tokio::test]
async fn a_key_compared_after_its_write_is_refused_and_a_txn_without_effect_takes_no_revision() {
    let store = MemoryStore::new();
    let twice = put("a", "1").and(key("a"), Compare::Absent, Op::Delete);
    assert!(matches!(
        store.commit(twice).await,
        Err(Error::DuplicateKey(_))
    ));
    let nothing = Txn::one(key("a"), Compare::Absent, Op::Delete);
    assert_eq!(commit(&store, nothing).await, Revision::ZERO);
}

#[tokio::test]
async fn closing_ends_watches_and_refuses_writes() {
    let store = MemoryStore::new();
    let mut watch = store.watch_all(Revision::ZERO).unwrap();
    commit(&store, put("a", "1")).await;
    store.close().await.unwrap();
    assert_eq!(watch.next().await.unwrap().len(), 1);
    assert!(matches!(watch.next().await, Err(WatchError::Closed)));
    assert!(matches!(
        store.commit(put("a", "2")).await,
        Err(Error::Closed)
    ));
}

#[tokio::test]
async fn a_transaction_that_would_grow_the_records_too_far_is_refused() {
    let store = MemoryStore::new();
    commit(&store, put("a", vec![0; 1_000])).await;
    let usage = store.usage();
    assert!(usage.records_bytes > 1_000 && usage.records_bytes < 2_000);
    let full = store.commit(put("b", vec![0; 1_000]).within(Some(2_000)));
    let error = full.await.unwrap_err();
    assert!(
        matches!(
            error,
            Error::Full {
                bytes_max: 2_000,
                ..
            }
        ),
        "{error}"
    );
    assert_eq!(store.usage(), usage);
    // What doesn't grow is applied, however little room there is.
    let same = put("a", vec![1; 1_000]).within(Some(1));
    commit(&store, same).await;
    assert_eq!(store.usage().records_bytes, usage.records_bytes);
    assert_eq!(store.usage().history_bytes, 1_000);
    commit(&store, put("a", vec![1; 10]).within(Some(1))).await;
    commit(&store, delete("a").within(Some(1))).await;
    assert_eq!(store.usage().records_bytes, 0);
    commit(&store, put("b", vec![0; 1_000]).within(Some(2_000))).await;
}
