//! An API server in memory with everything that makes a landscape, and short ways to write and to wait.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Namespace;
use kube::Client;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::watcher;
use landform_api::landscaper::{GROUP, VERSION, definition};
use landform_apiserver::{ApiServer, Config, Identity, LocalService, StoreQuota};
use landform_controllers::collector::Collector;
use landform_controllers::landscape::{self, Blueprints};
use landform_deployers::DeployItems;
use landform_deployers::mock::Mock;
use landform_engine::view::{Filter, State};
use landform_engine::{Engine, definitions};
use landform_store::memory::MemoryStore;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::recorder::Recorder;
use crate::refusals::Refusals;

/// Everything that should happen happens within this time.
const PATIENCE: Duration = Duration::from_secs(20);
/// Nothing has happened for so long: nothing will.
const SILENCE: Duration = Duration::from_millis(150);

pub(crate) const OPERATION: &str = "landscaper.gardener.cloud/operation";

pub(crate) struct Landscape {
    pub(crate) server: ApiServer,
    pub(crate) client: Client,
    pub(crate) engine: Engine,
    pub(crate) recorder: Recorder,
    /// What of the engine's writes is refused.
    pub(crate) refusals: Refusals,
    /// The engine's.
    inside: Client,
    activity: Arc<Notify>,
}

impl Landscape {
    pub(crate) async fn new() -> Self {
        let recorder = Recorder::default();
        let items = DeployItems::new().with(Mock).with(recorder.clone());
        Self::with(items, recorder).await
    }

    pub(crate) async fn with(items: DeployItems, recorder: Recorder) -> Self {
        Self::place(items, recorder, "default", Config::default()).await
    }

    /// With a store that may keep this many bytes.
    pub(crate) async fn with_room(bytes: u64) -> Self {
        let recorder = Recorder::default();
        let items = DeployItems::new().with(Mock).with(recorder.clone());
        let config = Config {
            store_quota: Some(StoreQuota { bytes }),
            ..Config::default()
        };
        Self::place(items, recorder, "default", config).await
    }

    /// In a namespace that can be deleted.
    pub(crate) async fn in_namespace(namespace: &str) -> Self {
        let recorder = Recorder::default();
        let items = DeployItems::new().with(Mock).with(recorder.clone());
        Self::place(items, recorder, namespace, Config::default()).await
    }

    async fn place(
        items: DeployItems,
        recorder: Recorder,
        namespace: &str,
        config: Config,
    ) -> Self {
        let server = ApiServer::start(Arc::new(MemoryStore::new()), config);
        let server = server.await.unwrap();
        tokio::spawn(server.clone().keep_house());
        let service = LocalService::new(server.clone(), Identity::internal());
        let refusals = Refusals::default();
        let inside = Client::new(refusals.before(service.clone()), namespace);
        let client = Client::new(service, namespace);
        if namespace != "default" {
            let made = json!({"metadata": {"name": namespace}});
            let made = serde_json::from_value(made).unwrap();
            let namespaces: Api<Namespace> = Api::all(client.clone());
            let created = namespaces.create(&PostParams::default(), &made).await;
            created.unwrap();
        }
        for definition in definition::definitions() {
            definitions::install(&client, &definition).await.unwrap();
        }
        tokio::spawn(Collector::new(client.clone(), &server.metrics_registry()).run());
        let activity = Arc::new(Notify::new());
        let engine = start(&inside, items, activity.clone());
        Self {
            server,
            client,
            engine,
            recorder,
            refusals,
            inside,
            activity,
        }
    }

    /// Stops the engine and starts another one, which knows nothing but what is stored.
    pub(crate) async fn restart(&mut self) {
        self.stop().await;
        let items = DeployItems::new().with(Mock).with(self.recorder.clone());
        self.engine = start(&self.inside, items, self.activity.clone());
    }

    pub(crate) async fn stop(&self) {
        self.engine.stop(Duration::from_secs(5)).await;
    }

