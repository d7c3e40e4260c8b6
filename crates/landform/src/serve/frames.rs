//! Frames of HTTP/2 that carry nothing: how many of them a connection may send.
//!
//! Priorities, windows, settings, pings, resets and tiny parts of bodies cost their sender a few bytes, and what reads them takes
//! all that have arrived in one go, while other connections wait. So they are counted as they arrive. A connection may send some at
//! once, a few each second, and more with each request and with what it is answered, because a client that reads an answer says so
//! by such frames. One that sends more is closed. After some hundreds of frames of any kind others have their turn.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

/// What a client begins a connection of HTTP/2 with.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Length, kind, flags and stream.
const HEAD_BYTES: usize = 9;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const END_STREAM: u8 = 1;

/// A part of a body with less than this carries nothing, unless it is the last one.
const DATA_BYTES_MIN: usize = 256;
/// A connection may send this many frames that carry nothing at once. The most streams that it may have open can be reset.
const AT_ONCE: usize = 4_000;
/// And this many each second.
const PER_SECOND: usize = 200;
/// And this many for each request.
const PER_REQUEST: usize = 16;
/// And one for each of so many bytes that it is sent.
const PER_BYTES_SENT: usize = 128;
/// After this many frames others have their turn.
const TURN: usize = 256;

/// A connection's bytes, with the frames among them counted.
pub(super) struct Metered<S> {
    stream: S,
    frames: Frames,
    allowance: Allowance,
    /// Frames since others had their turn.
    in_turn: usize,
}

