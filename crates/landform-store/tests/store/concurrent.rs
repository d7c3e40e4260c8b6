//! Writers, readers and watchers at the same time, on several threads.

use std::sync::Arc;

use landform_store::memory::MemoryStore;
use landform_store::{Compare, Op, Revision, Store};

use crate::support::{bucket, commit, key, open, put, records, runtime};

const WRITERS: usize = 4;
const TURNS: usize = 100;
const EVENTS: usize = 2 * WRITERS * TURNS;

/// Writes pairs, and reads its own writes back at once.
async fn write(store: Arc<dyn Store>, writer: usize) {
    for turn in 0..TURNS {
        let (left, right) = (format!("left/{writer}"), format!("right/{writer}"));
        let value = turn.to_string();
        let other = (key(&right), Compare::Any, Op::Put(value.clone().into()));
        let pair = put(&left, value.clone()).and(other.0, other.1, other.2);
        let revision = commit(&*store, pair).await;
        let read = store.get(&key(&right)).await.unwrap().unwrap();
        assert_eq!((read.value, read.modified), (value.into(), revision));
        let page = records(&*store, None);
        let (lefts, rights) = page.split_at(page.len() / 2);
        for (left, right) in lefts.iter().zip(rights) {
            assert_eq!(left.value, right.value, "half a transaction was read");
        }
    }
}

/// Follows from the beginning until it has seen everything, and hands over what it saw.
async fn follow(store: Arc<dyn Store>, prefix: &'static str, expected: usize) -> Vec<String> {
    let mut watch = store.watch(&bucket(), prefix, Revision::ZERO).unwrap();
    let (mut seen, mut last) = (Vec::new(), Revision::ZERO);
    while seen.len() < expected {
        for event in watch.next().await.unwrap() {
            assert!(event.revision > last, "out of order");
            last = event.revision;
            let record = store.get(&event.record.key).await.unwrap().unwrap();
            assert!(
                record.modified >= event.revision,
                "an event before its write"
            );
            seen.push(format!("{event:?} {:?}", event.record.value));
        }
        assert!(watch.progress() >= last);
    }
    seen
}

fn watchers_agree(store: &Arc<dyn Store>) {
    runtime().block_on(async {
        let early: Vec<_> = (0..4)
            .map(|_| tokio::spawn(follow(Arc::clone(store), "", EVENTS)))
            .collect();
        let half = tokio::spawn(follow(Arc::clone(store), "left/", EVENTS / 2));
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| tokio::spawn(write(Arc::clone(store), writer)))
            .collect();
        for writer in writers {
            writer.await.unwrap();
        }
        // One that starts when all is written sees the same as those that waited for each event.
        let all = follow(Arc::clone(store), "", EVENTS).await;
        for watcher in early {
            assert_eq!(watcher.await.unwrap(), all);
        }
        let lefts: Vec<_> = all
            .into_iter()
            .filter(|event| event.contains("left/"))
            .collect();
        assert_eq!(half.await.unwrap(), lefts);
    });
}

#[test]
fn c5_watchers_of_a_memory_store_all_see_the_same_log() {
    watchers_agree(&(Arc::new(MemoryStore::new()) as Arc<dyn Store>));
}

#[test]
fn c5_watchers_of_an_embedded_store_all_see_the_same_log() {
    let directory = tempfile::tempdir().unwrap();
    watchers_agree(&(Arc::new(open(directory.path()).unwrap()) as Arc<dyn Store>));
}
