//! Requests byte by byte: HTTP/1.1 over TLS on blocking sockets, so that an attack decides what is sent and what is read.

use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

/// An answer that hasn't come after this time counts as none.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where a server is, and who asks.
#[derive(Clone)]
pub struct Access {
    pub(super) address: SocketAddr,
    pub(super) name: ServerName<'static>,
    pub(super) tls: Arc<ClientConfig>,
    /// The value of the header `Authorization`.
    pub(super) authorization: Option<String>,
}

/// The answer to a request.
#[derive(Debug, Default)]
pub struct Answer {
    /// The status code.
    pub code: u16,
    /// The head as it was sent.
    pub head: String,
    /// The body.
    pub body: Vec<u8>,
}

impl Answer {
    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON; null when it is none.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// A request.
pub struct Request<'a> {
    /// `GET`, `POST` and so on.
    pub method: &'a str,
    /// The path with the query, as it is sent.
    pub path: &'a str,
    /// More headers.
    pub headers: &'a [(&'a str, &'a str)],
    /// The body.
    pub body: &'a [u8],
}

impl Access {
    /// The same server, with another token.
    #[must_use]
    pub fn with_token(&self, token: &str) -> Self {
        Self {
            authorization: Some(format!("Bearer {token}")),
            ..self.clone()
        }
    }

    /// Opens a connection and ends the handshake.
    ///
    /// # Errors
    /// When the server refuses it or is silent.
    pub fn connect(&self) -> Result<Connection> {
        let mut socket = self.socket()?;
        let mut session =
            ClientConnection::new(self.tls.clone(), self.name.clone()).map_err(Error::other)?;
        while session.is_handshaking() {
            session.complete_io(&mut socket)?;
        }
        Ok(Connection {
            stream: StreamOwned::new(session, socket),
            pending: Vec::new(),
            access: self.clone(),
        })
    }

    /// Opens a connection without TLS.
    ///
    /// # Errors
    /// When the server refuses it.
    pub fn socket(&self) -> Result<TcpStream> {
        let socket = TcpStream::connect_timeout(&self.address, PATIENCE)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.set_write_timeout(Some(PATIENCE))?;
        Ok(socket)
    }

    /// Sends one request on a connection of its own.
    ///
    /// # Errors
    /// When no answer comes.
    pub fn send(&self, request: &Request<'_>) -> Result<Answer> {
        self.connect()?.send(request)
    }

    /// Reads a path.
    ///
    /// # Errors
    /// When no answer comes.
    pub fn get(&self, path: &str) -> Result<Answer> {
        self.send(&Request {
            method: "GET",
            path,
            headers: &[],
            body: b"",
        })
    }

    /// Sends JSON.
    ///
    /// # Errors
    /// When no answer comes.
    pub fn json(&self, method: &str, path: &str, body: &[u8]) -> Result<Answer> {
        self.send(&Request {
            method,
            path,
            headers: &[("content-type", "application/json")],
            body,
        })
    }

    /// Sends a patch: `json`, `merge` or `strategic-merge`.
    ///
    /// # Errors
    /// When no answer comes.
    pub fn patch(&self, path: &str, form: &str, body: &[u8]) -> Result<Answer> {
        self.send(&Request {
            method: "PATCH",
            path,
            headers: &[("content-type", &format!("application/{form}-patch+json"))],
            body,
        })
    }
}

/// An open connection.
pub struct Connection {
    stream: StreamOwned<ClientConnection, TcpStream>,
    pending: Vec<u8>,
    access: Access,
}

impl Connection {
    /// Sends a request and reads its answer. A server may answer before it has read all of the body.
    ///
    /// # Errors
    /// When no answer comes.
    pub fn send(&mut self, request: &Request<'_>) -> Result<Answer> {
        let sent = self.begin(request, request.body.len(), request.body);
        match self.read_answer() {
            Ok(answer) => Ok(answer),
            Err(error) => Err(sent.err().unwrap_or(error)),
        }
    }

    /// Sends the head of a request whose body shall have this length, and a part of that body.
    ///
    /// # Errors
    /// When the server takes no more.
    pub fn begin(&mut self, request: &Request<'_>, length: usize, part: &[u8]) -> Result<()> {
        let mut head = format!(
            "{} {} HTTP/1.1\r\nhost: {}\r\ncontent-length: {length}\r\n",
            request.method, request.path, self.access.address
        );
        let authorization = self.access.authorization.as_deref();
        let authorization = authorization.map(|value| ("authorization", value));
        for (name, value) in request.headers.iter().copied().chain(authorization) {
            head += &format!("{name}: {value}\r\n");
        }
        head += "\r\n";
        self.raw(head.as_bytes())?;
        self.raw(part)
    }

    /// How long the server is waited for.
    pub(super) fn patience(&self, time: Duration) -> Result<()> {
        self.stream.sock.set_read_timeout(Some(time))?;
        self.stream.sock.set_write_timeout(Some(time))
    }

    /// Sends bytes as they are.
    ///
    /// # Errors
    /// When the server takes no more.
    pub fn raw(&mut self, bytes: &[u8]) -> Result<()> {
        self.stream.write_all(bytes)?;
        self.stream.flush()
    }

    /// Reads an answer.
    ///
    /// # Errors
    /// When it doesn't come, or not as a whole.
    pub fn read_answer(&mut self) -> Result<Answer> {
        let end = loop {
            if let Some(end) = find(&self.pending, b"\r\n\r\n") {
                break end + 4;
            }
            self.more()?;
        };
        let head = self.take(end);
        let head = String::from_utf8_lossy(&head).into_owned();
        let code = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        let code = code.ok_or_else(|| Error::new(ErrorKind::InvalidData, "no status line"))?;
        let header = |name: &str| {
            head.lines().find_map(|line| {
                let (found, value) = line.split_once(':')?;
                found.eq_ignore_ascii_case(name).then(|| value.trim())
            })
        };
        let body = if header("transfer-encoding").is_some_and(|coding| coding == "chunked") {
            self.chunks()?
        } else if let Some(length) = header("content-length").and_then(|text| text.parse().ok()) {
            self.exactly(length)?
        } else {
            Vec::new()
        };
        Ok(Answer { code, head, body })
    }

    fn chunks(&mut self) -> Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = loop {
                if let Some(end) = find(&self.pending, b"\r\n") {
                    break self.take(end + 2);
                }
                self.more()?;
            };
            let size = String::from_utf8_lossy(&line);
            let size = usize::from_str_radix(size.trim(), 16)
                .map_err(|error| Error::new(ErrorKind::InvalidData, error))?;
            let chunk = self.exactly(size + 2)?;
            if size == 0 {
                return Ok(body);
            }
            body.extend_from_slice(&chunk[..size]);
        }
    }

    /// Reads this many bytes.
    pub(super) fn exactly(&mut self, length: usize) -> Result<Vec<u8>> {
        while self.pending.len() < length {
            self.more()?;
        }
        Ok(self.take(length))
    }

    fn take(&mut self, length: usize) -> Vec<u8> {
        let rest = self.pending.split_off(length);
        std::mem::replace(&mut self.pending, rest)
    }

    fn more(&mut self) -> Result<()> {
        let mut buffer = [0; 16 * 1024];
        match self.stream.read(&mut buffer)? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            count => {
                self.pending.extend_from_slice(&buffer[..count]);
                Ok(())
            }
        }
    }
}

fn find(text: &[u8], piece: &[u8]) -> Option<usize> {
    text.windows(piece.len()).position(|window| window == piece)
}
