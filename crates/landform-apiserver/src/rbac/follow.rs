//! Keeps the index of rules at the store's newest revision.
//!
//! The index has a cursor in the log of each of the four kinds. A request first takes in what they have
//! new, which is nearly always nothing; so whatever was acknowledged before the request began counts,
//! whoever wrote it. The objects themselves are read once, and again only if the history was lost.

use std::sync::atomic::{AtomicU64, Ordering};

use futures::FutureExt as _;
use landform_store::{Event, EventKind, RangeQuery, Record, Store, Watch, WatchError};
use parking_lot::{RwLock, RwLockReadGuard};
use tokio::sync::Mutex;

use super::index::{Binding, Index, Role, RoleKey};
use crate::error::Result;
use crate::object::Object;
use crate::server::ApiServer;

/// The four kinds, by their plurals.
const KINDS: [(&str, Kind); 4] = [
    ("roles", Kind::Role),
    ("clusterroles", Kind::Role),
    ("rolebindings", Kind::Binding),
    ("clusterrolebindings", Kind::Binding),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Role,
    Binding,
}

type Cursors = Vec<(Kind, Box<dyn Watch>)>;

/// The index, and how far it has come.
#[derive(Default)]
pub(crate) struct Follower {
    index: RwLock<Index>,
    seen: AtomicU64,
    /// None before the first read, and after the history was lost.
    cursors: Mutex<Option<Cursors>>,
}

impl ApiServer {
    /// The index, with everything in it that was acknowledged before this call.
    pub(super) async fn rules(&self) -> Result<RwLockReadGuard<'_, Index>> {
        let follower = &self.shared.rules;
        let newest = self.shared.store.revision().0;
        if follower.seen.load(Ordering::Acquire) < newest {
            self.catch_up(newest).await?;
        }
        Ok(follower.index.read())
    }

    async fn catch_up(&self, newest: u64) -> Result<()> {
        let follower = &self.shared.rules;
        let mut cursors = follower.cursors.lock().await;
        if follower.seen.load(Ordering::Acquire) >= newest {
            return Ok(());
        }
        if let Some(open) = cursors.as_mut() {
            match read_on(open) {
                Ok(changes) => {
                    if !changes.is_empty() {
                        follower.index.write().apply(changes);
                    }
                    follower.seen.store(newest, Ordering::Release);
                    return Ok(());
                }
                Err(WatchError::Compacted { .. }) => *cursors = None,
                Err(closed @ WatchError::Closed) => return Err(closed.into()),
            }
        }
        let (index, open) = self.read_rules().await?;
        *follower.index.write() = index;
        *cursors = Some(open);
        follower.seen.store(newest, Ordering::Release);
        Ok(())
    }

    /// Reads all roles and bindings, and opens cursors that go on from there.
    async fn read_rules(&self) -> Result<(Index, Cursors)> {
        let store: &dyn Store = &*self.shared.store;
        let (mut changes, mut cursors) = (Vec::new(), Vec::new());
        for (plural, kind) in KINDS {
            let resource = self.builtin(super::GROUP, plural);
            let page = store
                .range(RangeQuery {
                    bucket: resource.bucket.clone(),
                    prefix: String::new(),
                    after: None,
                    limit: None,
                    at: None,
                })
                .await?;
            changes.extend(
                page.records
                    .iter()
                    .map(|record| (kind, change(record, true))),
            );
            cursors.push((kind, store.watch(&resource.bucket, "", page.revision)?));
        }
        let mut index = Index::default();
        index.apply(changes);
        Ok((index, cursors))
    }
}

/// Namespace and name of an object, and the object unless it is gone.
type Change = (String, String, Option<Object>);

/// Takes in what the cursors have, without waiting for more.
fn read_on(cursors: &mut Cursors) -> Result<Vec<(Kind, Change)>, WatchError> {
    let mut changes = Vec::new();
    for (kind, watch) in cursors {
        while let Some(events) = watch.next().now_or_never() {
            let events = events?;
            let events = events.iter().map(|event: &std::sync::Arc<Event>| {
                (
                    *kind,
                    change(&event.record, event.kind != EventKind::Deleted),
                )
            });
            changes.extend(events);
        }
    }
    Ok(changes)
}

fn change(record: &Record, is_there: bool) -> Change {
    let key = &record.key.name;
    let (namespace, name) = key.split_once('/').unwrap_or(("", key));
    // What can't be read grants nothing.
    let object = is_there.then(|| serde_json::from_slice(&record.value).unwrap_or_default());
    (namespace.to_owned(), name.to_owned(), object)
}

impl Index {
    fn apply(&mut self, changes: Vec<(Kind, Change)>) {
        let mut gather = false;
        for (kind, (namespace, name, object)) in changes {
            match kind {
                Kind::Role => {
                    gather |= namespace.is_empty();
                    let role = object.as_ref().map(Role::from_object);
                    self.put_role(RoleKey { namespace, name }, role);
                }
                Kind::Binding => {
                    let binding = object
                        .as_ref()
                        .map(|object| Binding::from_object(object, &namespace));
                    self.put_binding(&namespace, &name, binding);
                }
            }
        }
        if gather {
            self.gather();
        }
    }
}
