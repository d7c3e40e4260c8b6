//! The specs with which installations succeeded, kept so that there is a way back (ADR 0037).
//!
//! `follow` notes them where Landform runs; `rollback.rs` is the command. A revision is a ControllerRevision with the
//! installation's uid as a label. It holds the spec as it is: values of Secrets are in no spec, only references to them.
//! Its name is a sum of the spec, so that noting it again, after a crash for instance, makes no second one.

pub(crate) mod rollback;

use std::collections::{BTreeMap, BTreeSet};

use futures::StreamExt as _;
use http::Method;
use kube::Client;
use kube::api::Api;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::{WatchStreamExt as _, watcher};
use landform_api::keys::ANNOTATION_WRITER;
use landform_api::landscaper::{self, keys, labels, names};
use serde_json::{Value, json};

use crate::AnyError;
use crate::client::{get, in_query, merge, send};

/// On a revision: the uid of its installation.
const LABEL_OF: &str = "landform.dev/revision-of";
/// On a revision: the name of its installation, for people.
const ANNOTATION_NAME: &str = "landform.dev/installation";
/// On a revision: the sum of the blueprint's files, where they are in a directory.
const ANNOTATION_BLUEPRINT: &str = "landform.dev/blueprint-digest";
/// So many revisions of an installation are kept.
const KEPT: usize = 10;

/// A spec with which an installation succeeded.
#[derive(Clone, Debug, PartialEq)]
struct Revision {
    number: i64,
    name: String,
    created: String,
    blueprint: String,
    spec: Value,
}

/// Notes the specs of installations that succeed, until the server ends.
pub(crate) async fn follow(client: Client) {
    let kind = GroupVersionKind::gvk(landscaper::GROUP, landscaper::VERSION, "Installation");
    let resource = ApiResource::from_gvk_with_plural(&kind, "installations");
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let mut events = Box::pin(watcher::watcher(api, watcher::Config::default()).default_backoff());
    // What was noted last, by uid: most events are about something else.
    let mut noted: BTreeMap<String, String> = BTreeMap::new();
    while let Some(event) = events.next().await {
        let done = match event {
            Ok(watcher::Event::InitApply(object) | watcher::Event::Apply(object)) => {
                note(&client, &object, &mut noted).await
            }
            Ok(watcher::Event::Delete(object)) => {
                let uid = object.metadata.uid.unwrap_or_default();
                noted.remove(&uid);
                let namespace = object.metadata.namespace.unwrap_or_default();
                remove(&client, &namespace, &uid, 0).await
            }
            Ok(watcher::Event::InitDone) => remove_orphans(&client, &noted).await,
            Ok(watcher::Event::Init) | Err(_) => Ok(()),
        };
        if let Err(error) = done {
            // It is tried again when the installation changes, and at the next start.
            tracing::warn!(error = %error, "a revision of an installation could not be noted");
        }
    }
}

/// Notes the spec of an installation that has succeeded with it, unless that is done.
async fn note(
    client: &Client,
    object: &DynamicObject,
    noted: &mut BTreeMap<String, String>,
) -> Result<(), AnyError> {
    let metadata = &object.metadata;
    let uid = metadata.uid.clone().unwrap_or_default();
    // Known, so that its revisions stay whatever its phase is.
    let last = noted.entry(uid.clone()).or_default();
    let status = &object.data["status"];
    let succeeded = status["phase"] == "Succeeded"
        && status["observedGeneration"].as_i64() == metadata.generation
        && metadata.deletion_timestamp.is_none();
    // What is nested follows from the spec of the outermost one.
    let nested = metadata
        .labels
        .as_ref()
        .is_some_and(|all| all.contains_key(keys::ENCOMPASSED_BY));
    if !succeeded || nested {
        return Ok(());
    }
    let spec = &object.data["spec"];
    let name = revision_name(&uid, spec);
    if *last == name {
        return Ok(());
    }
    let namespace = metadata.namespace.clone().unwrap_or_default();
    let before = list(client, &namespace, &uid).await?;
    let newest = before.last();
    if newest.is_none_or(|newest| newest.name != name) {
        let number = newest.map_or(0, |newest| newest.number) + 1;
        let digest = status["blueprintDigest"].as_str().unwrap_or_default();
        if before.iter().any(|revision| revision.name == name) {
            // The way back was taken: it is the newest one again.
            let path = format!("{}/{name}", path(&namespace));
            merge(client, &path, &json!({"revision": number})).await?;
        } else {
            let revision = json!({
                "apiVersion": "apps/v1", "kind": "ControllerRevision",
                "metadata": {
                    "name": name, "namespace": namespace, "labels": {LABEL_OF: uid},
                    "annotations": {ANNOTATION_NAME: metadata.name, ANNOTATION_BLUEPRINT: digest},
                },
                "data": {"spec": spec}, "revision": number,
            });
            match send(client, Method::POST, &path(&namespace), &revision).await {
                Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => {}
                sent => drop(sent.map_err(crate::client::plain)?),
            }
        }
        remove(client, &namespace, &uid, KEPT).await?;
    }
    *last = name;
    Ok(())
}