    /// Waits until the engine reads everything and does nothing any more.
    pub(crate) async fn quiet(&self) {
        let quiet = async {
            loop {
                let active = self.activity.notified();
                let summary = serde_json::to_value(self.engine.summary().await.unwrap()).unwrap();
                let kinds = summary["kinds"].as_array().unwrap();
                let listing = kinds.iter().any(|kind| kind["state"] == "Listing");
                let filter = Filter {
                    limit: 10_000,
                    ..Filter::default()
                };
                let (objects, _) = self.engine.objects(filter).await.unwrap();
                let busy = objects
                    .iter()
                    .any(|object| !matches!(object.state, State::Idle | State::Cyclic));
                let silent = tokio::time::timeout(SILENCE, active).await.is_err();
                if silent && !busy && !listing {
                    return;
                }
            }
        };
        tokio::time::timeout(PATIENCE, quiet).await.unwrap();
    }

    /// Waits until the engine rests for a moment; what was refused may be tried again later.
    pub(crate) async fn rests(&self) {
        let rests = async {
            while tokio::time::timeout(SILENCE, self.activity.notified())
                .await
                .is_ok()
            {}
        };
        tokio::time::timeout(PATIENCE, rests).await.unwrap();
    }

    /// Waits until something happens, or a moment.
    pub(crate) async fn active(&self) {
        drop(tokio::time::timeout(SILENCE, self.activity.notified()).await);
    }

    /// The store's revision: it moves with every write of anybody.
    pub(crate) async fn revision(&self) -> String {
        let listed = self.api("DataObject").list(&ListParams::default()).await;
        listed.unwrap().metadata.resource_version.unwrap()
    }

    pub(crate) fn api(&self, kind: &str) -> Api<DynamicObject> {
        let plural = format!("{}s", kind.to_lowercase());
        let (group, version) = match kind {
            "Secret" | "ConfigMap" | "Event" | "ResourceQuota" => ("", "v1"),
            _ => (GROUP, VERSION),
        };
        let kind = GroupVersionKind::gvk(group, version, kind);
        let resource = ApiResource::from_gvk_with_plural(&kind, &plural);
        Api::default_namespaced_with(self.client.clone(), &resource)
    }

    pub(crate) async fn create(&self, kind: &str, name: &str, mut content: Value) {
        let api = self.api(kind);
        content["apiVersion"] = match kind {
            "Secret" | "ConfigMap" | "ResourceQuota" => "v1".into(),
            _ => format!("{GROUP}/{VERSION}").into(),
        };
        content["kind"] = kind.into();
        content["metadata"]["name"] = name.into();
        let object = serde_json::from_value(content).unwrap();
        let created = api.create(&PostParams::default(), &object).await;
        created.unwrap();
    }

    /// Makes an installation from a blueprint, with the other fields of its spec.
    pub(crate) async fn install(&self, name: &str, blueprint: Value, rest: Value) {
        let spec = spec(blueprint, rest);
        self.create("Installation", name, json!({"spec": spec}))
            .await;
    }

    pub(crate) async fn data(&self, name: &str, data: Value) {
        self.create("DataObject", name, json!({"data": data})).await;
    }

    pub(crate) async fn target(&self, name: &str, config: Value) {
        let spec = json!({"type": "test.dev/place", "config": config});
        self.create("Target", name, json!({"spec": spec})).await;
    }

    pub(crate) async fn patch(&self, kind: &str, name: &str, patch: Value) {
        let patch = Patch::Merge(patch);
        let patched = self
            .api(kind)
            .patch(name, &PatchParams::default(), &patch)
            .await;
        patched.unwrap();
    }

    pub(crate) async fn annotate(&self, kind: &str, name: &str, key: &str, value: &str) {
        let patch = json!({"metadata": {"annotations": {key: value}}});
        self.patch(kind, name, patch).await;
    }

    /// As kubectl does.
    pub(crate) async fn delete(&self, kind: &str, name: &str) {
        let (api, parameters) = (self.api(kind), DeleteParams::background());
        api.delete(name, &parameters).await.unwrap();
    }

