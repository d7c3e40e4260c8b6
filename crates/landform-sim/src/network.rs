//! The way between a client and the API server: seeded delays and what goes wrong on it.
//!
//! A tower `Service` around the in-process one. A request waits before it is carried out and again before
//! its answer is handed back, so that the order in which things happen depends on the seed.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, Uri};
use landform_apiserver::{Body, LocalService};
use serde_json::json;
use tower::Service;

use crate::disk::Disk;
use crate::fault::{Fault, Faults};
use crate::trace::Trace;
use crate::watch_body::SimBody;

/// The connection broke. Nobody knows what became of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the connection was lost")]
pub struct ConnectionLost;

/// A write that is late is so by at least this time, and by up to five times as much.
const LATE_MS: u64 = 1_000;

/// What a way through the network needs.
#[derive(Clone)]
pub(crate) struct Network {
    pub(crate) faults: Faults,
    pub(crate) trace: Trace,
    pub(crate) disk: Disk,
}

impl Network {
    /// How long something takes to get through.
    fn latency(&self) -> Duration {
        if !self.faults.strikes_silently(Fault::Latency) {
            return Duration::from_millis(1);
        }
        let chance = self.faults.chance();
        // Most things are quick, a few take long enough for anything to happen meanwhile.
        let most = match chance.below(100) {
            0 => 20_000,
            1..10 => 500,
            _ => 10,
        };
        Duration::from_millis(chance.below(most))
    }
}

/// A client's way to the API server.
#[derive(Clone)]
pub struct SimService {
    server: LocalService,
    network: Network,
    who: Arc<str>,
    notes_reads: bool,
}

impl SimService {
    pub(crate) fn new(server: LocalService, network: Network, who: &str) -> Self {
        Self {
            server,
            network,
            who: who.into(),
            notes_reads: true,
        }
    }

    /// For a client that reads everything all the time: only its writes and what goes wrong are in the trace.
    #[must_use]
    pub(crate) fn reads_unnoted(mut self) -> Self {
        self.notes_reads = false;
        self
    }

    async fn carry_out<B>(
        self,
        mut request: Request<B>,
    ) -> Result<Response<SimBody>, ConnectionLost>
    where
        B: http_body::Body + Send + 'static,
        B::Data: Send,
        B::Error: std::fmt::Display,
    {
        let asked = Asked::of(&request);
        let late = asked.is_write() && self.strikes(Fault::LateWrite, &asked);
        let mut latency = self.network.latency();
        if late {
            let more = self.network.faults.chance().below(4 * LATE_MS);
            latency += Duration::from_millis(LATE_MS + more);
        }
        if let Some(refusal) = self.refuse(&asked) {
            tokio::time::sleep(latency).await;
            self.note(&asked, refusal.status());
            return Ok(refusal);
        }
        if asked.allows_stale()
            && let Some(uri) = self.older(&asked, request.uri())
        {
            *request.uri_mut() = uri;
        }
        let mut server = self.server.clone();
        let answer = async move {
            tokio::time::sleep(latency).await;
            server.call(request).await
        };
        let response = if late {
            // It is on its way: a task of its own goes on when the client drops this future.
            match tokio::spawn(answer).await {
                Ok(answer) => answer,
                Err(_) => return Err(ConnectionLost),
            }
        } else {
            answer.await
        };
        let response = match response {
            Ok(response) => response,
            Err(never) => match never {},
        };
        if asked.is_write() && self.strikes(Fault::LostAnswer, &asked) {
            return Err(ConnectionLost);
        }
        let latency = self.network.latency();
        if latency > Duration::from_millis(1) {
            tokio::time::sleep(latency).await;
        }
        self.note(&asked, response.status());
        Ok(if asked.is_watch() && response.status().is_success() {
            let what = format!("{} watch {}", self.who, asked.path);
            response.map(|body| SimBody::watch(body, self.network.faults.clone(), what))
        } else {
            response.map(SimBody::whole)
        })
    }

    fn strikes(&self, fault: Fault, asked: &Asked) -> bool {
        let where_ = || format!("{} {} {}", self.who, asked.method, asked.path);
        self.network.faults.strikes(fault, where_)
    }

