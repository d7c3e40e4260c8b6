//! How a hook is connected to: by the network, or by pipes that are given in its place.
//!
//! Simulations have no sockets. They give pipes, so that everything above the connection is what runs in
//! production: HTTP, the pool of connections, timeouts, cancellation.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use tokio::io::DuplexStream;
use tokio::net::TcpStream;
use tower::Service;

/// Gives a pipe to the server of a URL.
pub type Dial = Arc<dyn Fn(&Uri) -> io::Result<DuplexStream> + Send + Sync>;

/// Makes connections.
#[derive(Clone)]
pub(crate) enum Connector {
    Network(HttpsConnector<HttpConnector>),
    Pipes(Dial),
}

/// A connection.
pub(crate) enum Stream {
    Network(Box<MaybeHttpsStream<TokioIo<TcpStream>>>),
    Pipe(TokioIo<DuplexStream>),
}

impl Service<Uri> for Connector {
    type Response = Stream;
    type Error = Box<dyn std::error::Error + Send + Sync>;
    type Future = BoxFuture<'static, Result<Stream, Self::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        match self {
            Self::Network(network) => network.poll_ready(context),
            Self::Pipes(_) => Poll::Ready(Ok(())),
        }
    }

    fn call(&mut self, url: Uri) -> Self::Future {
        match self {
            Self::Network(network) => {
                let connecting = network.call(url);
                Box::pin(async move { Ok(Stream::Network(Box::new(connecting.await?))) })
            }
            Self::Pipes(dial) => {
                let pipe = dial(&url);
                Box::pin(async move { Ok(Stream::Pipe(TokioIo::new(pipe?))) })
            }
        }
    }
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        match self {
            Self::Network(stream) => stream.connected(),
            Self::Pipe(_) => Connected::new(),
        }
    }
}

impl Read for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Network(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Pipe(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl Write for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Network(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Pipe(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Network(stream) => Pin::new(stream).poll_flush(context),
            Self::Pipe(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Network(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Pipe(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
