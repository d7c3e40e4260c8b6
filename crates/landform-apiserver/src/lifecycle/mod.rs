//! Housekeeping that belongs to the API itself: emptying namespaces and definitions that are being
//! deleted, and giving new namespaces what clients expect to find in them.
//!
//! One task follows the store's log and looks again at whatever an event may have moved on. Nothing
//! polls; a restart begins by looking at every namespace and definition once.

mod content;
mod definitions;
mod namespaces;
mod quotas;

pub use namespaces::UNDELETABLE;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use landform_store::{Event, EventKind};

use crate::error::{ApiError, Result};
use crate::registry::Resource;
use crate::server::ApiServer;

/// Something to look at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Item {
    Namespace(String),
    Definition(String),
    /// The quotas of a namespace.
    Quotas(String),
    /// All ClusterRoles that gather the rules of others.
    GatheredRoles,
}

/// What waits to be looked at, each item once.
#[derive(Default)]
struct Queue {
    order: VecDeque<Item>,
    waiting: BTreeSet<Item>,
    /// Namespaces in which there is a quota, or was.
    with_quota: BTreeSet<String>,
}

impl Queue {
    fn push(&mut self, item: Item) {
        if self.waiting.insert(item.clone()) {
            self.order.push_back(item);
        }
    }

    /// The quotas of the namespace that an object of this key is in.
    fn push_quotas_of(&mut self, key: &str) {
        if let Some((namespace, _)) = key.split_once('/') {
            self.with_quota.insert(namespace.to_owned());
            self.push(Item::Quotas(namespace.to_owned()));
        }
    }

    fn pop(&mut self) -> Option<Item> {
        let item = self.order.pop_front()?;
        self.waiting.remove(&item);
        Some(item)
    }
}

impl ApiServer {
    /// The resource of namespaces.
    pub(crate) fn namespaces(&self) -> Arc<Resource> {
        self.builtin("", "namespaces")
    }

    /// The resource of definitions.
    pub(crate) fn definitions(&self) -> Arc<Resource> {
        self.builtin("apiextensions.k8s.io", "customresourcedefinitions")
    }

    #[expect(
        clippy::expect_used,
        reason = "only for kinds that the server is built with"
    )]
    pub(crate) fn builtin(&self, group: &str, plural: &str) -> Arc<Resource> {
        self.shared
            .registry
            .find(group, "v1", plural)
            .expect("a built-in kind")
    }

    /// Does the housekeeping until the server stops.
    pub async fn keep_house(self) {
        let stopped = self.stopped();
        tokio::select! {
            biased;
            () = stopped => {}
            () = self.keep_house_forever() => {}
        }
    }

    async fn keep_house_forever(&self) {
        loop {
            if let Err(error) = self.follow_log().await {
                // The log was lost (compacted while we were busy): everything is looked at anew.
                tracing::warn!(%error, "housekeeping starts over");
            }
            tokio::task::yield_now().await;
        }
    }

    async fn follow_log(&self) -> Result<()> {
        let start = self.shared.store.revision();
        let mut queue = Queue::default();
        self.queue_everything(&mut queue).await?;
        let mut watch = self.shared.store.watch_all(start)?;
        loop {
            while let Some(item) = queue.pop() {
                if let Err(error) = self.look_at(&item).await {
                    tracing::warn!(?item, %error, "housekeeping failed; it goes on with the next change");
                }
            }
            for event in watch.next().await? {
                self.queue_what_moved(&event, &mut queue);
            }
        }
    }

    async fn queue_everything(&self, queue: &mut Queue) -> Result<()> {
        for name in self.names_in(&self.namespaces()).await? {
            queue.push(Item::Namespace(name));
        }
        for name in self.names_in(&self.definitions()).await? {
            queue.push(Item::Definition(name));
        }
        for name in self
            .names_in(&self.builtin("", crate::quotas::BUCKET))
            .await?
        {
            queue.push_quotas_of(&name);
        }
        queue.push(Item::GatheredRoles);
        Ok(())
    }

    fn queue_what_moved(&self, event: &Event, queue: &mut Queue) {
        let key = &event.record.key;
        if key.bucket.as_str() == crate::quotas::BUCKET {
            queue.push_quotas_of(&key.name);
        } else if event.kind != EventKind::Updated
            && let Some((namespace, _)) = key.name.split_once('/')
            && queue.with_quota.contains(namespace)
        {
            queue.push(Item::Quotas(namespace.to_owned()));
        }
        if key.bucket == self.builtin(crate::rbac::GROUP, "clusterroles").bucket {
            queue.push(Item::GatheredRoles);
        }
        if key.bucket == self.namespaces().bucket {
            queue.push(Item::Namespace(key.name.to_string()));
        } else if key.bucket == self.definitions().bucket {
            queue.push(Item::Definition(key.name.to_string()));
            if event.kind == EventKind::Deleted {
                // Its names are free again; others may have waited for them.
                for name in self.shared.registry.kinds().definitions().keys() {
                    queue.push(Item::Definition(name.clone()));
                }
            }
        } else if event.kind == EventKind::Deleted {
            // It may have been the last one that a namespace or a definition waited for.
            if let Some((namespace, _)) = key.name.split_once('/') {
                queue.push(Item::Namespace(namespace.to_owned()));
            }
            queue.push(Item::Definition(key.bucket.to_string()));
        }
    }

    async fn look_at(&self, item: &Item) -> Result<()> {
        let (resource, name) = match item {
            Item::Namespace(name) => (self.namespaces(), name),
            Item::Definition(name) => (self.definitions(), name),
            Item::Quotas(namespace) => return self.look_at_quotas(namespace).await,
            Item::GatheredRoles => return self.write_gathered().await,
        };
        let key = resource.key("", name);
        let Some(record) = self.shared.store.get(&key).await? else {
            return Ok(());
        };
        let object = crate::verbs::write::decoded(&record)?;
        match item {
            Item::Namespace(_) => self.look_at_namespace(&object).await,
            Item::Definition(_) => self.look_at_definition(&object).await,
            Item::Quotas(_) | Item::GatheredRoles => Ok(()),
        }
    }
}

/// Whether an error only says that somebody else was faster.
fn is_settled(error: &ApiError) -> bool {
    use crate::error::Reason;
    matches!(
        error.reason(),
        Reason::NotFound | Reason::AlreadyExists | Reason::Conflict
    )
}
