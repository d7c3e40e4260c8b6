//! The configuration of an item: what its spec says, or what is in the Secret that it names.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::core::v1::Secret;
use kube::api::Api;
use kube::core::{ApiResource, DynamicObject};
use landform_api::landscaper::DeployItemSpec;
use landform_engine::{Context, Right};
use serde_json::Value;

use super::observe::Item;
use crate::deployer::{DeployError, require};

/// The item's spec with all of its configuration, if that is in a Secret.
///
/// The Secret that Landform wrote together with the item is of the same writer. For any other one the item's actor needs the
/// right to read it, and only writers of the item may have written it: its content acts with the item's rights (C6).
pub(super) async fn resolve(
    context: &Context,
    item: &Item,
) -> Result<Option<DeployItemSpec>, DeployError> {
    let Some(reference) = &item.object.spec.config_from else {
        return Ok(None);
    };
    let namespace = item.metadata.namespace.clone().unwrap_or_default();
    let name = &reference.name;
    if !reference.namespace.is_empty() && reference.namespace != namespace {
        let message = format!(
            "spec.configFrom names a Secret in the namespace {}; only the item's own, {namespace}, is allowed",
            reference.namespace
        );
        return Err(DeployError::configuration("InvalidConfiguration", message));
    }
    let resource = ApiResource::erase::<Secret>(&());
    let secrets: Api<DynamicObject> = Api::namespaced_with(context.client(), &namespace, &resource);
    let found = secrets.get_opt(name).await.map_err(|error| {
        let message =
            format!("the Secret {namespace}/{name} of spec.configFrom can't be read: {error}");
        DeployError::transient("ReadConfiguration", "SecretNotRead", message)
    })?;
    let is_own = |secret: &DynamicObject| context.is_of_same_writer(secret);
    if !found.as_ref().is_some_and(is_own) {
        require(
            context,
            [Right::new("get", "", "secrets", &namespace, name)],
        )
        .await?;
    }
    let Some(found) = found else {
        return Err(missing(&namespace, name, &reference.key));
    };
    let others = context.other_writers(&found);
    if !others.is_empty() {
        let message = format!(
            "the Secret {namespace}/{name} of spec.configFrom was written by {}, who did not write the item, so it isn't used: delete the \
             Secret and reconcile the installation, which writes it again",
            others.join(" and ")
        );
        return Err(DeployError::configuration("ForeignSecret", message));
    }
    let encoded = found.data["data"][&reference.key].as_str();
    let bytes = encoded.and_then(|text| STANDARD.decode(text).ok());
    let bytes = bytes.ok_or_else(|| missing(&namespace, name, &reference.key))?;
    let config: Value =
        landform_api::budget::decode(&bytes, &landform_yaml::Budget::RUN).map_err(|_| {
            let message = format!(
                "the key {:?} of the Secret {namespace}/{name} isn't JSON",
                reference.key
            );
            DeployError::configuration("InvalidConfiguration", message)
        })?;
    Ok(Some(DeployItemSpec {
        config: Some(config),
        ..item.object.spec.clone()
    }))
}

fn missing(namespace: &str, name: &str, key: &str) -> DeployError {
    let message = format!(
        "the item's configuration is under the key {key:?} of the Secret {namespace}/{name}, which doesn't exist: reconcile the \
         installation, which writes it again"
    );
    // It is written before the item is: nothing brings it back by itself.
    DeployError::configuration("SecretMissing", message)
}