impl<S> Metered<S> {
    pub(super) fn new(stream: S) -> Self {
        Self {
            stream,
            frames: Frames::default(),
            allowance: Allowance::new(Instant::now()),
            in_turn: 0,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.in_turn >= TURN {
            this.in_turn = 0;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.stream).poll_read(context, buffer))?;
        let seen = this.frames.take(&buffer.filled()[before..]);
        this.in_turn += seen.frames;
        if seen.frames > 0 && !this.allowance.allows(&seen, Instant::now()) {
            return Poll::Ready(Err(io::Error::other(
                "the client sent too many frames that carry nothing",
            )));
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let sent = ready!(Pin::new(&mut self.stream).poll_write(context, bytes))?;
        self.allowance.sent(sent);
        Poll::Ready(Ok(sent))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let sent = ready!(Pin::new(&mut self.stream).poll_write_vectored(context, slices))?;
        self.allowance.sent(sent);
        Poll::Ready(Ok(sent))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// What a client's bytes are, however they are cut into pieces.
enum Frames {
    /// So much of the preface has come.
    Preface(usize),
    /// So much of a frame's head has come.
    Head([u8; HEAD_BYTES], usize),
    /// So much of a frame's payload is to come.
    Payload(usize),
    /// This is no HTTP/2.
    None,
}

impl Default for Frames {
    fn default() -> Self {
        Self::Preface(0)
    }
}

/// The frames that began among some bytes.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    frames: usize,
    requests: usize,
    carrying_nothing: usize,
}

impl Frames {
    fn take(&mut self, mut bytes: &[u8]) -> Seen {
        let mut seen = Seen::default();
        while !bytes.is_empty() {
            match self {
                Self::None => return seen,
                Self::Preface(there) => {
                    let wanted = &PREFACE[*there..];
                    let length = wanted.len().min(bytes.len());
                    let (next, rest) = bytes.split_at(length);
                    bytes = rest;
                    *self = match next == &wanted[..length] {
                        false => Self::None,
                        true if length == wanted.len() => Self::Head([0; HEAD_BYTES], 0),
                        true => Self::Preface(*there + length),
                    };
                }
                Self::Head(head, there) => {
                    let length = (HEAD_BYTES - *there).min(bytes.len());
                    let (next, rest) = bytes.split_at(length);
                    bytes = rest;
                    head[*there..*there + length].copy_from_slice(next);
                    *there += length;
                    if *there == HEAD_BYTES {
                        let payload = seen.count(*head);
                        *self = Self::payload(payload);
                    }
                }
                Self::Payload(left) => {
                    let length = (*left).min(bytes.len());
                    bytes = &bytes[length..];
                    *self = Self::payload(*left - length);
                }
            }
        }
        seen
    }

    fn payload(left: usize) -> Self {
        match left {
            0 => Self::Head([0; HEAD_BYTES], 0),
            left => Self::Payload(left),
        }
    }
}

impl Seen {
    /// Counts a frame by its head, and returns the length of its payload.
    fn count(&mut self, head: [u8; HEAD_BYTES]) -> usize {
        let [a, b, c, kind, flags, ..] = head;
        let length = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
        self.frames += 1;
        match kind {
            HEADERS => self.requests += 1,
            DATA if length >= DATA_BYTES_MIN || flags & END_STREAM != 0 => {}
            _ => self.carrying_nothing += 1,
        }
        length
    }
}

/// How many frames that carry nothing a connection may send.
struct Allowance {
    left: usize,
    since: Instant,
    /// Bytes that were sent and have not been turned into frames.
    sent: usize,
}

impl Allowance {
    fn new(now: Instant) -> Self {
        Self {
            left: AT_ONCE,
            since: now,
            sent: 0,
        }
    }

    fn sent(&mut self, bytes: usize) {
        self.sent += bytes;
        self.add(self.sent / PER_BYTES_SENT);
        self.sent %= PER_BYTES_SENT;
    }

    fn add(&mut self, frames: usize) {
        self.left = (self.left + frames).min(AT_ONCE);
    }

    /// Takes what was seen; false when that is too much.
    fn allows(&mut self, seen: &Seen, now: Instant) -> bool {
        self.add(seen.requests * PER_REQUEST);
        let seconds = usize::try_from((now - self.since).as_secs()).unwrap_or(AT_ONCE);
        if seconds > 0 {
            self.add(seconds.saturating_mul(PER_SECOND));
            self.since = now;
        }
        let allowed = seen.carrying_nothing <= self.left;
        self.left = self.left.saturating_sub(seen.carrying_nothing);
        allowed
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::FutureExt as _;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    const RESET: u8 = 3;
    const PING: u8 = 6;

    fn frame(kind: u8, flags: u8, length: u16) -> Vec<u8> {
        let [high, low] = length.to_be_bytes();
        let mut frame = vec![0, high, low, kind, flags, 0, 0, 0, 1];
        frame.resize(HEAD_BYTES + usize::from(length), 7);
        frame
    }

    fn carrying_nothing(frames: usize) -> Seen {
        Seen {
            frames,
            requests: 0,
            carrying_nothing: frames,
        }
    }

    #[test]
    fn frames_are_counted_however_their_bytes_are_cut() {
        let frames = [
            (frame(4, 0, 18), 0, 1),
            (frame(HEADERS, 4, 300), 1, 0),
            (frame(DATA, 0, 256), 0, 0),
            (frame(DATA, 0, 255), 0, 1),
            (frame(DATA, 0, 0), 0, 1),
            (frame(DATA, END_STREAM, 0), 0, 0),
            (frame(2, 0, 5), 0, 1),
            (frame(RESET, 0, 4), 0, 1),
            (frame(PING, 0, 8), 0, 1),
            (frame(8, 0, 4), 0, 1),
            (frame(9, 0, 10), 0, 1),
            (frame(200, 0, 0), 0, 1),
        ];
        let mut all = PREFACE.to_vec();
        let mut expected = Seen::default();
        for (bytes, requests, nothing) in &frames {
            all.extend_from_slice(bytes);
            expected.frames += 1;
            expected.requests += requests;
            expected.carrying_nothing += nothing;
        }
        for size in [1, 2, 5, 9, 24, 100, all.len()] {
            let mut reader = Frames::default();
            let mut found = Seen::default();
            for piece in all.chunks(size) {
                let seen = reader.take(piece);
                found.frames += seen.frames;
                found.requests += seen.requests;
                found.carrying_nothing += seen.carrying_nothing;
            }
            assert_eq!(found, expected, "pieces of {size} bytes");
        }
        let mut plain = Frames::default();
        assert_eq!(plain.take(b"PRI / HTTP/1.1\r\n"), Seen::default());
        assert_eq!(plain.take(&all), Seen::default());
    }

    #[test]
    fn time_requests_and_answers_allow_more_frames() {
        let mut now = Instant::now();
        let mut allowance = Allowance::new(now);
        assert!(allowance.allows(&carrying_nothing(AT_ONCE), now));
        assert!(!allowance.allows(&carrying_nothing(1), now));
        now += Duration::from_secs(2);
        assert!(allowance.allows(&carrying_nothing(2 * PER_SECOND), now));
        let request = Seen {
            requests: 1,
            ..carrying_nothing(PER_REQUEST)
        };
        assert!(allowance.allows(&request, now));
        // Two frames for each part of an answer are what clients send at most.
        for _ in 0..10_000 {
            allowance.sent(300);
            assert!(allowance.allows(&carrying_nothing(2), now));
        }
        now += Duration::from_secs(1_000_000);
        assert!(!allowance.allows(&carrying_nothing(AT_ONCE + 1), now));
    }

    #[tokio::test]
    async fn a_connection_with_too_many_such_frames_ends_and_others_have_their_turn() {
        let (mut client, server) = tokio::io::duplex(1 << 20);
        let mut server = Metered::new(server);
        client.write_all(PREFACE).await.unwrap();
        let mut buffer = vec![0; 1 << 16];
        assert_eq!(server.read(&mut buffer).await.unwrap(), PREFACE.len());
        client
            .write_all(&frame(PING, 0, 8).repeat(TURN))
            .await
            .unwrap();
        let read = server.read(&mut buffer).await.unwrap();
        assert_eq!(read, TURN * (HEAD_BYTES + 8));
        client
            .write_all(&frame(PING, 0, 8).repeat(AT_ONCE))
            .await
            .unwrap();
        let read = server.read(&mut buffer).now_or_never();
        assert!(
            read.is_none(),
            "others have their turn, though more has come"
        );
        let ended = async {
            loop {
                if let Err(error) = server.read(&mut buffer).await {
                    return error.to_string();
                }
            }
        };
        assert!(ended.await.contains("too many frames"));
    }
}
