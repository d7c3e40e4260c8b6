//! What an item exports: a Secret of its own.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, PostParams, Preconditions};
use kube::core::ObjectMeta;
use landform_api::landscaper::installation::ObjectReference;
use landform_api::landscaper::{API_VERSION, keys, names};
use landform_engine::{Context, Failure};

use crate::{DeployError, Deployed};

use super::observe::Item;

/// The key of the Secret under which exports are.
const KEY: &str = "config";
/// The key under which the names of secret exports are.
const SECRET_KEY: &str = "secret";

/// Where an item exports to.
pub(super) enum Written {
    To(Option<ObjectReference>),
    /// A Secret of that name is there, and isn't the item's own: it is left as it is (C6).
    Foreign(DeployError),
}

/// Writes what an item exports, if it changed, and says where it is.
pub(super) async fn write(
    context: &Context,
    item: &Item,
    deployed: &Deployed,
) -> Result<Written, Failure> {
    if deployed.exports_stay {
        return Ok(Written::To(item.object.status.export_ref.clone()));
    }
    let exports = deployed.exports.as_ref();
    let namespace = item.metadata.namespace.clone().unwrap_or_default();
    let item_name = item.metadata.name.clone().unwrap_or_default();
    let name = names::export_secret(&item_name);
    let api: Api<Secret> = Api::namespaced(context.client(), &namespace);
    let found = match exports.is_some() || item.object.status.export_ref.is_some() {
        true => api.get_opt(&name).await?,
        false => None,
    };
    let uid = item.metadata.uid.as_deref().unwrap_or_default();
    let Some(exports) = exports else {
        if let Some(found) = found.filter(|found| is_owned_by(&found.metadata, uid)) {
            let options = DeleteParams::default().preconditions(Preconditions {
                uid: found.metadata.uid,
                resource_version: found.metadata.resource_version,
            });
            match api.delete(&name, &options).await {
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                other => drop(other?),
            }
        }
        return Ok(Written::To(None));
    };
    let unreadable = |error| Failure::Transient(format!("the exports can't be written: {error}"));
    let text = serde_json::to_vec(exports).map_err(unreadable)?;
    let mut data = BTreeMap::from([(KEY.to_owned(), ByteString(text))]);
    if !deployed.secret_exports.is_empty() {
        let names = serde_json::to_vec(&deployed.secret_exports).map_err(unreadable)?;
        data.insert(SECRET_KEY.to_owned(), ByteString(names));
    }
    let reference = ObjectReference {
        name: name.clone(),
        namespace: namespace.clone(),
    };
    let content = data.iter();
    let hash = names::export_hash(content.map(|(key, bytes)| (key.as_str(), bytes.0.as_slice())));
    let noted = BTreeMap::from([(keys::DATA_HASH.to_owned(), hash)]);
    if let Some(mut found) = found {
        let ours = is_owned_by(&found.metadata, uid);
        if !ours && !is_of_former(&found.metadata, &item_name) {
            return Ok(Written::Foreign(foreign(&name)));
        }
        let is_noted = found.annotations().get(keys::DATA_HASH) == noted.get(keys::DATA_HASH);
        if !ours || !is_noted || found.data.as_ref() != Some(&data) {
            found.annotations_mut().extend(noted);
            found.metadata.owner_references = Some(vec![owner(item)]);
            found.data = Some(data);
            let replaced = api.replace(&name, &PostParams::default(), &found).await;
            replaced.map_err(|error| unwritten(error, &name))?;
        }
        return Ok(Written::To(Some(reference)));
    }
    let secret = Secret {
        metadata: ObjectMeta {
            name: Some(name),
            namespace: Some(namespace),
            annotations: Some(noted),
            owner_references: Some(vec![owner(item)]),
            ..ObjectMeta::default()
        },
        data: Some(data),
        ..Secret::default()
    };
    let created = api.create(&PostParams::default(), &secret).await;
    created.map_err(|error| unwritten(error, &reference.name))?;
    Ok(Written::To(Some(reference)))
}

fn owner(item: &Item) -> OwnerReference {
    OwnerReference {
        api_version: API_VERSION.into(),
        kind: "DeployItem".into(),
        name: item.metadata.name.clone().unwrap_or_default(),
        uid: item.metadata.uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: None,
    }
}

/// Whether a Secret is that of an item which had this name before: that one is gone, and the collector has not taken
/// its Secret yet.
fn is_of_former(secret: &ObjectMeta, item: &str) -> bool {
    let owners = secret.owner_references.as_deref().unwrap_or_default();
    matches!(owners, [owner] if owner.api_version == API_VERSION && owner.kind == "DeployItem" && owner.name == item)
}

fn is_owned_by(object: &ObjectMeta, uid: &str) -> bool {
    let mut owners = object.owner_references.iter().flatten();
    owners.any(|owner| owner.uid == uid && !uid.is_empty())
}

fn unwritten(error: kube::Error, name: &str) -> Failure {
    Failure::of_write(
        error,
        &format!("what the item exports can't be written into the Secret {name}"),
    )
}

fn foreign(name: &str) -> DeployError {
    let message = format!(
        "the Secret {name} isn't this item's, and the item's exports would overwrite it: delete or rename the Secret, or give the \
         item another name; then reconcile"
    );
    DeployError::configuration("ForeignSecret", message)
}
