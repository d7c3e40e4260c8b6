//! Whether what an object says is about the present: its project has read the files, and the engine has nothing open
//! that may move it.

use std::time::Duration;

use http::Method;
use kube::Client;
use landform_api::project;
use serde_json::{Value, json};

use crate::client::object::Place;
use crate::client::{get, send};

const VIEW: &str = "/apis/landform.dev/v1alpha1/engine";
const PROJECTS: &str = "/apis/landform.dev/v1alpha1/projects";
/// The engine is asked again after this time.
const PAUSE: Duration = Duration::from_millis(50);
/// A run that was asked for begins within this time, unless others are in the way: the engine says so then.
const BEGINS: Duration = Duration::from_secs(5);

/// Has the projects read their files that may write an object, and waits until they have, and until nothing is open that
/// the object's state depends on. Servers without an engine are believed as they are.
pub(super) async fn settle(client: &Client, place: &Place, found: Option<&Value>) {
    for name in projects(client, place, found).await {
        let view = format!("{}/{}/-/{name}", project::GROUP, project::KIND);
        run(client, &view).await;
        // What was being saved while it read is read by the next one.
        run(client, &view).await;
    }
    let view = place.view_path();
    // What a project has just written may not have reached the engine: a run of its own reads it.
    if found.is_some_and(|found| label(found).is_some()) {
        run(client, &view).await;
    }
    until_idle(client, &view).await;
}

/// The project of an object; those of the server when it isn't there, since its file may be new.
async fn projects(client: &Client, place: &Place, found: Option<&Value>) -> Vec<String> {
    if place.kind.group == project::GROUP && place.kind.kind == project::KIND {
        return vec![place.name.clone()];
    }
    if let Some(found) = found {
        return label(found).into_iter().collect();
    }
    let listed = get(client, PROJECTS).await.ok().flatten();
    let listed = listed.unwrap_or_default();
    let all = listed["items"].as_array().into_iter().flatten();
    all.filter_map(|found| found["metadata"]["name"].as_str().map(str::to_owned))
        .collect()
}

fn label(object: &Value) -> Option<String> {
    let label = &object["metadata"]["labels"][project::LABEL_PROJECT];
    label.as_str().map(str::to_owned)
}

/// Asks for a run of an object, and waits until one that began afterwards has ended.
async fn run(client: &Client, view: &str) {
    let before = starts(client, view).await;
    let path = format!("{VIEW}/reconcile/{view}");
    if send(client, Method::POST, &path, &json!({})).await.is_err() {
        return;
    }
    // One that is in a circle never begins.
    let begun = async {
        while starts(client, view).await == before {
            tokio::time::sleep(PAUSE).await;
        }
    };
    let _ = tokio::time::timeout(BEGINS, begun).await;
    until_idle(client, view).await;
}

/// When an object's latest runs began.
async fn starts(client: &Client, view: &str) -> Vec<Value> {
    let path = format!("{VIEW}/trace/{view}?limit=50");
    let trace = get(client, &path).await.ok().flatten();
    let trace = trace.unwrap_or_default();
    let entries = trace["items"].as_array().into_iter().flatten();
    let begun = entries.filter(|entry| entry["event"] == "Started");
    begun.map(|entry| entry["time"].clone()).collect()
}

/// Waits while an object runs, or it or something that it refers to must run.
async fn until_idle(client: &Client, view: &str) {
    let path = format!("{VIEW}/objects/{view}");
    while let Ok(Some(object)) = get(client, &path).await {
        let state = object["state"].as_str().unwrap_or_default();
        if !matches!(state, "Pending" | "Running" | "Cancelling") {
            return;
        }
        tokio::time::sleep(PAUSE).await;
    }
}
