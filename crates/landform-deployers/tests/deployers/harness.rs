//! An API server in memory, an engine with the deployers of a test, and deploy items.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use kube::Client;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind as KubeKind};
use kube::runtime::watcher;
use landform_api::landscaper::{GROUP, VERSION, definition};
use landform_apiserver::{ApiServer, Config, Identity, LocalService};
use landform_deployers::DeployItems;
use landform_engine::{Engine, definitions};
use landform_store::memory::MemoryStore;
use serde_json::{Value, json};

/// Everything that should happen happens within this time.
const PATIENCE: Duration = Duration::from_secs(3600);

pub(crate) struct World {
    pub(crate) client: Client,
    pub(crate) engine: Engine,
    pub(crate) server: ApiServer,
}

impl World {
    /// Starts a server and an engine with these deployers.
    pub(crate) async fn new(items: DeployItems) -> Self {
        let server = ApiServer::start(Arc::new(MemoryStore::new()), Config::default());
        let server = server.await.unwrap();
        tokio::spawn(server.clone().keep_house());
        let service = LocalService::new(server.clone(), Identity::internal());
        let client = Client::new(service, "default");
        for definition in definition::definitions() {
            definitions::install(&client, &definition).await.unwrap();
        }
        let engine = Self::engine(&client, items);
        Self {
            client,
            engine,
            server,
        }
    }

    fn engine(client: &Client, items: DeployItems) -> Engine {
        let wake = items.wake();
        let engine = Engine::builder(client.clone())
            .writers_noted()
            .reconciler(items);
        let engine = engine.start().unwrap();
        wake.connect(&engine);
        engine
    }

    /// Stops the engine and starts another one: a restart of Landform.
    pub(crate) async fn restart(&mut self, items: DeployItems) {
        self.engine.stop(Duration::from_secs(5)).await;
        self.engine = Self::engine(&self.client, items);
    }

    pub(crate) fn api(&self, kind: &str, plural: &str) -> Api<DynamicObject> {
        let kind = KubeKind::gvk(GROUP, VERSION, kind);
        let resource = ApiResource::from_gvk_with_plural(&kind, plural);
        Api::default_namespaced_with(self.client.clone(), &resource)
    }

    pub(crate) fn items(&self) -> Api<DynamicObject> {
        self.api("DeployItem", "deployitems")
    }

    /// Hands out an item, as an execution does.
    pub(crate) async fn hand_out(&self, name: &str, spec: Value) {
        let item = json!({
            "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "DeployItem",
            "metadata": {"name": name, "annotations": {
                "landscaper.gardener.cloud/reconcile-time": landform_engine::write_time(now_ms()),
            }},
            "spec": spec,
        });
        let item = serde_json::from_value(item).unwrap();
        let created = self.items().create(&PostParams::default(), &item).await;
        created.unwrap();
    }

    pub(crate) async fn patch(&self, name: &str, patch: Value) {
        let patch = Patch::Merge(patch);
        let patched = self
            .items()
            .patch(name, &PatchParams::default(), &patch)
            .await;
        patched.unwrap();
    }

    pub(crate) async fn delete(&self, name: &str) {
        let deleted = self.items().delete(name, &DeleteParams::background()).await;
        deleted.unwrap();
    }

    /// Waits until an item is as wanted, by watching it.
    pub(crate) async fn until(
        &self,
        name: &str,
        wanted: impl Fn(&DynamicObject) -> bool,
    ) -> DynamicObject {
        let watch = watcher::watch_object(self.items(), name);
        let found = async {
            let mut watch = std::pin::pin!(watch);
            let mut last = None;
            while let Some(found) = watch.next().await {
                last = found.unwrap();
                if let Some(object) = last.clone().filter(|object| wanted(object)) {
                    return object;
                }
            }
            panic!("the watch ended: {last:?}");
        };
        let found = tokio::time::timeout(PATIENCE, found).await;
        match found {
            Ok(found) => found,
            Err(_) => panic!("never so: {:?}", self.items().get(name).await),
        }
    }

    /// Waits until an item has a phase that is about its present generation.
    pub(crate) async fn until_phase(&self, name: &str, phase: &str) -> DynamicObject {
        self.until(name, |object| {
            let status = &object.data["status"];
            status["phase"] == phase
                && status["observedGeneration"].as_i64() == object.metadata.generation
                && !annotated(object, "landscaper.gardener.cloud/reconcile-time")
                && !annotated(object, "landscaper.gardener.cloud/operation")
        })
        .await
    }

    /// Waits until an item is gone.
    pub(crate) async fn until_gone(&self, name: &str) {
        let watch = watcher::watch_object(self.items(), name);
        let gone = async {
            let mut watch = std::pin::pin!(watch);
            while let Some(found) = watch.next().await {
                if found.unwrap().is_none() {
                    return;
                }
            }
        };
        tokio::time::timeout(PATIENCE, gone).await.unwrap();
    }
}

pub(crate) fn annotated(object: &DynamicObject, key: &str) -> bool {
    let annotations = object.metadata.annotations.as_ref();
    annotations.is_some_and(|annotations| annotations.contains_key(key))
}

pub(crate) fn now_ms() -> u64 {
    use landform_engine::Clock as _;
    landform_engine::SystemClock.now_ms()
}

/// A data directory. What a test has started in there must not stay when it fails.
pub(crate) struct DataDirectory(tempfile::TempDir);

impl DataDirectory {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &std::path::Path {
        self.0.path()
    }
}

impl Drop for DataDirectory {
    fn drop(&mut self) {
        for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
            let directory = std::fs::read_link(entry.path().join("cwd"));
            if directory.is_ok_and(|directory| directory.starts_with(self.path())) {
                let mut kill = std::process::Command::new("kill");
                let _ = kill.arg("-9").arg(entry.file_name()).status();
            }
        }
    }
}
