//! What is protected from deletion stays, and so does what would take it along.
//!
//! An object is protected when it says so itself (`landform.dev/protect`), or when the definition of its kind does. A delete
//! is refused before anything is marked: of the object, of what owns it however far above, of its namespace, of the
//! definition of its kind, and of the project that it is part of. So nothing is half-deleted. Protection that is given to
//! an object while a deletion is under way above it holds this object, and with it what waits for its end.
//!
//! Deletes pay a question to the index of uids ([`crate::uids`]), and more only while something is protected.

use std::collections::BTreeSet;

use landform_api::landscaper;
use landform_api::project::{self, ANNOTATION_FILE, LABEL_PROJECT};
use landform_api::protection::{PROTECT, is_protected};
use landform_graph::owners::Uid;
use landform_store::{Key, Record};
use serde_json::Value;

use super::delete::Policy;
use super::{Place, write};
use crate::error::{ApiError, Result};
use crate::object::{Object, meta};
use crate::registry::Resource;
use crate::server::ApiServer;
use crate::uids::stored;

/// Owners above an object are followed up to this number.
const ABOVE_MOST: usize = 1_000;

/// What is protected at the moment of a delete.
struct Protected {
    keys: BTreeSet<Key>,
    /// The definitions among them, by name, which is that of the bucket of their objects.
    kinds: BTreeSet<String>,
}

impl Protected {
    fn has(&self, key: &Key) -> bool {
        self.keys.contains(key) || self.kinds.contains(key.bucket.as_str())
    }
}

impl ApiServer {
    /// Refuses a delete that would take something along that is protected.
    pub(super) async fn check_protection(
        &self,
        place: &Place,
        policy: impl Fn(&Object) -> Policy,
    ) -> Result<()> {
        let keys: BTreeSet<Key> = self.keys_protected().await?.into_iter().collect();
        if keys.is_empty() {
            return Ok(());
        }
        let definitions = self.definitions().bucket.clone();
        let kinds = keys.iter().filter(|key| key.bucket == definitions);
        let kinds = kinds.map(|key| key.name.to_string()).collect();
        let protected = Protected { keys, kinds };
        let key = place.resource.key(&place.namespace, place.name());
        let Some(record) = self.shared.store.get(&key).await? else {
            return Ok(());
        };
        let object = write::decoded(&record)?;
        if meta::is_marked(&object) {
            return Ok(());
        }
        let in_the_way = if protected.has(&key) {
            Some(key)
        } else {
            self.protected_with(place, &object, policy(&object), &protected)
                .await?
        };
        match in_the_way {
            None => Ok(()),
            Some(key) => Err(self.refusal(place, &key, &protected).await?),
        }
    }

    /// The first protected object that would go with another one.
    async fn protected_with(
        &self,
        place: &Place,
        object: &Object,
        policy: Policy,
        protected: &Protected,
    ) -> Result<Option<Key>> {
        let resource = &place.resource;
        if resource.is_namespaces() {
            return self.protected_in(place.name(), protected).await;
        }
        if resource.is_definitions() {
            let of_kind = |key: &Key| key.bucket.as_str() == place.name();
            return self
                .protected_below(protected, &|found, _| of_kind(found))
                .await;
        }
        if resource.group == project::GROUP && resource.plural == "projects" {
            let is_part = |_: &Key, object: &Value| {
                let metadata = &object["metadata"];
                metadata["labels"][LABEL_PROJECT] == place.name()
                    && metadata["annotations"][ANNOTATION_FILE].is_string()
            };
            return self.protected_below(protected, &is_part).await;
        }
        if policy == Policy::Orphan && !takes_down(resource) {
            return Ok(None);
        }
        self.protected_owned(meta::uid(object), policy, protected)
            .await
    }

    async fn protected_in(&self, namespace: &str, protected: &Protected) -> Result<Option<Key>> {
        let prefix = format!("{namespace}/");
        let mut within = protected.keys.iter();
        if let Some(key) = within.find(|key| key.name.starts_with(&prefix)) {
            return Ok(Some(key.clone()));
        }
        let kinds = self.shared.registry.kinds();
        let guarded = kinds.stored().filter(|resource| {
            resource.namespaced && protected.kinds.contains(resource.bucket.as_str())
        });
        for resource in guarded {
            if let Some(record) = self.records(resource, &prefix).await?.into_iter().next() {
                return Ok(Some(record.key));
            }
        }
        Ok(None)
    }

    /// The first protected object of which this is true, or of an owner above it.
    async fn protected_below(
        &self,
        protected: &Protected,
        is_meant: &(dyn Fn(&Key, &Value) -> bool + Sync),
    ) -> Result<Option<Key>> {
        let kinds = self.shared.registry.kinds();
        let guarded = kinds
            .stored()
            .filter(|resource| protected.kinds.contains(resource.bucket.as_str()));
        let mut candidates: Vec<Key> = protected.keys.iter().cloned().collect();
        for resource in guarded {
            let records = self.records(resource, "").await?.into_iter();
            candidates.extend(records.map(|record| record.key));
        }
        for key in candidates {
            let Some(record) = self.shared.store.get(&key).await? else {
                continue;
            };
            if self.is_below(record, is_meant).await? {
                return Ok(Some(key));
            }
        }
        Ok(None)
    }

