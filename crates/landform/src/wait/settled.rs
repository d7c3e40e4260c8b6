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

/// Has the projects read their files that may write an object, and waits until they have, and until nothing is open that
/// the object's state depends on. Servers without an engine are believed as they are.
pub(super) async fn settle(client: &Client, place: &Place, found: Option<&Value>) {
    for name in projects(client, place, found).await {
        let view = format!("{}/{}/-/{name}", project::GROUP, project::KIND);
        if is_asked(client, &view).await {
            until_idle(client, &view).await;
        }
    }
    let view = place.view_path();
    // What a project has just written may not have reached the engine: a run of its own reads it.
    if found.is_some_and(|found| label(found).is_some()) {
        is_asked(client, &view).await;
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

async fn is_asked(client: &Client, view: &str) -> bool {
    let path = format!("{VIEW}/reconcile/{view}");
    send(client, Method::POST, &path, &json!({})).await.is_ok()
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
