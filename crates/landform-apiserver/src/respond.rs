//! Responses: how values become HTTP answers.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER, WARNING};
use http::{Response, StatusCode};
use landform_api::budget;
use serde_json::Value;

use crate::body::Body;
use crate::error::{ApiError, Reason};
use crate::request::accept::Encoding;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const YAML: HeaderValue = HeaderValue::from_static("application/yaml");

/// A plain text.
pub(crate) fn text(text: &'static str) -> Response<Body> {
    with_type(
        StatusCode::OK,
        HeaderValue::from_static("text/plain; charset=utf-8"),
        Bytes::from_static(text.as_bytes()),
    )
}

/// The metrics page.
pub(crate) fn metrics(text: String) -> Response<Body> {
    with_type(
        StatusCode::OK,
        HeaderValue::from_static("text/plain; version=0.0.4"),
        text.into(),
    )
}

/// Bytes of a given type.
pub(crate) fn with_type(
    status: StatusCode,
    content_type: HeaderValue,
    bytes: Bytes,
) -> Response<Body> {
    let mut response = Response::new(Body::Whole(bytes));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}

/// JSON text that is already there.
pub(crate) fn json_bytes(status: StatusCode, bytes: impl Into<Bytes>) -> Response<Body> {
    with_type(status, JSON, bytes.into())
}

/// Text that is already there, in this form.
pub(crate) fn text_of(status: StatusCode, text: Vec<u8>, encoding: Encoding) -> Response<Body> {
    match encoding {
        Encoding::Json => json_bytes(status, text),
        Encoding::Yaml => with_type(status, YAML, text.into()),
    }
}

/// A value, in the text form that the client wants.
pub(crate) fn value(status: StatusCode, value: &Value, encoding: Encoding) -> Response<Body> {
    match encoding {
        Encoding::Json => json_bytes(status, value.to_string()),
        Encoding::Yaml => with_type(status, YAML, landform_yaml::write(value).into()),
    }
}

/// JSON text, in the text form that the client wants.
pub(crate) fn encoded(status: StatusCode, json: Vec<u8>, encoding: Encoding) -> Response<Body> {
    match encoding {
        Encoding::Json => json_bytes(status, json),
        Encoding::Yaml => match serde_json::from_slice::<Value>(&json) {
            Ok(parsed) => value(status, &parsed, encoding),
            Err(_) => json_bytes(status, json),
        },
    }
}

/// A stream of pieces of JSON.
pub(crate) fn pieces(stream: crate::body::Pieces) -> Response<Body> {
    let mut response = Response::new(Body::Pieces(stream));
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}

/// An error as a `Status`.
pub(crate) fn error(error: &ApiError) -> Response<Body> {
    let status =
        StatusCode::from_u16(error.reason().code()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = json_bytes(status, error.to_status().to_string());
    if let Some(seconds) = error.retry_after_seconds() {
        response
            .headers_mut()
            .insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    if error.reason() == Reason::Unauthorized {
        response.headers_mut().insert(
            http::header::WWW_AUTHENTICATE,
            HeaderValue::from_static("Bearer realm=\"landform\""),
        );
    }
    response
}

/// Adds a `Warning` header for each text, so that kubectl prints it.
pub(crate) fn warn(response: &mut Response<Body>, warnings: &[String]) {
    // Clients cut long headers; the first ones tell the story.
    for warning in warnings.iter().take(50) {
        let clean: String = warning
            .chars()
            .filter(|c| !c.is_control() && c.is_ascii())
            .collect();
        let quoted = budget::shown(&clean)
            .replace('…', "...")
            .replace('\\', "\\\\")
            .replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{quoted}\"")) {
            response.headers_mut().append(WARNING, value);
        }
    }
}
