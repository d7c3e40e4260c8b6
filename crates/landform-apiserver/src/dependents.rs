//! What an object owns, exactly at the moment of the question.
//!
//! No object lists its dependents, and no index of them is kept: it would cost every write something for questions that are
//! rare. So everything that the object may own is searched for its uid, also what isn't served now.
//! `GET /apis/landform.dev/v1alpha1/uids/UID/dependents` is the question for clients; the garbage collector asks it before
//! it lets an owner go whose dependents should stay (G13): what its watches haven't shown yet would be lost.

use landform_store::{RangeQuery, Record};
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
        let finder = memchr::memmem::Finder::new(owner.uid.as_bytes());
        let kinds = self.shared.registry.kinds();
        let mut found = Vec::new();
        for resource in kinds.stored() {
            let Some(prefix) = where_owned(owner, resource) else {
                continue;
            };
            let query = RangeQuery {
                bucket: resource.bucket.clone(),
                prefix,
                after: None,
                limit: None,
                at: None,
            };
            for record in self.shared.store.range(query).await?.records {
                if finder.find(&record.value).is_none() {
                    continue;
                }
                let object = write::decoded(&record)?;
                if references(&object).any(|reference| reference["uid"] == owner.uid) {
                    found.push((record, object));
                }
            }
        }
        Ok(found)
    }

    /// The answer to a client.
    pub(crate) async fn answer_dependents(&self, uid: &str) -> Result<Value> {
        let mut items = Vec::new();
        if let Some((record, stored)) = self.find_uid(uid).await? {
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
                json!({
                    "apiVersion": object.get("apiVersion"), "kind": object.get("kind"),
                    "namespace": meta::namespace(object), "name": meta::name(object), "uid": meta::uid(object),
                })
            }));
        }
        Ok(json!({
            "apiVersion": "landform.dev/v1alpha1", "kind": "DependentList", "uid": uid, "items": items,
        }))
    }
}

/// Where objects of a kind are that an object can own: the prefix of their keys.
fn where_owned(owner: Owner<'_>, resource: &Resource) -> Option<String> {
    match (owner.resource.namespaced, resource.namespaced) {
        (true, true) => Some(format!("{}/", owner.namespace)),
        (true, false) => None,
        (false, _) => Some(String::new()),
    }
}

fn references(object: &Object) -> impl Iterator<Item = &Value> {
    let references = meta::metadata(object).get("ownerReferences");
    references.and_then(Value::as_array).into_iter().flatten()
}
