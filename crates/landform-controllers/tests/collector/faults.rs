//! A way to the server on which things go wrong, from a seed: requests that fail before or after they took effect,
//! delays, and watches that break off after any line.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use futures::future::BoxFuture;
use http::{Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, BodyStream, Full, StreamBody};
use landform_apiserver::LocalService;
use parking_lot::Mutex;
use tower::Service;

/// How far the lines of a watch that lags are apart.
pub(crate) const LAG: Duration = Duration::from_millis(500);

pub(crate) type Answer = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// The way; its faults can be switched on and off.
#[derive(Clone)]
pub(crate) struct Faulty {
    inner: LocalService,
    pub(crate) faults: Arc<Faults>,
}

pub(crate) struct Faults {
    random: Mutex<u64>,
    pub(crate) on: AtomicBool,
    /// Whether the server has no index of uids, as a cluster of others.
    pub(crate) without_uids: AtomicBool,
    /// Whether the lines of a watch of config maps come one by one, each after [`LAG`].
    pub(crate) lags: AtomicBool,
    /// How many uids were asked for.
    pub(crate) questions: AtomicUsize,
}

impl Faults {
    /// A number below this one.
    pub(crate) fn below(&self, limit: u64) -> u64 {
        let mut state = self.random.lock();
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        (*state >> 11) % limit
    }

    fn strikes(&self, percent: u64) -> bool {
        self.on.load(Ordering::SeqCst) && self.below(100) < percent
    }
}

impl Faulty {
    pub(crate) fn new(inner: LocalService, seed: u64) -> Self {
        let faults = Faults {
            random: Mutex::new(seed | 1),
            on: AtomicBool::new(false),
            without_uids: AtomicBool::new(false),
            lags: AtomicBool::new(false),
            questions: AtomicUsize::new(0),
        };
        Self {
            inner,
            faults: Arc::new(faults),
        }
    }
}

fn failed() -> Response<Answer> {
    let status = r#"{"kind":"Status","status":"Failure","code":503,"reason":"ServiceUnavailable","message":"a fault"}"#;
    let body = Full::new(Bytes::from(status))
        .map_err(|never| match never {})
        .boxed_unsync();
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    response
}

impl Service<Request<kube::client::Body>> for Faulty {
    type Response = Response<Answer>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Answer>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<kube::client::Body>) -> Self::Future {
        let (mut inner, faults) = (self.inner.clone(), self.faults.clone());
        if request
            .uri()
            .path()
            .starts_with("/apis/landform.dev/v1alpha1/uids/")
        {
            faults.questions.fetch_add(1, Ordering::SeqCst);
            if faults.without_uids.load(Ordering::SeqCst) {
                *request.uri_mut() = "/apis/landform.dev/v1alpha1/none".parse().unwrap();
            }
        }
        let of_maps = request.uri().path().ends_with("/configmaps");
        let is_watch = request
            .uri()
            .query()
            .is_some_and(|query| query.contains("watch="));
        Box::pin(async move {
            if faults.strikes(15) {
                tokio::time::sleep(Duration::from_millis(faults.below(200))).await;
            }
            if faults.strikes(10) {
                return Ok(failed());
            }
            let response = inner.call(request).await?;
            if faults.strikes(10) {
                return Ok(failed());
            }
            let lines = if is_watch && faults.strikes(60) {
                usize::try_from(faults.below(4)).unwrap() + 1
            } else {
                usize::MAX
            };
            let (parts, body) = response.into_parts();
            let stream = BodyStream::new(body).flat_map(|frame| {
                let frames: Vec<_> = match frame {
                    Ok(frame) => {
                        let data = frame.into_data().unwrap_or_default();
                        let lines = data.split_inclusive(|byte| *byte == b'\n');
                        lines
                            .map(|line| Ok(http_body::Frame::data(data.slice_ref(line))))
                            .collect()
                    }
                    Err(error) => vec![Err(error.into())],
                };
                futures::stream::iter(frames)
            });
            let body = if is_watch {
                let late = stream.then(move |line| {
                    let lags = of_maps && faults.lags.load(Ordering::SeqCst);
                    async move {
                        if lags {
                            tokio::time::sleep(LAG).await;
                        }
                        line
                    }
                });
                StreamBody::new(late.take(lines)).boxed_unsync()
            } else {
                StreamBody::new(stream).boxed_unsync()
            };
            Ok(Response::from_parts(parts, body))
        })
    }
}
