//! An engine that follows Reconcilers, and what a test does with it.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind as KubeKind};
use landform_engine::{Engine, RunResult, TraceEntry, TraceEvent, hooks};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::harness::{GROUP, World};

/// Everything that should happen happens well within this time.
pub(crate) async fn soon<F: Future>(what: F) -> F::Output {
    let output = tokio::time::timeout(Duration::from_secs(50), what).await;
    output.unwrap_or_else(|_| panic!("it never came"))
}

pub(crate) struct Stage {
    pub(crate) world: World,
    pub(crate) engine: Engine,
    ends: mpsc::UnboundedReceiver<(String, RunResult)>,
    cancellations: mpsc::UnboundedReceiver<String>,
}

impl Stage {
    pub(crate) async fn new() -> Self {
        let world = World::new().await;
        hooks::install(&world.client).await.unwrap();
        Self::on(world)
    }

    /// The same world with another engine, as after a restart.
    pub(crate) async fn restarted(self) -> Self {
        self.engine.stop(Duration::ZERO).await;
        Self::on(self.world)
    }

    fn on(world: World) -> Self {
        let (sender, ends) = mpsc::unbounded_channel();
        let (cancelled, cancellations) = mpsc::unbounded_channel();
        let engine = Engine::builder(world.client.clone())
            .hooks()
            .observer(Arc::new(move |entry: &TraceEntry| {
                let name = entry.key.name.to_string();
                if let TraceEvent::Finished { result, .. } = &entry.event {
                    let _ = sender.send((name, result.clone()));
                } else if let TraceEvent::Cancelled { .. } = &entry.event {
                    let _ = cancelled.send(name);
                }
            }))
            .start()
            .unwrap();
        Self {
            world,
            engine,
            ends,
            cancellations,
        }
    }

    /// A stage on which one Reconciler has toys reconciled by a URL, with these fields besides.
    pub(crate) async fn with_url(url: &str, more: Value) -> Self {
        let stage = Self::new().await;
        stage
            .reconciler("toys", spec(json!({"url": url}), more))
            .await;
        stage
    }

    pub(crate) fn reconcilers(&self) -> Api<DynamicObject> {
        let kind = KubeKind::gvk("landform.dev", "v1alpha1", "Reconciler");
        Api::all_with(self.world.client.clone(), &ApiResource::from_gvk(&kind))
    }

    /// Has the versions of toys served that are listed, and no others.
    pub(crate) async fn serve_toys(&self, versions: &[&str]) {
        let kind = KubeKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
        let definitions: Api<DynamicObject> =
            Api::all_with(self.world.client.clone(), &ApiResource::from_gvk(&kind));
        let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
        let versions: Vec<Value> = ["v1", "v2"]
            .map(|name| {
                json!({
                    "name": name, "served": versions.contains(&name), "storage": name == "v1",
                    "subresources": {"status": {}}, "schema": schema,
                })
            })
            .to_vec();
        let patch = json!({"spec": {"versions": versions}});
        self.patch(&definitions, &format!("toys.{GROUP}"), patch)
            .await;
    }

    pub(crate) async fn try_reconciler(&self, name: &str, spec: Value) -> Result<(), kube::Error> {
        let object = json!({
            "apiVersion": "landform.dev/v1alpha1", "kind": "Reconciler",
            "metadata": {"name": name}, "spec": spec,
        });
        let object = serde_json::from_value(object).unwrap();
        self.reconcilers()
            .create(&PostParams::default(), &object)
            .await
            .map(drop)
    }

    pub(crate) async fn reconciler(&self, name: &str, spec: Value) {
        self.try_reconciler(name, spec).await.unwrap();
    }

    pub(crate) async fn delete(&self, api: &Api<DynamicObject>, name: &str) {
        api.delete(name, &DeleteParams::background()).await.unwrap();
    }

    pub(crate) async fn patch(&self, api: &Api<DynamicObject>, name: &str, patch: Value) {
        let patch = Patch::Merge(patch);
        api.patch(name, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }

    /// Waits for the end of any run.
    pub(crate) async fn end_of_any(&mut self) {
        soon(self.ends.recv()).await.unwrap();
    }

    /// How the next run of an object ends that isn't cancelled or outrun by somebody else's write.
    pub(crate) async fn end_of(&mut self, name: &str) -> RunResult {
        loop {
            let (ended, result) = soon(self.ends.recv()).await.unwrap();
            if ended == name && result != RunResult::Cancelled {
                return result;
            }
        }
    }

    /// Waits until a run of an object is told to return.
    pub(crate) async fn cancelled(&mut self, name: &str) {
        while soon(self.cancellations.recv()).await.unwrap() != name {}
    }

    /// Waits for a run of an object that goes well.
    pub(crate) async fn success_of(&mut self, name: &str) {
        assert_eq!(self.end_of(name).await, RunResult::Succeeded);
    }

    /// Waits for a run of an object that fails, and says why.
    pub(crate) async fn failure_of(&mut self, name: &str) -> String {
        match self.end_of(name).await {
            RunResult::Failed(error) => error.to_string(),
            other => panic!("{other:?}"),
        }
    }

    /// Waits until the status of a Reconciler says this, and returns the message.
    pub(crate) async fn standing(&mut self, name: &str, ready: &str, reason: &str) -> String {
        loop {
            let object = self.reconcilers().get(name).await.unwrap();
            let condition = &object.data["status"]["conditions"][0];
            if condition["status"] == ready && condition["reason"] == reason {
                let error = object.data["status"]["lastError"].as_str();
                let message = condition["message"].as_str().unwrap();
                assert_eq!(error, (ready == "False").then_some(message));
                return message.to_owned();
            }
            self.end_of(name).await;
        }
    }
}

/// The spec of a Reconciler for toys that owns ConfigMaps and refers to other toys.
pub(crate) fn spec(hook: Value, more: Value) -> Value {
    let mut spec = json!({
        "for": {"group": GROUP, "version": "v1", "kind": "Toy"},
        "refs": [{"path": ".spec.refs[*]"}],
        "owns": [{"version": "v1", "kind": "ConfigMap"}],
        "hook": hook,
    });
    for (name, value) in more.as_object().unwrap() {
        spec[name] = value.clone();
    }
    spec
}

pub(crate) fn map(name: &str, data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}
