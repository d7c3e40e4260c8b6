//! Reads and writes of the kinds that operators consist of.

use kube::Client;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind as KubeKind, ObjectMeta};
use landform_api::{GroupVersionKind, catalog, landscaper};
use landform_engine::{Context, Failure};
use serde_json::{Value, json};

use crate::facts::DefinitionFacts;

/// The kind of definitions.
pub(crate) fn definition_kind() -> GroupVersionKind {
    GroupVersionKind::new("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
}

/// The API of one of the kinds that are known when this is compiled.
pub(crate) fn api(client: &Client, kind: &GroupVersionKind, namespace: &str) -> Api<DynamicObject> {
    let plural = format!("{}s", kind.kind.to_lowercase());
    let name = KubeKind::gvk(&kind.group, &kind.version, &kind.kind);
    let resource = ApiResource::from_gvk_with_plural(&name, &plural);
    at(client, &resource, namespace)
}

/// The API of a resource, in a namespace or of the cluster.
pub(crate) fn at(client: &Client, resource: &ApiResource, namespace: &str) -> Api<DynamicObject> {
    if namespace.is_empty() {
        Api::all_with(client.clone(), resource)
    } else {
        Api::namespaced_with(client.clone(), namespace, resource)
    }
}

pub(crate) fn executions(client: &Client, namespace: &str) -> Api<DynamicObject> {
    api(client, &landscaper::kind("Execution"), namespace)
}

pub(crate) fn versions(client: &Client, namespace: &str) -> Api<DynamicObject> {
    api(client, &catalog::kind("OperatorVersion"), namespace)
}

/// The operator versions of a package in a namespace, as they are now.
pub(crate) async fn family_objects(
    client: &Client,
    namespace: &str,
    package: &str,
) -> Result<Vec<DynamicObject>, Failure> {
    let listed = versions(client, namespace)
        .list(&ListParams::default())
        .await?;
    let of_package = listed
        .items
        .into_iter()
        .filter(|found| found.data["spec"]["package"] == package);
    Ok(of_package.collect())
}

/// A definition as it is now.
pub(crate) async fn definition(
    client: &Client,
    name: &str,
) -> Result<Option<DefinitionFacts>, Failure> {
    let found = definitions(client).get_opt(name).await?;
    Ok(found.as_ref().map(DefinitionFacts::of))
}

pub(crate) fn app_types(client: &Client, namespace: &str) -> Api<DynamicObject> {
    api(client, &catalog::kind("AppType"), namespace)
}

pub(crate) fn definitions(client: &Client) -> Api<DynamicObject> {
    api(client, &definition_kind(), "")
}

/// Creates an object for the one of a run, which passes its service account on. `None` when another one has its name.
pub(crate) async fn create_for(
    context: &Context,
    api: &Api<DynamicObject>,
    object: Value,
) -> Result<Option<DynamicObject>, Failure> {
    let mut object = read(object)?;
    context.inherit(&mut object.metadata);
    create_read(api, &object).await
}

/// Creates an object. `None` when another one has its name.
pub(crate) async fn create(
    api: &Api<DynamicObject>,
    object: Value,
) -> Result<Option<DynamicObject>, Failure> {
    create_read(api, &read(object)?).await
}

fn read(object: Value) -> Result<DynamicObject, Failure> {
    serde_json::from_value(object)
        .map_err(|error| Failure::Invalid(format!("an object can't be made: {error}")))
}

async fn create_read(
    api: &Api<DynamicObject>,
    object: &DynamicObject,
) -> Result<Option<DynamicObject>, Failure> {
    match api.create(&PostParams::default(), object).await {
        Ok(created) => Ok(Some(created)),
        Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => Ok(None),
        Err(kube::Error::Api(status)) if status.code == 422 => {
            Err(Failure::Invalid(status.message.clone()))
        }
        Err(error) => Err(error.into()),
    }
}

/// Deletes the very object that was read; one that is gone is no error.
pub(crate) async fn delete(api: &Api<DynamicObject>, read: &ObjectMeta) -> Result<(), Failure> {
    let parameters = DeleteParams {
        preconditions: Some(Preconditions {
            uid: read.uid.clone(),
            resource_version: None,
        }),
        ..DeleteParams::background()
    };
    let name = read.name.as_deref().unwrap_or_default();
    match api.delete(name, &parameters).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        other => other.map(drop).map_err(Into::into),
    }
}

/// Changes metadata of the very state that was read. `null` takes a field away.
pub(crate) async fn patch_metadata(
    api: &Api<DynamicObject>,
    read: &ObjectMeta,
    mut change: Value,
) -> Result<(), Failure> {
    change["resourceVersion"] = json!(read.resource_version);
    let patch = Patch::Merge(json!({"metadata": change}));
    let name = read.name.as_deref().unwrap_or_default();
    match api.patch(name, &PatchParams::default(), &patch).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        other => other.map(drop).map_err(Into::into),
    }
}

/// An owner reference to an object of the catalog's kinds.
pub(crate) fn owner(kind: &str, name: &str, uid: &str, controller: bool) -> Value {
    json!({
        "apiVersion": catalog::API_VERSION, "kind": kind, "name": name, "uid": uid,
        "controller": controller, "blockOwnerDeletion": true,
    })
}

/// Whether an object is owned by the one with this uid.
pub(crate) fn is_owned_by(object: &ObjectMeta, uid: &str) -> bool {
    let mut owners = object.owner_references.iter().flatten();
    owners.any(|owner| owner.uid == uid)
}

/// Adds or removes the finalizer of operators.
pub(crate) async fn hold(context: &landform_engine::Context, hold: bool) -> Result<(), Failure> {
    const KEY: &str = catalog::keys::FINALIZER;
    let edited = context.edit_metadata(|metadata| {
        let finalizers = metadata.finalizers.get_or_insert_default();
        finalizers.retain(|name| name != KEY);
        if hold {
            finalizers.push(KEY.to_owned());
        }
    });
    edited.await.map(drop)
}
