//! An API server in memory with an engine that reconciles one project, and a directory to write into.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::BoxFuture;
use kube::Client;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::watcher;
use landform_api::project;
use landform_apiserver::{ApiServer, Config, Identity, LocalService};
use landform_controllers::collector::Collector;
use landform_engine::{Context, Engine, Failure, Outcome, Reconciler, definitions, hooks};
use landform_project::Projects;
use landform_store::memory::MemoryStore;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::gate::{Gate, Gated};

/// Everything that should happen happens within this time.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) const PROJECT: &str = "shop";

/// A name, and the former one that a run was told.
type Told = (String, Option<String>);

/// Notes under which former names objects were reconciled.
#[derive(Clone, Default)]
pub(crate) struct Widgets {
    pub(crate) told: Arc<Mutex<Vec<Told>>>,
}

impl Reconciler for Widgets {
    fn kind(&self) -> landform_api::GroupVersionKind {
        landform_api::GroupVersionKind::new("example.com", "v1", "Widget")
    }

    fn reconcile<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<Outcome, Failure>> {
        Box::pin(async move {
            let name = context.key().name.to_string();
            let former = context.former_name().map(ToOwned::to_owned);
            self.told.lock().push((name, former));
            if context.status().await.is_null() {
                context.write_status(&json!({"seen": true})).await?;
            }
            Ok(Outcome::Done)
        })
    }
}

pub(crate) struct World {
    pub(crate) client: Client,
    gated: Client,
    pub(crate) engine: Engine,
    pub(crate) directory: TempDir,
    pub(crate) widgets: Widgets,
    /// Holds back what the engine reads.
    pub(crate) gate: Gate,
}

impl World {
    /// A world with these files, and the project that reads them.
    pub(crate) async fn new(files: &[(&str, &str)]) -> Self {
        let world = Self::empty().await;
        for (path, text) in files {
            world.write(path, text);
        }
        world.create(manifest()).await;
        world
    }

    /// A world without a project.
    pub(crate) async fn empty() -> Self {
        let server = ApiServer::start(Arc::new(MemoryStore::new()), Config::default()).await;
        let server = server.unwrap();
        tokio::spawn(server.clone().keep_house());
        let service = LocalService::new(server.clone(), Identity::internal());
        let client = Client::new(service.clone(), "default");
        hooks::install(&client).await.unwrap();
        for definition in project::definition::definitions() {
            definitions::install(&client, &definition).await.unwrap();
        }
        definitions::install(&client, &widgets_definition())
            .await
            .unwrap();
        let collector = Collector::new(client.clone(), &server.metrics_registry());
        server.mount("deletion", collector.view());
        tokio::spawn(collector.run());
        let directory = tempfile::tempdir().unwrap();
        let widgets = Widgets::default();
        let gate = Gate::default();
        let gated = Client::new(Gated::new(service, gate.clone()), "default");
        let engine = start(&gated, &directory, &widgets);
        Self {
            client,
            gated,
            engine,
            directory,
            widgets,
            gate,
        }
    }

    /// Starts another engine, which knows nothing but what is stored.
    pub(crate) async fn restart(&mut self) {
        self.stop().await;
        self.engine = start(&self.gated, &self.directory, &self.widgets);
    }

