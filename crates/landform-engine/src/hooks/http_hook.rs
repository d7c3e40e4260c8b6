//! Hooks that are URLs.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, StatusCode, Uri, header};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper_util::client::legacy::{self, Client};
use hyper_util::rt::TokioExecutor;
use rustls_platform_verifier::BuilderVerifierExt as _;

use super::call::{ANSWER_BYTES, CallError, too_long};
use super::connect::{Connector, Dial};
use super::protocol;
use crate::reconciler::chain;

pub(crate) type HttpClient = Client<Connector, Full<Bytes>>;

/// Posts requests to a URL.
pub(crate) struct HttpHook {
    url: Uri,
    client: HttpClient,
}

impl HttpHook {
    pub(crate) fn new(url: &str, dial: Option<Dial>) -> Result<Self, String> {
        let problem = |error: String| format!("hook.url {url:?}: {error}");
        let url: Uri = url
            .parse()
            .map_err(|error: http::uri::InvalidUri| problem(error.to_string()))?;
        let known = matches!(url.scheme_str(), Some("http" | "https"));
        if !known || url.host().is_none_or(str::is_empty) {
            return Err(problem("must be an http or https URL".to_owned()));
        }
        let client = match dial {
            Some(dial) => through(Connector::Pipes(dial)),
            None => client(&url).map_err(|error| problem(error.to_string()))?,
        };
        Ok(Self { url, client })
    }

    /// Posts a request. When `give_up` resolves first the request is dropped, which closes its
    /// connection: the hook can see that nobody waits any more.
    pub(crate) async fn call(
        &self,
        request: Bytes,
        give_up: impl Future<Output = CallError>,
    ) -> Result<Bytes, CallError> {
        tokio::select! {
            biased;
            error = give_up => Err(error),
            answer = self.post(request) => answer,
        }
    }

    async fn post(&self, request: Bytes) -> Result<Bytes, CallError> {
        let request = Request::post(self.url.clone())
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json")
            .header(header::USER_AGENT, "landform")
            .body(Full::new(request))
            .map_err(|error| CallError::Failed(error.to_string()))?;
        let response = self.client.request(request).await.map_err(failed)?;
        let status = response.status();
        let body = Limited::new(response.into_body(), ANSWER_BYTES)
            .collect()
            .await;
        let body = body.map_err(|error| {
            if error.is::<LengthLimitError>() {
                too_long()
            } else {
                CallError::Failed(format!("broke its answer off: {}", chain(&*error)))
            }
        })?;
        let body = body.to_bytes();
        if status.is_success() {
            Ok(body)
        } else {
            Err(refused(status, &body))
        }
    }
}

impl fmt::Display for HttpHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.url)
    }
}

/// A client with a pool of connections of its own.
pub(crate) fn client(url: &Uri) -> Result<HttpClient, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?;
    // A system without certificates is no reason to refuse URLs that need none.
    let tls = if url.scheme_str() == Some("https") {
        tls.with_platform_verifier()?
    } else {
        tls.with_root_certificates(rustls::RootCertStore::empty())
    };
    let connector = hyper_rustls::HttpsConnectorBuilder::new()
        .with_tls_config(tls.with_no_client_auth())
        .https_or_http()
        .enable_http1()
        .build();
    Ok(through(Connector::Network(connector)))
}

fn through(connector: Connector) -> HttpClient {
    Client::builder(TokioExecutor::new()).build(connector)
}

fn failed(error: legacy::Error) -> CallError {
    let text = chain(&error);
    if error.is_connect() {
        CallError::Unreachable(text)
    } else {
        CallError::Failed(format!("gave no answer: {text}"))
    }
}

/// A status other than success, with the beginning of what the hook says about it.
fn refused(status: StatusCode, body: &Bytes) -> CallError {
    let text = String::from_utf8_lossy(body);
    let text = protocol::cut(text.trim());
    let colon = if text.is_empty() { "" } else { ": " };
    CallError::Failed(format!("answered {status}{colon}{text}"))
}
