//! Removes the finalizer of a Reconciler that goes, from everything that is stored (R8).
//!
//! Ended is what was seen to be free of it: a pass that has found something is followed by another one. So neither
//! a kind that stops being served in the middle nor a write at the same time leaves something behind.

use kube::api::{Api, ListParams, Patch, PatchParams};
use kube::core::{ApiResource, DynamicObject};
use kube::{Client, ResourceExt as _};
use landform_api::GroupKind;

use super::kinds;
use super::reconciler::without_finalizer;
use super::status::Holds;
use crate::context::api_of;
use crate::custom_kinds::{CustomKind, CustomKinds};
use crate::reconciler::Failure;

/// So many objects are read at once.
const PAGE: u32 = 500;
/// After so many passes the run fails, and is made again later.
const PASSES: usize = 10;

/// Removes a finalizer from all objects of a kind. Says what has it still because the kind isn't served.
pub(super) async fn let_go(
    client: &Client,
    kind: &GroupKind,
    finalizer: &str,
) -> Result<Option<Holds>, Failure> {
    for _ in 0..PASSES {
        if let Some(resource) = kinds::any_version(client, kind).await? {
            if !pass(client, &resource, finalizer).await? {
                return Ok(None);
            }
            continue;
        }
        let custom = CustomKinds::read(client).await?;
        match custom.get(kind) {
            None => return Ok(None),
            Some(found) if !found.served => return Ok(holds(found, finalizer)),
            // It is served again, since just now.
            Some(_) => {}
        }
    }
    Err(Failure::Transient(format!(
        "objects of the kind {} get the finalizer {finalizer} again and again",
        kind.kind
    )))
}

/// What of a kind that isn't served has a finalizer.
fn holds(kind: &CustomKind, finalizer: &str) -> Option<Holds> {
    let has = |held: &Vec<String>| held.iter().any(|held| held == finalizer);
    let metadata = kind.unserved.iter().map(|object| &object.metadata);
    let mut held = metadata.filter(|metadata| metadata.finalizers.as_ref().is_some_and(has));
    let first = held.next()?;
    let name = first.name.clone().unwrap_or_default();
    Some(Holds {
        kind: kind.kind.clone(),
        definition: kind.definition(),
        count: 1 + held.count(),
        first: match &first.namespace {
            Some(namespace) => format!("{namespace}/{name}"),
            None => name,
        },
    })
}

/// Removes a finalizer from all objects that are listed, and says whether one had it.
async fn pass(client: &Client, resource: &ApiResource, finalizer: &str) -> Result<bool, Failure> {
    let all: Api<DynamicObject> = Api::all_with(client.clone(), resource);
    let mut params = ListParams::default().limit(PAGE);
    let mut found = false;
    loop {
        let list = all.list(&params).await?;
        let next = list
            .metadata
            .continue_
            .clone()
            .filter(|token| !token.is_empty());
        let held = list.items.iter();
        let held = held.filter(|object| object.finalizers().iter().any(|held| held == finalizer));
        for object in held {
            found = true;
            let namespace = object.metadata.namespace.as_deref();
            let api = api_of(client.clone(), resource, namespace);
            let patch = Patch::Merge(without_finalizer(object, finalizer));
            let params = PatchParams::default();
            match api.patch(&object.name_any(), &params, &patch).await {
                // It is gone, or its kind is not served any more: the next pass sees which.
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                other => other.map(drop)?,
            }
        }
        match next {
            Some(token) => params = params.continue_token(&token),
            None => return Ok(found),
        }
    }
}
