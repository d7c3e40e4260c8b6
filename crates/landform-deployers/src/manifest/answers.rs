//! What a target answers, within limits: those who write Targets choose the server behind them.
//!
//! Every client of a target reads its answers through [`Limits`]. An answer is read and measured before anything is built
//! of it; of a watch, each event is. What the answers of one client take together is taken from a reserve that all share,
//! as soon as it is more than most items ever need, and given back with the client.

use std::fmt;
use std::mem;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, Bytes};
use futures::future::BoxFuture;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as HttpBody, Frame};
use kube::client::Body;
use landform_api::budget::{Budget, Exceeded, Size};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

type AnyError = Box<dyn std::error::Error + Send + Sync>;
type Answer = Response<UnsyncBoxBody<Bytes, AnyError>>;

/// The largest answer, and the largest event of a watch.
const LARGEST: Budget = Budget {
    depth: Budget::OBJECT.depth,
    cells: 1_000_000,
    bytes: 16 * 1024 * 1024,
};
/// A cell takes at least as much memory, so as many bytes of an answer count like one.
const BYTES_OF_A_CELL: usize = 32;
/// The answers of one client may take as many cells before they take of the reserve.
const FREE_CELLS: usize = 20_000;
/// What all clients together may hold beyond that, in cells.
const RESERVE_CELLS: usize = 3_000_000;

static RESERVE: LazyLock<Arc<Semaphore>> =
    LazyLock::new(|| Arc::new(Semaphore::new(RESERVE_CELLS)));

/// The limits of one client.
#[derive(Clone, Debug, Default)]
pub(crate) struct Limits {
    held: Arc<Mutex<Held>>,
}

/// What one client holds.
#[derive(Debug, Default)]
struct Held {
    cells: usize,
    /// How much of that [`Limits::keep`] has taken.
    kept: usize,
    reserved: Option<OwnedSemaphorePermit>,
}

impl Limits {
    /// Holds as much more.
    fn take(&self, cells: usize) -> Result<(), TooLarge> {
        self.held.lock().take(cells)
    }

    /// Holds as many cells for what a watch has shown, which is more or less with each event.
    pub(super) fn keep(&self, cells: usize) -> Result<(), TooLarge> {
        let mut held = self.held.lock();
        let more = cells.saturating_sub(held.kept);
        held.take(more)?;
        held.kept += more;
        Ok(())
    }

    /// Reads an answer to its end.
    async fn read(
        &self,
        mut body: impl HttpBody<Data = Bytes, Error: Into<AnyError>> + Unpin,
    ) -> Result<Bytes, AnyError> {
        let mut text = Vec::new();
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(Into::into)?.into_data() else {
                continue;
            };
            let before = text.len() / BYTES_OF_A_CELL;
            text.extend_from_slice(&data);
            self.take(text.len() / BYTES_OF_A_CELL - before)?;
            if text.len() > LARGEST.bytes {
                return Err(TooLarge::Alone(Exceeded::Bytes(LARGEST.bytes)).into());
            }
        }
        self.take(measure(&text)?.cells)?;
        Ok(text.into())
    }
}

impl Held {
    fn take(&mut self, cells: usize) -> Result<(), TooLarge> {
        self.cells += cells;
        let reserved = self
            .reserved
            .as_ref()
            .map_or(0, OwnedSemaphorePermit::num_permits);
        let needed = self
            .cells
            .saturating_sub(FREE_CELLS)
            .saturating_sub(reserved);
        let more = u32::try_from(needed).map_err(|_| TooLarge::Together)?;
        let more = RESERVE.clone().try_acquire_many_owned(more);
        let more = more.map_err(|_| TooLarge::Together)?;
        match &mut self.reserved {
            Some(reserved) => reserved.merge(more),
            none => *none = Some(more),
        }
        Ok(())
    }
}

/// Why an answer isn't read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TooLarge {
    /// For itself.
    Alone(Exceeded),
    /// With what is held for other answers.
    Together,
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Alone(exceeded) => write!(f, "its answer is larger than what is read: {exceeded}"),
            Self::Together => f.write_str(
                "its answers are larger than what is left for large answers of all targets just now: it is tried again",
            ),
        }
    }
}

