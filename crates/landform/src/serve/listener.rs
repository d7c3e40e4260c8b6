//! Connections: accepted, encrypted, and handed to the server request by request.

use std::sync::Arc;
use std::time::Duration;

use http::Request;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use landform_apiserver::{ApiServer, AuditLog, Identity, PeerAddress};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{CertificateError, RootCertStore, ServerConfig};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use super::auth::{certificate_identity, identify};
use super::frames::Metered;
use super::gate::{Activity, Counted, Gate, IDLE, Pass};
use super::pki::Pki;
use super::unread::Drained;
use crate::AnyError;

/// The most requests (watches too) that may be open on one HTTP/2 connection.
const STREAMS: u32 = 2_000;
/// So much of an answer is made before the client takes it, for each request: a client with many of them may never do.
const SEND_BUFFER: usize = 64 * 1024;
/// So much of a request that has come and was not taken is kept, for each connection of HTTP/1.1. A head must fit into it.
const RECEIVE_BUFFER: usize = 64 * 1024;
/// A client that connects must speak TLS within this time.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// A connection that is told to end gets this long to finish what is under way.
const FAREWELL: Duration = Duration::from_secs(5);

/// The server on a socket.
pub(super) struct Listening {
    stop: watch::Sender<bool>,
    accepting: JoinHandle<()>,
}

impl Listening {
    pub(super) fn start(
        listener: TcpListener,
        server: ApiServer,
        pki: &Pki,
        audit: Option<AuditLog>,
    ) -> Result<Self, AnyError> {
        let acceptor = TlsAcceptor::from(Arc::new(tls_config(pki)?));
        let (stop, stopping) = watch::channel(false);
        let accepting = tokio::spawn(accept(listener, acceptor, server, audit, stopping));
        Ok(Self { stop, accepting })
    }

    /// Takes no more connections and waits, for a while, until those that are open have finished.
    pub(super) async fn finish(self, patience: Duration) {
        self.stop.send_replace(true);
        let _ = self.accepting.await;
        // Each connection listens, so the last one is over when nobody does.
        if tokio::time::timeout(patience, self.stop.closed())
            .await
            .is_err()
        {
            tracing::warn!("some requests did not finish in time and were cut off");
        }
    }
}

async fn accept(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    server: ApiServer,
    audit: Option<AuditLog>,
    mut stopping: watch::Receiver<bool>,
) {
    let gate = Gate::new();
    loop {
        let (stream, address) = tokio::select! {
            _ = stopping.changed() => return,
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of file descriptors, say: whoever is connected goes on, new ones wait.
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
        };
        let Some(pass) = gate.admit(address.ip()) else {
            tracing::warn!("too many connections are open; one was refused");
            continue;
        };
        let (acceptor, server, stopping) = (acceptor.clone(), server.clone(), stopping.clone());
        let audit = audit.clone();
        tokio::spawn(async move {
            let leave = pass.leave.clone();
            tokio::select! {
                () = leave.cancelled() => tracing::debug!("a connection made room for others"),
                ended = connection(stream, acceptor, server, audit, pass, stopping) => {
                    if let Err(error) = ended {
                        tracing::debug!(%error, "a connection ended");
                    }
                }
            }
        });
    }
}

