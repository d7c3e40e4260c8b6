//! A hook that is a socket: a test receives its calls, and answers them when it likes.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};

use super::stage::soon;

/// Listens for calls.
pub(crate) struct HookServer {
    pub(crate) address: SocketAddr,
    calls: mpsc::UnboundedReceiver<Call>,
}

/// A call that waits for its answer.
pub(crate) struct Call {
    pub(crate) request: Value,
    answer: oneshot::Sender<String>,
    closed: oneshot::Receiver<()>,
}

impl HookServer {
    pub(crate) async fn start() -> Self {
        Self::start_at("127.0.0.1:0").await
    }

    pub(crate) async fn start_at(address: &str) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, calls) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                tokio::spawn(serve(connection, sender.clone()));
            }
        });
        Self { address, calls }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/reconcile", self.address)
    }

    /// The next call.
    pub(crate) async fn next(&mut self) -> Call {
        soon(self.calls.recv()).await.unwrap()
    }

    /// The next call, which must be for this object.
    pub(crate) async fn call_for(&mut self, name: &str) -> Call {
        let call = self.next().await;
        assert_eq!(call.name(), name, "{}", call.request);
        call
    }
}

impl Call {
    pub(crate) fn name(&self) -> &str {
        self.request["object"]["metadata"]["name"].as_str().unwrap()
    }

    pub(crate) fn answer(self, answer: Value) {
        self.answer_text(&answer.to_string());
    }

    pub(crate) fn answer_text(self, answer: &str) {
        self.answer.send(answer.to_owned()).unwrap();
    }

    /// Waits until the caller has hung up.
    pub(crate) async fn closed(self) {
        let Self { closed, answer, .. } = self;
        soon(closed).await.unwrap();
        drop(answer);
    }
}

async fn serve(mut connection: TcpStream, calls: mpsc::UnboundedSender<Call>) {
    let mut bytes = Vec::new();
    while let Some(request) = read(&mut connection, &mut bytes).await {
        let (answer, mut answered) = oneshot::channel();
        let (close, closed) = oneshot::channel();
        let call = Call {
            request,
            answer,
            closed,
        };
        if calls.send(call).is_err() {
            return;
        }
        let mut one = [0];
        tokio::select! {
            answer = &mut answered => {
                let Ok(answer) = answer else { return };
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", answer.len());
                if connection.write_all((head + &answer).as_bytes()).await.is_err() {
                    return;
                }
            }
            _ = connection.read(&mut one) => {
                let _ = close.send(());
                return;
            }
        }
    }
}

/// One request; none when the connection has ended.
async fn read(connection: &mut TcpStream, bytes: &mut Vec<u8>) -> Option<Value> {
    loop {
        if let Some((value, used)) = parse(bytes) {
            bytes.drain(..used);
            return Some(value);
        }
        if connection.read_buf(bytes).await.ok()? == 0 {
            return None;
        }
    }
}

fn parse(bytes: &[u8]) -> Option<(Value, usize)> {
    let head = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&bytes[..head]).unwrap().to_lowercase();
    let length = text
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"))
        .unwrap();
    let end = head + length.trim().parse::<usize>().unwrap();
    let body = bytes.get(head..end)?;
    Some((serde_json::from_slice(body).unwrap(), end))
}
