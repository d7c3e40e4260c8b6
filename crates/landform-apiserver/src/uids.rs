//! Where the object with a uid is, and what it owns, exactly at the moment of the question.
//!
//! A name can't tell whether an object exists: it may have been renamed, or its kind may not be served at the
//! moment. So an index leads from uids to keys, and from owners to what refers to them, over all stored objects, whatever
//! serves them. It is made by one scan at the first question, and then takes in what the log has new at each question:
//! every create and delete once, and updates that change owners. Writes pay nothing for it. When the history was cut
//! before it came back, it is made anew.
//!
//! `GET /apis/landform.dev/v1alpha1/uids/UID` is the question for clients; the garbage collector asks it before it
//! counts an owner as absent (G12b). A uid that isn't there now will never be there again.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Weak};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use landform_api::protection;
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
    /// The uids of what refers to an owner, whether that exists or not.
    owned: HashMap<Uid, HashSet<Uid>>,
    /// What says that it is protected from deletion.
    protected: HashSet<Uid>,
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
    pub(crate) api_version: String,
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
        self.ask_index(|index| index.keys.get(uid).cloned()).await
    }

    /// Where the objects are that refer to an owner, in the order of their keys, with their uids.
    pub(crate) async fn keys_owned(&self, owner: &Uid) -> Result<Vec<(Key, Uid)>> {
        self.ask_index(|index| {
            let owned = index.owned.get(owner).into_iter().flatten();
            let mut keys: Vec<(Key, Uid)> = owned
                .filter_map(|uid| Some((index.keys.get(uid)?.clone(), uid.clone())))
                .collect();
            keys.sort_unstable();
            keys
        })
        .await
    }

    /// Where the objects are that say that they are protected from deletion, in the order of their keys.
    pub(crate) async fn keys_protected(&self) -> Result<Vec<Key>> {
        self.ask_index(|index| {
            let protected = index.protected.iter();
            let keys = protected.filter_map(|uid| index.keys.get(uid));
            let mut keys: Vec<Key> = keys.cloned().collect();
            keys.sort_unstable();
            keys
        })
        .await
    }

    /// Brings the index up to date, and asks it.
    async fn ask_index<T>(&self, question: impl FnOnce(&Index) -> T) -> Result<T> {
        let mut index = self.shared.uids.0.lock().await;
        if let Some(known) = index.as_mut() {
            match known.catch_up().await {
                Ok(()) => return Ok(question(known)),
                Err(WatchError::Compacted { .. }) => *index = None,
                Err(closed @ WatchError::Closed) => return Err(closed.into()),
            }
        }
        let made = Index::read(&*self.shared.store).await?;
        Ok(question(index.insert(made)))
    }
}

impl Index {
    /// Reads everything. What is written meanwhile is in the log that it goes on with.
    async fn read(store: &dyn Store) -> Result<Self> {
        let log = store.watch_all(store.revision())?;
        let mut index = Self {
            keys: HashMap::new(),
            owned: HashMap::new(),
            protected: HashSet::new(),
            log,
        };
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
                    index.add(record);
                }
                // Other requests want to be answered, too.
                tokio::task::yield_now().await;
            }
        }
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
        match (event.kind, &event.previous) {
            (EventKind::Created, _) => self.add(record),
            (EventKind::Deleted, _) => {
                let gone = identity(record);
                // The scan may have found it under the name that it got later.
                if self.keys.get(&gone.uid) == Some(&record.key) {
                    self.keys.remove(&gone.uid);
                    self.protected.remove(&gone.uid);
                    self.disown(&gone);
                }
            }
            // A uid is for life; owners are not, and most objects have none. Nor is protection.
            (EventKind::Updated, Some(previous)) => {
                let owns = has_owners(previous) || has_owners(record);
                let guards = mentions_protection(previous) || mentions_protection(record);
                if !owns && !guards {
                    return;
                }
                let (before, after) = (identity(previous), identity(record));
                if guards {
                    self.guard(&after, record);
                }
                if before.owners != after.owners {
                    self.disown(&before);
                    self.own(after);
                }
            }
            (EventKind::Updated, None) => {}
        }
    }

    fn add(&mut self, record: &Record) {
        let added = identity(record);
        self.keys.insert(added.uid.clone(), record.key.clone());
        self.guard(&added, record);
        self.own(added);
    }

    /// Notes whether an object says that it is protected.
    fn guard(&mut self, object: &Identity, record: &Record) {
        if is_protected(record) {
            self.protected.insert(object.uid.clone());
        } else {
            self.protected.remove(&object.uid);
        }
    }

    fn own(&mut self, object: Identity) {
        for owner in object.owners {
            let owned = self.owned.entry(owner).or_default();
            owned.insert(object.uid.clone());
        }
    }

    fn disown(&mut self, object: &Identity) {
        for owner in &object.owners {
            if let Some(owned) = self.owned.get_mut(owner) {
                owned.remove(&object.uid);
                if owned.is_empty() {
                    self.owned.remove(owner);
                }
            }
        }
    }
}

/// What the index keeps of an object.
struct Identity {
    uid: Uid,
    owners: Vec<Uid>,
}

/// Read without the rest of the object.
fn identity(record: &Record) -> Identity {
    #[derive(Default, Deserialize)]
    struct Object<'a> {
        #[serde(borrow, default)]
        metadata: Metadata<'a>,
    }
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Metadata<'a> {
        #[serde(borrow, default)]
        uid: Cow<'a, str>,
        #[serde(borrow, default)]
        owner_references: Vec<Owner<'a>>,
    }
    #[derive(Deserialize)]
    struct Owner<'a> {
        #[serde(borrow, default)]
        uid: Cow<'a, str>,
    }
    let object: Object<'_> = serde_json::from_slice(&record.value).unwrap_or_default();
    let owners = object.metadata.owner_references.iter();
    Identity {
        uid: Uid::new(&object.metadata.uid),
        owners: owners.map(|owner| Uid::new(&owner.uid)).collect(),
    }
}

/// Whether a stored object may have owners; true, too, of one that only has the word in it.
fn has_owners(record: &Record) -> bool {
    memchr::memmem::find(&record.value, b"\"ownerReferences\"").is_some()
}

/// Whether a stored object may be protected; true, too, of one that only has the word in it.
fn mentions_protection(record: &Record) -> bool {
    memchr::memmem::find(&record.value, protection::PROTECT.as_bytes()).is_some()
}

fn is_protected(record: &Record) -> bool {
    if !mentions_protection(record) {
        return false;
    }
    let object: Value = serde_json::from_slice(&record.value).unwrap_or_default();
    protection::is_protected(&object["metadata"])
}

/// What can't be read has no uid.
pub(crate) fn stored(record: &Record) -> Stored {
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
