//! Watches of the API, one event at a time.

use bytes::Bytes;
use http::Method;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::Value;

use crate::Outcome;
use crate::server::Server;

/// A watch, one line at a time.
pub(crate) struct Lines {
    body: Incoming,
    buffer: Vec<u8>,
    /// How much of the buffer was taken.
    taken: usize,
}

impl Lines {
    pub(crate) async fn open(server: &Server, path: &str) -> Outcome<Self> {
        let mut client = server.client().await?;
        let uri = client.uri(path)?;
        let answer = client.send(Method::GET, uri, &[], Bytes::new()).await?;
        Ok(Self {
            body: answer.into_body(),
            buffer: Vec::new(),
            taken: 0,
        })
    }

    pub(crate) async fn next(&mut self) -> Outcome<Value> {
        loop {
            let rest = &self.buffer[self.taken..];
            if let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let line = serde_json::from_slice(&rest[..end])?;
                self.taken += end + 1;
                return Ok(line);
            }
            self.buffer.drain(..self.taken);
            self.taken = 0;
            let frame = self.body.frame().await.ok_or("the watch ended")??;
            if let Ok(data) = frame.into_data() {
                self.buffer.extend_from_slice(&data);
            }
        }
    }
}
