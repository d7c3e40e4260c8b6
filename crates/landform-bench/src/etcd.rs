//! A real etcd, and the cheapest client for it: puts over gRPC, encoded by hand.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bytes::{BufMut as _, Bytes, BytesMut};
use http::header::{CONTENT_TYPE, HeaderValue, TE};
use http::{HeaderMap, Method, Request, Uri};
use http_body_util::{BodyExt as _, Full};

use crate::Outcome;
use crate::client::{Sender, connect_plain};
use crate::process::Process;

/// A running etcd with one member.
pub(crate) struct Etcd {
    process: Process,
    address: SocketAddr,
    pub(crate) version: String,
}

impl Etcd {
    /// Starts it on a directory, with fsync as it is by default, and waits until it takes a put.
    pub(crate) async fn start(program: &Path, data_dir: &Path) -> Outcome<Self> {
        let version = version(program)?;
        let (address, peer) = (free_address()?, free_address()?);
        let (client_url, peer_url) = (format!("http://{address}"), format!("http://{peer}"));
        let log = data_dir.with_extension("log");
        let process = Process::start(
            Command::new(program)
                .arg("--data-dir")
                .arg(data_dir)
                .args(["--listen-client-urls", &client_url])
                .args(["--advertise-client-urls", &client_url])
                .args(["--listen-peer-urls", &peer_url])
                .args(["--initial-advertise-peer-urls", &peer_url])
                .args(["--initial-cluster", &format!("default={peer_url}")])
                .args(["--quota-backend-bytes", "8589934592"])
                .args(["--logger", "zap", "--log-level", "error"])
                .stdout(Stdio::null()),
            &log,
        )?;
        let etcd = Self {
            process,
            address,
            version,
        };
        let until = Instant::now() + Duration::from_secs(20);
        while let Err(error) = etcd.try_put().await {
            if Instant::now() > until {
                let log = std::fs::read_to_string(&log).unwrap_or_default();
                return Err(format!("etcd did not start: {error}\n{log}").into());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(etcd)
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    async fn try_put(&self) -> Outcome {
        let mut connection = Connection::open(self.address).await?;
        connection.put(b"first", b"value").await
    }

    /// Opens so many connections.
    pub(crate) async fn connections(&self, count: usize) -> Outcome<Vec<Connection>> {
        let mut connections = Vec::with_capacity(count);
        for _ in 0..count {
            connections.push(Connection::open(self.address).await?);
        }
        Ok(connections)
    }
}

/// One connection to etcd.
#[derive(Clone)]
pub(crate) struct Connection {
    sender: Sender,
    uri: Uri,
}

impl Connection {
    async fn open(address: SocketAddr) -> Outcome<Self> {
        Ok(Self {
            sender: connect_plain(address).await?,
            uri: format!("http://{address}/etcdserverpb.KV/Put").parse()?,
        })
    }

    /// Puts a value; returns when etcd has acknowledged it.
    pub(crate) async fn put(&mut self, key: &[u8], value: &[u8]) -> Outcome {
        let mut request = Request::new(Full::new(put_message(key, value)));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.uri.clone();
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        headers.insert(TE, HeaderValue::from_static("trailers"));
        self.sender.ready().await?;
        let answer = self.sender.send_request(request).await?;
        // An answer without a body carries its status in the head.
        if let Some(succeeded) = grpc_status(answer.headers()) {
            return succeeded;
        }
        let mut body = answer.into_body();
        while let Some(frame) = body.frame().await {
            if let Ok(trailers) = frame?.into_trailers() {
                return grpc_status(&trailers).ok_or("etcd answered without a status")?;
            }
        }
        Err("etcd's answer broke off".into())
    }
}

fn grpc_status(headers: &HeaderMap) -> Option<Outcome> {
    let status = headers.get("grpc-status")?;
    if status == "0" {
        return Some(Ok(()));
    }
    let message = headers.get("grpc-message");
    Some(Err(format!("etcd: {status:?} {message:?}").into()))
}

/// A `PutRequest` in a gRPC frame: not compressed, length, then key (field 1) and value (field 2).
fn put_message(key: &[u8], value: &[u8]) -> Bytes {
    let mut message = BytesMut::with_capacity(key.len() + value.len() + 16);
    message.put_slice(&[0; 5]);
    for (tag, bytes) in [(0x0a, key), (0x12, value)] {
        message.put_u8(tag);
        put_varint(&mut message, bytes.len());
        message.put_slice(bytes);
    }
    let length = u32::try_from(message.len() - 5).unwrap_or(u32::MAX);
    message[1..5].copy_from_slice(&length.to_be_bytes());
    message.freeze()
}

fn put_varint(out: &mut BytesMut, mut number: usize) {
    loop {
        let low = u8::try_from(number & 0x7f).unwrap_or(0);
        number >>= 7;
        if number == 0 {
            return out.put_u8(low);
        }
        out.put_u8(low | 0x80);
    }
}

fn version(program: &Path) -> Outcome<String> {
    let output = Command::new(program)
        .arg("--version")
        .output()
        .map_err(|error| {
            format!("can't run etcd: {error}; `cargo xtask bench` installs it when it is missing")
        })?;
    let text = String::from_utf8_lossy(&output.stdout);
    let first = text.lines().next().unwrap_or_default();
    Ok(first.trim_start_matches("etcd Version: ").to_owned())
}

/// An address that was free a moment ago.
fn free_address() -> Outcome<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

#[cfg(test)]
mod tests {
    use super::put_message;

    #[test]
    fn a_put_is_framed_and_encoded_as_grpc_wants_it() {
        assert_eq!(
            &put_message(b"k", b"vv")[..],
            b"\x00\x00\x00\x00\x07\x0a\x01k\x12\x02vv"
        );
        let long = put_message(b"k", &[b'v'; 300]);
        assert_eq!(&long[5..11], b"\x0a\x01k\x12\xac\x02");
        assert_eq!(long.len(), 5 + 3 + 3 + 300);
    }
}
