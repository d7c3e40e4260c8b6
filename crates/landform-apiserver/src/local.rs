//! The server for clients in the same process: no socket, the same semantics.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::{Request, Response};

use crate::body::Body;
use crate::identity::Identity;
use crate::server::ApiServer;

/// A tower `Service` whose requests are made by one identity. `kube::Client::new` takes it.
#[derive(Clone)]
pub struct LocalService {
    server: ApiServer,
    identity: Identity,
}

impl LocalService {
    /// Requests to `server` by `identity`.
    #[must_use]
    pub fn new(server: ApiServer, identity: Identity) -> Self {
        Self { server, identity }
    }
}

impl<B> tower::Service<Request<B>> for LocalService
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: std::fmt::Display,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        request.extensions_mut().insert(self.identity.clone());
        let server = self.server.clone();
        Box::pin(async move { Ok(server.answer(request).await) })
    }
}
