//! Where an engine on its own shows itself: `/engine/…`, `/metrics` and `/healthz`, read-only.
//!
//! There are no credentials here. `/engine` names objects and their errors, so only programs on this machine may read
//! it, and no page in a browser that calls this machine by a name of its own.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use landform_apiserver::Query;
use landform_engine::{Engine, ReadError};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::AnyError;
use crate::serve::bind_asked;

/// A client must send its request's head within this time.
const HEAD: Duration = Duration::from_secs(15);

/// Listens until the task is ended. Returns the address, which is of interest when the port was 0.
pub(super) async fn listen(
    address: SocketAddr,
    engine: Engine,
    registry: prometheus::Registry,
) -> Result<(SocketAddr, JoinHandle<()>), AnyError> {
    let listener = bind_asked(address).await?;
    let address = listener.local_addr()?;
    let task = tokio::spawn(async move {
        loop {
            match listener.accept().await {
                Ok((stream, peer)) => {
                    let (engine, registry) = (engine.clone(), registry.clone());
                    tokio::spawn(async move {
                        let service =
                            service_fn(|request| answer(&engine, &registry, peer, request));
                        let connection = hyper::server::conn::http1::Builder::new()
                            .timer(TokioTimer::new())
                            .header_read_timeout(HEAD)
                            .serve_connection(TokioIo::new(stream), service);
                        if let Err(error) = connection.await {
                            tracing::debug!(%error, "a connection broke off");
                        }
                    });
                }
                Err(error) => {
                    // Out of file descriptors, for instance: others must close theirs first.
                    tracing::warn!(%error, "a connection was not accepted");
                    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                }
            }
        }
    });
    Ok((address, task))
}

async fn answer(
    engine: &Engine,
    registry: &prometheus::Registry,
    peer: SocketAddr,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let path: Vec<_> = request.uri().path().split('/').collect();
    let path: Vec<_> = path.into_iter().filter(|part| !part.is_empty()).collect();
    let (status, kind, body) = if request.method() != Method::GET {
        problem(StatusCode::METHOD_NOT_ALLOWED, "this can only be read")
    } else {
        match path.as_slice() {
            ["healthz" | "livez" | "readyz"] => (StatusCode::OK, "text/plain", "ok".to_owned()),
            ["metrics"] => {
                match prometheus::TextEncoder::new().encode_to_string(&registry.gather()) {
                    Ok(text) => (StatusCode::OK, "text/plain; version=0.0.4", text),
                    Err(error) => problem(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
                }
            }
            ["engine", ..] if !may_see_engine(peer, &request) => problem(
                StatusCode::FORBIDDEN,
                "/engine can only be read on the machine itself, as localhost or by its address",
            ),
            ["engine", rest @ ..] => read(engine, rest, request.uri().query()).await,
            _ => problem(
                StatusCode::NOT_FOUND,
                "there are /engine, /metrics and /healthz",
            ),
        }
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    let kind = header::HeaderValue::from_static(kind);
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}

/// Whether the caller is on this machine, and is no page in a browser.
fn may_see_engine<B>(peer: SocketAddr, request: &Request<B>) -> bool {
    peer.ip().to_canonical().is_loopback() && names_this_machine(request)
}

/// Whether the caller knows this machine as localhost or by its address. A page in a browser that has its own name
/// point here sends that name.
fn names_this_machine<B>(request: &Request<B>) -> bool {
    let host = request.headers().get(header::HOST);
    let host = host.and_then(|host| host.to_str().ok());
    let Some(Ok(host)) = host.map(str::parse::<http::uri::Authority>) else {
        return false;
    };
    let name = host.host();
    let address = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || address.parse::<std::net::IpAddr>().is_ok()
}

type Parts = (StatusCode, &'static str, String);

async fn read(engine: &Engine, path: &[&str], query: Option<&str>) -> Parts {
    let query = match Query::parse(query) {
        Ok(query) => query,
        Err(error) => return problem(StatusCode::BAD_REQUEST, &error.to_string()),
    };
    let get = |key: &str| query.get(key).map(str::to_owned);
    match engine.read(path, &get).await {
        Ok(Some(value)) => (StatusCode::OK, "application/json", value.to_string()),
        Ok(None) => problem(StatusCode::NOT_FOUND, "the engine knows nothing of that"),
        Err(error @ ReadError::BadQuestion(_)) => {
            problem(StatusCode::BAD_REQUEST, &error.to_string())
        }
        Err(error @ ReadError::Engine(_)) => {
            problem(StatusCode::SERVICE_UNAVAILABLE, &error.to_string())
        }
    }
}

fn problem(status: StatusCode, message: &str) -> Parts {
    let body = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure",
        "code": status.as_u16(), "message": message});
    (status, "application/json", body.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engine_is_shown_to_callers_on_this_machine_only() {
        for (peer, host, expected) in [
            ("127.0.0.1:5000", "localhost:7444", true),
            ("[::1]:5000", "[::1]:7444", true),
            ("[::ffff:127.0.0.1]:5000", "127.0.0.1:7444", true),
            ("127.0.0.1:5000", "attacker.example", false),
            ("192.0.2.7:5000", "localhost:7444", false),
            ("[2001:db8::1]:5000", "127.0.0.1", false),
            ("[::ffff:192.0.2.7]:5000", "127.0.0.1", false),
        ] {
            let request = Request::get("/engine").header(header::HOST, host);
            let request = request.body(()).unwrap();
            let may = may_see_engine(peer.parse().unwrap(), &request);
            assert_eq!(may, expected, "{peer} {host}");
        }
    }

    #[test]
    fn only_localhost_and_addresses_name_this_machine() {
        for (host, expected) in [
            (Some("localhost:7444"), true),
            (Some("127.0.0.1:7444"), true),
            (Some("[::1]:7444"), true),
            (Some("attacker.example"), false),
            (Some("127.0.0.1.attacker.example"), false),
            (Some("localhost.attacker.example:7444"), false),
            (Some(""), false),
            (None, false),
        ] {
            let mut request = Request::get("/engine");
            if let Some(host) = host {
                request = request.header(header::HOST, host);
            }
            let request = request.body(()).unwrap();
            assert_eq!(names_this_machine(&request), expected, "{host:?}");
        }
    }
}