impl std::error::Error for TooLarge {}

/// What something of this size counts.
pub(super) fn cells(size: &Size) -> usize {
    size.cells + size.bytes / BYTES_OF_A_CELL
}

/// How large a JSON text is at most, whether or not it is one.
fn measure(text: &[u8]) -> Result<Size, TooLarge> {
    let size = Size::of_text(text);
    LARGEST.holds(&size).map_err(TooLarge::Alone)?;
    Ok(size)
}

impl<S> tower::Layer<S> for Limits {
    type Service = Limited<S>;

    fn layer(&self, service: S) -> Limited<S> {
        Limited {
            service,
            limits: self.clone(),
        }
    }
}

/// A service whose answers are limited.
pub(crate) struct Limited<S> {
    service: S,
    limits: Limits,
}

impl<S, B> tower::Service<Request<Body>> for Limited<S>
where
    S: tower::Service<Request<Body>, Response = Response<B>, Error: Into<AnyError>>,
    S::Future: Send + 'static,
    B: HttpBody<Data = Bytes, Error: Into<AnyError>> + Send + Unpin + 'static,
{
    type Response = Answer;
    type Error = AnyError;
    type Future = BoxFuture<'static, Result<Answer, AnyError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), AnyError>> {
        self.service.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let query = request.uri().query().unwrap_or_default();
        let watches = query.split('&').any(|pair| pair == "watch=true");
        let answer = self.service.call(request);
        let limits = self.limits.clone();
        Box::pin(async move {
            let (head, body) = answer.await.map_err(Into::into)?.into_parts();
            // A watch that is refused is answered by a single text.
            let body = if watches && head.status.is_success() {
                Events::of(body, limits).boxed_unsync()
            } else {
                let text = limits.read(body).await?;
                Full::new(text)
                    .map_err(|never| match never {})
                    .boxed_unsync()
            };
            Ok(Response::from_parts(head, body))
        })
    }
}

/// The events of a watch, one in a line, each within the limits.
struct Events<B> {
    body: B,
    line: Vec<u8>,
    limits: Limits,
    /// What is held for the largest line so far.
    held: usize,
}

impl<B> Events<B> {
    fn of(body: B, limits: Limits) -> Self {
        Self {
            body,
            line: Vec::new(),
            limits,
            held: 0,
        }
    }

    /// Holds as many cells for a line and what is made of it.
    fn hold(&mut self, cells: usize) -> Result<(), TooLarge> {
        let more = cells.saturating_sub(self.held);
        self.limits.take(more)?;
        self.held += more;
        Ok(())
    }

    /// The lines that are complete by now.
    fn lines(&mut self, mut data: Bytes) -> Result<Bytes, TooLarge> {
        let mut complete = Vec::new();
        while let Some(end) = data.iter().position(|byte| *byte == b'\n') {
            self.line.extend_from_slice(&data[..=end]);
            data.advance(end + 1);
            let size = measure(&self.line)?;
            self.hold(cells(&size))?;
            complete.append(&mut self.line);
        }
        self.line.extend_from_slice(&data);
        self.hold(self.line.len() / BYTES_OF_A_CELL)?;
        match self.line.len() > LARGEST.bytes {
            true => Err(TooLarge::Alone(Exceeded::Bytes(LARGEST.bytes))),
            false => Ok(complete.into()),
        }
    }
}

impl<B: HttpBody<Data = Bytes, Error: Into<AnyError>> + Unpin> HttpBody for Events<B> {
    type Data = Bytes;
    type Error = AnyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, AnyError>>> {
        loop {
            let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
            let Some(frame) = frame.transpose().map_err(Into::into)? else {
                let last = mem::take(&mut self.line);
                if last.is_empty() {
                    return Poll::Ready(None);
                }
                measure(&last)?;
                return Poll::Ready(Some(Ok(Frame::data(last.into()))));
            };
            let Ok(data) = frame.into_data() else {
                continue;
            };
            let lines = self.lines(data)?;
            if !lines.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(lines))));
            }
        }
    }
}
