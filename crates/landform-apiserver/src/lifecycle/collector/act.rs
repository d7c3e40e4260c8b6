//! What the collector does about one object.

use futures::StreamExt as _;
use landform_api::keys::{FINALIZER_CASCADE, FINALIZER_FOREGROUND, FINALIZER_ORPHAN};
use landform_api::kind::split_api_version;
use landform_store::{Bucket, Key, RangeQuery, Record};
use serde_json::Value;

use super::graph::{Link, OwnerGraph};
use super::{Seen, SeenMetadata};
use crate::error::Result;
use crate::lifecycle::is_settled;
use crate::object::meta;
use crate::object::rules::Part;
use crate::request::query::FieldValidation;
use crate::server::ApiServer;
use crate::verbs::write::{WriteOptions, decoded};
use crate::verbs::{Change, DeleteOptions, Place, Policy};

const WRITE: WriteOptions = WriteOptions {
    dry_run: false,
    validation: FieldValidation::Ignore,
};
/// So many dependents are told at once: enough that commits are shared.
const AT_ONCE: usize = 64;

impl ApiServer {
    /// Moves one object's deletion on as far as it goes now.
    pub(super) async fn look_at_marked(&self, graph: &OwnerGraph, key: &Key) -> Result<()> {
        let Some(record) = self.shared.store.get(key).await? else {
            return Ok(());
        };
        let seen = Seen::read(&record).metadata;
        if seen.deletion_timestamp.is_none() {
            return self.look_at_orphan(&record, &seen).await;
        }
        let held_by = |finalizer: &str| seen.finalizers.iter().any(|held| held == finalizer);
        let dependents = graph.dependents_of(&seen.uid);
        if held_by(FINALIZER_CASCADE) {
            if dependents.is_empty() {
                return self.release(&record, FINALIZER_CASCADE).await;
            }
            return self.delete_all(&dependents, Policy::Cascade).await;
        }
        if held_by(FINALIZER_ORPHAN) {
            for dependent in &dependents {
                self.drop_references(dependent, std::slice::from_ref(&seen.uid))
                    .await?;
            }
            return self.release(&record, FINALIZER_ORPHAN).await;
        }
        if held_by(FINALIZER_FOREGROUND) {
            return self
                .look_at_foreground(graph, &record, &seen, &dependents)
                .await;
        }
        Ok(())
    }

    /// Foreground: dependents with no other living owner go; the owner waits for those that block it.
    async fn look_at_foreground(
        &self,
        graph: &OwnerGraph,
        record: &Record,
        seen: &SeenMetadata,
        dependents: &[Key],
    ) -> Result<()> {
        if !dependents
            .iter()
            .any(|dependent| graph.blocks(dependent, &seen.uid))
        {
            self.release(record, FINALIZER_FOREGROUND).await?;
        }
        let mut alone = Vec::new();
        for dependent in dependents {
            let Some(record) = self.shared.store.get(dependent).await? else {
                continue;
            };
            let links = Seen::read(&record).metadata.owner_references;
            let others: Vec<Link> = links
                .into_iter()
                .filter(|link| link.uid != seen.uid)
                .collect();
            if self.any_lives(dependent, &others).await? {
                self.drop_references(dependent, std::slice::from_ref(&seen.uid))
                    .await?;
            } else {
                alone.push(dependent.clone());
            }
        }
        self.delete_all(&alone, Policy::Foreground).await
    }

    /// A living object whose owners may have gone: without a living owner it goes, with one it only
    /// loses the references that lead nowhere (G12, G13).
    async fn look_at_orphan(&self, record: &Record, seen: &SeenMetadata) -> Result<()> {
        let mut absent = Vec::new();
        let mut lives = false;
        for link in &seen.owner_references {
            match self.lives(&record.key, link).await? {
                Some(true) => lives = true,
                Some(false) => absent.push(link.uid.clone()),
                // Of a kind that this server doesn't have: nobody can say that it is gone.
                None => lives = true,
            }
        }
        if absent.is_empty() {
            return Ok(());
        }
        if lives {
            return self.drop_references(&record.key, &absent).await;
        }
        self.delete_all(std::slice::from_ref(&record.key), Policy::Background)
            .await
    }

