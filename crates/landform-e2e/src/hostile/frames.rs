//! HTTP/2 frame by frame, so that an attack decides which are sent and whether answers are read.

use std::io::{ErrorKind, Result};
use std::sync::Arc;
use std::time::Duration;

use super::wire::{Access, Connection};

/// A server that takes nothing more for this time has cut the connection, as far as an attack goes.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the last frames of a server are waited for.
const LAST: Duration = Duration::from_millis(500);

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const PRIORITY: u8 = 2;
const RESET: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GO_AWAY: u8 = 7;
const WINDOW: u8 = 8;
const CONTINUATION: u8 = 9;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// How a request's head is sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Head {
    /// No body follows.
    Whole,
    /// A body follows.
    WithBody,
    /// More of the head follows.
    Open,
}

/// A connection on which frames are written.
pub(super) struct Frames {
    connection: Connection,
    access: Access,
    /// The number of the last stream.
    stream: u32,
    /// Written, and not sent yet.
    waiting: Vec<u8>,
}

impl Frames {
    /// Opens a connection. `window` is how much of an answer's body the server may send before it is asked for more.
    pub(super) fn open(access: &Access, window: u32) -> Result<Self> {
        let mut tls = (*access.tls).clone();
        tls.alpn_protocols = vec![b"h2".to_vec()];
        let access = Access {
            tls: Arc::new(tls),
            ..access.clone()
        };
        let connection = access.connect()?;
        connection.patience(PATIENCE)?;
        let mut frames = Self {
            connection,
            access,
            stream: 0,
            waiting: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
        };
        // INITIAL_WINDOW_SIZE
        let setting = [&[0, 4][..], &window.to_be_bytes()].concat();
        frames.frame(SETTINGS, 0, 0, &setting);
        frames.send()?;
        Ok(frames)
    }

    fn frame(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let length = u32::try_from(payload.len()).unwrap_or(0).to_be_bytes();
        self.waiting.extend_from_slice(&length[1..]);
        self.waiting.extend_from_slice(&[kind, flags]);
        self.waiting.extend_from_slice(&stream.to_be_bytes());
        self.waiting.extend_from_slice(payload);
    }

    /// Begins a request on a stream of its own.
    pub(super) fn request(&mut self, method: &str, path: &str, head: Head) {
        self.stream = if self.stream == 0 { 1 } else { self.stream + 2 };
        let address = self.access.address.to_string();
        let mut block = Vec::new();
        let authorization = self.access.authorization.clone();
        let fields = [
            (":method", method),
            (":scheme", "https"),
            (":path", path),
            (":authority", &address),
            ("content-type", "application/json"),
        ];
        let authorization = authorization.as_deref();
        let authorization = authorization.map(|value| ("authorization", value));
        for (name, value) in fields.into_iter().chain(authorization) {
            field(&mut block, name, value);
        }
        let flags = match head {
            Head::Whole => END_STREAM | END_HEADERS,
            Head::WithBody => END_HEADERS,
            Head::Open => 0,
        };
        self.frame(HEADERS, flags, self.stream, &block);
    }

    /// Adds a field to a head that is open.
    pub(super) fn more_head(&mut self, name: &str, value: &str) {
        let mut block = Vec::new();
        field(&mut block, name, value);
        self.frame(CONTINUATION, 0, self.stream, &block);
    }

    /// Sends a part of a body.
    pub(super) fn body(&mut self, part: &[u8]) {
        self.frame(DATA, 0, self.stream, part);
    }

    /// Takes the last request back.
    pub(super) fn reset(&mut self) {
        // CANCEL
        self.frame(RESET, 0, self.stream, &8_u32.to_be_bytes());
    }

    /// Asks for an echo.
    pub(super) fn ping(&mut self) {
        self.frame(PING, 0, 0, &[0; 8]);
    }

    /// Asks for a confirmation.
    pub(super) fn settings(&mut self) {
        self.frame(SETTINGS, 0, 0, &[]);
    }

    /// Says on whom a stream that doesn't exist depends.
    pub(super) fn priority(&mut self) {
        self.frame(PRIORITY, 0, 1, &[0, 0, 0, 3, 16]);
    }

    /// Lets the server send a byte more.
    pub(super) fn window(&mut self) {
        self.frame(WINDOW, 0, 0, &1_u32.to_be_bytes());
    }

    /// Sends what was written.
    ///
    /// # Errors
    /// When the server takes no more.
    pub(super) fn send(&mut self) -> Result<()> {
        let bytes = std::mem::take(&mut self.waiting);
        self.connection.raw(&bytes)
    }

    /// Whether the server has ended the connection, or said that it will.
    pub(super) fn is_refused(&mut self) -> bool {
        if self.connection.patience(LAST).is_err() {
            return true;
        }
        match self.until(GO_AWAY) {
            Ok(found) => found,
            Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        }
    }

    /// Whether a plain request is answered: only then do the other frames mean anything to the server.
    pub(super) fn is_understood(access: &Access) -> bool {
        let answered = Self::open(access, 1 << 16).and_then(|mut frames| {
            frames.request("GET", "/api", Head::Whole);
            frames.send()?;
            frames.until(HEADERS)
        });
        answered.unwrap_or(false)
    }

    /// Reads frames until one of this kind comes.
    fn until(&mut self, wanted: u8) -> Result<bool> {
        for _ in 0..100_000 {
            let head = self.connection.exactly(9)?;
            let [a, b, c, kind, ..] = head[..] else {
                return Ok(false);
            };
            if kind == wanted {
                return Ok(true);
            }
            let length = u32::from_be_bytes([0, a, b, c]);
            self.connection.exactly(length as usize)?;
        }
        Ok(false)
    }
}

/// A field of a head, without compression.
fn field(block: &mut Vec<u8>, name: &str, value: &str) {
    block.push(0);
    for text in [name, value] {
        number(block, text.len());
        block.extend_from_slice(text.as_bytes());
    }
}

/// A number with a prefix of seven bits.
fn number(block: &mut Vec<u8>, number: usize) {
    let low = |number: usize| u8::try_from(number & 0x7f).unwrap_or(0);
    if number < 127 {
        block.push(low(number));
        return;
    }
    block.push(127);
    let mut rest = number - 127;
    while rest >= 128 {
        block.push(low(rest) | 128);
        rest >>= 7;
    }
    block.push(low(rest));
}
