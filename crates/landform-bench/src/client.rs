//! A cheap client: HTTP/2 over a few connections, encrypted or not.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::Outcome;

/// Large enough for a long list to come in one go, as Go's clients have it.
const WINDOW: u32 = 4 * 1024 * 1024;

/// What a connection sends requests with.
pub(crate) type Sender = SendRequest<Full<Bytes>>;

/// Opens a connection without encryption.
pub(crate) async fn connect_plain(address: SocketAddr) -> Outcome<Sender> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    handshake(stream).await
}

async fn handshake(
    stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
) -> Outcome<Sender> {
    let (sender, connection) = Builder::new(TokioExecutor::new())
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(4 * WINDOW)
        .handshake(TokioIo::new(stream))
        .await?;
    tokio::spawn(async move {
        // A connection that breaks fails the requests on it, which says it all.
        let _ = connection.await;
    });
    Ok(sender)
}

/// Where a Landform server is, and the credentials for it.
pub(crate) struct Access {
    pub(crate) address: SocketAddr,
    authorization: HeaderValue,
    tls: TlsConnector,
}

impl Access {
    pub(crate) fn new(address: SocketAddr, ca_pem: &[u8], token: &str) -> Outcome<Self> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(ca_pem)?)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(Self {
            address,
            authorization: HeaderValue::try_from(format!("Bearer {token}"))?,
            tls: TlsConnector::from(Arc::new(config)),
        })
    }

    async fn connect(&self) -> Outcome<Sender> {
        let stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        let name = ServerName::IpAddress(self.address.ip().into());
        handshake(self.tls.connect(name, stream).await?).await
    }

    /// Opens so many connections.
    pub(crate) async fn clients(&self, count: usize) -> Outcome<Vec<Client>> {
        let mut clients = Vec::with_capacity(count);
        for _ in 0..count {
            clients.push(Client {
                sender: self.connect().await?,
                authorization: self.authorization.clone(),
                authority: format!("https://{}", self.address),
            });
        }
        Ok(clients)
    }
}

/// One connection to a Landform server.
#[derive(Clone)]
pub(crate) struct Client {
    sender: Sender,
    authorization: HeaderValue,
    authority: String,
}

const JSON: HeaderValue = HeaderValue::from_static("application/json");

impl Client {
    /// An address on this server; to be made once, not for each request.
    pub(crate) fn uri(&self, path: &str) -> Outcome<Uri> {
        Ok(format!("{}{path}", self.authority).parse()?)
    }

    /// Sends a request and returns the head of its answer.
    pub(crate) async fn send(
        &mut self,
        method: Method,
        uri: Uri,
        headers: &[(http::HeaderName, HeaderValue)],
        body: Bytes,
    ) -> Outcome<Response<Incoming>> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        let all = request.headers_mut();
        all.insert(AUTHORIZATION, self.authorization.clone());
        all.insert(CONTENT_TYPE, JSON);
        for (name, value) in headers {
            all.insert(name, value.clone());
        }
        self.sender.ready().await?;
        Ok(self.sender.send_request(request).await?)
    }

    /// Creates an object.
    pub(crate) async fn create(&mut self, uri: Uri, body: Bytes) -> Outcome {
        let answer = self.send(Method::POST, uri, &[], body).await?;
        take(answer, StatusCode::CREATED).await.map(drop)
    }

    /// Reads one object or a list, and returns how many bytes that was.
    pub(crate) async fn read(&mut self, uri: Uri) -> Outcome<usize> {
        let answer = self.send(Method::GET, uri, &[], Bytes::new()).await?;
        take(answer, StatusCode::OK).await
    }

    /// Reads a small answer whole.
    pub(crate) async fn text(&mut self, uri: Uri) -> Outcome<Bytes> {
        let answer = self.send(Method::GET, uri, &[], Bytes::new()).await?;
        Ok(answer.into_body().collect().await?.to_bytes())
    }

    /// Makes a namespace.
    pub(crate) async fn create_namespace(&mut self, name: &str) -> Outcome {
        let body =
            format!(r#"{{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{name}"}}}}"#);
        let uri = self.uri("/api/v1/namespaces")?;
        self.create(uri, body.into()).await
    }
}

/// Takes the whole body in, and returns its length; another status than expected is an error.
pub(crate) async fn take(answer: Response<Incoming>, expected: StatusCode) -> Outcome<usize> {
    let status = answer.status();
    let mut body = answer.into_body();
    if status != expected {
        let text = body.collect().await?.to_bytes();
        return Err(format!("{status}: {}", String::from_utf8_lossy(&text)).into());
    }
    let mut length = 0;
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame?.into_data() {
            length += data.len();
        }
    }
    Ok(length)
}

/// So many different texts: more than a compressor remembers, so that lists don't compress better
/// than real ones.
const TEXTS: usize = 64;

/// `ConfigMap`s of 1 KiB, into which only a name has to be put.
#[derive(Clone)]
pub(crate) struct Template {
    before: &'static str,
    after: Arc<Vec<String>>,
}

impl Template {
    pub(crate) fn new() -> Self {
        let mut seed = 1_u32;
        let mut letter = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            char::from(b'a' + u8::try_from((seed >> 24) % 26).unwrap_or(0))
        };
        let mut text = || {
            let entries: Vec<String> = (0..8)
                .map(|entry| {
                    let value: String = (0..99).map(|_| letter()).collect();
                    format!(r#""setting-{entry}":"{value}""#)
                })
                .collect();
            format!(r#""}},"data":{{{}}}}}"#, entries.join(","))
        };
        Self {
            before: r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":""#,
            after: Arc::new((0..TEXTS).map(|_| text()).collect()),
        }
    }

    /// The object that has this number.
    pub(crate) fn object(&self, number: u64) -> Bytes {
        let name = name(number);
        let after = &self.after[usize::try_from(number).unwrap_or(0) % TEXTS];
        let mut body = Vec::with_capacity(self.before.len() + name.len() + after.len());
        body.extend_from_slice(self.before.as_bytes());
        body.extend_from_slice(name.as_bytes());
        body.extend_from_slice(after.as_bytes());
        body.into()
    }
}

/// The name of the object that has this number.
pub(crate) fn name(number: u64) -> String {
    format!("object-{number:08}")
}

#[cfg(test)]
mod tests {
    use super::Template;

    #[test]
    fn the_template_is_valid_json_of_one_kibibyte() {
        let body = Template::new().object(1);
        let value: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(value["metadata"]["name"], "object-00000001");
        assert!((1000..=1060).contains(&body.len()), "{}", body.len());
    }
}
