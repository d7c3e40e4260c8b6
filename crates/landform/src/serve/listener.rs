//! Connections: accepted, encrypted, and handed to the server request by request.

use std::sync::Arc;
use std::time::Duration;

use http::Request;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use landform_apiserver::{ApiServer, Identity, PeerAddress};
use rustls::RootCertStore;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use super::auth::{certificate_identity, identify};
use super::gate::{Activity, Counted, Gate, IDLE, Pass};
use super::pki::Pki;
use super::unread::Drained;
use crate::AnyError;

/// The most requests (watches too) that may be open on one HTTP/2 connection.
const STREAMS: u32 = 2_000;
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
    ) -> Result<Self, AnyError> {
        let acceptor = TlsAcceptor::from(Arc::new(tls_config(pki)?));
        let (stop, stopping) = watch::channel(false);
        let accepting = tokio::spawn(accept(listener, acceptor, server, stopping));
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
        tokio::spawn(async move {
            let leave = pass.leave.clone();
            tokio::select! {
                () = leave.cancelled() => tracing::debug!("a connection made room for others"),
                ended = connection(stream, acceptor, server, pass, stopping) => {
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
    pass: Pass,
    mut stopping: watch::Receiver<bool>,
) -> Result<(), AnyError> {
    stream.set_nodelay(true)?;
    let peer = PeerAddress(stream.peer_addr()?);
    let stream = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await??;
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
                pass.is_known();
                request.extensions_mut().insert(identity);
            }
            // HTTP/2 can end a single request without its connection.
            let answer = if request.version() == http::Version::HTTP_2 {
                server.answer(request).await
            } else {
                server.answer(request.map(Drained::new)).await
            };
            Ok::<_, std::convert::Infallible>(answer.map(|body| Counted::new(body, under_way)))
        }
    });
    let builder = protocols();
    let connection = builder
        .serve_connection(TokioIo::new(stream), service)
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

async fn stopped(stopping: &mut watch::Receiver<bool>) {
    let _ = stopping.wait_for(|stop| *stop).await;
}

/// HTTP/1.1 and HTTP/2, with their limits.
fn protocols() -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
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
        .max_send_buf_size(1024 * 1024)
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
