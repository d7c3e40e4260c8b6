//! A client for tests: requests in, status and JSON out; watches as streams of events.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Method, Request};
use http_body_util::{BodyExt as _, Full};
use landform_apiserver::{ApiServer, Body, Config, Identity, LocalService};
use landform_store::Store;
use landform_store::memory::MemoryStore;
use serde_json::{Value, json};
use tower::Service as _;

/// Everything that should come comes well within this time.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running server and a client of it.
#[derive(Clone)]
pub(crate) struct Api {
    pub(crate) server: ApiServer,
    pub(crate) store: Arc<MemoryStore>,
    service: LocalService,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) bytes: Bytes,
    pub(crate) value: Value,
}

impl Answer {
    /// The value of a success.
    #[track_caller]
    pub(crate) fn ok(self) -> Value {
        assert!(self.code < 300, "{} {}", self.code, self.value);
        self.value
    }

    /// Code, reason and message of a failure.
    #[track_caller]
    pub(crate) fn failed(&self) -> (u16, &str, &str) {
        assert_eq!(self.value["kind"], "Status", "{}", self.value);
        assert_eq!(self.value["status"], "Failure", "{}", self.value);
        assert_eq!(self.value["code"], self.code);
        let text = |field: &str| self.value[field].as_str().unwrap_or_default();
        (self.code, text("reason"), text("message"))
    }
}

impl Api {
    /// A server with its housekeeping, and a stand-in for the collector.
    pub(crate) async fn start() -> Self {
        Self::start_with(Config::default()).await
    }

    pub(crate) async fn start_with(config: Config) -> Self {
        let api = Self::without_background(config).await;
        tokio::spawn(api.server.clone().keep_house());
        tokio::spawn(api.clone().finish_deletions());
        api
    }

    /// A server that only answers requests.
    pub(crate) async fn without_background(config: Config) -> Self {
        let store = Arc::new(MemoryStore::new());
        let server = ApiServer::start(store.clone() as Arc<dyn Store>, config)
            .await
            .unwrap();
        Self::of(server, store)
    }

    /// A client of a server, as the server itself.
    pub(crate) fn of(server: ApiServer, store: Arc<MemoryStore>) -> Self {
        let service = LocalService::new(server.clone(), Identity::internal());
        Self {
            server,
            store,
            service,
        }
    }

    /// A client of the same server, as somebody else.
    pub(crate) fn by(&self, who: Identity) -> Self {
        Self {
            service: LocalService::new(self.server.clone(), who),
            ..self.clone()
        }
    }

    /// Sends a request with these headers.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.call(request.body(Full::new(body.into())).unwrap())
            .await
    }

    /// Sends a request as it is.
    pub(crate) async fn call(&self, request: Request<Full<Bytes>>) -> Answer {
        let answer = self.service.clone().call(request);
        let response = tokio::time::timeout(PATIENCE, answer)
            .await
            .expect("an answer in time")
            .unwrap();
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        Answer {
            code: parts.status.as_u16(),
            headers: parts.headers,
            bytes,
            value,
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, &[], "").await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.send(
            Method::POST,
            path,
            &[("content-type", "application/json")],
            body.to_string(),
        )
        .await
    }

    pub(crate) async fn put(&self, path: &str, body: Value) -> Answer {
        self.send(
            Method::PUT,
            path,
            &[("content-type", "application/json")],
            body.to_string(),
        )
        .await
    }

    /// A patch: `json`, `merge` or `strategic-merge`.
    pub(crate) async fn patch(&self, path: &str, form: &str, body: Value) -> Answer {
        let content_type = format!("application/{form}-patch+json");
        self.send(
            Method::PATCH,
            path,
            &[("content-type", &content_type)],
            body.to_string(),
        )
        .await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.send(Method::DELETE, path, &[], "").await
    }

    /// Opens a watch.
    pub(crate) async fn watch(&self, path: &str) -> Watch {
        self.watch_as(path, "application/json").await
    }

    pub(crate) async fn watch_as(&self, path: &str, accept: &str) -> Watch {
        let separator = if path.contains('?') { '&' } else { '?' };
        let request = Request::builder()
            .uri(format!("{path}{separator}watch=true"))
            .header("accept", accept)
            .body(Full::new(Bytes::new()))
            .unwrap();
        let response = self.service.clone().call(request).await.unwrap();
        let code = response.status().as_u16();
        Watch {
            code,
            body: response.into_body(),
            pending: BytesMut::new(),
        }
    }

    /// Finishes every delete without a policy, as the collector does where nothing depends on anything.
    /// The real one needs a client library; its tests are in landform-controllers.
    async fn finish_deletions(self) {
        let mut changes = self
            .store
            .watch_all(landform_store::Revision::ZERO)
            .unwrap();
        while let Ok(events) = changes.next().await {
            for event in events {
                let object: Value = serde_json::from_slice(&event.record.value).unwrap();
                let metadata = &object["metadata"];
                if event.kind == landform_store::EventKind::Deleted
                    || metadata["finalizers"] != json!(["cascade_deletion"])
                {
                    continue;
                }
                let path = path_of(&object, event.record.key.bucket.as_str());
                let patch = json!({"metadata": {"finalizers": null}});
                self.patch(&path, "merge", patch).await;
            }
        }
    }

    /// Waits until nothing is at this path any more.
    pub(crate) async fn gone(&self, path: &str) {
        let gone = async {
            let mut revisions = self
                .store
                .watch_all(landform_store::Revision::ZERO)
                .unwrap();
            while self.get(path).await.code != 404 {
                // Every change is a reason to look again.
                revisions.next().await.unwrap();
            }
        };
        tokio::time::timeout(PATIENCE, gone)
            .await
            .unwrap_or_else(|_| panic!("{path} is still there"));
    }
}

