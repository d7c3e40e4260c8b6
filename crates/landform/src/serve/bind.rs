//! The socket that a server listens on.
//!
//! A server that was killed leaves its address taken for a moment: a program that it was just starting holds the socket until
//! that program runs. So an address that is in use is tried again for a short time.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpListener;

use crate::AnyError;

/// An address that is in use is tried this many times.
const TRIES: usize = 20;
/// The time between two tries.
const PAUSE: Duration = Duration::from_millis(25);

/// A socket at an address, after a moment if that is in use.
///
/// # Errors
/// What the last try said.
pub(crate) async fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    for _ in 1..TRIES {
        match TcpListener::bind(address).await {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                tokio::time::sleep(PAUSE).await;
            }
            other => return other,
        }
    }
    TcpListener::bind(address).await
}

/// As [`bind`], of an address that a person named with `--listen`.
pub(crate) async fn bind_asked(address: SocketAddr) -> Result<TcpListener, AnyError> {
    bind(address).await.map_err(|error| {
        format!("can't listen on {address}: {error}; name another address with --listen").into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn taken() -> (TcpListener, SocketAddr) {
        let any: SocketAddr = ([127, 0, 0, 1], 0).into();
        let listener = TcpListener::bind(any).await.unwrap();
        let address = listener.local_addr().unwrap();
        (listener, address)
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_that_is_taken_for_a_moment_is_waited_for() {
        let (listener, address) = taken().await;
        let freeing = async {
            tokio::time::sleep(PAUSE * 3 / 2).await;
            drop(listener);
        };
        let (found, ()) = tokio::join!(bind_asked(address), freeing);
        assert_eq!(found.unwrap().local_addr().unwrap(), address);
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_that_stays_taken_is_an_error_that_says_what_to_do() {
        let (_listener, address) = taken().await;
        let error = bind_asked(address).await.unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("can't listen on {address}: ")),
            "{error}"
        );
        assert!(
            error.ends_with("; name another address with --listen"),
            "{error}"
        );
    }
}
