//! Secrets in which Landform keeps what may not stand in the objects of a landscape: values with secret parts,
//! configurations of deploy items, the state of templates (`docs/adr/0031`).
//!
//! Each content has a key of its own, a number, and what refers to it names the key. So a reference changes when
//! the content does and only then, and tells nothing about it. The Secret is written before what refers to it; after a crash
//! the same content is found under the same key again.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, PostParams, Preconditions};
use kube::core::{ApiResource, DynamicObject};
use landform_api::landscaper::installation::KeyReference;
use landform_api::landscaper::names;
use landform_engine::{Context, Failure, Right};
use serde::Deserialize as _;
use serde_json::{Value, json};

use super::content;
use super::objects::{Objects, is_owned_by, owning_uid};

/// The type of these Secrets, which tells people what they are.
const TYPE: &str = "landform.dev/kept";
/// A key that moves when the Secret is to be noted as the work of another writer, and its content is the same.
const WRITTEN: &str = "written";

/// Where the Secrets of a namespace are.
pub(super) fn secrets(objects: &Objects) -> Api<DynamicObject> {
    let resource = ApiResource::erase::<k8s_openapi::api::core::v1::Secret>(&());
    Api::namespaced_with(objects.client(), objects.namespace(), &resource)
}

/// What is kept for the object of a run, or for one that belongs to it.
pub(super) struct Keeper<'a> {
    pub(super) context: &'a Context,
    pub(super) objects: &'a Objects,
    /// The owner references of the Secret.
    pub(super) owners: Value,
}

/// One content.
pub(super) struct Content<'a> {
    /// The Secret's name.
    pub(super) name: String,
    pub(super) value: &'a Value,
    /// Keys that are still referred to, and that stay.
    pub(super) used: BTreeSet<String>,
    /// Whether what refers to it is written anew in any case, so that both must be the work of the same writer.
    pub(super) written_anew: bool,
}

impl Keeper<'_> {
    /// Keeps a content and says where it is.
    pub(super) async fn keep(&self, content: Content<'_>) -> Result<KeyReference, Failure> {
        let Content {
            name,
            value,
            used,
            written_anew,
        } = content;
        let secrets = secrets(self.objects);
        let bytes = STANDARD.encode(value.to_string());
        let found = secrets.get_opt(&name).await?;
        if let Some(found) = found.as_ref().filter(|found| !self.is_ours(found)) {
            return Err(Failure::Refused(format!(
                "the Secret {}, which would keep secret values, exists and was not made for that: delete it",
                found.name_any()
            )));
        }
        let before = found.as_ref().map(data).unwrap_or_default();
        let newest = before
            .keys()
            .filter_map(|key| key.parse::<u64>().ok())
            .max();
        let named = used.iter().filter_map(|key| key.parse::<u64>().ok()).max();
        let same = newest.filter(|key| before.get(&key.to_string()) == Some(&bytes));
        let key = same.unwrap_or_else(|| newest.max(named).unwrap_or(0).saturating_add(1));
        let reference = KeyReference {
            name: name.clone(),
            key: key.to_string(),
            ..KeyReference::default()
        };
        let stays = |found: &DynamicObject| {
            same.is_some() && (!written_anew || self.context.is_of_same_writer(found))
        };
        if found.as_ref().is_some_and(stays) {
            return Ok(reference);
        }
        let mut data: BTreeMap<String, String> = before
            .iter()
            .filter(|(key, _)| used.contains(*key))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        data.insert(reference.key.clone(), bytes);
        let unwritten = |error| {
            let what = format!("secret values can't be kept in the Secret {name}");
            Failure::of_write(error, &what)
        };
        match found {
            Some(mut found) => {
                if same.is_some() {
                    let moved = before.get(WRITTEN).map_or("", String::as_str);
                    let turn = if moved.is_empty() { "1" } else { "" };
                    data.insert(WRITTEN.to_owned(), STANDARD.encode(turn));
                }
                found.data["data"] = json!(data);
                let parameters = PostParams::default();
                let written = secrets.replace(&name, &parameters, &found).await;
                written.map_err(unwritten)?;
            }
            None => {
                let secret = json!({
                    "apiVersion": "v1", "kind": "Secret", "type": TYPE, "data": data,
                    "metadata": {"name": name, "ownerReferences": self.owners},
                });
                let secret: DynamicObject = serde_json::from_value(secret).map_err(|error| {
                    Failure::Invalid(format!("a Secret can't be made: {error}"))
                })?;
                let objects = Objects::new(self.context.making_parts(), self.objects.namespace());
                let created = self::secrets(&objects)
                    .create(&PostParams::default(), &secret)
                    .await;
                created.map_err(unwritten)?;
            }
        }
        Ok(reference)
    }

    fn is_ours(&self, secret: &DynamicObject) -> bool {
        let own = self.context.object().metadata.uid.as_deref();
        self.context
            .is_part(secret)
            .unwrap_or_else(|| is_owned_by(&secret.metadata, own))
    }

    /// Reads what was kept; none when it is gone, or isn't Landform's.
    pub(super) async fn read(&self, reference: &KeyReference) -> Result<Option<Value>, Failure> {
        let found = secrets(self.objects).get_opt(&reference.name).await?;
        let found = found.filter(|found| self.is_ours(found));
        Ok(found.and_then(|found| value_of(&found, &reference.key)))
    }

    /// Deletes a Secret that was made for the run's object. One that is gone, or another's, is no error.
    pub(super) async fn forget(&self, name: &str) -> Result<(), Failure> {
        let secrets = secrets(self.objects);
        let found = secrets.get_opt(name).await?;
        let Some(found) = found.filter(|found| self.is_ours(found)) else {
            return Ok(());
        };
        let parameters = DeleteParams {
            preconditions: Some(Preconditions {
                uid: found.metadata.uid,
                resource_version: None,
            }),
            ..DeleteParams::background()
        };
        match secrets.delete(name, &parameters).await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            other => other.map(drop).map_err(|error| {
                Failure::of_write(error, &format!("the Secret {name} can't be deleted"))
            }),
        }
    }
}

