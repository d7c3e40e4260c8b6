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
const DRAINED_BYTES: usize = 8 * BODY_BYTES;

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
        if received > counted {
            refused |= !share.grow(received - counted);
            counted = received;
        }
        if received > BODY_BYTES || refused {
            whole = Vec::new();
            continue;
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
