//! Makes the change that is asked about, with the same functions as `landform apply` and projects.
//!
//! One function, [`make`], is all that the rest of the crate knows.

use std::collections::BTreeMap;

use kube::Client;
use landform_api::GroupVersionKind;
use landform_api::kind::split_api_version;
use landform_api::project::ANNOTATION_APPLIED;
use landform_project::apply::{self, Kinds, Marks, Served};
use landform_project::{ObjectId, rename_steps};
use serde_json::Value;

use crate::question::{Named, Question, Rename};

/// Why a part of the change can't be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Which object it is about.
    pub object: Named,
    /// What is in the way.
    pub message: String,
}

impl Refused {
    /// The blueprints that were sent can't be used: what the server has counts.
    pub(crate) fn of_blueprints(message: &str) -> Self {
        Self {
            object: Named {
                api_version: "landform.dev/v1alpha1".to_owned(),
                kind: "Project".to_owned(),
                ..Named::default()
            },
            message: format!("changes of its blueprints can't be planned: {message}"),
        }
    }
}

/// Makes the change: renames, then objects, then deletions. What is refused is told, and the rest is made.
pub async fn make(client: &Client, question: &Question) -> Vec<Refused> {
    let kinds = Kinds::default();
    let mut refused = Vec::new();
    let mut note = |object: &Named, result: Result<(), String>| {
        if let Err(message) = result {
            let object = object.clone();
            refused.push(Refused { object, message });
        }
    };
    for (object, result) in rename_all(client, &kinds, &question.rename).await {
        note(&object, result);
    }
    let mut objects: Vec<_> = question.objects.iter().collect();
    objects.sort_by_key(|object| rank(object));
    for manifest in objects {
        match Named::of(manifest) {
            Some(name) => note(&name, apply(client, &kinds, &name, manifest).await),
            None => {
                let message = "a manifest needs apiVersion, kind and metadata.name".to_owned();
                note(&Named::default(), Err(message));
            }
        }
    }
    for name in &question.delete {
        note(name, delete(client, &kinds, name).await);
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

async fn apply(
    client: &Client,
    kinds: &Kinds,
    name: &Named,
    manifest: &Value,
) -> Result<(), String> {
    let (served, id) = place(client, kinds, name).await?;
    let is_prepared = manifest["metadata"]["annotations"][ANNOTATION_APPLIED].is_string();
    let wanted = if is_prepared {
        manifest.clone()
    } else {
        let live = apply::read(client, &served, &id).await;
        let live = live.map_err(|error| error.to_string())?.unwrap_or_default();
        apply::prepare(manifest, id.namespace.as_deref(), &Marks::of(&live))
    };
    let brought = apply::bring(client, &served, &id, &wanted, false, &|_| false).await;
    brought.map_err(|error| error.to_string())?;
    if name.kind == "CustomResourceDefinition" {
        let established = apply::established(client, &name.name).await;
        established.map_err(|error| error.to_string())?;
    }
    Ok(())
}

async fn delete(client: &Client, kinds: &Kinds, name: &Named) -> Result<(), String> {
    let (served, id) = place(client, kinds, name).await?;
    let live = apply::read(client, &served, &id).await;
    let live = live.map_err(|error| error.to_string())?;
    let Some(live) = live else {
        return Err(format!("{} doesn't exist", name.short()));
    };
    let uid = live["metadata"]["uid"].as_str().unwrap_or_default();
    let deleted = apply::delete(client, &served, &id, uid).await;
    deleted.map_err(|error| error.to_string())
}

/// Renames objects as a project does: in chains and swaps, what is in the way goes first.
async fn rename_all(
    client: &Client,
    kinds: &Kinds,
    wanted: &[Rename],
) -> Vec<(Named, Result<(), String>)> {
    let mut results = Vec::new();
    let mut places = BTreeMap::new();
    let mut renames = BTreeMap::new();
    for Rename { object, to } in wanted {
        match place(client, kinds, object).await {
            Ok((served, from)) => {
                let to = ObjectId {
                    name: to.clone(),
                    ..from.clone()
                };
                let kind = (from.group.clone(), from.kind.clone());
                places.insert(kind, (served, object.clone()));
                renames.insert(from, to);
            }
            Err(message) => results.push((object.clone(), Err(message))),
        }
    }
    for part in rename_steps(&renames) {
        for (from, to) in part {
            let kind = (from.group.clone(), from.kind.clone());
            let Some((served, object)) = places.get(&kind) else {
                continue;
            };
            if let Err(error) = apply::rename(client, served, &from, &to, None).await {
                let object = Named {
                    namespace: from.namespace.clone().unwrap_or_default(),
                    name: from.name.clone(),
                    ..object.clone()
                };
                results.push((object, Err(error.to_string())));
                break;
            }
        }
    }
    results
}

/// Where an object is.
async fn place(client: &Client, kinds: &Kinds, name: &Named) -> Result<(Served, ObjectId), String> {
    let (group, version) = split_api_version(&name.api_version)
        .ok_or_else(|| format!("{:?} is no apiVersion", name.api_version))?;
    let kind = GroupVersionKind::new(group, version, &name.kind);
    let found = kinds.find(client, [kind.clone()]).await;
    let found = found.map_err(|error| error.to_string())?.remove(&kind);
    let served = found.ok_or_else(|| {
        let Named {
            kind, api_version, ..
        } = name;
        format!(
            "the API doesn't know the kind {kind} of {api_version}: install its definition first"
        )
    })?;
    let namespace = match name.namespace.as_str() {
        "" => "default",
        namespace => namespace,
    };
    let id = ObjectId {
        group: kind.group,
        kind: kind.kind,
        namespace: served.namespaced.then(|| namespace.to_owned()),
        name: name.name.clone(),
    };
    Ok((served, id))
}