/// The Secret that a DataObject or a Target names.
pub(super) fn reference_of(kind: &str, object: &DynamicObject) -> Option<KeyReference> {
    let reference = match kind {
        "Target" => &object.data["spec"]["secretRef"],
        _ => &object.data["secretRef"],
    };
    KeyReference::deserialize(reference).ok()
}

/// The whole of a value that has secret parts.
pub(super) enum Whole {
    /// Nothing in it is secret.
    Plain,
    Value(Value),
    /// Why it can't be used.
    Unusable(String),
}

/// Reads what a DataObject or a Target keeps in a Secret. For a Secret that Landform didn't make for it, the one who wrote the
/// object must have the right to read it (C6); a Target's is then left to deployers.
pub(super) async fn whole(
    context: &Context,
    objects: &Objects,
    kind: &str,
    object: &DynamicObject,
) -> Result<Whole, Failure> {
    let Some(reference) = reference_of(kind, object) else {
        return Ok(Whole::Plain);
    };
    let (own, name) = (object.name_any(), &reference.name);
    let namespace = objects.namespace();
    if !reference.namespace.is_empty() && reference.namespace != namespace {
        return Ok(match kind {
            "Target" => Whole::Plain,
            _ => Whole::Unusable(format!(
                "its secretRef names a Secret in the namespace {}; only its own, {namespace}, is allowed",
                reference.namespace
            )),
        });
    }
    let owner = owning_uid(&object.metadata);
    let is_named = owner.is_some_and(|uid| *name == names::data_secret(&own, uid));
    if kind == "Target" && !is_named {
        return Ok(Whole::Plain);
    }
    let found = secrets(objects).get_opt(name).await?;
    let is_made = |secret: &DynamicObject| context.is_made_beside(secret, object);
    let is_kept = is_named && found.as_ref().is_some_and(is_made);
    if kind == "Target" && !is_kept {
        return Ok(Whole::Plain);
    }
    if !is_kept {
        let actor = match context.actor_of(object).await {
            Err(Failure::Invalid(message)) => return Ok(Whole::Unusable(message)),
            actor => actor?,
        };
        let right = Right::new("get", "", "secrets", namespace, name);
        if let Some(denied) = context.missing_of(&actor, [right]).await? {
            return Ok(Whole::Unusable(format!(
                "its secretRef names the Secret {name}: {denied}"
            )));
        }
    }
    let value = found.and_then(|found| value_of(&found, &reference.key));
    Ok(match value {
        Some(value) => Whole::Value(value),
        None => Whole::Unusable(format!(
            "its secretRef names the key {:?} of the Secret {name}, which doesn't exist: reconcile what exports it",
            reference.key
        )),
    })
}

fn data(secret: &DynamicObject) -> BTreeMap<String, String> {
    BTreeMap::deserialize(&secret.data["data"]).unwrap_or_default()
}

/// What is under a key, as JSON or YAML.
pub(super) fn value_of(secret: &DynamicObject, key: &str) -> Option<Value> {
    if key.is_empty() {
        return content::of_key(secret, key);
    }
    let bytes = STANDARD.decode(data(secret).get(key)?).ok()?;
    let budget = landform_yaml::Budget::OBJECT;
    let decoded = landform_api::budget::decode(&bytes, &budget).ok();
    decoded.or_else(|| content::of_key(secret, key))
}

/// The generation of a value that is imported from a Secret: it moves with the value, and tells nothing about it to those who may
/// not read Secrets, because they don't know the Secret's uid.
pub(super) fn generation(secret: &DynamicObject, value: &Value) -> String {
    content::hash(&json!([secret.uid(), value]))
}
