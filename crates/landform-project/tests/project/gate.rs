//! Holds back answers of the API: what happens between a read and what is made of it can be arranged.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use http::{Request, Response};
use kube::client::Body;
use landform_apiserver::LocalService;
use parking_lot::Mutex;
use tokio::sync::watch;
use tower::Service;

/// Holds back the answers to lists of one resource by the project's label, once it is closed.
#[derive(Clone)]
pub(crate) struct Gate {
    closed: Arc<Mutex<Option<String>>>,
    /// How many answers are held.
    held: Arc<watch::Sender<usize>>,
}

impl Default for Gate {
    fn default() -> Self {
        Self {
            closed: Arc::default(),
            held: Arc::new(watch::Sender::new(0)),
        }
    }
}

impl Gate {
    pub(crate) fn close(&self, plural: &str) {
        *self.closed.lock() = Some(format!("/{plural}?labelSelector="));
    }

    pub(crate) fn open(&self) {
        *self.closed.lock() = None;
        self.held.send_replace(0);
    }

    /// Waits until an answer is held: it was made, and has not arrived.
    pub(crate) async fn holds(&self) {
        let mut held = self.held.subscribe();
        held.wait_for(|held| *held > 0).await.unwrap();
    }

    async fn pass(&self, uri: &str) {
        let closed = self.closed.lock().clone();
        if closed.is_some_and(|closed| uri.contains(&closed)) {
            let mut held = self.held.subscribe();
            self.held.send_modify(|held| *held += 1);
            held.wait_for(|held| *held == 0).await.unwrap();
        }
    }
}

/// The API behind a gate.
#[derive(Clone)]
pub(crate) struct Gated {
    service: LocalService,
    gate: Gate,
}

impl Gated {
    pub(crate) fn new(service: LocalService, gate: Gate) -> Self {
        Self { service, gate }
    }
}

impl Service<Request<Body>> for Gated {
    type Response = Response<landform_apiserver::Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let (uri, gate) = (request.uri().to_string(), self.gate.clone());
        let answer = self.service.call(request);
        Box::pin(async move {
            let answer = answer.await;
            gate.pass(&uri).await;
            answer
        })
    }
}
