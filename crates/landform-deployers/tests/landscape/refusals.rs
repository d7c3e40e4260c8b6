//! An API that refuses some of the writes that it is asked for.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::FutureExt as _;
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use landform_apiserver::LocalService;
use parking_lot::Mutex;
use serde_json::json;
use tower::Service;

type Body = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// Which writes are refused, and with which code.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) method: Method,
    /// A part of the path, but of no status; or its end, if it ends in `$`.
    pub(crate) path: &'static str,
    pub(crate) code: u16,
}

/// The refusal that holds now, and how often it did.
#[derive(Clone, Default)]
pub(crate) struct Refusals(Arc<Mutex<Option<Refusal>>>, Arc<Mutex<usize>>);

impl Refusals {
    pub(crate) fn set(&self, refusal: Refusal) {
        *self.0.lock() = Some(refusal);
        *self.1.lock() = 0;
    }

    pub(crate) fn end(&self) {
        *self.0.lock() = None;
    }

    /// How many writes were refused since it was set.
    pub(crate) fn count(&self) -> usize {
        *self.1.lock()
    }

    pub(crate) fn before(&self, service: LocalService) -> Refusing {
        Refusing {
            refusals: self.clone(),
            service,
        }
    }

    fn answer(&self, method: &Method, path: &str) -> Option<Response<Body>> {
        let refusal = self.0.lock().clone()?;
        let fits = match refusal.path.strip_suffix('$') {
            Some(end) => path.ends_with(end),
            None => path.contains(refusal.path) && !path.ends_with("/status"),
        };
        if !fits || *method != refusal.method {
            return None;
        }
        *self.1.lock() += 1;
        let code = StatusCode::from_u16(refusal.code).unwrap();
        let status = json!({
            "apiVersion": "v1", "kind": "Status", "status": "Failure", "code": refusal.code,
            "reason": code.canonical_reason(), "message": format!("refused by a test with {code}"),
        });
        let body = Full::new(Bytes::from(status.to_string())).map_err(Into::into);
        let answer = Response::builder().status(code);
        let answer = answer.header("content-type", "application/json");
        Some(answer.body(body.boxed_unsync()).unwrap())
    }
}

/// The API behind refusals.
#[derive(Clone)]
pub(crate) struct Refusing {
    refusals: Refusals,
    service: LocalService,
}

impl Service<Request<kube::client::Body>> for Refusing {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<kube::client::Body>) -> Self::Future {
        if let Some(answer) = self.refusals.answer(request.method(), request.uri().path()) {
            return futures::future::ready(Ok(answer)).boxed();
        }
        let answer = Service::call(&mut self.service, request);
        Box::pin(async move {
            let Ok(answer) = answer.await;
            Ok(answer.map(|body| body.map_err(Into::into).boxed_unsync()))
        })
    }
}
