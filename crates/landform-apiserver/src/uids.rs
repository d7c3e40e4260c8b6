//! Where the object with a uid is, exactly at the moment of the question.
//!
//! A name can't tell whether an object exists: it may have been renamed, or its kind may not be served at the
//! moment. So an index leads from uids to keys, over all stored objects, whatever serves them. It is made by one scan
//! at the first question, and then takes in what the log has new at each question: every create and
//! delete once. Writes pay nothing for it. When the history was cut before it came back, it is made anew.
//!
//! `GET /apis/landform.dev/v1alpha1/uids/UID` is the question for clients; the garbage collector asks it before it
//! counts an owner as absent (G12b). A uid that isn't there now will never be there again.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Weak};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use landform_graph::owners::Uid;
use landform_store::{Event, EventKind, Key, RangeQuery, Record, Store, Watch, WatchError};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::error::Result;
use crate::request::query::Query;
use crate::server::{ApiServer, Shared};
use crate::view::View;

/// After this many records or events other tasks have their turn.
const AT_ONCE: usize = 256;

/// The name of the view.
const NAME: &str = "uids";

/// The index; none before the first question, and after the history was cut.
#[derive(Default)]
pub(crate) struct Uids(Mutex<Option<Index>>);

struct Index {
    keys: HashMap<Uid, Key>,
    log: Box<dyn Watch>,
}

/// What of a stored object says which one it is, and whose.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Stored {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) metadata: StoredMetadata,
}

/// The part of its metadata.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct StoredMetadata {
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) uid: String,
    pub(crate) owner_references: Vec<Reference>,
}

/// A reference to an owner.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Reference {
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) uid: String,
}

impl ApiServer {
    /// Makes the view readable.
    pub(crate) fn mount_uids(&self) {
        self.mount(NAME, Arc::new(UidView(Arc::downgrade(&self.shared))));
    }

    /// The stored object with a uid, as it is now.
    pub(crate) async fn find_uid(&self, uid: &str) -> Result<Option<(Record, Stored)>> {
        let wanted = Uid::new(uid);
        loop {
            let Some(key) = self.key_of(&wanted).await? else {
                return Ok(None);
            };
            let record = self.shared.store.get(&key).await?;
            let found = record.map(|record| (stored(&record), record));
            if let Some((stored, record)) = found
                && stored.metadata.uid == uid
            {
                return Ok(Some((record, stored)));
            }
            // It was renamed or removed since: the log has it.
        }
    }

    async fn key_of(&self, uid: &Uid) -> Result<Option<Key>> {
        let mut index = self.shared.uids.0.lock().await;
        if let Some(known) = index.as_mut() {
            match known.catch_up().await {
                Ok(()) => return Ok(known.keys.get(uid).cloned()),
                Err(WatchError::Compacted { .. }) => *index = None,
                Err(closed @ WatchError::Closed) => return Err(closed.into()),
            }
        }
        let made = Index::read(&*self.shared.store).await?;
        let key = made.keys.get(uid).cloned();
        *index = Some(made);
        Ok(key)
    }
}

impl Index {
    /// Reads everything. What is written meanwhile is in the log that it goes on with.
    async fn read(store: &dyn Store) -> Result<Self> {
        let log = store.watch_all(store.revision())?;
        let mut keys = HashMap::new();
        for bucket in store.buckets().await? {
            let query = RangeQuery {
                bucket,
                prefix: String::new(),
                after: None,
                limit: None,
                at: None,
            };
            for records in store.range(query).await?.records.chunks(AT_ONCE) {
                for record in records {
                    keys.insert(uid_of(record), record.key.clone());
                }
                // Other requests want to be answered, too.
                tokio::task::yield_now().await;
            }
        }
        let mut index = Self { keys, log };
        index.catch_up().await?;
        Ok(index)
    }

    /// Takes in what the log has, without waiting for more.
    async fn catch_up(&mut self) -> Result<(), WatchError> {
        while let Some(events) = self.log.next().now_or_never() {
            let events = events?;
            for event in &events {
                self.take(event);
            }
            if events.len() >= AT_ONCE {
                tokio::task::yield_now().await;
            }
        }
        Ok(())
    }

    fn take(&mut self, event: &Event) {
        let record = &event.record;
        match event.kind {
            EventKind::Created => {
                self.keys.insert(uid_of(record), record.key.clone());
            }
            EventKind::Deleted => {
                let uid = uid_of(record);
                // The scan may have found it under the name that it got later.
                if self.keys.get(&uid) == Some(&record.key) {
                    self.keys.remove(&uid);
                }
            }
            // A uid is for life.
            EventKind::Updated => {}
        }
    }
}

/// The uid of a stored object, read without the rest of it.
fn uid_of(record: &Record) -> Uid {
    #[derive(Default, Deserialize)]
    struct Object<'a> {
        #[serde(borrow, default)]
        metadata: Metadata<'a>,
    }
    #[derive(Default, Deserialize)]
    struct Metadata<'a> {
        #[serde(borrow, default)]
        uid: Cow<'a, str>,
    }
    let object: Object<'_> = serde_json::from_slice(&record.value).unwrap_or_default();
    Uid::new(&object.metadata.uid)
}

/// What can't be read has no uid.
fn stored(record: &Record) -> Stored {
    serde_json::from_slice(&record.value).unwrap_or_default()
}

/// Holds the server weakly: the server holds its views.
struct UidView(Weak<Shared>);

impl View for UidView {
    fn read<'a>(
        &'a self,
        path: &'a [&'a str],
        _query: &'a Query,
    ) -> BoxFuture<'a, Result<Option<Value>>> {
        Box::pin(async move {
            let server = ApiServer::of(&self.0)?;
            match path {
                [uid] => server.answer_uid(uid).await.map(Some),
                [uid, "dependents"] => server.answer_dependents(uid).await.map(Some),
                _ => Ok(None),
            }
        })
    }
}

impl ApiServer {
    async fn answer_uid(&self, uid: &str) -> Result<Value> {
        let found = self.find_uid(uid).await?;
        let mut answer = json!({
            "apiVersion": "landform.dev/v1alpha1", "kind": "UidLookup", "uid": uid, "exists": found.is_some(),
        });
        if let Some((record, stored)) = found {
            let kinds = self.shared.registry.kinds();
            let mut served = kinds.preferred();
            answer["served"] = json!(served.any(|resource| resource.bucket == record.key.bucket));
            answer["object"] = json!({
                "apiVersion": stored.api_version, "kind": stored.kind,
                "namespace": stored.metadata.namespace, "name": stored.metadata.name,
            });
        }
        Ok(answer)
    }
}
