//! Connections: accepted, encrypted, and handed to the server request by request.

use std::sync::Arc;
use std::time::Duration;

use http::Request;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use landform_apiserver::{ApiServer, Identity};
use rustls::RootCertStore;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use super::auth::{certificate_identity, identify};
use super::pki::Pki;
use crate::AnyError;

/// So many connections may be open at once.
const CONNECTIONS: usize = 10_000;
/// So many requests (watches too) may be open on one HTTP/2 connection.
const STREAMS: u32 = 2_000;
/// A client that connects must speak TLS within this time.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// A client must send its request's head within this time.
const HEAD: Duration = Duration::from_secs(15);

/// The server on a socket.
pub(super) struct Listening {
    stop: watch::Sender<bool>,
    accepting: JoinHandle<GracefulShutdown>,
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
        if let Ok(graceful) = self.accepting.await
            && tokio::time::timeout(patience, graceful.shutdown())
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
) -> GracefulShutdown {
    let graceful = GracefulShutdown::new();
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let stream = tokio::select! {
            _ = stopping.changed() => return graceful,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Out of file descriptors, say: whoever is connected goes on, new ones wait.
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
        };
        let Ok(place) = places.clone().try_acquire_owned() else {
            tracing::warn!("too many connections are open; one was refused");
            continue;
        };
        let watcher = graceful.watcher();
        let (acceptor, server) = (acceptor.clone(), server.clone());
        tokio::spawn(async move {
            let _place = place;
            if let Err(error) = connection(stream, acceptor, server, watcher).await {
                tracing::debug!(%error, "a connection ended");
            }
        });
    }
}

async fn connection(
    stream: TcpStream,
    acceptor: TlsAcceptor,
    server: ApiServer,
    watcher: hyper_util::server::graceful::Watcher,
) -> Result<(), AnyError> {
    stream.set_nodelay(true)?;
    let stream = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await??;
    let (_, session) = stream.get_ref();
    let certified: Option<Arc<Identity>> = session
        .peer_certificates()
        .and_then(|chain| chain.first())
        .and_then(certificate_identity)
        .map(Arc::new);
    let service = hyper::service::service_fn(move |mut request: Request<Incoming>| {
        let (server, certified) = (server.clone(), certified.clone());
        async move {
            if let Some(identity) = identify(&server, &request, certified.as_deref()).await {
                request.extensions_mut().insert(identity);
            }
            Ok::<_, std::convert::Infallible>(server.answer(request).await)
        }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD);
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
    let connection = builder
        .serve_connection(TokioIo::new(stream), service)
        .into_owned();
    watcher
        .watch(connection)
        .await
        .map_err(|error| error.to_string())?;
    Ok(())
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
