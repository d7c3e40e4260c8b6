//! A kind of toys, a reconciler that does what a test says, and a log of what ran.
//!
//! A toy has `spec.refs` (names of toys), `spec.maps` (names of ConfigMaps), `spec.provides` (the same) and `spec.value`; the usual
//! reconciler writes `status.value`: its own value plus those of its refs.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use kube::Client;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind as KubeKind};
use landform_api::{GroupKind, GroupVersionKind};
use landform_apiserver::{ApiServer, Config, Identity, LocalService};
use landform_engine::{
    Clock, Context, Engine, Failure, Key, Order, Outcome, Provision, Reconciler, Ref, Related,
    TraceEntry, TraceEvent,
};
use landform_store::memory::MemoryStore;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;

pub(crate) const GROUP: &str = "toys.landform.dev";
/// Everything that should happen happens well within this (simulated) time.
const PATIENCE: Duration = Duration::from_secs(3600);
/// Nothing more happens when nothing happened for this (simulated) time.
const SILENCE: Duration = Duration::from_secs(3);

pub(crate) fn kind() -> GroupVersionKind {
    GroupVersionKind::new(GROUP, "v1", "Toy")
}

pub(crate) fn config_maps() -> GroupVersionKind {
    GroupVersionKind::new("", "v1", "ConfigMap")
}

pub(crate) fn key(name: &str) -> Key {
    let kind = GroupKind {
        group: GROUP.into(),
        kind: "Toy".into(),
    };
    Key::new(Arc::new(kind), "default", name)
}

/// The time of day, moved by tokio's paused clock.
pub(crate) struct PausedClock(Instant);

impl PausedClock {
    pub(crate) const START_MS: u64 = 1_800_000_000_000;
}

impl Clock for PausedClock {
    fn now_ms(&self) -> u64 {
        let since = u64::try_from(self.0.elapsed().as_millis()).unwrap();
        Self::START_MS + since
    }
}

pub(crate) type Script =
    dyn for<'a> Fn(&'a Context) -> BoxFuture<'a, Result<Outcome, Failure>> + Send + Sync;

/// The reconciler of toys.
pub(crate) struct Toys {
    pub(crate) script: Arc<Script>,
    pub(crate) owns: Vec<GroupVersionKind>,
    pub(crate) finalizer: Option<&'static str>,
    pub(crate) limit: usize,
    pub(crate) order: Order,
}

impl Toys {
    /// Runs do what the script says.
    pub(crate) fn new(
        script: impl for<'a> Fn(&'a Context) -> BoxFuture<'a, Result<Outcome, Failure>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self {
            script: Arc::new(script),
            owns: Vec::new(),
            finalizer: None,
            limit: 64,
            order: Order::Strict,
        }
    }

    /// Runs add up values.
    pub(crate) fn adding() -> Self {
        Self::new(|context| Box::pin(add(context)))
    }
}

/// Writes the toy's value plus those of its refs.
pub(crate) async fn add(context: &Context) -> Result<Outcome, Failure> {
    let own = context.object().data["spec"]["value"].as_i64().unwrap_or(0);
    let values = context.refs().iter().filter_map(|referred| {
        let object = referred.object.as_ref()?;
        object.data["status"]["value"].as_i64()
    });
    let value = own + values.sum::<i64>();
    context.write_status(&json!({"value": value})).await?;
    Ok(Outcome::Done)
}

impl Reconciler for Toys {
    fn kind(&self) -> GroupVersionKind {
        kind()
    }

    fn reconcile<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<Outcome, Failure>> {
        (self.script)(context)
    }

