//! The response body: one piece, or pieces that are made as the client takes them.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::Stream;
use http_body::{Frame, SizeHint};

/// Pieces of a body, made when they are asked for.
pub type Pieces = Pin<Box<dyn Stream<Item = Bytes> + Send>>;

/// A response body.
pub enum Body {
    /// All of it.
    Whole(Bytes),
    /// Piece by piece: watches and long lists.
    Pieces(Pieces),
}

impl Body {
    /// No body.
    #[must_use]
    pub fn empty() -> Self {
        Self::Whole(Bytes::new())
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match &mut *self {
            Self::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Self::Pieces(stream) => stream
                .as_mut()
                .poll_next(context)
                .map(|next| next.map(|piece| Ok(Frame::data(piece)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Pieces(_) => SizeHint::default(),
        }
    }
}
