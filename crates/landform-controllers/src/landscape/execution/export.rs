//! Collects what all items of an execution export into one DataObject (E8).

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Secret;
use kube::api::Api;
use landform_api::landscaper::installation::ObjectReference;
use landform_api::landscaper::{Operation, keys, labels, names};
use landform_engine::{Context, Failure};
use serde_json::{Map, Value, json};

use super::act::parse_export;
use super::observe::World;
use crate::landscape::content;
use crate::landscape::objects::{is_owned_by, owner};

/// The key of an export Secret.
const KEY: &str = "config";

/// Writes the exports of all items, if they changed, and says where they are.
pub(super) async fn collect(
    context: &Context,
    world: &World,
) -> Result<Option<ObjectReference>, Failure> {
    let objects = &world.objects;
    let mut all = Map::new();
    for (name, (object, item)) in &world.items {
        let Some(reference) = &item.status.export_ref else {
            continue;
        };
        // Labels and owner references can be moved to another's item (C6): such an item's exports take the right to read them.
        let client = if context.is_part(object) != Some(false) {
            objects.client()
        } else {
            context.acting()?
        };
        let secrets: Api<Secret> = Api::namespaced(client, objects.namespace());
        let Some(secret) = secrets.get_opt(&reference.name).await? else {
            // Its deployer writes it again.
            let again = Operation::Reconcile.as_str();
            let ask = [(keys::OPERATION, again)];
            objects.annotate("DeployItem", object, &ask).await?;
            return Err(Failure::Refused(format!(
                "the export Secret {} of the item {name} doesn't exist; its deployer was asked to run again",
                reference.name
            )));
        };
        // Who writes the status isn't noted, and so has no rights here: only the item's own Secret is read (C6).
        if !is_owned_by(&secret.metadata, object.metadata.uid.as_deref()) {
            return Err(Failure::Refused(format!(
                "the item {name} exports the Secret {}, which isn't its own: its deployer must write a Secret that the item owns",
                reference.name
            )));
        }
        let data = secret.data.unwrap_or_default();
        let value = data.get(KEY).and_then(|bytes| parse_export(&bytes.0));
        let Some(value) = value else {
            let what = format!(
                "the export Secret {} of the item {name} has no JSON or YAML under {KEY:?}",
                reference.name
            );
            return Err(Failure::Transient(what));
        };
        all.insert(name.clone(), value);
    }
    let own = world.metadata.name.as_deref().unwrap_or_default();
    let context = names::execution_context(own);
    let name = names::data_name(Some(&context), "");
    let uid = world.metadata.uid.as_deref();
    if let Some(former) = &world.execution.status.export_ref
        && former.name != name
        && let Some(found) = objects.get("DataObject", &former.name).await?
        && is_owned_by(&found.metadata, uid)
    {
        objects.delete("DataObject", &found.metadata).await?;
    }
    let found = objects.get("DataObject", &name).await?;
    if all.is_empty() {
        if let Some(found) = found {
            objects.delete("DataObject", &found.metadata).await?;
        }
        return Ok(None);
    }
    let data = Value::Object(all);
    let hash = content::hash(&data);
    match found {
        Some(found) => {
            let mut wanted = found.clone();
            wanted.data["data"] = data;
            let annotations = wanted.metadata.annotations.get_or_insert_default();
            annotations.insert(keys::DATA_HASH.to_owned(), hash);
            if !is_owned_by(&found.metadata, uid) {
                // An execution that had this name before left it.
                let owners = serde_json::from_value(owner("Execution", &world.metadata));
                wanted.metadata.owner_references = owners.ok();
            }
            objects.write("DataObject", &found, &wanted).await?;
        }
        None => {
            let (mut labels, mut annotations) = (BTreeMap::new(), BTreeMap::new());
            for key in [keys::DATA_CONTEXT, keys::DATA_SOURCE] {
                labels::put(&mut labels, &mut annotations, key, &context);
            }
            labels.insert(keys::DATA_SOURCE_TYPE.to_owned(), "export".to_owned());
            annotations.insert(keys::DATA_HASH.to_owned(), hash);
            let metadata = json!({
                "name": name, "labels": labels, "annotations": annotations,
                "ownerReferences": owner("Execution", &world.metadata),
            });
            objects
                .create("DataObject", metadata, json!({"data": data}))
                .await?;
        }
    }
    Ok(Some(ObjectReference {
        name,
        namespace: objects.namespace().to_owned(),
    }))
}
