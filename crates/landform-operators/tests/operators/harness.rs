//! An API server in memory with everything that makes operators, and short ways to write and to wait.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use kube::Client;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::watcher;
use landform_api::{catalog, landscaper};
use landform_apiserver::{ApiServer, Config, Identity, LocalService};
use landform_controllers::collector::Collector;
use landform_controllers::landscape::{self, Blueprints};
use landform_deployers::DeployItems;
use landform_deployers::manifest::ManifestDeployer;
use landform_deployers::mock::Mock;
use landform_engine::view::{Filter, State};
use landform_engine::{Engine, definitions};
use landform_operators::Operators;
use landform_store::memory::MemoryStore;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Notify;

/// Everything that should happen happens within this time.
const PATIENCE: Duration = Duration::from_secs(40);
/// Nothing has happened for so long: nothing will.
const SILENCE: Duration = Duration::from_millis(150);

/// Where everything happens, unless it says otherwise.
pub(crate) const NAMESPACE: &str = "default";
/// The group of the kinds that operators of tests bring.
pub(crate) const GROUP: &str = "etcd.example.com";

pub(crate) struct World {
    pub(crate) client: Client,
    pub(crate) engine: Engine,
    /// Where catalogs on disk are.
    pub(crate) directory: TempDir,
    activity: Arc<Notify>,
}

impl World {
    pub(crate) async fn new() -> Self {
        let config = Config::default();
        let server = ApiServer::start(Arc::new(MemoryStore::new()), config).await;
        let server = server.unwrap();
        tokio::spawn(server.clone().keep_house());
        let service = LocalService::new(server.clone(), Identity::internal());
        let client = Client::new(service, NAMESPACE);
        let landscaper = landscaper::definition::definitions();
        let catalogs = catalog::definition::definitions();
        for definition in landscaper.iter().chain(&catalogs) {
            definitions::install(&client, definition).await.unwrap();
        }
        tokio::spawn(Collector::new(client.clone(), &server.metrics_registry()).run());
        let directory = tempfile::tempdir().unwrap();
        let activity = Arc::new(Notify::new());
        let engine = start(&client, &directory, activity.clone());
        Self {
            client,
            engine,
            directory,
            activity,
        }
    }

    pub(crate) async fn stop(&self) {
        self.engine.stop(Duration::from_secs(5)).await;
    }

