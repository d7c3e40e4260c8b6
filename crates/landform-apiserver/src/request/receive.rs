//! Receiving a body: up to a limit, within a time, and large ones only as far as there is memory for them.

use std::time::Duration;

use bytes::{Buf, Bytes};
use http_body_util::BodyExt as _;

use super::decode::BODY_BYTES;
use crate::error::{ApiError, Reason, Result};
use crate::lanes::too_many_requests;
use crate::shares::Share;

/// A body that is longer than this grows as its bytes arrive, not as they are announced.
const FIRST_BYTES: usize = 64 * 1024;
/// A body that is too large is read this far, so that a client that listens only after it has sent everything hears
/// why it was refused.
/// Nothing of that is kept.
const DRAINED_BYTES: usize = 100 * BODY_BYTES;

/// Takes a body in.
pub(crate) async fn receive<B>(body: B, patience: Duration, share: &mut Share) -> Result<Bytes>
where
    B: http_body::Body + Send,
    B::Data: Send,
    B::Error: std::fmt::Display,
{
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    match tokio::time::timeout(patience, read(body, share)).await {
        Ok(body) => body,
        Err(_) => Err(ApiError::new(
            Reason::Timeout,
            format!(
                "the request's body did not come within {} s",
                patience.as_secs()
            ),
        )),
    }
}

async fn read<B>(body: B, share: &mut Share) -> Result<Bytes>
where
    B: http_body::Body + Send,
    B::Data: Send,
    B::Error: std::fmt::Display,
{
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    let mut whole = Vec::with_capacity(announced.min(FIRST_BYTES));
    let (mut received, mut counted) = (0, FIRST_BYTES);
    let mut refused = false;
    let mut body = std::pin::pin!(body);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            ApiError::bad_request(format!("the request's body broke off: {error}"))
        })?;
        let Ok(mut data) = frame.into_data() else {
            continue;
        };
        received += data.remaining();
        if received > DRAINED_BYTES {
            break;
        }
        if received > BODY_BYTES || refused {
            whole = Vec::new();
            continue;
        }
        if received > counted {
            refused = !share.grow(received - counted);
            if counted == FIRST_BYTES {
                // To double as the bytes come would take up to twice as much as is counted.
                whole.reserve_exact(announced.min(BODY_BYTES).saturating_sub(whole.len()));
            }
            counted = received;
        }
        while data.has_remaining() {
            let chunk = data.chunk();
            whole.extend_from_slice(chunk);
            let length = chunk.len();
            data.advance(length);
        }
    }
    if received > BODY_BYTES {
        return Err(ApiError::new(
            Reason::RequestEntityTooLarge,
            format!("Request entity too large: limit is {BODY_BYTES} bytes"),
        ));
    }
    if refused {
        return Err(too_many_requests());
    }
    Ok(whole.into())
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use http_body_util::StreamBody;

    use super::*;
    use crate::identity::Identity;
    use crate::shares::Shares;

    /// A client that sends this many bytes, and listens when it has sent them all.
    async fn send(length: usize) -> (ApiError, usize, Share) {
        const CHUNK: usize = 1 << 20;
        let taken = AtomicUsize::new(0);
        let chunks = (0..length / CHUNK).map(|_| {
            taken.fetch_add(CHUNK, Ordering::Relaxed);
            let chunk = Bytes::from_static(&[b' '; CHUNK]);
            Ok::<_, Infallible>(http_body::Frame::data(chunk))
        });
        let body = StreamBody::new(futures::stream::iter(chunks));
        let mut share = Shares::of_bodies().of(&Identity::new("jane", ["dev"]));
        let refused = receive(body, Duration::from_secs(60), &mut share).await;
        let refused = refused.unwrap_err();
        (refused, taken.load(Ordering::Relaxed), share)
    }

    #[tokio::test]
    async fn a_body_that_is_too_large_is_taken_to_its_end_and_counts_no_more_than_one_that_isnt() {
        let (refused, taken, share) = send(60 << 20).await;
        assert_eq!(refused.reason(), Reason::RequestEntityTooLarge);
        assert_eq!(taken, 60 << 20);
        assert!(share.amount() <= BODY_BYTES, "{}", share.amount());
    }

    #[tokio::test]
    async fn a_body_without_an_end_is_given_up() {
        let (refused, taken, _) = send(10_000 << 20).await;
        assert_eq!(refused.reason(), Reason::RequestEntityTooLarge);
        assert!(taken < DRAINED_BYTES + (2 << 20), "{taken}");
    }
}
