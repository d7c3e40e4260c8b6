//! Collects what all items of an execution export into one DataObject (E8).

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt as _;
use kube::api::Api;
use landform_api::landscaper::installation::ObjectReference;
use landform_api::landscaper::{Operation, keys, labels, names};
use landform_blueprint::{MASK, mask_known, secrets_of};
use landform_engine::{Context, Failure};
use serde_json::{Map, Value, json};

use super::act::parse_export;
use super::observe::World;
use crate::landscape::content;
use crate::landscape::facts::{self, GivenKind};
use crate::landscape::kept::{self, Keeper};
use crate::landscape::objects::{is_owned_by, owner};

/// The key of an export Secret.
const KEY: &str = "config";
/// The key of an export Secret under which a deployer lists the names of exports that are secret.
const SECRET_KEY: &str = "secret";

/// Writes the exports of all items, if they changed, and says where they are.
pub(super) async fn collect(
    run: &Context,
    world: &World,
) -> Result<Option<ObjectReference>, Failure> {
    let objects = &world.objects;
    let own = world.metadata.name.as_deref().unwrap_or_default();
    let context = names::execution_context(own);
    let name = names::data_name(Some(&context), "");
    let uid = world.metadata.uid.as_deref();
    let keeper = Keeper {
        context: run,
        objects,
        owners: owner("Execution", &world.metadata),
    };
    let secret = |object: &str| names::data_secret(object, uid.unwrap_or_default());
    let found = objects.get("DataObject", &name).await?;
    let before = found
        .as_ref()
        .and_then(|found| kept::reference_of("DataObject", found));
    let before = before.filter(|before| before.name == secret(&name));
    let former = match &before {
        Some(before) => keeper.read(before).await?,
        None => None,
    };
    let former = former.zip(found.as_ref().map(|found| &found.data["data"]));
    let (mut all, mut all_shown) = (Map::new(), Map::new());
    for (name, (object, item)) in &world.items {
        let Some(reference) = &item.status.export_ref else {
            continue;
        };
        // Labels and owner references can be moved to another's item (C6): such an item's exports take the right to read them.
        let client = if run.is_part(object) != Some(false) {
            objects.client()
        } else {
            run.acting()?
        };
        let secrets: Api<Secret> = Api::namespaced(client, objects.namespace());
        let found = secrets.get_opt(&reference.name).await?;
        let secret = match found {
            Some(secret) if !is_edited(&secret) => secret,
            found => {
                // Its deployer writes it again.
                let again = Operation::Reconcile.as_str();
                let ask = [(keys::OPERATION, again)];
                objects.annotate("DeployItem", object, &ask).await?;
                let what = found.map_or("doesn't exist", |_| "was edited by others");
                return Err(Failure::Refused(format!(
                    "the export Secret {} of the item {name} {what}; its deployer was asked to run again",
                    reference.name
                )));
            }
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
        let declared = data.get(SECRET_KEY).map(|bytes| parse_export(&bytes.0));
        let former = former
            .as_ref()
            .map(|(whole, shown)| (&whole[name], &shown[name]));
        let shown = shown(world, name, &value, declared, former).await?;
        all_shown.insert(name.clone(), shown);
        all.insert(name.clone(), value);
    }
    if let Some(former) = &world.execution.status.export_ref
        && former.name != name
        && let Some(found) = objects.get("DataObject", &former.name).await?
        && is_owned_by(&found.metadata, uid)
    {
        objects.delete("DataObject", &found.metadata).await?;
        keeper.forget(&secret(&former.name)).await?;
    }
    if all.is_empty() {
        if let Some(found) = found {
            objects.delete("DataObject", &found.metadata).await?;
        }
        if before.is_some() {
            keeper.forget(&secret(&name)).await?;
        }
        return Ok(None);
    }
    let (value, shown) = (Value::Object(all), Value::Object(all_shown));
    let mut data = json!({"data": shown});
    let is_secret = value != shown;
    if is_secret {
        let content = kept::Content {
            name: secret(&name),
            value: &value,
            used: before.iter().map(|before| before.key.clone()).collect(),
            written_anew: false,
        };
        data["secretRef"] = json!(keeper.keep(content).await?);
    }
    let hash = content::hash(&facts::noted(GivenKind::Data, &data));
    match found {
        Some(found) => {
            let mut wanted = found.clone();
            wanted.data["data"] = data["data"].clone();
            match (data.get("secretRef"), wanted.data.as_object_mut()) {
                (Some(reference), _) => wanted.data["secretRef"] = reference.clone(),
                (None, Some(fields)) => drop(fields.remove("secretRef")),
                (None, None) => {}
            }
            let annotations = wanted.metadata.annotations.get_or_insert_default();
            annotations.insert(keys::DATA_HASH.to_owned(), hash);
            if !is_owned_by(&found.metadata, uid) {
                // An execution that had this name before left it.
                let owners = serde_json::from_value(owner("Execution", &world.metadata));
                wanted.metadata.owner_references = owners.ok();
            }
            objects.write_own(run, "DataObject", &found, wanted).await?;
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
                .create_noted(run, "DataObject", metadata, data)
                .await?;
        }
    }
    if !is_secret && before.is_some() {
        keeper.forget(&secret(&name)).await?;
    }
    Ok(Some(ObjectReference {
        name,
        namespace: objects.namespace().to_owned(),
    }))
}

/// Whether others have changed what a deployer exported. Deployers that aren't Landform's may note no hash: theirs are believed.
fn is_edited(secret: &Secret) -> bool {
    let noted = secret.annotations().get(keys::DATA_HASH);
    let content = secret.data.iter().flatten();
    let content = content.map(|(key, bytes)| (key.as_str(), bytes.0.as_slice()));
    noted.is_some_and(|noted| *noted != names::export_hash(content))
}

/// What may be shown of an item's exports. A value is secret if its deployer or its blueprint says so, or if it contains a
/// secret of the item's configuration.
async fn shown(
    world: &World,
    item: &str,
    exports: &Value,
    declared: Option<Option<Value>>,
    former: Option<(&Value, &Value)>,
) -> Result<Value, Failure> {
    let all_secret = Value::from(MASK);
    let spec = &world.execution.spec;
    if spec.secret_exports {
        return Ok(all_secret);
    }
    let mut templates = spec.deploy_items.iter();
    let template = templates.find(|template| template.name == item);
    let reference = template.and_then(|template| template.config_from.as_ref());
    let mut shown = exports.clone();
    if let Some((template, reference)) = template.zip(reference) {
        let whole = kept::secrets(&world.objects)
            .get_opt(&reference.name)
            .await?;
        let whole = whole.and_then(|secret| kept::value_of(&secret, &reference.key));
        let Some(whole) = whole else {
            return Ok(all_secret);
        };
        let mut secrets = Vec::new();
        secrets_of(
            &whole,
            template.config.as_ref().unwrap_or(&Value::Null),
            &mut secrets,
        );
        // It may export what it was given before.
        if let Some((whole, shown)) = former {
            secrets_of(whole, shown, &mut secrets);
        }
        shown = mask_known(exports, &secrets);
    }
    match declared {
        None => {}
        Some(Some(Value::Array(names))) => {
            for name in names.iter().filter_map(Value::as_str) {
                if let Some(value) = shown.get_mut(name) {
                    *value = all_secret.clone();
                }
            }
        }
        // Whatever it means, something is secret.
        Some(_) => return Ok(all_secret),
    }
    Ok(shown)
}
