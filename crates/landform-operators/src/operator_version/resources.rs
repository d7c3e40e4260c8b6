//! The resources that the versions of a family own. Only what one of them owns by uid counts: a resource of
//! somebody else is never looked at twice.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::ResourceExt as _;
use kube::api::ListParams;
use kube::core::{ApiResource, ObjectMeta};
use landform_api::GroupVersionKind;
use landform_decide::operator_version::{OwnedBy, Resource};
use landform_engine::{Context, Failure};

use crate::facts::VersionFacts;
use crate::objects;
use crate::shared::Shared;

/// So many resources are read at once.
const PAGE: u32 = 500;

/// A resource, and where it is.
pub(super) struct Found {
    pub(super) resource: Resource,
    pub(super) place: ApiResource,
    pub(super) metadata: ObjectMeta,
}

/// All that a family owns.
pub(super) async fn read(
    context: &Context,
    shared: &Arc<Shared>,
    me: &VersionFacts,
    others: &[VersionFacts],
) -> Result<Vec<Found>, Failure> {
    let namespace = context.object().namespace().unwrap_or_default();
    let family: Vec<_> = std::iter::once(me).chain(others).collect();
    let kinds: BTreeSet<GroupVersionKind> = family
        .iter()
        .flat_map(|found| found.spec.managed())
        .collect();
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    for kind in kinds {
        // Two versions of one kind are the same objects.
        if !seen.insert((kind.group.clone(), kind.kind.clone())) {
            continue;
        }
        shared.follow(&kind).await?;
        let client = context.client();
        let Some(place) = shared.place(&client, &kind).await? else {
            continue;
        };
        let api = objects::at(&client, &place, &namespace);
        let mut parameters = ListParams::default().limit(PAGE);
        loop {
            let page = match api.list_metadata(&parameters).await {
                Err(kube::Error::Api(status)) if status.code == 404 => break,
                other => other?,
            };
            let token = page.metadata.continue_.filter(|token| !token.is_empty());
            for object in page.items {
                all.extend(found(&family, &kind, &place, object.metadata));
            }
            match token {
                Some(token) => parameters.continue_token = Some(token),
                None => break,
            }
        }
    }
    Ok(all)
}

fn found(
    family: &[&VersionFacts],
    kind: &GroupVersionKind,
    place: &ApiResource,
    metadata: ObjectMeta,
) -> Option<Found> {
    let references = metadata.owner_references.iter().flatten();
    let owners: Vec<_> = references
        .filter_map(|reference| {
            let mut family = family.iter();
            let owner = family.find(|found| found.member.uid == reference.uid)?;
            let managed = owner
                .spec
                .managed()
                .any(|found| found.group == kind.group && found.kind == kind.kind);
            let labels = metadata.labels.as_ref();
            let mut wanted = owner.spec.labels.iter();
            let labelled =
                wanted.all(|(key, value)| labels.and_then(|labels| labels.get(key)) == Some(value));
            Some(OwnedBy {
                uid: reference.uid.clone(),
                controller: reference.controller == Some(true),
                selected: managed && labelled,
            })
        })
        .collect();
    if owners.is_empty() {
        return None;
    }
    let name = metadata.name.as_deref().unwrap_or_default();
    Some(Found {
        resource: Resource {
            title: format!("{} {name}", kind.kind),
            marked: metadata.deletion_timestamp.is_some(),
            owners,
        },
        place: place.clone(),
        metadata,
    })
}