    async fn is_below(
        &self,
        record: Record,
        is_meant: &(dyn Fn(&Key, &Value) -> bool + Sync),
    ) -> Result<bool> {
        let (mut seen, mut queue) = (BTreeSet::new(), vec![record]);
        while let Some(record) = queue.pop() {
            let object = Value::Object(write::decoded(&record)?);
            if is_meant(&record.key, &object) {
                return Ok(true);
            }
            for owner in stored(&record).metadata.owner_references {
                if seen.len() < ABOVE_MOST
                    && seen.insert(owner.uid.clone())
                    && let Some((found, _)) = self.find_uid(&owner.uid).await?
                {
                    queue.push(found);
                }
            }
        }
        Ok(false)
    }

    /// The first protected object that goes with its owners. With some policies what others own as well stays.
    async fn protected_owned(
        &self,
        uid: &str,
        policy: Policy,
        protected: &Protected,
    ) -> Result<Option<Key>> {
        let mut taken: BTreeSet<String> = BTreeSet::from([uid.to_owned()]);
        let mut queue = vec![Uid::new(uid)];
        while let Some(owner) = queue.pop() {
            for (key, owned) in self.keys_owned(&owner).await? {
                let Some(record) = self.shared.store.get(&key).await? else {
                    continue;
                };
                let metadata = stored(&record).metadata;
                let mut stays = false;
                if policy != Policy::Cascade {
                    // One that is reached by way of its other owners, too, is looked at again then.
                    for other in &metadata.owner_references {
                        stays |= !taken.contains(&other.uid)
                            && self.find_uid(&other.uid).await?.is_some();
                    }
                }
                if stays || !taken.insert(metadata.uid) {
                    continue;
                }
                if protected.has(&key) {
                    return Ok(Some(key));
                }
                queue.push(owned);
            }
        }
        Ok(None)
    }

    /// Says which object is protected, and what ends that.
    async fn refusal(&self, place: &Place, key: &Key, protected: &Protected) -> Result<ApiError> {
        let kinds = self.shared.registry.kinds();
        let resource = kinds
            .stored()
            .find(|resource| resource.bucket == key.bucket);
        let (kind, plural) = resource.map_or(("object", key.bucket.as_str()), |resource| {
            (resource.kind.as_str(), resource.plural.as_str())
        });
        let record = self.shared.store.get(key).await?;
        let object = record.as_ref().map(write::decoded).transpose()?;
        let object = Value::Object(object.unwrap_or_default());
        let metadata = &object["metadata"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (namespace, name) = (text(&metadata["namespace"]), text(&metadata["name"]));
        let own = place.resource.key(&place.namespace, place.name()) == *key;
        let what = match (own, namespace.as_str()) {
            (true, _) => "it".to_owned(),
            (false, "") => format!("the {kind} {name}, which would go with it,"),
            (false, namespace) => {
                format!("the {kind} {name} in {namespace}, which would go with it,")
            }
        };
        let by_kind = !is_protected(metadata) && protected.kinds.contains(key.bucket.as_str());
        let way_out = if by_kind {
            format!(
                "the definition {0} protects all its objects: take {PROTECT} off it (kubectl annotate customresourcedefinition {0} {PROTECT}-)",
                key.bucket.as_str()
            )
        } else {
            let label = is_protected(&serde_json::json!({"labels": metadata["labels"]}));
            let verb = if label { "label" } else { "annotate" };
            let group = resource.map_or("", |resource| resource.group.as_str());
            let dotted = if group.is_empty() {
                String::new()
            } else {
                format!(".{group}")
            };
            let scope = match namespace.as_str() {
                "" => String::new(),
                namespace => format!(" -n {namespace}"),
            };
            let command = format!("kubectl {verb} {plural}{dotted} {name}{scope} {PROTECT}-");
            let project = text(&metadata["labels"][LABEL_PROJECT]);
            match metadata["annotations"][ANNOTATION_FILE].as_str() {
                Some(file) if !project.is_empty() => format!(
                    "take {PROTECT} out of {file} of the project {project}, and the object out of spec.protect of its {}; or, if no file has it any more, run {command}",
                    project::SETTINGS_FILE
                ),
                _ => format!("run {command} first"),
            }
        };
        let why = format!("{what} is protected from deletion; {way_out}");
        let Resource { group, plural, .. } = &*place.resource;
        Ok(ApiError::forbidden(group, plural, place.name(), &why))
    }
}

/// Whether objects of a kind take down what they own whatever the policy: their controllers do.
pub(super) fn takes_down(resource: &Resource) -> bool {
    resource.group == landscaper::GROUP
        && matches!(resource.plural.as_str(), "installations" | "executions")
}
