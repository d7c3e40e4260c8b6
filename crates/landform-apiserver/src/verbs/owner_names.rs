//! References to owners have the names that their owners have now (R15).
//!
//! A uid says which object owns another one, its name is for readers. A rename changes the name in all references that there
//! are; a client that read the owner before sends the former name. So each write that brings references looks its owners up,
//! by name where that is right and by uid otherwise, and holds only while no owner gets another name: a rename either sees the
//! reference, or the write sees the rename. What isn't there is stored as it was sent.

use std::collections::BTreeMap;

use landform_store::{Compare, Key};
use serde_json::Value;

use super::Place;
use crate::error::Result;
use crate::object::{Object, meta};
use crate::server::ApiServer;
use crate::uids::{Reference, Stored, stored};

impl ApiServer {
    /// Puts the present names of owners into an object's references, unless those are as they were; returns what
    /// must hold when it is stored.
    pub(super) async fn name_owners(
        &self,
        place: &Place,
        object: &mut Object,
        old: Option<&Object>,
    ) -> Result<Vec<(Key, Compare)>> {
        let sent = meta::metadata(object).get("ownerReferences");
        let before = old.and_then(|old| meta::metadata(old).get("ownerReferences"));
        if sent.is_none() || sent == before {
            return Ok(Vec::new());
        }
        let own_key = place.resource.key(&place.namespace, meta::name(object));
        let mut guards: BTreeMap<Key, Compare> = BTreeMap::new();
        for (at, reference) in meta::owner_references(object).iter().enumerate() {
            let Some((key, compare, owner)) = self.find_owner(place, reference).await? else {
                continue;
            };
            if owner.metadata.name != reference.name {
                set_name(object, at, &owner.metadata.name);
            }
            // A write may compare each key once; what owns itself came from elsewhere (G11).
            if key != own_key {
                guards.entry(key).or_insert(compare);
            }
        }
        Ok(guards.into_iter().collect())
    }

    /// The owner that a reference means, where it is, and what holds as long as it is there.
    async fn find_owner(
        &self,
        place: &Place,
        reference: &Reference,
    ) -> Result<Option<(Key, Compare, Stored)>> {
        let is_meant = |found: &Stored| {
            let metadata = &found.metadata;
            metadata.uid == reference.uid
                && found.kind == reference.kind
                && (metadata.namespace.is_empty() || metadata.namespace == place.namespace)
        };
        let mut found = None;
        if let Some(key) = self.named_key(place, reference) {
            let record = self.shared.store.get(&key).await?;
            found = record.map(|record| (stored(&record), record));
        }
        if !found.as_ref().is_some_and(|(owner, _)| is_meant(owner)) {
            let by_uid = self.find_uid(&reference.uid).await?;
            found = by_uid.map(|(record, owner)| (owner, record));
        }
        Ok(found
            .filter(|(owner, _)| is_meant(owner))
            .map(|(owner, record)| (record.key, Compare::CreatedAt(record.created), owner)))
    }

    /// Where a reference says that its owner is, if its kind is served.
    fn named_key(&self, place: &Place, reference: &Reference) -> Option<Key> {
        let (group, version) = match reference.api_version.split_once('/') {
            Some((group, version)) => (group, version),
            None => ("", reference.api_version.as_str()),
        };
        let kinds = self.shared.registry.kinds();
        let mut resources = kinds.resources(group, version)?.iter();
        let resource = resources.find(|resource| resource.kind == reference.kind)?;
        Some(resource.key(&place.namespace, &reference.name))
    }
}

fn set_name(object: &mut Object, at: usize, name: &str) {
    let references = meta::metadata_mut(object).get_mut("ownerReferences");
    if let Some(reference) = references.and_then(|references| references.get_mut(at)) {
        reference["name"] = Value::from(name);
    }
}
