//! Fetches a file from a web server.

use bytes::Bytes;
use http::{Request, Uri, header};
use http_body_util::{BodyExt as _, Full, Limited};

use crate::hooks::client;
use crate::reconciler::chain;

/// Fetches a file of at most so many bytes. `https` is checked with the system's certificates.
///
/// # Errors
/// Why there is no such file, for people.
pub async fn fetch(url: &str, limit: usize) -> Result<Bytes, String> {
    let address: Uri = url
        .parse()
        .map_err(|error: http::uri::InvalidUri| error.to_string())?;
    let known = matches!(address.scheme_str(), Some("http" | "https"));
    if !known || address.host().is_none_or(str::is_empty) {
        return Err("it must be an http or https URL".into());
    }
    let client = client(&address).map_err(|error| chain(&error))?;
    let request = Request::get(address)
        .header(header::USER_AGENT, "landform")
        .body(Full::new(Bytes::new()).boxed())
        .map_err(|error| error.to_string())?;
    let response = client
        .request(request)
        .await
        .map_err(|error| chain(&error))?;
    if !response.status().is_success() {
        return Err(format!("the server answered {}", response.status()));
    }
    let body = Limited::new(response.into_body(), limit).collect().await;
    let body =
        body.map_err(|error| format!("it broke off, or is longer than {limit} bytes: {error}"))?;
    Ok(body.to_bytes())
}