    async fn any_lives(&self, dependent: &Key, links: &[Link]) -> Result<bool> {
        for link in links {
            if self.lives(dependent, link).await? != Some(false) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether an owner exists, by a live read; `None` when its kind is not known here. An owner that
    /// waits for its own dependents in the foreground doesn't count as living.
    async fn lives(&self, dependent: &Key, link: &Link) -> Result<Option<bool>> {
        let Some((group, version)) = split_api_version(&link.api_version) else {
            return Ok(None);
        };
        let kinds = self.shared.registry.kinds();
        let found = kinds
            .resources(group, version)
            .unwrap_or_default()
            .iter()
            .find(|resource| resource.kind == link.kind)
            .cloned();
        let Some(resource) = found else {
            return Ok(None);
        };
        let namespace = dependent
            .name
            .split_once('/')
            .map_or("", |(namespace, _)| namespace);
        if resource.namespaced && namespace.is_empty() {
            // A cluster-scoped object can't say in which namespace its owner is.
            return Ok(None);
        }
        let key = resource.key(namespace, &link.name);
        let Some(owner) = self.shared.store.get(&key).await? else {
            return Ok(Some(false));
        };
        let owner = Seen::read(&owner).metadata;
        let going = owner.deletion_timestamp.is_some()
            && owner
                .finalizers
                .iter()
                .any(|finalizer| finalizer == FINALIZER_FOREGROUND);
        Ok(Some(owner.uid == link.uid && !going))
    }

    /// Asks objects to go, unless they have been asked.
    async fn delete_all(&self, keys: &[Key], policy: Policy) -> Result<()> {
        let deletes = keys.iter().cloned().map(|key| {
            let server = self.clone();
            async move { server.delete_key(&key, policy).await }
        });
        let mut results = futures::stream::iter(deletes)
            .buffer_unordered(AT_ONCE)
            .boxed();
        while let Some(result) = results.next().await {
            result?;
        }
        Ok(())
    }

    async fn delete_key(&self, key: &Key, policy: Policy) -> Result<()> {
        let Some(record) = self.shared.store.get(key).await? else {
            return Ok(());
        };
        let seen = Seen::read(&record).metadata;
        if seen.deletion_timestamp.is_some() {
            return Ok(());
        }
        let Some(place) = self.place_of(key) else {
            return Ok(());
        };
        // The uid makes sure that nothing else of the same name is deleted.
        let options = DeleteOptions {
            uid: Some(seen.uid),
            ..DeleteOptions::internal(policy)
        };
        settled(self.delete_one(&place, &options).await.map(|_| ()))
    }

    /// Removes one of the collector's finalizers; the object goes if it was the last (G7).
    async fn release(&self, record: &Record, finalizer: &str) -> Result<()> {
        let Some(place) = self.place_of(&record.key) else {
            return Ok(());
        };
        let uid = Seen::read(record).metadata.uid;
        let written = self
            .modify(&place, Part::Main, &WRITE, Vec::new(), |_, record| {
                let mut object = decoded(record)?;
                if meta::uid(&object) != uid || !meta::remove_finalizer(&mut object, finalizer) {
                    return Ok(Change::Keep);
                }
                self.settle(&place.resource, &mut object);
                Ok(Change::Marked(object))
            })
            .await;
        settled(written.map(|_| ()))
    }

    /// Removes references to owners from a dependent.
    async fn drop_references(&self, key: &Key, uids: &[String]) -> Result<()> {
        let Some(place) = self.place_of(key) else {
            return Ok(());
        };
        let written = self
            .modify(&place, Part::Main, &WRITE, Vec::new(), |_, record| {
                let mut object = decoded(record)?;
                let metadata = meta::metadata_mut(&mut object);
                if let Some(Value::Array(list)) = metadata.get_mut("ownerReferences") {
                    list.retain(|link| !uids.iter().any(|uid| link["uid"] == uid.as_str()));
                    if list.is_empty() {
                        metadata.remove("ownerReferences");
                    }
                }
                Ok(Change::Marked(object))
            })
            .await;
        settled(written.map(|_| ()))
    }

    /// The kind and names of a stored key; `None` when no kind is stored there.
    fn place_of(&self, key: &Key) -> Option<Place> {
        let kinds = self.shared.registry.kinds();
        let resource = kinds
            .preferred()
            .find(|resource| resource.bucket == key.bucket && resource.group != "events.k8s.io")
            .cloned()
            .or_else(|| {
                kinds
                    .definitions()
                    .get(key.bucket.as_str())
                    .map(|d| d.stored.clone())
            })?;
        let (namespace, name) = resource.names_in_key(key);
        Some(Place {
            namespace: namespace.to_owned(),
            name: Some(name.to_owned()),
            resource: resource.clone(),
        })
    }

    pub(super) async fn whole_bucket(&self, bucket: &Bucket) -> Result<Vec<Record>> {
        let query = RangeQuery {
            bucket: bucket.clone(),
            prefix: String::new(),
            after: None,
            limit: None,
            at: None,
        };
        Ok(self.shared.store.range(query).await?.records)
    }
}

/// An error that only says that somebody else was faster is none.
fn settled(result: Result<()>) -> Result<()> {
    match result {
        Err(error) if is_settled(&error) => Ok(()),
        other => other,
    }
}
