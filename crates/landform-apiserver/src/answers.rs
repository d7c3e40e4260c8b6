//! Answers that have not been read: their bytes are a share of the user who asked for them.
//!
//! A client that asks and doesn't read leaves its answers in memory, here or in the buffers of a connection. So the share
//! goes along with the bytes, and is given back when the last copy of them is dropped, wherever that is.

use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt as _;
use http::Response;

use crate::body::{Body, Pieces};
use crate::error::{ApiError, Reason, Result};
use crate::identity::Identity;
use crate::shares::{Share, Shares};

/// An answer that is smaller takes less than the request that it belongs to.
const COUNTED_FROM: usize = 4 * 1024;

/// Bytes, and what they take of their user's share.
struct Counted {
    bytes: Bytes,
    _share: Arc<Share>,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Bytes that take from a share until all copies are dropped.
fn counted(bytes: Bytes, share: &Arc<Share>) -> Bytes {
    Bytes::from_owner(Counted {
        bytes,
        _share: share.clone(),
    })
}

/// Counts the bytes of an answer that is there as a whole; 429 when the user has too many that are not read.
pub(crate) fn count(
    answers: &Shares,
    identity: &Identity,
    response: Response<Body>,
) -> Result<Response<Body>> {
    let (parts, body) = response.into_parts();
    let body = match body {
        Body::Whole(bytes) if bytes.len() >= COUNTED_FROM && !identity.is_internal() => {
            let share = take(answers, identity, bytes.len())?;
            Body::Whole(counted(bytes, &share))
        }
        body => body,
    };
    Ok(Response::from_parts(parts, body))
}

/// Pieces of which one at a time is in memory, the largest with about this many bytes; 429 when the user has too much
/// that is not read.
pub(crate) fn count_pieces(
    answers: &Shares,
    identity: &Identity,
    largest: usize,
    pieces: Pieces,
) -> Result<Pieces> {
    if identity.is_internal() {
        return Ok(pieces);
    }
    let share = take(answers, identity, largest)?;
    Ok(Box::pin(pieces.map(move |piece| counted(piece, &share))))
}

/// Counts a piece of a watch, if there is room for it.
pub(crate) fn count_piece(answers: &Shares, identity: &Identity, piece: Bytes) -> Result<Bytes> {
    if piece.len() < COUNTED_FROM || identity.is_internal() {
        return Ok(piece);
    }
    let share = take(answers, identity, piece.len())?;
    Ok(counted(piece, &share))
}

fn take(answers: &Shares, identity: &Identity, bytes: usize) -> Result<Arc<Share>> {
    let mut share = answers.of(identity);
    if share.grow(bytes) {
        return Ok(Arc::new(share));
    }
    Err(ApiError::new(
        Reason::TooManyRequests,
        "too many bytes of answers wait to be read: read those that were asked for, or end their connections, then ask again",
    )
    .retry_after(1))
}
