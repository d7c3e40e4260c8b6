//! A server, a collector and a client of it: objects by name, owners by name.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use landform_apiserver::{ApiServer, Config, Identity, LocalService};
use landform_controllers::collector::Collector;
use landform_store::memory::MemoryStore;
use landform_store::{Revision, Store};
use serde_json::{Value, json};
use tokio::task::AbortHandle;
use tower::Service as _;

/// Everything that should come comes well within this time.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
/// The first orphan may overtake what was queued before it; not the second.
const BARRIERS: usize = 2;
pub(crate) const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A running server, with or without a collector; all that runs ends with it.
pub(crate) struct World {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) server: ApiServer,
    tasks: Vec<AbortHandle>,
    collector: Option<AbortHandle>,
    barriers: u32,
}

impl Drop for World {
    fn drop(&mut self) {
        self.server.stop();
        self.stop_collecting();
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl World {
    /// A server with a collector on a new store.
    pub(crate) async fn start() -> Self {
        let mut world = Self::on(Arc::new(MemoryStore::new())).await;
        world.collect();
        world
    }

    /// A server on a store; nothing is collected yet.
    pub(crate) async fn on(store: Arc<dyn Store>) -> Self {
        let config = Config {
            delete_patience: Duration::ZERO,
            ..Config::default()
        };
        let server = ApiServer::start(store.clone(), config).await.unwrap();
        Self {
            store,
            server,
            tasks: Vec::new(),
            collector: None,
            barriers: 0,
        }
    }

    pub(crate) fn service(&self) -> LocalService {
        LocalService::new(self.server.clone(), Identity::internal())
    }

    /// Starts a collector.
    pub(crate) fn collect(&mut self) {
        self.collect_with(kube::Client::new(self.service(), "default"));
    }

    /// Starts a collector with a client of its own.
    pub(crate) fn collect_with(&mut self, client: kube::Client) {
        let collector = Collector::new(client, &self.server.metrics_registry());
        self.server.mount("deletion", collector.view());
        let task = tokio::spawn(collector.run());
        self.collector = Some(task.abort_handle());
    }

    /// Ends the collector, and all that it knows.
    pub(crate) fn stop_collecting(&mut self) {
        if let Some(collector) = self.collector.take() {
            collector.abort();
        }
    }

    /// Starts the API server's own housekeeping.
    pub(crate) fn keep_house(&mut self) {
        let task = tokio::spawn(self.server.clone().keep_house());
        self.tasks.push(task.abort_handle());
    }

    pub(crate) async fn send(&self, method: Method, path: &str, body: &Value) -> (u16, Value) {
        let (code, bytes) = self.send_raw(method, path, body).await;
        (code, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    /// An answer that isn't JSON.
    pub(crate) async fn text(&self, path: &str) -> String {
        let (_, bytes) = self.send_raw(Method::GET, path, &Value::Null).await;
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    async fn send_raw(&self, method: Method, path: &str, body: &Value) -> (u16, Bytes) {
        let form = match method {
            Method::PATCH => "application/merge-patch+json",
            _ => "application/json",
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", form);
        let bytes = if body.is_null() {
            Bytes::new()
        } else {
            body.to_string().into()
        };
        let request = request.body(Full::new(bytes)).unwrap();
        let response = tokio::time::timeout(PATIENCE, self.service().call(request))
            .await
            .expect("an answer in time")
            .unwrap();
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (code, bytes)
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, Value) {
        self.send(Method::GET, path, &Value::Null).await
    }

    /// As [`World::get`], of something that must be there.
    pub(crate) async fn read(&self, path: &str) -> Value {
        let (code, value) = self.get(path).await;
        assert_eq!(code, 200, "{path}: {value}");
        value
    }

    /// Makes a config map that is owned by others.
    pub(crate) async fn make(&self, name: &str, owners: &[&str]) -> Value {
        self.make_held(name, owners, &[]).await
    }

    /// As [`World::make`], with finalizers.
    pub(crate) async fn make_held(&self, name: &str, owners: &[&str], held: &[&str]) -> Value {
        let references = self.references(owners).await;
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "ownerReferences": references, "finalizers": held},
        });
        let (code, value) = self.send(Method::POST, MAPS, &object).await;
        assert_eq!(code, 201, "{value}");
        value
    }

    /// References to config maps; a name with a `!` stands for one that never was.
    pub(crate) async fn references(&self, owners: &[&str]) -> Value {
        let mut references = Vec::new();
        for name in owners {
            let uid = match name.strip_prefix('!') {
                Some(ghost) => json!(format!("uid-of-{ghost}")),
                None => self.read(&format!("{MAPS}/{name}")).await["metadata"]["uid"].clone(),
            };
            references.push(json!({
                "apiVersion": "v1", "kind": "ConfigMap", "blockOwnerDeletion": true,
                "name": name.trim_start_matches('!'), "uid": uid,
            }));
        }
        json!(references)
    }

    /// Gives an object other owners.
    pub(crate) async fn own(&self, name: &str, owners: &[&str]) -> u16 {
        let references = self.references(owners).await;
        let patch = json!({"metadata": {"ownerReferences": references}});
        self.send(Method::PATCH, &format!("{MAPS}/{name}"), &patch)
            .await
            .0
    }

    /// Deletes a config map; without a policy it is cascading.
    pub(crate) async fn delete(&self, name: &str, policy: Option<&str>) -> u16 {
        let query = policy.map_or(String::new(), |policy| {
            format!("?propagationPolicy={policy}")
        });
        let path = format!("{MAPS}/{name}{query}");
        self.send(Method::DELETE, &path, &Value::Null).await.0
    }

    /// Removes one of an object's finalizers.
    pub(crate) async fn free(&self, name: &str, finalizer: &str) {
        let path = format!("{MAPS}/{name}");
        let object = self.read(&path).await;
        let list = object["metadata"]["finalizers"].as_array().unwrap();
        let left: Vec<&Value> = list.iter().filter(|held| **held != finalizer).collect();
        let patch = json!({"metadata": {"finalizers": left}});
        let (code, value) = self.send(Method::PATCH, &path, &patch).await;
        assert_eq!(code, 200, "{value}");
    }

    /// The names of all config maps, each with a `*` when it is marked.
    pub(crate) async fn names(&self) -> BTreeSet<String> {
        let list = self.read(MAPS).await;
        let name = |item: &Value| {
            let marked = item["metadata"]["deletionTimestamp"].is_string();
            let name = item["metadata"]["name"].as_str().unwrap();
            format!("{name}{}", if marked { "*" } else { "" })
        };
        let items = list["items"].as_array().unwrap().iter().map(name);
        items
            .filter(|name| !name.starts_with("kube-root"))
            .collect()
    }

    /// The names of all config maps with marks and owners: `name* < owner, owner`.
    pub(crate) async fn picture(&self) -> BTreeSet<String> {
        let list = self.read(MAPS).await;
        let line = |item: &Value| {
            let metadata = &item["metadata"];
            let marked = metadata["deletionTimestamp"].is_string();
            let owners = metadata["ownerReferences"].as_array().into_iter().flatten();
            let owners: Vec<&str> = owners.filter_map(|owner| owner["name"].as_str()).collect();
            let name = metadata["name"].as_str().unwrap();
            format!(
                "{name}{} < {}",
                if marked { "*" } else { "" },
                owners.join(", ")
            )
        };
        list["items"].as_array().unwrap().iter().map(line).collect()
    }

    /// Waits until something holds, looking again at every change.
    pub(crate) async fn until<T>(
        &self,
        what: &str,
        mut check: impl AsyncFnMut() -> Option<T>,
    ) -> T {
        let waiting = async {
            let mut changes = self.store.watch_all(self.store.compacted()).unwrap();
            loop {
                if let Some(found) = check().await {
                    return found;
                }
                changes.next().await.unwrap();
            }
        };
        match tokio::time::timeout(PATIENCE, waiting).await {
            Ok(found) => found,
            Err(_) => panic!("{what} did not come; there are {:?}", self.names().await),
        }
    }

    /// Waits until there are exactly these config maps.
    pub(crate) async fn left(&mut self, expected: &[&str]) {
        let expected: BTreeSet<String> = expected.iter().map(|name| (*name).to_owned()).collect();
        self.until(&format!("{expected:?}"), async || {
            (self.names().await == expected).then_some(())
        })
        .await;
        self.barrier().await;
        assert_eq!(self.names().await, expected, "and it stays so");
    }

    /// Waits until the collector has looked at everything that happened before: it collects an orphan.
    pub(crate) async fn barrier(&mut self) {
        for _ in 0..BARRIERS {
            self.barriers += 1;
            let name = format!("barrier-{}", self.barriers);
            self.make(&name, &["!nobody"]).await;
            let path = format!("{MAPS}/{name}");
            self.until("the barrier's end", async || {
                (self.get(&path).await.0 == 404).then_some(())
            })
            .await;
        }
    }

    /// The newest revision.
    pub(crate) fn revision(&self) -> Revision {
        self.store.revision()
    }
}