    /// The answer to a request that doesn't reach the server.
    fn refuse(&self, asked: &Asked) -> Option<Response<SimBody>> {
        // A create conflicts with nothing but an object that exists.
        let can_conflict = asked.is_write() && asked.method != Method::POST;
        if can_conflict && self.strikes(Fault::Conflict, asked) {
            let why = "simulated: the object has been modified; please apply your changes to the latest version";
            return Some(failure(StatusCode::CONFLICT, "Conflict", why));
        }
        let fault = if asked.is_write() {
            Fault::FailedWrite
        } else {
            Fault::FailedRead
        };
        self.strikes(fault, asked).then(|| {
            let why = "the server has a bad moment";
            failure(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", why)
        })
    }

    /// The same list of an older state, as a cache may answer when any state will do.
    fn older(&self, asked: &Asked, uri: &Uri) -> Option<Uri> {
        use landform_store::Store as _;
        if !self.strikes(Fault::StaleList, asked) {
            return None;
        }
        let store = self.network.disk.store();
        let (oldest, newest) = (store.compacted().0.max(1), store.revision().0);
        let back = self.network.faults.chance().below(30);
        let at = newest.saturating_sub(back).max(oldest);
        let kept = asked.query.split('&').filter(|part| {
            !part.is_empty()
                && !part.starts_with("resourceVersion=")
                && !part.starts_with("resourceVersionMatch=")
        });
        let exact = format!("resourceVersion={at}&resourceVersionMatch=Exact");
        let query: Vec<&str> = kept.chain([exact.as_str()]).collect();
        let text = format!("{}?{}", uri.path(), query.join("&"));
        text.parse().ok()
    }

    fn note(&self, asked: &Asked, status: StatusCode) {
        if !self.notes_reads && !asked.is_write() {
            return;
        }
        let verb = if asked.is_watch() {
            "WATCH"
        } else {
            asked.method.as_str()
        };
        let what = format!("{verb} {} → {}", asked.path, status.as_u16());
        self.network.trace.note(&self.who, what);
    }
}

/// What a request asks for.
struct Asked {
    method: Method,
    path: String,
    query: String,
}

impl Asked {
    fn of<B>(request: &Request<B>) -> Self {
        Self {
            method: request.method().clone(),
            path: short(request.uri().path()).to_owned(),
            query: request.uri().query().unwrap_or_default().to_owned(),
        }
    }

    fn is_write(&self) -> bool {
        !matches!(self.method, Method::GET | Method::HEAD)
    }

    fn is_watch(&self) -> bool {
        self.has("watch=true") || self.has("watch=1")
    }

    /// Whether Kubernetes allows any past state as the answer.
    fn allows_stale(&self) -> bool {
        !self.is_write()
            && !self.is_watch()
            && self.has("resourceVersion=0")
            && !self.has("resourceVersionMatch=Exact")
            && !self.query.contains("continue=")
            // Only lists take an exact version: their path ends with the resource.
            && !self.path.contains('/')
    }

    fn has(&self, part: &str) -> bool {
        self.query.split('&').any(|found| found == part)
    }
}

/// A path without group, version and namespace: `nodes/a/status`.
fn short(path: &str) -> &str {
    let parts_to_skip = match path.split('/').nth(1) {
        Some("api") => 3,
        Some("apis") => 4,
        _ => return path,
    };
    let rest = |path: &'_ str, count: usize| {
        let slash = path.match_indices('/').nth(count - 1);
        slash.map(|(at, _)| at + 1)
    };
    let Some(start) = rest(path, parts_to_skip) else {
        return path;
    };
    let tail = &path[start..];
    match tail.strip_prefix("namespaces/") {
        // What is in a namespace: its resource comes after the name.
        Some(inside) => inside.split_once('/').map_or(tail, |(_, after)| after),
        None => tail,
    }
}

/// A failure as the API says it.
fn failure(status: StatusCode, reason: &str, message: &str) -> Response<SimBody> {
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": status.as_u16(),
    });
    let body = Body::Whole(Bytes::from(body.to_string()));
    let mut response = Response::new(SimBody::whole(body));
    *response.status_mut() = status;
    let json = http::HeaderValue::from_static("application/json");
    response
        .headers_mut()
        .insert(http::header::CONTENT_TYPE, json);
    response
}

impl<B> Service<Request<B>> for SimService
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: std::fmt::Display,
{
    type Response = Response<SimBody>;
    type Error = ConnectionLost;
    type Future = Pin<Box<dyn Future<Output = Result<Response<SimBody>, ConnectionLost>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), ConnectionLost>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        Box::pin(self.clone().carry_out(request))
    }
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn paths_are_short_in_the_trace() {
        for (path, expected) in [
            ("/api/v1/namespaces/default/configmaps/a", "configmaps/a"),
            ("/api/v1/namespaces/default", "namespaces/default"),
            ("/api/v1/configmaps", "configmaps"),
            (
                "/apis/x.io/v1/namespaces/n/nodes/a/status",
                "nodes/a/status",
            ),
            ("/apis/x.io/v1/nodes", "nodes"),
            ("/healthz", "/healthz"),
        ] {
            assert_eq!(short(path), expected, "{path}");
        }
    }
}