/// Where an object that is stored in this bucket is served.
fn path_of(object: &Value, bucket: &str) -> String {
    let version = object["apiVersion"].as_str().unwrap();
    let root = if version.contains('/') {
        "/apis"
    } else {
        "/api"
    };
    let plural = bucket.split('.').next().unwrap();
    let name = object["metadata"]["name"].as_str().unwrap();
    match object["metadata"]["namespace"].as_str() {
        Some(namespace) => format!("{root}/{version}/namespaces/{namespace}/{plural}/{name}"),
        None => format!("{root}/{version}/{plural}/{name}"),
    }
}

/// An open watch.
pub(crate) struct Watch {
    pub(crate) code: u16,
    body: Body,
    pending: BytesMut,
}

impl Watch {
    /// The next event: its type and object. `None` when the watch has ended.
    pub(crate) async fn next(&mut self) -> Option<(String, Value)> {
        tokio::time::timeout(PATIENCE, self.next_ever())
            .await
            .expect("an event in time")
    }

    /// As [`Watch::next`], however long it takes: for tests whose clock stands still.
    async fn next_ever(&mut self) -> Option<(String, Value)> {
        loop {
            if let Some(end) = self.pending.iter().position(|byte| *byte == b'\n') {
                let line = self.pending.split_to(end + 1);
                let event: Value = serde_json::from_slice(&line).unwrap();
                return Some((
                    event["type"].as_str().unwrap().to_owned(),
                    event["object"].clone(),
                ));
            }
            let frame = self.body.frame().await?;
            self.pending
                .extend_from_slice(&frame.unwrap().into_data().unwrap());
        }
    }

    /// The next event as `TYPE name`.
    pub(crate) async fn next_name(&mut self) -> String {
        match self.next().await {
            Some((type_, object)) => {
                format!(
                    "{type_} {}",
                    object["metadata"]["name"].as_str().unwrap_or_default()
                )
            }
            None => "ended".into(),
        }
    }

    /// Everything until the watch ends.
    pub(crate) async fn rest(mut self) -> Vec<(String, Value)> {
        let mut events = Vec::new();
        while let Some(event) = self.next_ever().await {
            events.push(event);
        }
        events
    }
}

/// The path of config maps in the namespace default.
pub(crate) const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A config map.
pub(crate) fn map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "1"}})
}

/// A definition of widgets in group example.com with a schema.
pub(crate) fn widgets() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"], "categories": ["all"]},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
                              "labelSelectorPath": ".status.selector"},
                },
                "additionalPrinterColumns": [
                    {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
                    {"name": "Color", "type": "string", "jsonPath": ".spec.color", "priority": 1},
                ],
                "selectableFields": [{"jsonPath": ".spec.color"}],
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "properties": {
                        "spec": {
                            "type": "object",
                            "required": ["size"],
                            "properties": {
                                "size": {"type": "integer", "minimum": 1, "maximum": 10},
                                "color": {"type": "string", "enum": ["red", "green"]},
                                "replicas": {"type": "integer", "default": 2},
                            },
                            "x-kubernetes-validations": [
                                {"rule": "self.size <= 5 || self.color == 'red'", "message": "big widgets are red"},
                            ],
                        },
                        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                    },
                }},
            }],
        },
    })
}

/// The path of definitions.
pub(crate) const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// The path of widgets in the namespace default.
pub(crate) const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

/// A widget.
pub(crate) fn widget(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec})
}
