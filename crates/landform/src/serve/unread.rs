//! Bodies of requests that were answered before they were read: without credentials, without rights.
//!
//! HTTP/1.1 can only close a connection whose request wasn't read to its end, and a client that is still sending then
//! sees a broken connection instead of the answer. So the rest is read and dropped while the answer goes out.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

/// A body is read this far: eight times what the largest one that is taken may have.
const DRAINED_BYTES: usize = 24 * 1024 * 1024;
/// A client that takes longer is cut off.
const PATIENCE: Duration = Duration::from_secs(10);

/// A body; when it is dropped, its rest is read.
pub(super) struct Drained(Option<Incoming>);

impl Drained {
    pub(super) fn new(body: Incoming) -> Self {
        Self(Some(body))
    }
}

impl Body for Drained {
    type Data = <Incoming as Body>::Data;
    type Error = <Incoming as Body>::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        match &mut self.0 {
            Some(body) => Pin::new(body).poll_frame(context),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.0.as_ref().map(Body::size_hint).unwrap_or_default()
    }
}

impl Drop for Drained {
    fn drop(&mut self) {
        let Some(body) = self.0.take().filter(|body| !body.is_end_stream()) else {
            return;
        };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(tokio::time::timeout(PATIENCE, drain(body)));
        }
    }
}

async fn drain(mut body: Incoming) {
    let mut left = DRAINED_BYTES;
    while let Some(Ok(frame)) = body.frame().await {
        let bytes = frame.data_ref().map_or(0, bytes::Buf::remaining);
        let Some(rest) = left.checked_sub(bytes) else {
            return;
        };
        left = rest;
    }
}
