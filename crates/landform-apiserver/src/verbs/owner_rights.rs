//! Who may make an object depend on a cluster-scoped owner.
//!
//! A dependent with a finalizer holds its owner's deletion up. Within a namespace that is the namespace's own affair; for
//! a cluster-scoped owner it is everybody's. So a reference to one may be added only by somebody who may update the
//! owner, or its `finalizers`: the rights that Kubernetes asks for when a reference blocks the owner's deletion.

use std::collections::HashSet;

use super::Place;
use crate::error::{ApiError, Result};
use crate::identity::Identity;
use crate::object::{Object, meta};
use crate::rbac::{Action, Ask};
use crate::server::ApiServer;
use crate::uids::Reference;

impl ApiServer {
    /// 403 for an owner reference that its writer has no right to add. `limited` is none for those who may do everything.
    pub(super) async fn refuse_foreign_owner(
        &self,
        place: &Place,
        limited: Option<&Identity>,
        object: &Object,
        old: Option<&Object>,
    ) -> Result<()> {
        let (Some(who), true) = (limited, place.resource.namespaced) else {
            return Ok(());
        };
        if meta::metadata(object).get("ownerReferences").is_none() {
            return Ok(());
        }
        let before = old.map(meta::owner_references).unwrap_or_default();
        let added = meta::owner_references(object);
        let before: HashSet<&str> = before.iter().map(|owner| owner.uid.as_str()).collect();
        let is_new = |owner: &&Reference| !before.contains(owner.uid.as_str());
        for owner in added.iter().filter(is_new) {
            self.refuse_owner(place, who, object, owner).await?;
        }
        Ok(())
    }

    async fn refuse_owner(
        &self,
        place: &Place,
        who: &Identity,
        object: &Object,
        owner: &Reference,
    ) -> Result<()> {
        // By its uid, as the collector finds it: whatever else the reference says may be wrong.
        let Some((record, stored)) = self.find_uid(&owner.uid).await? else {
            return Ok(());
        };
        let kinds = self.shared.registry.kinds();
        let mut resources = kinds.stored();
        let resource = resources.find(|resource| resource.bucket == record.key.bucket);
        let Some(resource) = resource.filter(|resource| !resource.namespaced) else {
            return Ok(());
        };
        let (group, name) = (&resource.group, &stored.metadata.name);
        let mut may = false;
        for subresource in ["", "finalizers"] {
            let ask = Ask::Action(Action {
                verb: "update",
                group,
                resource: &resource.plural,
                subresource,
                namespace: "",
                name: name.into(),
            });
            may |= self.reason_to_allow(who, &ask).await?.is_some();
        }
        if may {
            return Ok(());
        }
        let why = format!(
            "an owner reference to the cluster-scoped {} \"{}\" can hold up its deletion: User \"{}\" needs the right to update resource \"{plural}\" or \"{plural}/finalizers\" in API group \"{group}\"",
            resource.kind,
            name,
            who.user,
            plural = resource.plural,
        );
        Err(ApiError::forbidden(
            &place.resource.group,
            &place.resource.plural,
            meta::name(object),
            &why,
        ))
    }
}