    fn refs(&self, object: &DynamicObject) -> Vec<Ref> {
        let names = |field: &str| -> Vec<String> {
            let names = object.data["spec"][field].as_array().into_iter().flatten();
            names.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let reference = |kind: GroupVersionKind, name: String| Ref {
            kind,
            namespace: object.metadata.namespace.clone(),
            name,
        };
        let toys = names("refs")
            .into_iter()
            .map(|name| reference(kind(), name));
        let maps = names("maps")
            .into_iter()
            .map(|name| reference(config_maps(), name));
        toys.chain(maps).collect()
    }

    fn provides(&self, object: &DynamicObject) -> Vec<Provision> {
        let names = object.data["spec"]["provides"]
            .as_array()
            .into_iter()
            .flatten();
        let content = object.data["status"]["value"].as_u64().unwrap_or_default();
        names
            .filter_map(Value::as_str)
            .map(|name| Provision {
                name: Ref {
                    kind: config_maps(),
                    namespace: object.metadata.namespace.clone(),
                    name: name.to_owned(),
                },
                content,
            })
            .collect()
    }

    fn related(&self) -> Vec<Related> {
        let owns = self.owns.iter();
        owns.map(|owned| Related::owned(owned.clone(), &kind()))
            .collect()
    }

    fn finalizer(&self) -> Option<String> {
        self.finalizer.map(str::to_owned)
    }

    fn limit(&self) -> usize {
        self.limit
    }

    fn order(&self) -> Order {
        self.order
    }

    fn status_in_cycle(&self, _: &DynamicObject, cycle: &str) -> Option<Value> {
        Some(json!({"error": cycle}))
    }
}

/// An API server without an engine.
pub(crate) struct World {
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) client: Client,
    pub(crate) clock: Arc<PausedClock>,
    pub(crate) registry: prometheus::Registry,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(Config::default()).await
    }

    pub(crate) async fn with(config: Config) -> Self {
        let store = Arc::new(MemoryStore::new());
        let server = ApiServer::start(store.clone(), config).await.unwrap();
        tokio::spawn(server.clone().keep_house());
        let service = LocalService::new(server, Identity::internal());
        let client = Client::new(service, "default");
        let world = Self {
            store,
            client,
            clock: Arc::new(PausedClock(Instant::now())),
            registry: prometheus::Registry::new(),
        };
        world.define("toys", "Toy", "Namespaced").await;
        world
    }

    /// Defines a kind that takes everything.
    pub(crate) async fn define(&self, plural: &str, kind: &str, scope: &str) {
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.{GROUP}")},
            "spec": {
                "group": GROUP,
                "scope": scope,
                "names": {
                    "plural": plural, "singular": kind.to_lowercase(), "kind": kind,
                    "listKind": format!("{kind}List"),
                },
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": {
                        "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                    }},
                }],
            },
        });
        let kind = KubeKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
        let definitions: Api<DynamicObject> =
            Api::all_with(self.client.clone(), &ApiResource::from_gvk(&kind));
        let definition = serde_json::from_value(definition).unwrap();
        definitions
            .create(&PostParams::default(), &definition)
            .await
            .unwrap();
    }

    pub(crate) fn engine(&self, toys: Toys) -> Running {
        let (sender, entries) = mpsc::unbounded_channel();
        let engine = Engine::builder(self.client.clone())
            .clock(self.clock.clone())
            .metrics(self.registry.clone())
            .observer(Arc::new(move |entry: &TraceEntry| {
                let _ = sender.send(entry.clone());
            }))
            .reconciler(toys)
            .start()
            .unwrap();
        Running { engine, entries }
    }

    pub(crate) fn toys(&self) -> Api<DynamicObject> {
        let kind = KubeKind::gvk(GROUP, "v1", "Toy");
        let resource = ApiResource::from_gvk_with_plural(&kind, "toys");
        Api::default_namespaced_with(self.client.clone(), &resource)
    }

    pub(crate) fn maps(&self) -> Api<DynamicObject> {
        let resource = ApiResource::from_gvk(&KubeKind::gvk("", "v1", "ConfigMap"));
        Api::default_namespaced_with(self.client.clone(), &resource)
    }

    pub(crate) async fn create(&self, name: &str, spec: Value) -> DynamicObject {
        self.create_with(name, json!({}), spec).await
    }

    pub(crate) async fn create_with(
        &self,
        name: &str,
        annotations: Value,
        spec: Value,
    ) -> DynamicObject {
        let toy = json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": "Toy",
            "metadata": {"name": name, "annotations": annotations}, "spec": spec,
        });
        let toy = serde_json::from_value(toy).unwrap();
        self.toys()
            .create(&PostParams::default(), &toy)
            .await
            .unwrap()
    }

    pub(crate) async fn create_map(&self, name: &str, value: &str) {
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"v": value},
        });
        let map = serde_json::from_value(map).unwrap();
        self.maps()
            .create(&PostParams::default(), &map)
            .await
            .unwrap();
    }

    pub(crate) async fn update(&self, name: &str, spec: Value) {
        let patch = Patch::Merge(json!({"spec": spec}));
        self.toys()
            .patch(name, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }

    pub(crate) async fn delete(&self, name: &str) {
        self.toys()
            .delete(name, &DeleteParams::background())
            .await
            .unwrap();
    }

    pub(crate) async fn status(&self, name: &str) -> Value {
        self.toys().get(name).await.unwrap().data["status"].clone()
    }

    pub(crate) fn metric(&self, line: &str) -> bool {
        let text = prometheus::TextEncoder::new().encode_to_string(&self.registry.gather());
        text.unwrap().lines().any(|found| found == line)
    }
}

/// An engine, and what it does.
pub(crate) struct Running {
    pub(crate) engine: Engine,
    entries: mpsc::UnboundedReceiver<TraceEntry>,
}

impl Running {
    /// What happened until nothing happens any more: `start a`, `cancel a`, `end a`, in order.
    pub(crate) async fn until_silent(&mut self) -> Vec<String> {
        let mut happened = Vec::new();
        while let Ok(Some(entry)) = tokio::time::timeout(SILENCE, self.entries.recv()).await {
            happened.extend(word(&entry));
        }
        happened
    }

    /// Only the starts of [`Running::until_silent`].
    pub(crate) async fn starts(&mut self) -> Vec<String> {
        let happened = self.until_silent().await;
        let starts = happened
            .iter()
            .filter_map(|word| word.strip_prefix("start "));
        starts.map(str::to_owned).collect()
    }

    /// Waits for something to happen; returns what happened before it.
    pub(crate) async fn wait_for(&mut self, wanted: &str) -> Vec<String> {
        let mut happened = Vec::new();
        loop {
            let entry = tokio::time::timeout(PATIENCE, self.entries.recv()).await;
            let entry = entry.unwrap_or_else(|_| panic!("{wanted:?} never came: {happened:?}"));
            let found = word(&entry.unwrap());
            if found.as_deref() == Some(wanted) {
                return happened;
            }
            happened.extend(found);
        }
    }
}

fn word(entry: &TraceEntry) -> Option<String> {
    let word = match &entry.event {
        TraceEvent::Started { .. } => "start",
        TraceEvent::Cancelled { .. } => "cancel",
        TraceEvent::Finished { .. } => "end",
        TraceEvent::Stuck(_) => "stuck",
        TraceEvent::Cyclic(_) => "cyclic",
        TraceEvent::CycleBroken => "unbound",
        TraceEvent::Queued(_) | TraceEvent::Gone => return None,
    };
    Some(format!("{word} {}", entry.key.name))
}

/// Waits until something holds, in simulated time.
pub(crate) async fn eventually<F: Future<Output = bool>>(what: &str, check: impl Fn() -> F) {
    let started = Instant::now();
    while !check().await {
        assert!(started.elapsed() < PATIENCE, "never: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