async fn connection(
    stream: TcpStream,
    acceptor: TlsAcceptor,
    server: ApiServer,
    audit: Option<AuditLog>,
    pass: Pass,
    mut stopping: watch::Receiver<bool>,
) -> Result<(), AnyError> {
    stream.set_nodelay(true)?;
    let peer = PeerAddress(stream.peer_addr()?);
    let shaken = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await?;
    if let (Some(audit), Err(error)) = (&audit, &shaken)
        && let Some(problem) = certificate_problem(error)
    {
        audit.handshake_refused(peer, problem);
    }
    let stream = shaken?;
    let (_, session) = stream.get_ref();
    let certified: Option<Arc<Identity>> = session
        .peer_certificates()
        .and_then(|chain| chain.first())
        .and_then(certificate_identity)
        .map(Arc::new);
    let activity = Arc::new(Activity::default());
    let (requests, pass) = (activity.clone(), Arc::new(pass));
    let service = hyper::service::service_fn(move |mut request: Request<Incoming>| {
        let (server, certified, pass) = (server.clone(), certified.clone(), pass.clone());
        let under_way = requests.begin();
        request.extensions_mut().insert(peer);
        async move {
            if let Some(identity) = identify(&server, &request, certified.as_deref()).await {
                pass.is_known(&identity.counted_as());
                request.extensions_mut().insert(identity);
            }
            // HTTP/2 can end a single request without its connection.
            let answer = if request.version() == http::Version::HTTP_2 {
                server.answer(request).await
            } else {
                server.answer(request.map(Drained::new)).await
            };
            pass.answered(answer.status());
            Ok::<_, std::convert::Infallible>(answer.map(|body| Counted::new(body, under_way)))
        }
    });
    let builder = protocols();
    let connection = builder
        .serve_connection(TokioIo::new(Metered::new(stream)), service)
        .into_owned();
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        ended = connection.as_mut() => return ended.map_err(|error| error.to_string().into()),
        () = stopped(&mut stopping) => {
            connection.as_mut().graceful_shutdown();
            return connection.await.map_err(|error| error.to_string().into());
        }
        () = activity.idle() => {}
    }
    connection.as_mut().graceful_shutdown();
    match tokio::time::timeout(FAREWELL, connection).await {
        Ok(ended) => ended.map_err(|error| error.to_string().into()),
        Err(_) => Ok(()),
    }
}

/// What is wrong with the certificate of a client whose handshake failed, if it failed for that.
fn certificate_problem(error: &std::io::Error) -> Option<&'static str> {
    let error = error.get_ref()?.downcast_ref::<rustls::Error>()?;
    let rustls::Error::InvalidCertificate(problem) = error else {
        return None;
    };
    Some(match problem {
        CertificateError::UnknownIssuer => "UnknownIssuer",
        CertificateError::BadSignature => "BadSignature",
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "Expired",
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "NotValidYet"
        }
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "InvalidPurpose"
        }
        CertificateError::BadEncoding => "BadEncoding",
        _ => "Invalid",
    })
}

async fn stopped(stopping: &mut watch::Receiver<bool>) {
    let _ = stopping.wait_for(|stop| *stop).await;
}

/// HTTP/1.1 and HTTP/2, with their limits.
fn protocols() -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .max_buf_size(RECEIVE_BUFFER)
        // This is also how long HTTP/1.1 waits for the next request; for the first one the gate is stricter.
        .header_read_timeout(IDLE);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(64 * 1024)
        .adaptive_window(false)
        .initial_stream_window_size(1024 * 1024)
        .initial_connection_window_size(4 * 1024 * 1024)
        .max_send_buf_size(SEND_BUFFER)
        .keep_alive_interval(Some(Duration::from_secs(30)))
        .keep_alive_timeout(Duration::from_secs(20));
    builder
}