    pub(crate) async fn get(&self, kind: &str, name: &str) -> Value {
        let found = self.api(kind).get(name).await;
        serde_json::to_value(found.unwrap()).unwrap()
    }

    pub(crate) async fn list(&self, kind: &str) -> Vec<Value> {
        let listed = self.api(kind).list(&ListParams::default()).await.unwrap();
        let objects = listed.items.into_iter();
        objects
            .map(|object| serde_json::to_value(object).unwrap())
            .collect()
    }

    pub(crate) async fn names(&self, kind: &str) -> Vec<String> {
        let objects = self.list(kind).await.into_iter();
        objects
            .map(|object| object["metadata"]["name"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Waits until only these are there: the collector has its own pace.
    pub(crate) async fn left(&self, kind: &str, wanted: &[&str]) {
        let left = async {
            while self.names(kind).await != wanted {
                self.active().await;
            }
        };
        if tokio::time::timeout(PATIENCE, left).await.is_err() {
            panic!("there are {:?}, not {wanted:?}", self.names(kind).await);
        }
    }

    /// The Events about an object, as `reason: message`.
    pub(crate) async fn events(&self, name: &str) -> Vec<String> {
        let events = self.list("Event").await.into_iter();
        let events = events.filter(|event| event["involvedObject"]["name"] == name);
        events
            .map(|event| format!("{}: {}", text(&event["reason"]), text(&event["message"])))
            .collect()
    }

    /// The name of the installation that a template made, below one of this name.
    pub(crate) async fn nested(&self, parent: &str, template: &str) -> String {
        let parent = self
            .until("Installation", parent, |object| {
                object["status"]["installationRefs"].is_array()
            })
            .await;
        let refs = parent["status"]["installationRefs"].as_array().unwrap();
        let found = refs.iter().find(|found| found["name"] == template);
        text(&found.unwrap()["ref"]["name"]).to_owned()
    }

    /// The configuration of a deploy item, by the names of its execution and of its template.
    pub(crate) async fn config(&self, execution: &str, item: &str) -> Value {
        let prefix = "execution.landscaper.gardener.cloud";
        let items = self.list("DeployItem").await;
        let found = items.iter().find(|found| {
            let labels = &found["metadata"]["labels"];
            labels[format!("{prefix}/managed-by")] == execution
                && labels[format!("{prefix}/name")] == item
        });
        let spec = &found.unwrap()["spec"];
        let reference = &spec["configFrom"];
        let Some(secret) = reference["name"].as_str() else {
            return spec["config"].clone();
        };
        let key = reference["key"].as_str().unwrap();
        kept(&self.get("Secret", secret).await, key)
    }

    /// Waits until an object is as wanted, by watching it.
    pub(crate) async fn until(
        &self,
        kind: &str,
        name: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> Value {
        let found = async {
            let mut watch = std::pin::pin!(watcher::watch_object(self.api(kind), name));
            while let Some(found) = watch.next().await {
                let object = serde_json::to_value(found.unwrap()).unwrap();
                if wanted(&object) {
                    return object;
                }
            }
            panic!("the watch ended");
        };
        match tokio::time::timeout(PATIENCE, found).await {
            Ok(found) => found,
            Err(_) => {
                let found = self.get(kind, name).await;
                let mut all = self.list("Installation").await;
                all.extend(self.list("Execution").await);
                all.extend(self.list("DeployItem").await);
                let all = all.into_iter();
                let all: Vec<_> = all
                    .map(|object| {
                        let metadata = &object["metadata"];
                        json!([
                            object["kind"],
                            metadata["name"],
                            metadata["annotations"],
                            object["status"]
                        ])
                    })
                    .collect();
                panic!(
                    "{kind} {name} is never so: {:#}; all: {all:#?}",
                    found["status"]
                );
            }
        }
    }

    /// Waits until an installation has a phase that is about its present generation.
    pub(crate) async fn phase(&self, name: &str, phase: &str) -> Value {
        self.until("Installation", name, |object| {
            object["status"]["phase"] == phase
                && object["metadata"]["annotations"][OPERATION].is_null()
                && (phase != "Succeeded"
                    || object["status"]["observedGeneration"] == object["metadata"]["generation"])
        })
        .await
    }

    pub(crate) async fn gone(&self, kind: &str, name: &str) {
        self.until(kind, name, Value::is_null).await;
    }

    /// The error that an installation ends with; asserts what every such error must be.
    pub(crate) async fn fails(&self, name: &str, pieces: &[&str]) -> Value {
        let object = self.phase(name, "Failed").await;
        let error = &object["status"]["lastError"];
        assert_eq!(error["codes"], json!(["ERR_CONFIGURATION_PROBLEM"]));
        contains(text(&error["message"]), pieces);
        let event = format!("{}: {}", text(&error["reason"]), text(&error["message"]));
        self.quiet().await;
        let events = self.events(name).await;
        assert!(events.contains(&event), "{event} is not in {events:#?}");
        object
    }
}

fn start(client: &Client, items: DeployItems, activity: Arc<Notify>) -> Engine {
    let (installations, executions) = landscape::reconcilers(Blueprints::new(None));
    let wake = items.wake();
    let engine = Engine::builder(client.clone())
        .writers_noted()
        .reconciler(installations)
        .reconciler(executions)
        .reconciler(items)
        .observer(Arc::new(move |_| activity.notify_one()))
        .start()
        .unwrap();
    wake.connect(&engine);
    engine
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[track_caller]
pub(crate) fn contains(text: &str, pieces: &[&str]) {
    for piece in pieces {
        assert!(text.contains(piece), "{piece:?} is missing in: {text}");
    }
}

/// A spec of an installation with this blueprint.
pub(crate) fn spec(blueprint: Value, rest: Value) -> Value {
    let mut spec = rest;
    if spec.is_null() {
        spec = json!({});
    }
    spec["blueprint"] = json!({"inline": {"filesystem": files(blueprint)}});
    spec
}

/// The files of a blueprint: its definition alone.
pub(crate) fn files(blueprint: Value) -> Value {
    json!({"blueprint.yaml": blueprint.to_string()})
}

/// An executor with this template.
pub(crate) fn template(name: &str, template: &str) -> Value {
    json!([{"name": name, "type": "GoTemplate", "template": template}])
}

/// An import of data that fits a schema.
pub(crate) fn data_import(name: &str, schema: Value) -> Value {
    json!({"name": name, "type": "data", "schema": schema})
}

/// A blueprint with one item that imports and exports `value`s as they are named.
pub(crate) fn product(item: &str, imports: &[&str], exports: &[&str]) -> Value {
    let given: Vec<_> = imports
        .iter()
        .map(|name| data_import(name, json!({})))
        .collect();
    let declared: Vec<_> = exports
        .iter()
        .map(|name| data_import(name, json!({})))
        .collect();
    let outcome: String = exports
        .iter()
        .map(|name| format!("  {name}: {{{{ .values.deployitems.{item}.value | toJson }}}}\n"))
        .collect();
    let deploy = format!(
        "deployItems: [{{name: {item}, type: test.dev/recorder, config: {{imports: {{{{ toJson .imports }}}}, export: {{value: {item}}}}}}}]"
    );
    json!({
        "imports": given, "exports": declared,
        "deployExecutions": template("items", &deploy),
        "exportExecutions": template("exports", &format!("exports:\n{outcome}")),
    })
}

/// Imports and exports of data under the same names outside and inside.
pub(crate) fn wiring(imports: &[&str], exports: &[&str]) -> Value {
    let named = |names: &[&str]| -> Vec<Value> {
        let names = names.iter();
        names
            .map(|name| json!({"name": name, "dataRef": name}))
            .collect()
    };
    json!({"imports": {"data": named(imports)}, "exports": {"data": named(exports)}})
}

/// What Landform keeps under a key of a Secret.
pub(crate) fn kept(secret: &Value, key: &str) -> Value {
    let bytes = STANDARD.decode(text(&secret["data"][key])).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}
