//! Emptying: deleting everything below a namespace or of a definition, as any client would.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::StreamExt as _;
use landform_api::keys::{FINALIZER_CASCADE, FINALIZER_FOREGROUND, FINALIZER_ORPHAN};
use landform_store::{RangeQuery, Record};

use super::is_settled;
use crate::error::Result;
use crate::object::meta;
use crate::registry::Resource;
use crate::server::ApiServer;
use crate::uids::stored;
use crate::verbs::write::decoded;
use crate::verbs::{DeleteOptions, Place, Policy};

/// So many deletes are under way at once: enough that commits are shared.
const AT_ONCE: usize = 64;

/// What is left of a resource after everything in it was asked to go.
pub(super) struct Left {
    /// `configmaps`, `things.x.io`.
    pub(super) resource: String,
    /// How many objects are left.
    pub(super) count: usize,
    /// The finalizers that hold them, with how many objects each.
    pub(super) finalizers: std::collections::BTreeMap<String, usize>,
}

/// The finalizers with which the collector waits for dependents.
const OF_COLLECTOR: [&str; 3] = [FINALIZER_CASCADE, FINALIZER_FOREGROUND, FINALIZER_ORPHAN];
/// No more owners of one object than these are looked at.
const OWNERS_MOST: usize = 64;

/// The uids of an object's owners.
fn owners(record: &Record) -> Vec<String> {
    let references = stored(record).metadata.owner_references;
    references
        .into_iter()
        .map(|reference| reference.uid)
        .collect()
}

impl ApiServer {
    /// Deletes every object of a resource below a prefix and says what is left.
    pub(super) async fn empty(
        &self,
        resource: &Arc<Resource>,
        prefix: &str,
    ) -> Result<Option<Left>> {
        let records = self.records(resource, prefix).await?;
        if records.is_empty() {
            return Ok(None);
        }
        let deletes = records.into_iter().map(|record| {
            let (server, resource) = (self.clone(), resource.clone());
            async move { server.delete_record(&resource, &record).await }
        });
        let mut results = futures::stream::iter(deletes)
            .buffer_unordered(AT_ONCE)
            .boxed();
        while let Some(result) = results.next().await {
            result?;
        }
        drop(results);
        let left = self.records(resource, prefix).await?;
        if left.is_empty() {
            return Ok(None);
        }
        let mut finalizers = std::collections::BTreeMap::new();
        for record in &left {
            for finalizer in meta::finalizers(&decoded(record)?) {
                *finalizers.entry(finalizer.to_owned()).or_default() += 1;
            }
        }
        Ok(Some(Left {
            resource: resource.bucket.to_string(),
            count: left.len(),
            finalizers,
        }))
    }

    async fn delete_record(&self, resource: &Arc<Resource>, record: &Record) -> Result<()> {
        let (namespace, name) = resource.names_in_key(&record.key);
        if !namespace.is_empty() && self.goes_with_owner(record, namespace).await? {
            return Ok(());
        }
        let place = Place {
            resource: resource.clone(),
            namespace: namespace.to_owned(),
            name: Some(name.to_owned()),
        };
        match self
            .delete_one(&place, &DeleteOptions::internal(Policy::Background))
            .await
        {
            Ok(_) => Ok(()),
            Err(error) if is_settled(&error) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Whether an object has an owner in its namespace that a finalizer holds: that is taken down by a controller, in an order
    /// that only the controller knows, and with it what it owns (I31b). Owners in a circle have no first one.
    async fn goes_with_owner(&self, record: &Record, namespace: &str) -> Result<bool> {
        let mut queue = owners(record);
        let (own, mut held) = (stored(record).metadata.uid, false);
        let mut seen = BTreeSet::new();
        while let Some(uid) = queue.pop() {
            if uid == own || seen.len() > OWNERS_MOST {
                return Ok(false);
            }
            if !seen.insert(uid.clone()) {
                continue;
            }
            let Some((owner, found)) = self.find_uid(&uid).await? else {
                continue;
            };
            if found.metadata.namespace == namespace {
                let finalizers = decoded(&owner)?;
                let mut finalizers = meta::finalizers(&finalizers).into_iter();
                held |= finalizers.any(|name| !OF_COLLECTOR.contains(&name));
                queue.extend(owners(&owner));
            }
        }
        Ok(held)
    }

    pub(crate) async fn records(&self, resource: &Resource, prefix: &str) -> Result<Vec<Record>> {
        let query = RangeQuery {
            bucket: resource.bucket.clone(),
            prefix: prefix.to_owned(),
            after: None,
            limit: None,
            at: None,
        };
        Ok(self.shared.store.range(query).await?.records)
    }

    pub(super) async fn names_in(&self, resource: &Resource) -> Result<Vec<String>> {
        let records = self.records(resource, "").await?;
        Ok(records
            .iter()
            .map(|record| record.key.name.to_string())
            .collect())
    }
}
