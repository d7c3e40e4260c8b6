//! A client that speaks plain JSON: the hands of simulated users.

use bytes::{Bytes, BytesMut};
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use serde_json::Value;
use tower::Service as _;

use crate::network::{ConnectionLost, SimService};
use crate::watch_body::SimBody;

/// A client of the API server, through the simulated network.
#[derive(Clone)]
pub struct Client {
    service: SimService,
}

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The HTTP status.
    pub code: u16,
    /// The body; null when it is no JSON.
    pub value: Value,
}

impl Answer {
    /// Whether the request was carried out.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.code < 300
    }
}

impl Client {
    /// A client that goes this way.
    #[must_use]
    pub fn new(service: SimService) -> Self {
        Self { service }
    }

    /// Sends a request. Merge patches are the patches that it knows.
    ///
    /// # Errors
    /// When the connection broke.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Answer, ConnectionLost> {
        let content = if method == Method::PATCH {
            "application/merge-patch+json"
        } else {
            "application/json"
        };
        let bytes = body.map_or_else(Bytes::new, |body| Bytes::from(body.to_string()));
        let mut request = Request::new(Full::new(bytes));
        *request.method_mut() = method;
        *request.uri_mut() = path.parse().map_err(|_| ConnectionLost)?;
        let content = http::HeaderValue::from_static(content);
        request
            .headers_mut()
            .insert(http::header::CONTENT_TYPE, content);
        let response = self.service.clone().call(request).await?;
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await?.to_bytes();
        Ok(Answer {
            code,
            value: serde_json::from_slice(&bytes).unwrap_or(Value::Null),
        })
    }

    /// Opens a watch.
    ///
    /// # Errors
    /// When the connection broke.
    pub async fn watch(&self, path: &str, after: &str) -> Result<WatchLines, ConnectionLost> {
        let uri = format!("{path}?watch=true&resourceVersion={after}");
        let mut request = Request::new(Full::new(Bytes::new()));
        *request.uri_mut() = uri.parse().map_err(|_| ConnectionLost)?;
        let response = self.service.clone().call(request).await?;
        Ok(WatchLines {
            code: response.status().as_u16(),
            body: response.into_body(),
            pending: BytesMut::new(),
        })
    }
}

/// An open watch.
pub struct WatchLines {
    /// The HTTP status.
    pub code: u16,
    body: SimBody,
    pending: BytesMut,
}

impl WatchLines {
    /// The next event; `None` when the watch is over or broke off, perhaps in the middle of one.
    pub async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.pending.iter().position(|byte| *byte == b'\n') {
                let line = self.pending.split_to(end + 1);
                return serde_json::from_slice(&line).ok();
            }
            let frame = self.body.frame().await?.ok()?;
            self.pending.extend_from_slice(&frame.into_data().ok()?);
        }
    }
}