fn tls_config(pki: &Pki) -> Result<ServerConfig, AnyError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(
        pki.ca_certificate.as_bytes(),
    )?)?;
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
        .allow_unauthenticated()
        .build()?;
    let chain = CertificateDer::pem_slice_iter(pki.server.certificate.as_bytes())
        .collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_slice(pki.server.key.as_bytes())?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    config.ticketer = rustls::crypto::ring::Ticketer::new()?;
    Ok(config)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http_body_util::Full;
    use hyper::Response;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};

    use super::*;

    /// A client with this certificate and key, for a server with those.
    fn connector(server: &Pki, client: &Pki) -> tokio_rustls::TlsConnector {
        let certificate = |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(certificate(&server.ca_certificate)).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let chain = vec![certificate(&client.admin.certificate)];
        let key = PrivateKeyDer::from_pem_slice(client.admin.key.as_bytes()).unwrap();
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_client_auth_cert(chain, key)
            .unwrap();
        Arc::new(config).into()
    }

    #[tokio::test]
    async fn a_client_whose_certificate_is_not_trusted_has_a_line_in_the_audit_log() {
        let directory = tempfile::tempdir().unwrap();
        let pki = |name: &str| {
            let local = std::net::IpAddr::from([127, 0, 0, 1]);
            super::super::pki::load_or_make(&directory.path().join(name), local).unwrap()
        };
        let (own, stranger) = (pki("own"), pki("stranger"));
        let file = directory.path().join("audit.log");
        let audit = AuditLog::open(landform_apiserver::AuditOptions {
            file: file.clone(),
            level: landform_apiserver::AuditLevel::Metadata,
            own: false,
            file_bytes_max: 1 << 20,
            files_max: 2,
        })
        .unwrap();
        let store = Arc::new(landform_store::memory::MemoryStore::new());
        let server = ApiServer::start(store, landform_apiserver::Config::default())
            .await
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let listening = Listening::start(listener, server, &own, Some(audit.clone())).unwrap();
        let attempts = 30;
        for client in std::iter::once(&own).chain(std::iter::repeat_n(&stranger, attempts)) {
            let stream = TcpStream::connect(address).await.unwrap();
            let name = "localhost".try_into().unwrap();
            let shaken = connector(&own, client).connect(name, stream).await;
            // With TLS 1.3 a client learns of it when it reads; only then the server has seen the certificate.
            let mut answer = Vec::new();
            if let Ok(mut stream) = shaken {
                let _ = stream.write_all(b"GET /livez HTTP/1.0\r\n\r\n").await;
                let _ = stream.read_to_end(&mut answer).await;
            }
            let trusted = std::ptr::eq(client, &own);
            assert_eq!(answer.ends_with(b"ok"), trusted);
        }
        listening.finish(Duration::from_secs(5)).await;
        audit.flush(Duration::from_secs(10));
        let text = std::fs::read_to_string(file).unwrap();
        let lines: Vec<serde_json::Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines[0]["verb"], "handshake", "{text}");
        assert_eq!(lines[0]["responseStatus"]["code"], 401);
        assert_eq!(lines[0]["sourceIPs"][0], "127.0.0.1");
        let annotations = &lines[0]["annotations"];
        // The stranger's authority has the same name, and another key.
        assert_eq!(annotations["landform.dev/certificate"], "BadSignature");
        // The rest is counted.
        assert_eq!(lines.len(), 21, "{text}");
        assert_eq!(lines[20]["kind"], "AuditGap");
        assert_eq!(lines[20]["missing"], attempts - 20);
    }

    async fn ask(client: &mut DuplexStream) -> String {
        let request = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";
        if client.write_all(request).await.is_err() {
            return String::new();
        }
        let mut answer = vec![0; 4096];
        let read = client.read(&mut answer).await.unwrap_or(0);
        answer.truncate(read);
        String::from_utf8(answer).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn an_http1_connection_is_kept_as_long_as_the_gate_says() {
        let (mut client, server) = tokio::io::duplex(64 * 1024);
        let service = hyper::service::service_fn(|_: Request<Incoming>| async {
            let answer = Response::new(Full::new(Bytes::from_static(b"ok")));
            Ok::<_, std::convert::Infallible>(answer)
        });
        let builder = protocols();
        let connection = builder.serve_connection(TokioIo::new(server), service);
        let serving = tokio::spawn(connection.into_owned());
        assert!(ask(&mut client).await.ends_with("ok"));
        let second = Duration::from_secs(1);
        for _ in 0..3 {
            tokio::time::sleep(IDLE - second).await;
            assert!(ask(&mut client).await.ends_with("ok"), "it is still open");
        }
        tokio::time::sleep(IDLE + second).await;
        assert!(!ask(&mut client).await.ends_with("ok"), "it is closed");
        let _ = serving.await.unwrap();
    }
}
