//! What a planner may bring into a plan beside objects.
//!
//! Objects are written in the planner's name, so that the API and rule C6 see to their rights. Blueprints are files: whoever changes
//! those of an installation sees what it imports, with the rights of the installation's writer.

use std::collections::BTreeSet;
use std::path::Path;

use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::api::{Api, ListParams, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Client, ResourceExt};
use landform_api::landscaper;
use landform_controllers::landscape::plain;

/// Whether the planner may `get` the Secrets of all namespaces whose installations use blueprints below a path of the server.
///
/// # Errors
/// What is missing.
pub(crate) async fn to_blueprints(
    all: &Client,
    planner: &Client,
    below: &str,
) -> Result<(), String> {
    for namespace in namespaces(all, below)
        .await
        .map_err(|error| error.to_string())?
    {
        let allowed = may_read_secrets(planner, &namespace).await;
        if !allowed.map_err(|error| error.to_string())? {
            return Err(format!(
                "installations in the namespace {namespace} use them, and blueprints see what these import: this takes the right to get \
                 secrets there"
            ));
        }
    }
    Ok(())
}

/// Where installations with blueprints below a path are.
async fn namespaces(all: &Client, below: &str) -> Result<BTreeSet<String>, kube::Error> {
    let kind = landscaper::kind("Installation");
    let kind = GroupVersionKind::gvk(&kind.group, &kind.version, &kind.kind);
    let resource = ApiResource::from_gvk_with_plural(&kind, "installations");
    let api: Api<DynamicObject> = Api::all_with(all.clone(), &resource);
    let found = api.list(&ListParams::default()).await?;
    let uses = |installation: &&DynamicObject| {
        let path = installation.data["spec"]["blueprint"]["path"].as_str();
        path.is_some_and(|path| Path::new(&plain(Path::new(path))).starts_with(below))
    };
    let found = found.items.iter().filter(uses);
    Ok(found.filter_map(ResourceExt::namespace).collect())
}

async fn may_read_secrets(planner: &Client, namespace: &str) -> Result<bool, kube::Error> {
    let api: Api<SelfSubjectAccessReview> = Api::all(planner.clone());
    let review = SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(ResourceAttributes {
                namespace: Some(namespace.to_owned()),
                resource: Some("secrets".to_owned()),
                verb: Some("get".to_owned()),
                ..ResourceAttributes::default()
            }),
            ..SelfSubjectAccessReviewSpec::default()
        },
        ..SelfSubjectAccessReview::default()
    };
    let answer = api.create(&PostParams::default(), &review).await?;
    Ok(answer.status.is_some_and(|status| status.allowed))
}
