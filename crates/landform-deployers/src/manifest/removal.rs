//! Takes away objects of this item: one after the other, in the reverse of the order in which they came.

use std::time::Duration;

use kube::core::DynamicObject;
use landform_api::landscaper::ErrorCode;
use landform_api::landscaper::keys::DELETE_WITHOUT_UNINSTALL;
use landform_engine::Right;

use super::circle;
use super::cluster::{Cluster, Deletion, Place};
use super::inventory::Entry;
use super::object::ObjectName;
use super::ownership::{is_marked, is_marked_by_another};
use super::wait::{self, Waited};
use crate::DeployError;

/// An object that others change at the same time is tried this many times.
const ATTEMPTS: usize = 20;

/// Removes what the entries name and waits until it is gone; the last entry goes first.
pub(super) async fn remove_all(
    cluster: &Cluster<'_>,
    entries: &[Entry],
    timeout: Duration,
) -> Result<(), DeployError> {
    for entry in entries.iter().rev().filter(|entry| entry.policy.deletes()) {
        remove(cluster, entry, timeout).await?;
    }
    Ok(())
}

/// Makes sure that the item's writer may delete what the item has only taken over, or what takes others' objects along (C6).
pub(super) async fn may_remove(
    cluster: &Cluster<'_>,
    entries: &[Entry],
) -> Result<(), DeployError> {
    let mut rights = Vec::new();
    for entry in entries.iter().filter(|entry| entry.policy.deletes()) {
        let object = &entry.object;
        let Some(place) = cluster.place(&object.api_version, &object.kind).await? else {
            continue;
        };
        let Some(live) = cluster.get(&place, object).await? else {
            continue;
        };
        if is_to_go(&live, entry, cluster) && !cluster.is_made_here(object, &live) {
            let namespace = object.namespace.as_deref().unwrap_or_default();
            let (group, plural) = (&place.resource.group, &place.resource.plural);
            rights.push(Right::new("delete", group, plural, namespace, &object.name));
        }
    }
    let (namespace, name) = cluster.job.name();
    cluster.job.require(rights).await.map_err(|denied| {
        let message = format!(
            "{}; or let the item go and leave what it deployed: kubectl annotate deployitem {name} -n {namespace} \
             {DELETE_WITHOUT_UNINSTALL}=true",
            denied.message
        );
        // A removal is tried again, so that it goes on when the rights are there.
        DeployError::transient("Delete", &denied.reason, message)
    })
}

async fn remove(
    cluster: &Cluster<'_>,
    entry: &Entry,
    timeout: Duration,
) -> Result<(), DeployError> {
    let object = &entry.object;
    // A kind that isn't served has no objects.
    let Some(place) = cluster.place(&object.api_version, &object.kind).await? else {
        return Ok(());
    };
    // Between the look and the delete another item may take the object over: what is deleted is the very state that
    // was looked at.
    for _ in 0..ATTEMPTS {
        let Some(live) = cluster.get(&place, object).await? else {
            return Ok(());
        };
        if !is_to_go(&live, entry, cluster) {
            return Ok(());
        }
        let uid = live.metadata.uid.clone().unwrap_or_default();
        match cluster.delete(&place, object, &live).await? {
            Deletion::Gone => return Ok(()),
            // It goes when this item has gone.
            Deletion::Marked if circle::waits_for_us(cluster, object, &uid).await? => {
                return Ok(());
            }
            Deletion::Marked => {
                return wait_until_gone(cluster, &place, object, &uid, timeout).await;
            }
            Deletion::Changed => {}
        }
    }
    let message = format!(
        "target {}: {object} was changed by others each of the {ATTEMPTS} times that it was to be deleted",
        cluster.target
    );
    Err(DeployError::transient("Delete", "KeepsChanging", message))
}

/// Whether an object is the one that an entry is about, and no other item has taken it over.
fn is_to_go(live: &DynamicObject, entry: &Entry, cluster: &Cluster<'_>) -> bool {
    let item_uid = cluster.job.uid();
    match &entry.uid {
        Some(uid) => {
            // What an inventory says was perhaps written by others; in Landform itself only the mark proves it.
            let proved = is_marked(live, item_uid) || !cluster.here;
            live.metadata.uid.as_ref() == Some(uid)
                && !is_marked_by_another(live, item_uid)
                && proved
        }
        // It was about to be created when the process ended. Whoever is there now may be somebody else.
        None => is_marked(live, item_uid),
    }
}

/// Waits until no object with this uid is there.
pub(super) async fn wait_until_gone(
    cluster: &Cluster<'_>,
    place: &Place,
    object: &ObjectName,
    uid: &str,
    timeout: Duration,
) -> Result<(), DeployError> {
    let waited = wait::for_object(cluster, place, object, timeout, |live| match live {
        Some(live) if live.metadata.uid.as_deref() == Some(uid) => Err(held_by(live)),
        Some(_) | None => Ok(()),
    });
    match waited.await? {
        Waited::Done(()) => Ok(()),
        Waited::TimedOut(missing) => {
            let message = format!(
                "target {}: {object} is not gone after {} s: {missing}",
                cluster.target,
                timeout.as_secs()
            );
            let code = ErrorCode::Cleanup;
            Err(DeployError::with_code(
                "Delete",
                "DeleteTimeout",
                message,
                code,
            ))
        }
    }
}

fn held_by(live: &DynamicObject) -> String {
    match live.metadata.finalizers.as_deref() {
        None | Some([]) => "it is still being deleted".into(),
        Some(finalizers) => format!("it is held by the finalizers {}", finalizers.join(", ")),
    }
}
