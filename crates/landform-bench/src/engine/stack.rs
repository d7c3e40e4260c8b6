//! A tree of objects through the whole stack: API, embedded store with fsync, engine, status writes.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind as KubeKind};
use landform_api::GroupVersionKind;
use landform_apiserver::{ApiServer, Config, Identity, LocalService};
use landform_engine::{
    Context, Engine, Failure, Outcome as RunOutcome, Reconciler, Ref, RunResult, TraceEntry,
    TraceEvent,
};
use landform_store::Store as _;
use landform_store::embedded::{EmbeddedStore, Options};
use serde_json::json;
use tokio::sync::mpsc;

use crate::report::{Figure, Goal};
use crate::{AnyError, Outcome};

const GROUP: &str = "bench.landform.dev";
/// Every object has ten below it.
const FAN_OUT: usize = 10;

/// Its status says how many are above it.
struct Depth;

impl Reconciler for Depth {
    fn kind(&self) -> GroupVersionKind {
        GroupVersionKind::new(GROUP, "v1", "Leaf")
    }

    fn reconcile<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<RunOutcome, Failure>> {
        Box::pin(async move {
            let above = context
                .refs()
                .first()
                .and_then(|parent| parent.object.as_ref());
            let above = above.and_then(|parent| parent.data["status"]["depth"].as_u64());
            let generation = context.object().metadata.generation;
            let depth = above.map_or(0, |depth| depth + 1);
            let round = context.object().data["spec"]["round"].as_u64();
            let above = context
                .refs()
                .first()
                .and_then(|parent| parent.object.as_ref());
            let above = above.and_then(|parent| parent.data["status"]["round"].as_u64());
            let status = json!({
                "depth": depth, "round": above.or(round), "observedGeneration": generation,
            });
            context.write_status(&status).await?;
            Ok(RunOutcome::Done)
        })
    }

    fn refs(&self, object: &DynamicObject) -> Vec<Ref> {
        let parent = object.data["spec"]["parent"].as_str();
        let parent = parent.map(|name| Ref {
            kind: self.kind(),
            namespace: object.metadata.namespace.clone(),
            name: name.to_owned(),
        });
        parent.into_iter().collect()
    }

    fn limit(&self) -> usize {
        256
    }
}

/// Runs on threads of its own.
pub(super) fn measure(dir: &Path, quick: bool) -> Outcome<(Vec<Figure>, Vec<String>)> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let objects = if quick { 500 } else { 10_000 };
    runtime.block_on(tree(dir, objects))
}

async fn tree(dir: &Path, objects: usize) -> Outcome<(Vec<Figure>, Vec<String>)> {
    let store = Arc::new(EmbeddedStore::open(&dir.join("store"), Options::default())?);
    let server = ApiServer::start(store.clone(), Config::default()).await?;
    let service = LocalService::new(server.clone(), Identity::internal());
    let client = Client::new(service, "default");
    define(&client).await?;
    let resource = KubeKind::gvk(GROUP, "v1", "Leaf");
    let resource = ApiResource::from_gvk_with_plural(&resource, "leaves");
    let leaves: Api<DynamicObject> = Api::default_namespaced_with(client.clone(), &resource);
    let made = stream::iter(0..objects).map(|at| create(&leaves, at));
    let made: Result<Vec<()>, AnyError> = made.buffer_unordered(256).try_collect().await;
    made?;
    let before = store.revision();
    let (sender, mut entries) = mpsc::unbounded_channel();
    let started = Instant::now();
    let engine = Engine::builder(client)
        .observer(Arc::new(move |entry: &TraceEntry| {
            if let TraceEvent::Finished { result, .. } = &entry.event {
                let _ = sender.send(result.clone());
            }
        }))
        .reconciler(Depth)
        .start()?;
    wait(&mut entries, objects).await?;
    let first = started.elapsed();
    let writes = store.revision().0 - before.0;
    let started = Instant::now();
    let change = Patch::Merge(json!({"spec": {"round": 2}}));
    leaves
        .patch(&name(0), &PatchParams::default(), &change)
        .await?;
    wait(&mut entries, objects).await?;
    let wave = started.elapsed();
    let last = leaves.get(&name(objects - 1)).await?;
    if last.data["status"]["round"] != 2 {
        return Err(format!("the wave did not reach the last object: {}", last.data).into());
    }
    engine.stop(Duration::from_secs(5)).await;
    store.close().await?;
    let figure = |what: String, time: Duration| Figure {
        what,
        unit: "s",
        goal: Goal::AtMost(5.0),
        reached: time.as_secs_f64(),
    };
    let figures = vec![
        figure(
            format!(
                "{objects} objects in a tree, from the engine's start until every status is stored"
            ),
            first,
        ),
        figure(
            format!("a change of its root, until all {objects} have run and stored it"),
            wave,
        ),
    ];
    let notes = vec![format!(
        "Through the stack every status is a durable write: {:.2} writes for each object.",
        writes as f64 / objects as f64
    )];
    Ok((figures, notes))
}

async fn wait(entries: &mut mpsc::UnboundedReceiver<RunResult>, runs: usize) -> Outcome {
    for _ in 0..runs {
        match entries.recv().await {
            Some(RunResult::Succeeded) => {}
            other => return Err(format!("a run went wrong: {other:?}").into()),
        }
    }
    Ok(())
}

fn name(at: usize) -> String {
    format!("leaf-{at:05}")
}

async fn create(leaves: &Api<DynamicObject>, at: usize) -> Outcome {
    let parent = (at > 0).then(|| name((at - 1) / FAN_OUT));
    let leaf = serde_json::from_value(json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "Leaf",
        "metadata": {"name": name(at)},
        "spec": {"parent": parent, "round": 1, "text": "x".repeat(500)},
    }))?;
    leaves.create(&PostParams::default(), &leaf).await?;
    Ok(())
}

async fn define(client: &Client) -> Outcome {
    let kind = KubeKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let definitions: Api<DynamicObject> =
        Api::all_with(client.clone(), &ApiResource::from_gvk(&kind));
    let definition = serde_json::from_value(json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("leaves.{GROUP}")},
        "spec": {
            "group": GROUP, "scope": "Namespaced",
            "names": {"plural": "leaves", "singular": "leaf", "kind": "Leaf", "listKind": "LeafList"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "properties": {
                        "spec": {"type": "object", "properties": {
                            "parent": {"type": "string", "nullable": true},
                            "round": {"type": "integer"},
                            "text": {"type": "string"},
                        }},
                        "status": {"type": "object", "properties": {
                            "depth": {"type": "integer"},
                            "round": {"type": "integer"},
                            "observedGeneration": {"type": "integer"},
                        }},
                    },
                }},
            }],
        },
    }))?;
    definitions
        .create(&PostParams::default(), &definition)
        .await?;
    Ok(())
}
