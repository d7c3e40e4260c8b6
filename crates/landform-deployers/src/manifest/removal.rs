//! Takes away objects of this item: one after the other, in the reverse of the order in which they came.

use std::time::Duration;

use kube::core::DynamicObject;
use landform_api::landscaper::ErrorCode;

use super::cluster::{Cluster, Deletion, Place};
use super::inventory::Entry;
use super::object::ObjectName;
use super::ownership::{is_marked, is_marked_by_another};
use super::wait::{self, Waited};
use crate::DeployError;

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
    let live = cluster.get(&place, object).await?;
    let uid = match &entry.uid {
        // Another item has taken it over.
        Some(_)
            if live
                .as_ref()
                .is_some_and(|live| is_marked_by_another(live, cluster.job.uid())) =>
        {
            return Ok(());
        }
        Some(uid) => uid.clone(),
        // It was about to be created when the process ended. Whoever is there now may be somebody else.
        None => match live {
            Some(live) if is_marked(&live, cluster.job.uid()) => {
                live.metadata.uid.unwrap_or_default()
            }
            Some(_) | None => return Ok(()),
        },
    };
    match cluster.delete(&place, object, &uid).await? {
        Deletion::Gone | Deletion::Replaced => Ok(()),
        Deletion::Marked => wait_until_gone(cluster, &place, object, &uid, timeout).await,
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
