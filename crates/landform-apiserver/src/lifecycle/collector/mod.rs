//! The collector: finishes deletions (G5–G8, G10, G13).
//!
//! It follows the store's log, keeps a graph of who owns whom, and works through the same verbs as
//! any client: only they change objects (G4). A restart rebuilds the graph from what is stored and
//! looks at every object that waits, so nothing half-done is lost.
//!
//! What it looks at:
//! - a marked object with one of the collector's finalizers: its dependents are asked to go (or lose
//!   their reference), and when none is left in the way the finalizer is removed;
//! - a dependent whose owner has gone: it goes too, unless another owner lives.

mod act;
mod graph;

use std::collections::{BTreeSet, VecDeque};

use landform_api::keys::{FINALIZER_CASCADE, FINALIZER_FOREGROUND, FINALIZER_ORPHAN};
use landform_store::{Event, EventKind, Key, Record};
use serde::Deserialize;

use self::graph::{Link, OwnerGraph};
use crate::error::Result;
use crate::server::ApiServer;

/// The part of an object that decides about its deletion.
#[derive(Debug, Default, Deserialize)]
struct Seen {
    #[serde(default)]
    metadata: SeenMetadata,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SeenMetadata {
    uid: String,
    deletion_timestamp: Option<String>,
    finalizers: Vec<String>,
    owner_references: Vec<Link>,
}

impl Seen {
    fn read(record: &Record) -> Self {
        serde_json::from_slice(&record.value).unwrap_or_default()
    }

    fn waits_for_collector(&self) -> bool {
        let ours = [FINALIZER_CASCADE, FINALIZER_FOREGROUND, FINALIZER_ORPHAN];
        self.metadata.deletion_timestamp.is_some()
            && self
                .metadata
                .finalizers
                .iter()
                .any(|finalizer| ours.contains(&finalizer.as_str()))
    }
}

/// Keys to look at, each once.
#[derive(Default)]
pub(super) struct Work {
    order: VecDeque<Key>,
    waiting: BTreeSet<Key>,
}

impl Work {
    fn push(&mut self, key: Key) {
        if self.waiting.insert(key.clone()) {
            self.order.push_back(key);
        }
    }

    fn take(&mut self) -> Vec<Key> {
        self.waiting.clear();
        self.order.drain(..).collect()
    }
}

impl ApiServer {
    /// Collects until the server stops.
    pub async fn collect(self) {
        let stopped = self.stopped();
        tokio::select! {
            biased;
            () = stopped => {}
            () = self.collect_forever() => {}
        }
    }

    async fn collect_forever(&self) {
        loop {
            if let Err(error) = self.follow_owners().await {
                tracing::warn!(%error, "the collector starts over");
            }
            tokio::task::yield_now().await;
        }
    }

    async fn follow_owners(&self) -> Result<()> {
        let mut graph = OwnerGraph::default();
        let mut work = Work::default();
        let start = self.shared.store.revision();
        for bucket in self.shared.store.buckets().await? {
            for record in self.whole_bucket(&bucket).await? {
                note(&mut graph, &mut work, &record);
            }
        }
        // An owner may have gone while nobody looked.
        for key in graph.owned() {
            work.push(key);
        }
        let mut watch = self.shared.store.watch_all(start)?;
        loop {
            for key in work.take() {
                if let Err(error) = self.look_at_marked(&graph, &key).await {
                    tracing::warn!(%key, %error, "a deletion could not go on; it does with the next change");
                }
            }
            for event in watch.next().await? {
                follow(&mut graph, &mut work, &event);
            }
        }
    }
}

/// Takes a stored object into the graph.
fn note(graph: &mut OwnerGraph, work: &mut Work, record: &Record) {
    if graph.is_stranger(&record.key) && !may_concern_collector(&record.value) {
        return;
    }
    let seen = Seen::read(record);
    let waits = seen.waits_for_collector();
    graph.put(
        &record.key,
        &seen.metadata.uid,
        seen.metadata.owner_references,
        waits,
    );
    if waits {
        work.push(record.key.clone());
    }
}

/// Whether an object has owners or a mark, as far as a glance at its text can tell: most have neither,
/// and needn't be read.
fn may_concern_collector(value: &[u8]) -> bool {
    memchr::memmem::find(value, b"\"ownerReferences\"").is_some()
        || memchr::memmem::find(value, b"\"deletionTimestamp\"").is_some()
}

/// Takes a change into the graph, and queues what it may have moved on (G8, G9).
fn follow(graph: &mut OwnerGraph, work: &mut Work, event: &Event) {
    let key = &event.record.key;
    let owners_before = graph.owners_waiting(key);
    match event.kind {
        EventKind::Created | EventKind::Updated => note(graph, work, &event.record),
        EventKind::Deleted if graph.is_empty() => {}
        EventKind::Deleted => {
            let uid = Seen::read(&event.record).metadata.uid;
            for dependent in graph.remove(key, &uid) {
                work.push(dependent);
            }
        }
    }
    for owner in owners_before {
        work.push(owner);
    }
}