fn revision_name(uid: &str, spec: &Value) -> String {
    names::data_name(Some(uid), &format!("/{spec}"))
}

fn path(namespace: &str) -> String {
    format!("/apis/apps/v1/namespaces/{namespace}/controllerrevisions")
}

/// The revisions of an installation, oldest first. Only Landform's own count: one that has a writer was made by others.
async fn list(client: &Client, namespace: &str, uid: &str) -> Result<Vec<Revision>, AnyError> {
    let selector = in_query(&format!("{LABEL_OF}={}", labels::value(uid)));
    let listed = get(
        client,
        &format!("{}?labelSelector={selector}", path(namespace)),
    )
    .await?;
    let listed = listed.unwrap_or_default();
    let items = listed["items"].as_array().into_iter().flatten();
    let mut found: Vec<Revision> = items.filter_map(revision).collect();
    found.sort_by_key(|revision| revision.number);
    Ok(found)
}

fn revision(object: &Value) -> Option<Revision> {
    let metadata = &object["metadata"];
    if metadata["annotations"][ANNOTATION_WRITER].is_string() {
        return None;
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Some(Revision {
        number: object["revision"].as_i64()?,
        name: text(&metadata["name"]),
        created: text(&metadata["creationTimestamp"]),
        blueprint: text(&metadata["annotations"][ANNOTATION_BLUEPRINT]),
        spec: object["data"]["spec"].clone(),
    })
}

/// Removes all but the newest.
async fn remove(client: &Client, namespace: &str, uid: &str, kept: usize) -> Result<(), AnyError> {
    let all = list(client, namespace, uid).await?;
    let spare = all.len().saturating_sub(kept);
    for revision in all.into_iter().take(spare) {
        delete(client, namespace, &revision.name).await?;
    }
    Ok(())
}

/// Removes the revisions of installations that went while nobody looked.
async fn remove_orphans(client: &Client, there: &BTreeMap<String, String>) -> Result<(), AnyError> {
    let selector = in_query(LABEL_OF);
    let all = get(
        client,
        &format!("/apis/apps/v1/controllerrevisions?labelSelector={selector}"),
    )
    .await?;
    let all = all.unwrap_or_default();
    let mut gone = BTreeSet::new();
    for object in all["items"].as_array().into_iter().flatten() {
        let metadata = &object["metadata"];
        let of = metadata["labels"][LABEL_OF].as_str().unwrap_or_default();
        if !there.contains_key(of) && revision(object).is_some() {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            gone.insert((text(&metadata["namespace"]), text(&metadata["name"])));
        }
    }
    for (namespace, name) in gone {
        delete(client, &namespace, &name).await?;
    }
    Ok(())
}

async fn delete(client: &Client, namespace: &str, name: &str) -> Result<(), AnyError> {
    let path = format!("{}/{name}", path(namespace));
    match send(client, Method::DELETE, &path, &json!({})).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        sent => sent.map(drop).map_err(crate::client::plain),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spec_has_one_name_and_one_that_others_wrote_is_no_revision() {
        let spec = json!({"blueprint": {"path": "a"}});
        assert_eq!(revision_name("u", &spec), revision_name("u", &spec.clone()));
        assert_ne!(revision_name("u", &spec), revision_name("v", &spec));
        let object = json!({"revision": 3, "data": {"spec": spec}, "metadata": {"name": "r"}});
        assert_eq!(revision(&object).unwrap().number, 3);
        let mut forged = object;
        forged["metadata"]["annotations"] = json!({ANNOTATION_WRITER: "{}"});
        assert_eq!(revision(&forged), None);
    }
}
