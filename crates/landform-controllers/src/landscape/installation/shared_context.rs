//! The Context called `default`: it exists in each namespace that has installations, as in Landscaper, so that
//! deployers find settings under the name that an installation without `spec.context` stands for.

use kube::ResourceExt as _;
use landform_api::landscaper::names::DEFAULT_CONTEXT;
use landform_engine::{Context, Failure};
use serde_json::json;

use crate::landscape::index::Index;
use crate::landscape::objects::Objects;

/// Makes the Context if it isn't there. A namespace that is full or going has none, and needs none: nothing of an
/// installation waits for it.
pub(super) async fn ensure(context: &Context, index: &Index) -> Result<(), Failure> {
    let object = context.object();
    let namespace = object.namespace().unwrap_or_default();
    let going = object.metadata.deletion_timestamp.is_some();
    if going || index.has_context(&namespace, DEFAULT_CONTEXT) {
        return Ok(());
    }
    let objects = Objects::new(context.client(), &namespace);
    let metadata = json!({"name": DEFAULT_CONTEXT});
    match objects.create("Context", metadata, json!({})).await {
        Ok(_) => Ok(()),
        Err(Failure::Refused(reason) | Failure::Invalid(reason)) => {
            tracing::warn!(%namespace, %reason, "the default Context could not be made");
            Ok(())
        }
        Err(failure) => Err(failure),
    }
}
