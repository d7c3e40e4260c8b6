//! What an object owns, exactly at the moment of the question.
//!
//! No object lists its dependents: the index of uids leads to them ([`crate::uids`]), also to what isn't served now.
//! `GET /apis/landform.dev/v1alpha1/uids/UID/dependents` is the question for clients; the garbage collector asks it before
//! it lets an owner go (G7, G13): what its watches haven't shown yet would be lost, or left behind for a moment.

use std::collections::HashMap;
use std::sync::Arc;

use landform_graph::owners::Uid;
use landform_store::{Bucket, Key, Record};
use serde_json::{Value, json};

use crate::error::Result;
use crate::object::{Object, meta};
use crate::registry::Resource;
use crate::server::ApiServer;
use crate::verbs::write;

/// Where an owner is.
#[derive(Clone, Copy)]
pub(crate) struct Owner<'a> {
    pub(crate) resource: &'a Resource,
    /// Empty when it is in none.
    pub(crate) namespace: &'a str,
    pub(crate) uid: &'a str,
}

impl ApiServer {
    /// What an object owns.
    pub(crate) async fn dependents(&self, owner: Owner<'_>) -> Result<Vec<(Record, Object)>> {
        let uid = Uid::new(owner.uid);
        loop {
            let keys = self.keys_owned(&uid).await?;
            if let Some(found) = self.read_owned(owner, keys).await? {
                return Ok(found);
            }
        }
    }

    /// Reads what refers to an owner; `None` when something isn't where it was any more: the log says where it is.
    async fn read_owned(
        &self,
        owner: Owner<'_>,
        keys: Vec<(Key, Uid)>,
    ) -> Result<Option<Vec<(Record, Object)>>> {
        let mut found = Vec::new();
        if keys.is_empty() {
            return Ok(Some(found));
        }
        let kinds = self.shared.registry.kinds();
        let by_bucket: HashMap<&Bucket, &Arc<Resource>> =
            kinds.stored().map(|kind| (&kind.bucket, kind)).collect();
        for (key, uid) in keys {
            let resource = by_bucket.get(&key.bucket);
            if !resource.is_some_and(|resource| can_own(owner, resource, &key)) {
                continue;
            }
            let Some(record) = self.shared.store.get(&key).await? else {
                return Ok(None);
            };
            let object = write::decoded(&record)?;
            if Uid::new(meta::uid(&object)) != uid {
                return Ok(None);
            }
            if references(&object).any(|reference| reference["uid"] == owner.uid) {
                found.push((record, object));
            }
        }
        Ok(Some(found))
    }

    /// The answer to a client.
    pub(crate) async fn answer_dependents(&self, uid: &str) -> Result<Value> {
        let mut items = Vec::new();
        // Most own nothing, and are asked for when they go.
        let owns = !self.keys_owned(&Uid::new(uid)).await?.is_empty();
        if owns && let Some((record, stored)) = self.find_uid(uid).await? {
            let kinds = self.shared.registry.kinds();
            let resource = kinds.stored().find(|kind| kind.bucket == record.key.bucket);
            let dependents = match resource {
                Some(resource) => {
                    self.dependents(Owner {
                        resource,
                        namespace: &stored.metadata.namespace,
                        uid,
                    })
                    .await?
                }
                None => Vec::new(),
            };
            items.extend(dependents.iter().map(|(_, object)| {
                let blocks = |reference: &Value| {
                    reference["uid"] == uid && reference["blockOwnerDeletion"] == true
                };
                json!({
                    "apiVersion": object.get("apiVersion"), "kind": object.get("kind"),
                    "namespace": meta::namespace(object), "name": meta::name(object), "uid": meta::uid(object),
                    "blocks": references(object).any(blocks),
                })
            }));
        }
        Ok(json!({
            "apiVersion": "landform.dev/v1alpha1", "kind": "DependentList", "uid": uid, "items": items,
        }))
    }
}

/// Whether an object can own what is under a key: in its own namespace, or everywhere when it is in none.
fn can_own(owner: Owner<'_>, resource: &Resource, key: &Key) -> bool {
    let same_namespace = || resource.names_in_key(key).0 == owner.namespace;
    !owner.resource.namespaced || (resource.namespaced && same_namespace())
}

fn references(object: &Object) -> impl Iterator<Item = &Value> {
    let references = meta::metadata(object).get("ownerReferences");
    references.and_then(Value::as_array).into_iter().flatten()
}