    pub(crate) async fn stop(&self) {
        self.engine.stop(Duration::from_secs(5)).await;
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join("shop").join(path)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn remove(&self, path: &str) {
        std::fs::remove_file(self.path(path)).unwrap();
    }

    pub(crate) fn api(&self, kind: &str) -> Api<DynamicObject> {
        let (group, version) = match kind {
            "Project" | "Reconciler" => (project::GROUP, project::VERSION),
            "Widget" | "Gadget" => ("example.com", "v1"),
            "Installation" => ("landscaper.gardener.cloud", "v1alpha1"),
            "CustomResourceDefinition" => ("apiextensions.k8s.io", "v1"),
            _ => ("", "v1"),
        };
        let name = GroupVersionKind::gvk(group, version, kind);
        let resource =
            ApiResource::from_gvk_with_plural(&name, &format!("{}s", kind.to_lowercase()));
        if matches!(
            kind,
            "Project" | "Reconciler" | "Namespace" | "CustomResourceDefinition"
        ) {
            Api::all_with(self.client.clone(), &resource)
        } else {
            Api::namespaced_with(self.client.clone(), "default", &resource)
        }
    }

    pub(crate) async fn create(&self, object: Value) -> Value {
        let api = self.api(object["kind"].as_str().unwrap());
        let object = serde_json::from_value(object).unwrap();
        let created = api.create(&PostParams::default(), &object).await.unwrap();
        serde_json::to_value(created).unwrap()
    }

    pub(crate) async fn patch(&self, kind: &str, name: &str, patch: Value) {
        let (api, patch) = (self.api(kind), Patch::Merge(patch));
        api.patch(name, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }

    /// Renames an object, as the project does.
    pub(crate) async fn rename(&self, kind: &str, from: &str, to: &str) {
        let url = self.api(kind).resource_url().to_owned();
        let body = json!({"kind": "Rename", "name": to})
            .to_string()
            .into_bytes();
        let request = http::Request::post(format!("{url}/{from}/rename"));
        let request = request
            .header("Content-Type", "application/json")
            .body(body);
        let _: Value = self.client.request(request.unwrap()).await.unwrap();
    }

    pub(crate) async fn delete(&self, kind: &str, name: &str) {
        self.api(kind)
            .delete(name, &DeleteParams::default())
            .await
            .unwrap();
    }

    pub(crate) async fn get(&self, kind: &str, name: &str) -> Value {
        serde_json::to_value(self.api(kind).get_opt(name).await.unwrap()).unwrap()
    }

    /// The names and versions of all objects of a kind that are the project's.
    pub(crate) async fn versions(&self, kind: &str) -> Vec<(String, String)> {
        let params = ListParams::default().labels(&format!("{}={PROJECT}", project::LABEL_PROJECT));
        let listed = self
            .api(kind)
            .list(&params)
            .await
            .unwrap()
            .items
            .into_iter();
        listed
            .map(|object| {
                (
                    object.metadata.name.unwrap(),
                    object.metadata.resource_version.unwrap(),
                )
            })
            .collect()
    }

    pub(crate) async fn names(&self, kind: &str) -> Vec<String> {
        self.versions(kind)
            .await
            .into_iter()
            .map(|(name, _)| name)
            .collect()
    }

    /// Waits until an object is as wanted, by watching it.
    pub(crate) async fn until(
        &self,
        kind: &str,
        name: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> Value {
        let api = self.api(kind);
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
                let found = self.get(kind, name).await;
                let project = self.get("Project", PROJECT).await;
                panic!(
                    "{kind} {name} is never so: {found:#}\n{:#}",
                    project["status"]
                );
            }
        }
    }

    pub(crate) async fn gone(&self, kind: &str, name: &str) {
        self.until(kind, name, Value::is_null).await;
    }

    /// Waits until a gadget is gone from a namespace.
    pub(crate) async fn gone_in(&self, namespace: &str, name: &str) {
        let kind = GroupVersionKind::gvk("example.com", "v1", "Gadget");
        let resource = ApiResource::from_gvk_with_plural(&kind, "gadgets");
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.client.clone(), namespace, &resource);
        let gone =
            kube::runtime::wait::await_condition(api, name, |found: Option<&DynamicObject>| {
                found.is_none()
            });
        let gone = tokio::time::timeout(PATIENCE, gone).await;
        gone.unwrap().unwrap();
    }

    /// Waits until the project's status is as wanted.
    pub(crate) async fn status(&self, wanted: impl Fn(&Value) -> bool) -> Value {
        let found = self
            .until("Project", PROJECT, |project| wanted(&project["status"]))
            .await;
        found["status"].clone()
    }

    pub(crate) async fn synced(&self, objects: usize) -> Value {
        self.status(|status| status["phase"] == "Synced" && status["objects"] == objects)
            .await
    }

    /// Waits until there is a problem with this in its message.
    pub(crate) async fn problem(&self, part: &str) -> Value {
        let find = |status: &Value| {
            let problems = status["problems"].as_array()?;
            let contains = |problem: &&Value| problem["message"].as_str().unwrap().contains(part);
            problems.iter().find(contains).cloned()
        };
        let status = self.status(|status| find(status).is_some()).await;
        find(&status).unwrap()
    }
}

fn start(client: &Client, directory: &TempDir, widgets: &Widgets) -> Engine {
    let projects = Projects::new(Some(directory.path().to_owned()));
    let engine = Engine::builder(client.clone())
        .reconciler(projects.reconciler())
        .reconciler(widgets.clone())
        .hooks()
        .start()
        .unwrap();
    projects.connect(&engine);
    engine
}

pub(crate) fn manifest() -> Value {
    json!({
        "apiVersion": "landform.dev/v1alpha1", "kind": "Project",
        "metadata": {"name": PROJECT}, "spec": {"directory": "shop", "deletions": "Grace"},
    })
}

/// A ConfigMap as a file has it.
pub(crate) fn map(name: &str, value: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  a: \"{value}\"\n")
}

pub(crate) fn widget(name: &str, size: u32) -> String {
    format!(
        "apiVersion: example.com/v1\nkind: Widget\nmetadata: {{name: {name}}}\nspec: {{size: {size}}}\n"
    )
}

fn widgets_definition() -> Value {
    definition("Widget", "widgets")
}

pub(crate) fn definition(kind: &str, plural: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.example.com")},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": kind.to_lowercase()},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {"size": {"type": "integer"}}},
                    "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                }}},
            }],
        },
    })
}
