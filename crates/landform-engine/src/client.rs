//! The clients of a run, which tell the driver what the run writes (R5), and the API for whom (C6).
//!
//! A write is reported before it is sent and after it was answered. When the watch shows a change in
//! between, the driver knows that it may be the run's own and waits for the answer. The driver learns
//! the version from the answer's body, so reconcilers use any `kube::Api` they like.

use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use http::{HeaderMap, Method, Request, Response};
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use landform_api::GroupKind;
use landform_api::kind::split_api_version;
use landform_api::writer::{Authors, MadeFor, OnBehalf, TakesOver, Together, Writer};
use landform_schedule::{RunId, Version};
use landform_threads::aside_if;
use serde::Deserialize;
use tokio_util::task::TaskTracker;

use crate::large::LARGE_BYTES;
use crate::message::{Inbox, Message, WriteTarget, Written};

type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// What makes the clients of one run: their writes are known as the run's. `path` is that of the run's own object. Writes
/// that were begun are in `writes` until they have ended, even when the run doesn't wait for them.
#[derive(Clone)]
pub(crate) struct Clients {
    pub(crate) client: Client,
    pub(crate) inbox: Inbox,
    pub(crate) run: RunId,
    pub(crate) path: Arc<str>,
    pub(crate) writes: TaskTracker,
    /// Who stands behind the run's object, and so behind what is made for it.
    pub(crate) on_behalf: Authors,
    /// Whether the API writes the notes that only it may write.
    pub(crate) writers_noted: bool,
}

impl Clients {
    /// The client with the engine's own rights.
    pub(crate) fn own(&self) -> Client {
        self.client_of(Guise::default(), None, None)
    }

    /// A client whose requests are those of others.
    pub(crate) fn client_with(&self, guise: Guise) -> Client {
        self.client_of(guise, None, None)
    }

    /// The same; what it creates is noted as made for the object with this uid.
    pub(crate) fn maker_with(&self, guise: Guise, uid: &str) -> Client {
        self.client_of(guise, Some(MadeFor(uid.to_owned())), None)
    }

    /// The engine's own client; what it changes is noted as made for the object with this uid, too.
    pub(crate) fn taker(&self, uid: &str) -> Client {
        let made_for = MadeFor(uid.to_owned());
        self.client_of(Guise::default(), Some(made_for), Some(TakesOver))
    }

    fn client_of(
        &self,
        guise: Guise,
        made_for: Option<MadeFor>,
        takes_over: Option<TakesOver>,
    ) -> Client {
        let service = OwnWrites {
            clients: self.clone(),
            guise,
            made_for,
            takes_over,
        };
        Client::new(service, self.client.default_namespace())
    }
}

/// As whom a client makes its requests; by default as the engine itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Guise {
    /// Those of impersonation.
    pub(crate) headers: HeaderMap,
    /// Whose rights the requests need as well. Only the server of this process reads it.
    pub(crate) together: Vec<Writer>,
}

struct OwnWrites {
    clients: Clients,
    guise: Guise,
    made_for: Option<MadeFor>,
    takes_over: Option<TakesOver>,
}

impl tower::Service<Request<Body>> for OwnWrites {
    type Response = Response<Body>;
    type Error = AnyError;
    type Future = BoxFuture<'static, Result<Response<Body>, AnyError>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), AnyError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let Clients {
            client,
            inbox,
            run,
            path,
            writes,
            on_behalf,
            ..
        } = self.clients.clone();
        for (name, value) in &self.guise.headers {
            request.headers_mut().append(name, value.clone());
        }
        if !self.guise.together.is_empty() {
            let together = Together(self.guise.together.clone());
            request.extensions_mut().insert(together);
        }
        if matches!(
            *request.method(),
            Method::GET | Method::HEAD | Method::OPTIONS
        ) {
            return Box::pin(async move { Ok(client.send(request).await?) });
        }
        request.extensions_mut().insert(OnBehalf(on_behalf));
        if let Some(made_for) = self.made_for.clone() {
            request.extensions_mut().insert(made_for);
        }
        if let Some(takes_over) = self.takes_over {
            request.extensions_mut().insert(takes_over);
        }
        let target = target(&path, request.uri().path());
        let is_status = target == WriteTarget::Own && request.uri().path().ends_with("/status");
        let mut report = Report::begin(inbox, run, target);
        // A task of its own: a cancelled run drops what it waits for, but the API carries out what it was
        // sent, perhaps much later. The run has returned only when that is over; otherwise the write
        // could come after those of the next run, and win.
        let write = writes.spawn(async move {
            let response = client.send(request).await?;
            let (parts, body) = response.into_parts();
            let bytes = body.collect().await?.to_bytes();
            if parts.status.is_success() {
                report.written = written(&bytes).filter(|written| vouches(written, is_status));
            }
            drop(report);
            Ok(Response::from_parts(parts, Body::from(bytes)))
        });
        Box::pin(async move { write.await? })
    }
}

