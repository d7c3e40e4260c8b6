//! A second API server, reached over a socket through a proxy that counts, loses and holds back requests.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, combinators::UnsyncBoxBody};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kube::Client;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use landform_apiserver::{ApiServer, Config, Identity, LocalService};
use landform_store::memory::MemoryStore;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tower::ServiceExt as _;

type Answer = Response<UnsyncBoxBody<Bytes, String>>;

/// What the proxy has seen, and what it does.
#[derive(Default)]
struct State {
    requests: usize,
    /// Writes in the order in which they were carried out, as `POST configmaps a`.
    writes: Vec<String>,
    /// After so many requests, one is carried out and its answer lost, and all later ones are refused.
    cut_after: Option<usize>,
    /// Writes wait here before they are carried out.
    hold: Option<Arc<Notify>>,
    /// Writes that wait.
    held: usize,
}

/// A cluster that a kubeconfig leads to.
pub(crate) struct Target {
    /// Goes around the proxy.
    pub(crate) client: Client,
    server: String,
    state: Arc<Mutex<State>>,
}

impl Target {
    pub(crate) async fn new() -> Self {
        let server = ApiServer::start(Arc::new(MemoryStore::new()), Config::default());
        let server = server.await.unwrap();
        tokio::spawn(server.clone().keep_house());
        let service = LocalService::new(server, Identity::internal());
        let client = Client::new(service.clone(), "default");
        let state = Arc::new(Mutex::new(State::default()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(accept(listener, service, state.clone()));
        Self {
            client,
            server,
            state,
        }
    }

    /// A kubeconfig that leads through the proxy.
    pub(crate) fn kubeconfig(&self) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
            "clusters": [{"name": "k", "cluster": {"server": self.server}}],
            "users": [{"name": "u", "user": {"token": "token-canary"}}],
        })
    }

    /// The writes since the last time that somebody asked.
    pub(crate) fn writes(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().writes)
    }

    pub(crate) fn requests(&self) -> usize {
        self.state.lock().requests
    }

    pub(crate) fn cut_after(&self, requests: usize) {
        self.state.lock().cut_after = Some(requests);
    }

    pub(crate) fn mend(&self) {
        self.state.lock().cut_after = None;
    }

    /// From now on writes wait.
    pub(crate) fn hold(&self) {
        self.state.lock().hold = Some(Arc::default());
    }

    pub(crate) fn held(&self) -> usize {
        self.state.lock().held
    }

    /// Writes that wait go on, and no others wait.
    pub(crate) fn release(&self) {
        if let Some(hold) = self.state.lock().hold.take() {
            hold.notify_waiters();
        }
    }

    pub(crate) fn api(
        &self,
        group: &str,
        kind: &str,
        namespace: Option<&str>,
    ) -> Api<DynamicObject> {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind));
        match namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        }
    }

    pub(crate) fn maps(&self) -> Api<DynamicObject> {
        self.api("", "ConfigMap", Some("default"))
    }

    /// The data of a ConfigMap; none when it isn't there.
    pub(crate) async fn map(&self, name: &str) -> Option<Value> {
        let found = self.maps().get_opt(name).await.unwrap();
        found.map(|found| found.data["data"].clone())
    }

    /// Somebody else makes a ConfigMap.
    pub(crate) async fn make_map(&self, name: &str, data: Value) {
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data,
        });
        let map = serde_json::from_value(map).unwrap();
        let made = self.maps().create(&PostParams::default(), &map).await;
        made.unwrap();
    }

    pub(crate) async fn patch_map(&self, name: &str, patch: Value) {
        let patch = Patch::Merge(patch);
        let maps = self.maps();
        maps.patch(name, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }

    pub(crate) async fn delete_map(&self, name: &str) {
        let maps = self.maps();
        maps.delete(name, &DeleteParams::background())
            .await
            .unwrap();
    }
}

async fn accept(listener: TcpListener, service: LocalService, state: Arc<Mutex<State>>) {
    while let Ok((stream, _)) = listener.accept().await {
        let (service, state) = (service.clone(), state.clone());
        let answering = service_fn(move |request| answer(request, service.clone(), state.clone()));
        let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), answering);
        tokio::spawn(connection);
    }
}

async fn answer(
    request: Request<Incoming>,
    service: LocalService,
    state: Arc<Mutex<State>>,
) -> Result<Answer, Infallible> {
    // Where a kind isn't served, Kubernetes answers without a Status.
    let is_custom = request.uri().path().starts_with("/apis/toys.example.com/");
    let is_write = ![Method::GET, Method::HEAD].contains(request.method());
    let (number, cut_after) = {
        let mut state = state.lock();
        state.requests += 1;
        (state.requests, state.cut_after)
    };
    if cut_after.is_some_and(|after| number > after + 1) {
        return Ok(refusal());
    }
    // The body is read first: a write that waits here has arrived, whatever becomes of the connection.
    let (parts, body) = request.into_parts();
    let body = body
        .collect()
        .await
        .map(http_body_util::Collected::to_bytes);
    let body = body.unwrap_or_default();
    let carried_out = tokio::spawn(async move {
        let write = format!("{} {}", parts.method, place(parts.uri.path(), &body));
        if is_write {
            let hold = state.lock().hold.clone();
            if let Some(hold) = hold {
                let released = hold.notified();
                state.lock().held += 1;
                released.await;
                state.lock().held -= 1;
            }
            state.lock().writes.push(write);
        }
        let request = Request::from_parts(parts, Full::new(body));
        service.oneshot(request).await
    });
    let answer = carried_out.await.unwrap().unwrap();
    if cut_after == Some(number - 1) {
        return Ok(refusal());
    }
    if answer.status() == StatusCode::NOT_FOUND && is_custom {
        return Ok(plain(StatusCode::NOT_FOUND, "404 page not found"));
    }
    let (parts, body) = answer.into_parts();
    let body = body.map_err(|error| error.to_string()).boxed_unsync();
    Ok(Response::from_parts(parts, body))
}

/// The last words of a path; for a creation with the name from the body.
fn place(path: &str, body: &[u8]) -> String {
    let words: Vec<_> = path.split('/').collect();
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    match body["metadata"]["name"].as_str() {
        Some(name) if words.last() != Some(&name) => format!("{} {name}", words[words.len() - 1]),
        _ => words[words.len() - 2..].join(" "),
    }
}

fn refusal() -> Answer {
    plain(StatusCode::SERVICE_UNAVAILABLE, "cut")
}

fn plain(status: StatusCode, text: &'static str) -> Answer {
    let body = Full::new(Bytes::from_static(text.as_bytes())).map_err(|never| match never {});
    let mut answer = Response::new(body.boxed_unsync());
    *answer.status_mut() = status;
    answer
}