    /// Starts another engine, which knows nothing but what is stored.
    pub(crate) fn start(&mut self) {
        self.engine = start(&self.client, &self.directory, self.activity.clone());
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

    /// The store's revision: it moves with every write of anybody.
    pub(crate) async fn revision(&self) -> u64 {
        let listed = self.api("Secret").list(&ListParams::default()).await;
        let revision = listed.unwrap().metadata.resource_version.unwrap();
        revision.parse().unwrap()
    }

    pub(crate) fn api(&self, kind: &str) -> Api<DynamicObject> {
        self.api_in(NAMESPACE, kind)
    }

    pub(crate) fn api_in(&self, namespace: &str, kind: &str) -> Api<DynamicObject> {
        let plural = format!("{}s", kind.to_lowercase());
        let (group, version, of_cluster) = place(kind);
        let kind = GroupVersionKind::gvk(group, version, kind);
        let resource = ApiResource::from_gvk_with_plural(&kind, &plural);
        if of_cluster {
            Api::all_with(self.client.clone(), &resource)
        } else {
            Api::namespaced_with(self.client.clone(), namespace, &resource)
        }
    }

    /// Creates an object that says itself what it is; returns it as it was stored.
    pub(crate) async fn create(&self, object: Value) -> Value {
        let kind = text(&object["kind"]).to_owned();
        let namespace = object["metadata"]["namespace"].as_str();
        let api = self.api_in(namespace.unwrap_or(NAMESPACE), &kind);
        let object = serde_json::from_value(object).unwrap();
        let created = api.create(&PostParams::default(), &object).await.unwrap();
        serde_json::to_value(created).unwrap()
    }

    pub(crate) async fn patch(&self, kind: &str, name: &str, patch: Value) {
        let (api, patch) = (self.api(kind), Patch::Merge(patch));
        let parameters = PatchParams::default();
        // Others write the same object at the same time.
        while let Err(error) = api.patch(name, &parameters, &patch).await {
            assert!(is_conflict(&error), "{error}");
        }
    }

    pub(crate) async fn patch_status(&self, kind: &str, name: &str, status: Value) {
        let (api, patch) = (self.api(kind), Patch::Merge(json!({"status": status})));
        let parameters = PatchParams::default();
        while let Err(error) = api.patch_status(name, &parameters, &patch).await {
            assert!(is_conflict(&error), "{error}");
        }
    }

    /// As kubectl does.
    pub(crate) async fn delete(&self, kind: &str, name: &str) {
        let (api, parameters) = (self.api(kind), DeleteParams::background());
        api.delete(name, &parameters).await.unwrap();
    }

    pub(crate) async fn get(&self, kind: &str, name: &str) -> Value {
        let found = self.api(kind).get_opt(name).await.unwrap();
        serde_json::to_value(found).unwrap()
    }

    pub(crate) async fn names(&self, kind: &str) -> Vec<String> {
        let listed = self.api(kind).list(&ListParams::default()).await.unwrap();
        let objects = listed.items.into_iter();
        objects
            .map(|object| object.metadata.name.unwrap())
            .collect()
    }

    /// Waits until an object is as wanted, by watching it.
    pub(crate) async fn until(
        &self,
        kind: &str,
        name: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> Value {
        self.until_in(NAMESPACE, kind, name, wanted).await
    }

    pub(crate) async fn until_in(
        &self,
        namespace: &str,
        kind: &str,
        name: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> Value {
        let api = self.api_in(namespace, kind);
        let found = async {
            let mut watch = std::pin::pin!(watcher::watch_object(api.clone(), name));
            while let Some(found) = watch.next().await {
                // A kind that isn't served yet is asked for again.
                let Ok(found) = found else { continue };
                let object = serde_json::to_value(found).unwrap();
                if wanted(&object) {
                    return object;
                }
            }
            panic!("the watch ended");
        };
        match tokio::time::timeout(PATIENCE, found).await {
            Ok(found) => found,
            Err(_) => {
                let found = serde_json::to_value(api.get_opt(name).await.unwrap()).unwrap();
                let others = self.told().await;
                panic!("{kind} {name} is never so: {found:#}\n{others}");
            }
        }
    }

    /// All versions and app types in short.
    async fn told(&self) -> String {
        let mut lines = String::new();
        for kind in ["AppType", "OperatorVersion", "Execution"] {
            let listed = self.api(kind).list(&ListParams::default()).await.unwrap();
            for found in listed.items {
                let name = found.metadata.name.unwrap_or_default();
                lines += &format!("{kind} {name}: {}\n", found.data["status"]);
            }
        }
        lines
    }

    pub(crate) async fn gone(&self, kind: &str, name: &str) {
        self.until(kind, name, Value::is_null).await;
    }

    /// Waits until a version has a phase that is about its present generation.
    pub(crate) async fn phase(&self, name: &str, phase: &str) -> Value {
        self.until("OperatorVersion", name, |object| has_phase(object, phase))
            .await
    }

    /// Waits until an app type has a phase and a version.
    pub(crate) async fn installed(&self, name: &str, phase: &str, version: &str) -> Value {
        self.until("AppType", name, |object| {
            has_phase(object, phase) && object["status"]["installed"]["version"] == version
        })
        .await
    }

    /// Waits until an app type names this reason among what blocks it.
    pub(crate) async fn blocked(&self, name: &str, reason: &str) -> Value {
        let blocked = |object: &Value| blocker(object, reason).is_some();
        let found = self.until("AppType", name, blocked).await;
        let found = blocker(&found, reason).unwrap().clone();
        assert_ne!(found["unblock"], "", "nobody says what to do: {found}");
        assert_ne!(found["message"], "", "nobody says why: {found}");
        found
    }

    /// A catalog with these versions; one that exists has these from now on.
    pub(crate) async fn catalog(&self, name: &str, versions: Vec<Value>) {
        let object = json!({
            "apiVersion": catalog::API_VERSION, "kind": "Catalog", "metadata": {"name": name},
            "spec": {"inline": versions},
        });
        if self.get("Catalog", name).await.is_null() {
            self.create(object).await;
        } else {
            self.patch("Catalog", name, json!({"spec": object["spec"]}))
                .await;
        }
    }

    /// Somebody wants a package.
    pub(crate) async fn app_type(&self, name: &str, spec: Value) {
        self.create(app_type(NAMESPACE, name, spec)).await;
    }
}

/// Where the objects of a kind are: group, version, and whether they are of the whole cluster.
fn place(kind: &str) -> (&'static str, &'static str, bool) {
    match kind {
        "Secret" | "ConfigMap" | "Event" | "ServiceAccount" => ("", "v1", false),
        "Namespace" => ("", "v1", true),
        "Role" | "RoleBinding" => ("rbac.authorization.k8s.io", "v1", false),
        "Deployment" => ("apps", "v1", false),
        "CustomResourceDefinition" => ("apiextensions.k8s.io", "v1", true),
        "Catalog" => (catalog::GROUP, catalog::VERSION, true),
        "AppType" | "OperatorVersion" => (catalog::GROUP, catalog::VERSION, false),
        "Execution" | "DeployItem" => (landscaper::GROUP, landscaper::VERSION, false),
        _ => (GROUP, "v1", false),
    }
}

pub(crate) fn app_type(namespace: &str, name: &str, spec: Value) -> Value {
    json!({
        "apiVersion": catalog::API_VERSION, "kind": "AppType",
        "metadata": {"name": name, "namespace": namespace}, "spec": spec,
    })
}

fn is_conflict(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 409)
}

fn has_phase(object: &Value, phase: &str) -> bool {
    object["status"]["phase"] == phase
        && object["status"]["observedGeneration"] == object["metadata"]["generation"]
}

/// What blocks an app type for this reason.
fn blocker<'a>(app_type: &'a Value, reason: &str) -> Option<&'a Value> {
    let all = app_type["status"]["blockedBy"].as_array()?;
    all.iter().find(|found| found["reason"] == reason)
}

fn start(client: &Client, directory: &TempDir, activity: Arc<Notify>) -> Engine {
    let (installations, executions) = landscape::reconcilers(Blueprints::new(None));
    let items = DeployItems::new().with(Mock).with(ManifestDeployer::new());
    let wake = items.wake();
    let operators = Operators::default();
    let builder = Engine::builder(client.clone())
        .reconciler(installations)
        .reconciler(executions)
        .reconciler(items)
        .observer(Arc::new(move |_| activity.notify_one()));
    let builder = operators.register(builder, Some(directory.path().to_owned()));
    let engine = builder.start().unwrap();
    operators.connect(&engine);
    wake.connect(&engine);
    engine
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[track_caller]
pub(crate) fn contains(text: &Value, pieces: &[&str]) {
    let text = text.as_str().unwrap_or_default();
    for piece in pieces {
        assert!(text.contains(piece), "{piece:?} is missing in: {text}");
    }
}
