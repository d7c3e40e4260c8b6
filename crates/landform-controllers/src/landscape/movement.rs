//! What of an object makes others look at it again, as numbers that move.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use kube::ResourceExt as _;
use kube::core::DynamicObject;
use landform_api::keys::ANNOTATION_SERVICE_ACCOUNT;
use landform_api::landscaper::keys;

use super::belonging;
use super::facts::{is_unclaimed, is_unclaimed_item};
use super::objects::labelled;

/// Moves when parents, children or siblings should look at an installation or an execution again.
pub(super) fn movement(object: &DynamicObject) -> u64 {
    let mut hasher = DefaultHasher::new();
    let status = &object.data["status"];
    status["phase"].as_str().hash(&mut hasher);
    status["observedGeneration"].as_i64().hash(&mut hasher);
    status["blueprintDigest"].as_str().hash(&mut hasher);
    status["endedBlueprint"].as_str().hash(&mut hasher);
    if status["phase"] == "PendingDependencies" {
        // A parent has to know whether it waits for it, or for something that doesn't exist.
        let waiting = status["waitingOn"].as_array().into_iter().flatten();
        for object in waiting.map(|waiting| &waiting["object"]) {
            object["kind"].as_str().hash(&mut hasher);
            object["name"].as_str().hash(&mut hasher);
        }
    }
    // What is exported, and where: after a rename of the parent that alone moves.
    status["configGeneration"].as_str().hash(&mut hasher);
    for exported in status["exportedObjects"].as_array().into_iter().flatten() {
        exported["kind"].as_str().hash(&mut hasher);
        exported["name"].as_str().hash(&mut hasher);
    }
    let unclaimed = is_unclaimed(object) || is_unclaimed_item(object);
    unclaimed.hash(&mut hasher);
    object.metadata.generation.hash(&mut hasher);
    object
        .metadata
        .deletion_timestamp
        .is_some()
        .hash(&mut hasher);
    if object.metadata.deletion_timestamp.is_some() {
        let held = object
            .finalizers()
            .iter()
            .any(|name| name == keys::FINALIZER);
        held.hash(&mut hasher);
        status["forceBegun"].as_bool().hash(&mut hasher);
        if status["phase"] == "Failed" {
            // A removal that is tried again by itself stays Failed, and those above repeat its error.
            status["lastError"]["message"].as_str().hash(&mut hasher);
        }
    }
    let annotations = object.annotations();
    for key in [
        keys::OPERATION,
        keys::RECONCILE_TIME,
        keys::DELETE_WITHOUT_UNINSTALL,
        keys::DEPENDS_ON,
    ] {
        annotations.get(key).hash(&mut hasher);
    }
    // Whose it says that it is, which others may change (I5b).
    for key in [keys::MANAGED_BY, keys::ITEM_NAME, keys::ENCOMPASSED_BY] {
        labelled(object, key).hash(&mut hasher);
    }
    for owner in object.owner_references() {
        owner.uid.hash(&mut hasher);
    }
    hasher.finish()
}

/// Moves with the spec and with what annotations ask for.
pub(super) fn content(object: &DynamicObject) -> u64 {
    let mut hasher = DefaultHasher::new();
    object.metadata.uid.hash(&mut hasher);
    object.metadata.generation.hash(&mut hasher);
    let annotations = object.annotations();
    for key in [
        keys::OPERATION,
        keys::IGNORE,
        keys::DELETE_WITHOUT_UNINSTALL,
        ANNOTATION_SERVICE_ACCOUNT,
    ] {
        annotations.get(key).hash(&mut hasher);
    }
    belonging::says_whose_it_is(object).hash(&mut hasher);
    hasher.finish()
}
