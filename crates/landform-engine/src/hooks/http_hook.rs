//! Hooks that are URLs.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::uri::Authority;
use http::{HeaderValue, Request, StatusCode, Uri, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper_util::client::legacy::{self, Client};
use hyper_util::rt::TokioExecutor;
use rustls_platform_verifier::BuilderVerifierExt as _;

use super::call::{ANSWER_BYTES, CallError, too_long};
use super::connect::{Connector, Dial};
use super::protocol;
use super::spec::shown_url;
use crate::reconciler::chain;

pub(crate) type HttpClient = Client<Connector, BoxBody<Bytes, Infallible>>;

/// Posts requests to a URL.
pub(crate) struct HttpHook {
    /// Without user and password: libraries log it.
    url: Uri,
    credentials: Option<HeaderValue>,
    client: HttpClient,
}

impl HttpHook {
    pub(crate) fn new(url: &str, dial: Option<Dial>) -> Result<Self, String> {
        let problem = |error: String| format!("hook.url: {error}");
        let url: Uri = url
            .parse()
            .map_err(|error: http::uri::InvalidUri| problem(error.to_string()))?;
        let (url, credentials) = without_credentials(url).map_err(problem)?;
        let known = matches!(url.scheme_str(), Some("http" | "https"));
        if !known || url.host().is_none_or(str::is_empty) {
            return Err(problem("must be an http or https URL".to_owned()));
        }
        let client = match dial {
            Some(dial) => through(Connector::Pipes(dial)),
            None => client(&url).map_err(|error| problem(error.to_string()))?,
        };
        Ok(Self {
            url,
            credentials,
            client,
        })
    }

    /// Posts a request. When `give_up` resolves first the answer is still waited for, and thrown away: most servers
    /// work on when their client has gone, and until they are done no other call may begin (R9b). After the grace
    /// period the connection is closed.
    pub(crate) async fn call(
        &self,
        request: Bytes,
        grace: Duration,
        give_up: impl Future<Output = CallError>,
    ) -> Result<Bytes, CallError> {
        let sent = Arc::new(AtomicBool::new(false));
        let mut post = std::pin::pin!(self.post(request, sent.clone()));
        tokio::select! {
            biased;
            error = give_up => {
                // A server that got nothing of the request does nothing.
                if sent.load(Ordering::Relaxed) {
                    let _ = tokio::time::timeout(grace, post).await;
                }
                Err(error)
            }
            answer = &mut post => answer,
        }
    }

    /// Posts a request, and notes when it is on its way.
    async fn post(&self, request: Bytes, sent: Arc<AtomicBool>) -> Result<Bytes, CallError> {
        let length = request.len();
        let body = Full::new(request).map_frame(move |frame| {
            sent.store(true, Ordering::Relaxed);
            frame
        });
        let request = Request::post(self.url.clone())
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json")
            // Simple servers know nothing of bodies without a length.
            .header(header::CONTENT_LENGTH, length)
            .header(header::USER_AGENT, "landform")
            .body(body.boxed());
        let mut request = request.map_err(|error| CallError::Failed(error.to_string()))?;
        if let Some(credentials) = &self.credentials {
            let headers = request.headers_mut();
            headers.insert(header::AUTHORIZATION, credentials.clone());
        }
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

/// A URL without its user and password, and the header that they go into.
fn without_credentials(url: Uri) -> Result<(Uri, Option<HeaderValue>), String> {
    let Some((given, host)) = url
        .authority()
        .and_then(|authority| authority.as_str().rsplit_once('@'))
    else {
        return Ok((url, None));
    };
    // The texts hold no part of them.
    let encoded = STANDARD.encode(percent_decoded(given));
    let mut value = HeaderValue::try_from(format!("Basic {encoded}"))
        .map_err(|_| "its user and password can't be sent".to_owned())?;
    value.set_sensitive(true);
    let host = Authority::try_from(host).map_err(|_| "it has no host".to_owned())?;
    let mut parts = url.into_parts();
    parts.authority = Some(host);
    let url = Uri::from_parts(parts).map_err(|error| error.to_string())?;
    Ok((url, Some(value)))
}

/// `%40` as `@`. What is no such code stays as it is.
fn percent_decoded(text: &str) -> Vec<u8> {
    let mut decoded = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, others)) = rest.split_first() {
        let code = (*first == b'%').then(|| others.get(..2)).flatten();
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                decoded.push(byte);
                rest = others.get(2..).unwrap_or_default();
            }
            None => {
                decoded.push(*first);
                rest = others;
            }
        }
    }
    decoded
}

impl fmt::Display for HttpHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown_url(&self.url.to_string()))
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

/// A status other than success.
fn refused(status: StatusCode, body: &Bytes) -> CallError {
    let complaint = protocol::complaint_of(body);
    CallError::refused(format!("answered {status}"), complaint, body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_and_password_are_in_a_header_and_not_in_the_url() {
        let cases = [
            ("http://a:1/x?y", "http://a:1/x?y", None),
            (
                "http://user:canary@a:1/x?y",
                "http://a:1/x?y",
                Some("user:canary"),
            ),
            (
                "http://user:can%40ary%@a/",
                "http://a/",
                Some("user:can@ary%"),
            ),
            ("http://canary@[::1]:1/", "http://[::1]:1/", Some("canary")),
        ];
        for (given, expected, credentials) in cases {
            let (url, header) = without_credentials(given.parse().unwrap()).unwrap();
            assert_eq!(url.to_string(), expected);
            assert!(header.as_ref().is_none_or(HeaderValue::is_sensitive));
            let header = header.map(|header| header.to_str().unwrap().to_owned());
            let expected = credentials.map(|text| format!("Basic {}", STANDARD.encode(text)));
            assert_eq!(header, expected);
        }
    }
}
