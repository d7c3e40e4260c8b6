//! What an item exports: a Secret of its own.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{Api, DeleteParams, PostParams};
use kube::core::ObjectMeta;
use landform_api::landscaper::installation::ObjectReference;
use landform_api::landscaper::{API_VERSION, names};
use landform_engine::{Context, Failure};
use serde_json::{Map, Value};

use super::observe::Item;

/// The key of the Secret under which exports are.
const KEY: &str = "config";

/// Writes what an item exports, if it changed, and says where it is.
pub(super) async fn write(
    context: &Context,
    item: &Item,
    exports: Option<Map<String, Value>>,
) -> Result<Option<ObjectReference>, Failure> {
    let namespace = item.metadata.namespace.clone().unwrap_or_default();
    let item_name = item.metadata.name.clone().unwrap_or_default();
    let name = names::export_secret(&item_name);
    let api: Api<Secret> = Api::namespaced(context.client(), &namespace);
    let Some(exports) = exports else {
        if item.object.status.export_ref.is_some() {
            match api.delete(&name, &DeleteParams::default()).await {
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                other => drop(other?),
            }
        }
        return Ok(None);
    };
    let text = serde_json::to_string(&Value::Object(exports))
        .map_err(|error| Failure::Transient(format!("the exports can't be written: {error}")))?;
    let data = BTreeMap::from([(KEY.to_owned(), ByteString(text.into_bytes()))]);
    let reference = ObjectReference {
        name: name.clone(),
        namespace: namespace.clone(),
    };
    if let Some(mut found) = api.get_opt(&name).await? {
        if found.data.as_ref() != Some(&data) {
            found.data = Some(data);
            api.replace(&name, &PostParams::default(), &found).await?;
        }
        return Ok(Some(reference));
    }
    let secret = Secret {
        metadata: ObjectMeta {
            name: Some(name),
            namespace: Some(namespace),
            owner_references: Some(vec![OwnerReference {
                api_version: API_VERSION.into(),
                kind: "DeployItem".into(),
                name: item_name,
                uid: item.metadata.uid.clone().unwrap_or_default(),
                controller: Some(true),
                block_owner_deletion: None,
            }]),
            ..ObjectMeta::default()
        },
        data: Some(data),
        ..Secret::default()
    };
    api.create(&PostParams::default(), &secret).await?;
    Ok(Some(reference))
}
