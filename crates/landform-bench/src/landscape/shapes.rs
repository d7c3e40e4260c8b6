//! The installations of the benchmark, and how they are written.

use std::sync::Arc;

use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, StatusCode};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::expect;
use crate::Outcome;
use crate::client::{Client, take};
use crate::server::Server;

const API_VERSION: &str = "landscaper.gardener.cloud/v1alpha1";
const WRITERS: usize = 64;
const CONNECTIONS: usize = 4;

fn path(namespace: &str, plural: &str) -> String {
    format!("/apis/{API_VERSION}/namespaces/{namespace}/{plural}")
}

fn installation(name: &str, mut spec: Value, blueprint: &str) -> Value {
    spec["blueprint"] = json!({"inline": {"filesystem": {"blueprint.yaml": blueprint}}});
    json!({
        "apiVersion": API_VERSION, "kind": "Installation", "metadata": {"name": name}, "spec": spec,
    })
}

/// An installation with one deploy item.
pub(super) fn single(name: &str) -> Value {
    let blueprint = "\
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Blueprint
deployExecutions:
- name: default
  type: GoTemplate
  template: |
    deployItems:
    - name: item
      type: landscaper.gardener.cloud/mock
      config: {providerStatus: {made: true}}
";
    installation(name, json!({}), blueprint)
}

/// A link of the chain: imports what the one before exports, and exports the same.
pub(crate) fn link(number: usize) -> Value {
    let blueprint = "\
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Blueprint
imports:
- {name: value, type: data, schema: {type: string}}
exports:
- {name: value, type: data, schema: {type: string}}
deployExecutions:
- name: default
  type: GoTemplate
  template: |
    deployItems:
    - name: item
      type: landscaper.gardener.cloud/mock
      config: {export: {value: {{ .imports.value }}}}
exportExecutions:
- name: default
  type: GoTemplate
  template: |
    exports:
      value: {{ .values.deployitems.item.value }}
";
    let spec = json!({
        "imports": {"data": [{"name": "value", "dataRef": format!("c{}", number - 1)}]},
        "exports": {"data": [{"name": "value", "dataRef": format!("c{number}")}]},
    });
    installation(&format!("l{number}"), spec, blueprint)
}

/// Creates objects, many at a time.
pub(crate) async fn create_all(server: &Server, namespace: &str, objects: Vec<Value>) -> Outcome {
    let path: Arc<str> = path(namespace, "installations").into();
    let bodies: Vec<_> = objects.iter().map(Value::to_string).collect();
    each(server, bodies, move |mut client, body| {
        let path = path.clone();
        async move {
            expect(&mut client, Method::POST, &path, body, StatusCode::CREATED).await?;
            Ok(client)
        }
    })
    .await
}

/// Deletes installations, many at a time.
pub(super) async fn delete_all(server: &Server, namespace: &str, names: Vec<String>) -> Outcome {
    let path: Arc<str> = path(namespace, "installations").into();
    each(server, names, move |mut client, name| {
        let path = format!("{path}/{name}?propagationPolicy=Background");
        async move {
            expect(
                &mut client,
                Method::DELETE,
                &path,
                String::new(),
                StatusCode::OK,
            )
            .await?;
            Ok(client)
        }
    })
    .await
}

pub(crate) async fn each<F, T>(server: &Server, work: Vec<String>, make: F) -> Outcome
where
    F: Fn(Client, String) -> T + Clone + Send + 'static,
    T: Future<Output = Outcome<Client>> + Send + 'static,
{
    let clients = server.access.clients(CONNECTIONS).await?;
    let work = Arc::new(work);
    let mut tasks = JoinSet::new();
    for task in 0..WRITERS {
        let mut client = clients[task % clients.len()].clone();
        let (work, make) = (work.clone(), make.clone());
        tasks.spawn(async move {
            for part in work.iter().skip(task).step_by(WRITERS) {
                client = make(client, part.clone()).await?;
            }
            Ok::<_, crate::AnyError>(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(())
}

/// Creates a DataObject.
pub(super) async fn create_data(
    client: &mut Client,
    namespace: &str,
    name: &str,
    data: Value,
) -> Outcome {
    let body = json!({
        "apiVersion": API_VERSION, "kind": "DataObject", "metadata": {"name": name}, "data": data,
    });
    let path = path(namespace, "dataobjects");
    expect(
        client,
        Method::POST,
        &path,
        body.to_string(),
        StatusCode::CREATED,
    )
    .await
}

/// Changes a DataObject.
pub(super) async fn change_data(
    client: &mut Client,
    namespace: &str,
    name: &str,
    data: Value,
) -> Outcome {
    let uri = client.uri(&format!("{}/{name}", path(namespace, "dataobjects")))?;
    let merge = HeaderValue::from_static("application/merge-patch+json");
    let body = json!({"data": data}).to_string();
    let answer = client
        .send(Method::PATCH, uri, &[(CONTENT_TYPE, merge)], body.into())
        .await?;
    take(answer, StatusCode::OK).await.map(drop)
}

/// The newest revision.
pub(super) async fn revision(client: &mut Client) -> Outcome<u64> {
    let uri = client.uri("/api/v1/namespaces?limit=1")?;
    let text = client.text(uri).await?;
    let list: Value = serde_json::from_slice(&text)?;
    let version = list["metadata"]["resourceVersion"].as_str();
    Ok(version.ok_or("no version")?.parse()?)
}
