//! Makes the change that is asked about, as `landform apply` would make it.
//!
//! One function, [`make`], is all that the rest of the crate knows: who has a better way to apply puts it here.

use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::discovery::{self, Scope};
use kube::{Client, Error};
use landform_api::keys::ANNOTATION_RENAMED_FROM;
use landform_api::kind::split_api_version;
use landform_api::project::ANNOTATION_APPLIED;
use landform_engine::hooks::three_way;
use landform_store::memory::MemoryStore;
use landform_store::{Bucket, Compare, Key, Op, Store as _, Txn, TxnOutcome};
use serde_json::{Value, json};

use crate::question::{Named, Question, Rename};

/// Fields that only the server writes.
const OF_SERVER: [&str; 6] = [
    "resourceVersion",
    "uid",
    "generation",
    "creationTimestamp",
    "managedFields",
    "selfLink",
];

/// Why a part of the change can't be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Which object it is about.
    pub object: Named,
    /// What is in the way.
    pub message: String,
}

/// Makes the change on an API whose store is `store`: renames, then objects, then deletions. What is refused
/// is told, and the rest is made.
pub async fn make(client: &Client, store: &MemoryStore, question: &Question) -> Vec<Refused> {
    let mut refused = Vec::new();
    let mut note = |object: &Named, result: Result<(), String>| {
        if let Err(message) = result {
            let object = object.clone();
            refused.push(Refused { object, message });
        }
    };
    for wanted in &question.rename {
        note(&wanted.object, rename(client, store, wanted).await);
    }
    let mut objects: Vec<_> = question.objects.iter().collect();
    objects.sort_by_key(|object| rank(object));
    for manifest in objects {
        match Named::of(manifest) {
            Some(name) => note(&name, apply(client, &name, manifest).await),
            None => {
                let message = "a manifest needs apiVersion, kind and metadata.name".to_owned();
                note(&Named::default(), Err(message));
            }
        }
    }
    for name in &question.delete {
        note(name, delete(client, name).await);
    }
    refused
}

/// What others need comes first.
fn rank(manifest: &Value) -> u8 {
    match manifest["kind"].as_str() {
        Some("Namespace") => 0,
        Some("CustomResourceDefinition") => 1,
        _ => 2,
    }
}

async fn apply(client: &Client, name: &Named, manifest: &Value) -> Result<(), String> {
    let api = api_of(client, name).await?.0;
    let mut wanted = three_way::without_nulls(manifest.clone());
    if let Value::Object(fields) = &mut wanted {
        fields.remove("status");
    }
    if let Value::Object(metadata) = &mut wanted["metadata"] {
        metadata.retain(|field, _| !OF_SERVER.contains(&field.as_str()));
    }
    let shape = three_way::shape(&wanted);
    let live = api.get_opt(&name.name).await.map_err(said)?;
    wanted["metadata"]["annotations"][ANNOTATION_APPLIED] = shape.to_string().into();
    let Some(live) = live else {
        let object = serde_json::from_value(wanted).map_err(|error| error.to_string())?;
        let created = api.create(&PostParams::default(), &object).await;
        return created.map(drop).map_err(said);
    };
    let live = serde_json::to_value(&live).map_err(|error| error.to_string())?;
    let last = live["metadata"]["annotations"][ANNOTATION_APPLIED].as_str();
    let last = last.and_then(|text| serde_json::from_str(text).ok());
    let Some(patch) = three_way::patch(&last.unwrap_or(Value::Null), &wanted, &live) else {
        return Ok(());
    };
    let params = PatchParams::default();
    let patched = api.patch(&name.name, &params, &Patch::Merge(patch)).await;
    patched.map(drop).map_err(said)
}

async fn delete(client: &Client, name: &Named) -> Result<(), String> {
    let api = api_of(client, name).await?.0;
    let deleted = api.delete(&name.name, &DeleteParams::background()).await;
    deleted.map(drop).map_err(said)
}

/// Moves the object in one transaction: it keeps its uid, its status and what it owns.
async fn rename(client: &Client, store: &MemoryStore, wanted: &Rename) -> Result<(), String> {
    let (_, resource, namespaced) = api_of(client, &wanted.object).await?;
    let bucket = match resource.group.as_str() {
        "" => Bucket::new(&resource.plural),
        group => Bucket::new(&format!("{}.{group}", resource.plural)),
    };
    let namespace = namespace_of(&wanted.object);
    let key = |name: &str| match namespaced {
        true => Key::new(&bucket, &format!("{namespace}/{name}")),
        false => Key::new(&bucket, name),
    };
    let found = store.get(&key(&wanted.object.name)).await;
    let found = found.map_err(|error| error.to_string())?;
    let Some(record) = found else {
        return Err(format!("{} doesn't exist", wanted.object.short()));
    };
    let mut object: Value =
        serde_json::from_slice(&record.value).map_err(|error| error.to_string())?;
    object["metadata"]["name"] = json!(wanted.to);
    object["metadata"]["annotations"][ANNOTATION_RENAMED_FROM] = json!(wanted.object.name);
    let mut txn = Txn::one(
        key(&wanted.object.name),
        Compare::ModifiedAt(record.modified),
        Op::Delete,
    );
    let put = Op::Put(object.to_string().into_bytes().into());
    let moved = Txn::one(key(&wanted.to), Compare::Absent, put);
    txn.writes.extend(moved.writes);
    match store.commit(txn).await {
        Ok(TxnOutcome::Committed(_)) => Ok(()),
        Ok(TxnOutcome::Conflict { .. }) => {
            let kind = &wanted.object.kind;
            Err(format!("{kind}/{} exists: choose another name", wanted.to))
        }
        Err(error) => Err(error.to_string()),
    }
}

fn namespace_of(name: &Named) -> &str {
    match name.namespace.as_str() {
        "" => "default",
        namespace => namespace,
    }
}

async fn api_of(
    client: &Client,
    name: &Named,
) -> Result<(Api<DynamicObject>, ApiResource, bool), String> {
    let (group, version) = split_api_version(&name.api_version)
        .ok_or_else(|| format!("{:?} is no apiVersion", name.api_version))?;
    let kind = GroupVersionKind::gvk(group, version, &name.kind);
    let found = discovery::pinned_kind(client, &kind).await;
    let (resource, abilities) = found.map_err(|_| {
        let Named {
            kind, api_version, ..
        } = name;
        format!(
            "the API doesn't know the kind {kind} of {api_version}: install its definition first"
        )
    })?;
    let namespaced = matches!(abilities.scope, Scope::Namespaced);
    let api = if namespaced {
        Api::namespaced_with(client.clone(), namespace_of(name), &resource)
    } else {
        Api::all_with(client.clone(), &resource)
    };
    Ok((api, resource, namespaced))
}

/// What the API says.
fn said(error: Error) -> String {
    match error {
        Error::Api(status) => status.message,
        other => other.to_string(),
    }
}
