//! The body of an answer; that of a watch may come late, break off or end with 410.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt as _;
use landform_apiserver::Body;
use tokio::time::Instant;

use crate::fault::{Fault, Faults};
use crate::network::ConnectionLost;

type Pieces = Pin<Box<dyn Stream<Item = Result<Bytes, ConnectionLost>> + Send>>;

/// A body that came through the simulated network.
pub struct SimBody(Inner);

enum Inner {
    Whole(Body),
    Watch(Pieces),
}

/// The event that says that the history is gone.
const GONE: &[u8] = b"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":\"too old resource version\",\"reason\":\"Expired\",\"code\":410}}\n";

/// A watch under way.
struct Watching {
    body: Body,
    faults: Faults,
    what: String,
    /// When it breaks off, if it does without an event.
    breaks_at: Option<Instant>,
    over: bool,
}

impl SimBody {
    pub(crate) fn whole(body: Body) -> Self {
        Self(Inner::Whole(body))
    }

    pub(crate) fn watch(body: Body, faults: Faults, what: String) -> Self {
        let breaks = faults.strikes_silently(Fault::WatchBreak);
        let lifetime = breaks.then(|| Duration::from_millis(faults.chance().below(60_000)));
        let watching = Watching {
            body,
            faults,
            what,
            breaks_at: lifetime.map(|lifetime| Instant::now() + lifetime),
            over: false,
        };
        let pieces = futures::stream::unfold(watching, |mut watching| async move {
            watching.next().await.map(|piece| (piece, watching))
        });
        Self(Inner::Watch(Box::pin(pieces)))
    }
}

impl Watching {
    async fn next(&mut self) -> Option<Result<Bytes, ConnectionLost>> {
        if self.over {
            return None;
        }
        let frame = match self.breaks_at {
            Some(at) => {
                let next = tokio::time::timeout_at(at, self.body.frame()).await;
                let Ok(frame) = next else {
                    self.over = true;
                    self.faults.note(Fault::WatchBreak, &self.what);
                    return Some(Err(ConnectionLost));
                };
                frame
            }
            None => self.body.frame().await,
        };
        let piece = match frame? {
            Ok(frame) => frame.into_data().unwrap_or_default(),
            Err(never) => match never {},
        };
        self.deliver(piece).await
    }

    /// Hands a piece over, unless something goes wrong.
    async fn deliver(&mut self, piece: Bytes) -> Option<Result<Bytes, ConnectionLost>> {
        let where_ = || self.what.clone();
        if self.faults.strikes(Fault::WatchDelay, where_) {
            let delay = Duration::from_millis(self.faults.chance().below(10_000));
            tokio::time::sleep(delay).await;
        }
        if self.faults.strikes(Fault::WatchGone, where_) {
            self.over = true;
            return Some(Ok(Bytes::from_static(GONE)));
        }
        if self.faults.strikes(Fault::WatchBreak, where_) {
            self.over = true;
            let kept = self.faults.chance().index(piece.len() + 1);
            return Some(Ok(piece.slice(..kept)));
        }
        Some(Ok(piece))
    }
}

impl http_body::Body for SimBody {
    type Data = Bytes;
    type Error = ConnectionLost;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ConnectionLost>>> {
        match &mut self.0 {
            Inner::Whole(body) => Pin::new(body)
                .poll_frame(context)
                .map(|next| next.map(|frame| frame.map_err(|never| match never {}))),
            Inner::Watch(pieces) => pieces
                .as_mut()
                .poll_next(context)
                .map(|next| next.map(|piece| piece.map(Frame::data))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.0, Inner::Whole(body) if body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Inner::Whole(body) => body.size_hint(),
            Inner::Watch(_) => SizeHint::default(),
        }
    }
}