/// Whether an answer says whose a version of the own object is. The write of a status that is there already changes
/// nothing, and its answer has the version of whatever others wrote last. A status never moves what runs are for, so
/// nothing is lost by not knowing its version.
fn vouches(written: &Written, is_status: bool) -> bool {
    !is_status || written.version.is_none()
}

/// Whether a path is that of an object, or of one of its subresources.
fn target(own: &str, path: &str) -> WriteTarget {
    match path.strip_prefix(own) {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => WriteTarget::Own,
        Some(_) | None => WriteTarget::Other,
    }
}

/// Reports the end of a write even when nobody waits for its answer any more.
struct Report {
    inbox: Inbox,
    run: RunId,
    target: WriteTarget,
    written: Option<Written>,
}

impl Report {
    fn begin(inbox: Inbox, run: RunId, target: WriteTarget) -> Self {
        inbox.put(Message::WriteBegan { run, target });
        Self {
            inbox,
            run,
            target,
            written: None,
        }
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        self.inbox.put(Message::WriteEnded {
            run: self.run,
            target: self.target,
            written: self.written.take(),
        });
    }
}

/// The few fields of an answer that matter here.
#[derive(Deserialize)]
struct Answer {
    #[serde(rename = "apiVersion", default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    metadata: AnswerMetadata,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct AnswerMetadata {
    resource_version: Option<String>,
    deletion_timestamp: Option<String>,
    finalizers: Vec<String>,
}

fn written(bytes: &[u8]) -> Option<Written> {
    let read = || serde_json::from_slice(bytes).ok();
    let answer: Answer = aside_if(bytes.len() > LARGE_BYTES, read)?;
    let (group, _) = split_api_version(&answer.api_version)?;
    let metadata = answer.metadata;
    // Marked and held by nothing is gone already (G3). A bare Status tells of a removal, too.
    let gone = metadata.deletion_timestamp.is_some() && metadata.finalizers.is_empty();
    let version = metadata.resource_version.and_then(|text| text.parse().ok());
    Some(Written {
        kind: GroupKind {
            group: group.to_owned(),
            kind: answer.kind,
        },
        version: version.map(Version).filter(|_| !gone),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn r5_only_the_own_object_and_its_subresources_are_own() {
        let own = "/apis/example.com/v1/namespaces/shop/widgets/web";
        let table = [
            (own.to_owned(), WriteTarget::Own),
            (format!("{own}/status"), WriteTarget::Own),
            (format!("{own}-2"), WriteTarget::Other),
            (
                "/api/v1/namespaces/shop/configmaps/web".to_owned(),
                WriteTarget::Other,
            ),
        ];
        for (path, expected) in table {
            assert_eq!(target(own, &path), expected, "{path}");
        }
    }

    #[test]
    fn r5_the_version_is_read_from_the_answer() {
        let answer = |metadata: serde_json::Value| {
            let body =
                json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata});
            written(body.to_string().as_bytes()).unwrap().version
        };
        assert_eq!(answer(json!({"resourceVersion": "7"})), Some(Version(7)));
        let marked = json!({"resourceVersion": "7", "deletionTimestamp": "2026-01-01T00:00:00Z"});
        assert_eq!(answer(marked.clone()), None, "gone");
        let mut held = marked;
        held["finalizers"] = json!(["x"]);
        assert_eq!(answer(held), Some(Version(7)));
        assert_eq!(answer(json!({})), None);
        assert_eq!(written(b"not JSON"), None);
    }

    #[test]
    fn r5_a_status_that_changes_nothing_does_not_claim_what_others_wrote() {
        let answer = |version: Option<u64>| Written {
            kind: GroupKind {
                group: String::new(),
                kind: "ConfigMap".into(),
            },
            version: version.map(Version),
        };
        assert!(!vouches(&answer(Some(7)), true));
        assert!(vouches(&answer(Some(7)), false));
        assert!(vouches(&answer(None), true), "it is gone");
    }
}
