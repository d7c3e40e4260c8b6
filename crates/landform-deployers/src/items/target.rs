//! Finds the target of an item, with what its Secret holds.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt as _;
use kube::api::Api;
use kube::core::{ApiResource, DynamicObject};
use landform_api::landscaper::{Target, names};
use landform_engine::{Context, Right};
use serde_json::Value;

use super::observe::Item;
use crate::deployer::{DeployError, ResolvedTarget, require};

/// What was found in place of a target.
pub(super) enum Found {
    /// The item names none.
    None,
    /// It names one that doesn't exist.
    Missing(String),
    /// Here it is.
    Target(Box<ResolvedTarget>),
}

impl Found {
    pub(super) fn into_target(self) -> Option<ResolvedTarget> {
        match self {
            Self::None | Self::Missing(_) => None,
            Self::Target(target) => Some(*target),
        }
    }
}

pub(super) async fn resolve(context: &Context, item: &Item) -> Result<Found, DeployError> {
    let Some(reference) = &item.object.spec.target else {
        return Ok(Found::None);
    };
    let referred = context.refs().first();
    // Before the Target is looked at: whether it exists is nothing that a writer without the right may learn.
    let right = referred.and_then(|found| found.right.clone());
    require(context, right).await?;
    let Some(object) = referred.and_then(|found| found.object.as_ref()) else {
        return Ok(Found::Missing(reference.name.clone()));
    };
    let target_namespace = object.namespace().unwrap_or_default();
    let target: Target = serde_json::from_value(object.data.clone()).map_err(|error| {
        let message = format!("the Target {} can't be read: {error}", reference.name);
        DeployError::configuration("InvalidTarget", message)
    })?;
    let mut spec = target.spec;
    if let Some(secret) = &spec.secret_ref {
        let namespace = target_namespace;
        let from = if secret.namespace.is_empty() {
            &namespace
        } else {
            &secret.namespace
        };
        if *from != namespace {
            let message = format!(
                "the Target {} refers to a Secret in the namespace {from}; only its own, {namespace}, is allowed",
                reference.name
            );
            return Err(DeployError::configuration("InvalidTarget", message));
        }
        let value = read_secret(context, object, &secret.name, &secret.key).await?;
        spec.configuration = Some(value);
    }
    Ok(Found::Target(Box::new(ResolvedTarget {
        name: reference.name.clone(),
        spec,
    })))
}

/// Reads a key of a target's Secret as YAML. One in which Landform keeps what was exported as the target takes no right but that to
/// the target (C6). Errors name the Secret and the key, never what is in there.
async fn read_secret(
    context: &Context,
    target: &DynamicObject,
    name: &str,
    key: &str,
) -> Result<Value, DeployError> {
    let namespace = &target.namespace().unwrap_or_default();
    let resource = ApiResource::erase::<Secret>(&());
    let api: Api<DynamicObject> = Api::namespaced_with(context.client(), namespace, &resource);
    let found = api.get_opt(name).await.map_err(|error| {
        let message = format!("the Secret {namespace}/{name} can't be read: {error}");
        DeployError::transient("ReadTarget", "SecretNotRead", message)
    })?;
    let is_kept = |secret: &DynamicObject| {
        let mut owners = target.owner_references().iter();
        owners.any(|owner| names::data_secret(&target.name_any(), &owner.uid) == name)
            && context.is_made_beside(secret, target)
    };
    if !found.as_ref().is_some_and(is_kept) {
        require(context, [Right::new("get", "", "secrets", namespace, name)]).await?;
    }
    let missing = |what: String| DeployError::transient("ReadTarget", "SecretMissing", what);
    let secret = found.ok_or_else(|| {
        missing(format!(
            "the Secret {namespace}/{name} of the target doesn't exist"
        ))
    })?;
    let encoded = secret.data["data"][key].as_str();
    let bytes = encoded.and_then(|text| STANDARD.decode(text).ok());
    let bytes = bytes
        .ok_or_else(|| missing(format!("the Secret {namespace}/{name} has no key {key:?}")))?;
    let unreadable = || {
        let message = format!("the key {key:?} of the Secret {namespace}/{name} isn't YAML");
        DeployError::configuration("InvalidTarget", message)
    };
    let text = String::from_utf8(bytes).map_err(|_| unreadable())?;
    landform_yaml::parse_one(&text, &landform_yaml::Budget::RUN).map_err(|_| unreadable())
}
