//! The way of objects out: in the version, shape and text form that the client wants.

use std::io::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, HeaderValue, VARY};
use http::{Response, StatusCode};
use landform_api::{Budget, budget};
use landform_store::{Page, Record, Revision};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Place;
use super::frame::{Frame, Limits};
use super::write::Written;
use crate::answers;
use crate::audit::Created;
use crate::body::Body;
use crate::error::{ApiError, Result};
use crate::object::{Object, encode, oversized};
use crate::registry::{Presentation, Resource};
use crate::request::accept::{self, Encoding, Form, Shape};
use crate::respond;
use crate::server::Call;
use crate::shares::Shares;
use crate::table;

/// Answers smaller than this are not worth compressing.
const COMPRESS_FROM: usize = 128 * 1024;
/// Long lists are sent in pieces of about this size.
const PIECE: usize = 64 * 1024;

/// The form of answer that a call wants.
pub(crate) fn form(call: &Call) -> Result<Form> {
    accept::negotiate(call.header(ACCEPT))
}

/// The answer to a write.
pub(crate) fn written(
    call: &Call,
    resource: &Resource,
    status: StatusCode,
    written: Written,
) -> Result<Response<Body>> {
    let mut response = one(call, resource, status, &written.value, written.revision)?;
    if status == StatusCode::CREATED {
        response
            .extensions_mut()
            .insert(Created(written.value.clone()));
    }
    respond::warn(&mut response, &written.warnings);
    Ok(response)
}

/// One object.
pub(crate) fn one(
    call: &Call,
    resource: &Resource,
    status: StatusCode,
    value: &Bytes,
    revision: Revision,
) -> Result<Response<Body>> {
    let form = form(call)?;
    let response = match form.shape {
        Shape::Full if form.encoding == Encoding::Yaml => {
            let text = full(resource, value, revision);
            match budget::decode(&text, &Budget::OBJECT) {
                Ok(object) => respond::value(status, &object, form.encoding),
                // More than is decoded: it goes out as it is, and JSON is YAML.
                Err(_) => respond::json_bytes(status, text),
            }
        }
        Shape::Full => respond::json_bytes(status, full(resource, value, revision)),
        Shape::Metadata => respond::value(status, &metadata_only(value, revision)?, form.encoding),
        Shape::Table => {
            let include = table::Include::from_query(&call.query)?;
            let object = object(resource, value, revision)?;
            let rows = vec![table::row(resource, object, include)];
            respond::value(
                status,
                &table::table(resource, rows, &json!({}), true),
                form.encoding,
            )
        }
    };
    Ok(compressed(call, response))
}

/// The JSON text of an object in a version of its kind.
pub(crate) fn full(resource: &Resource, value: &Bytes, revision: Revision) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len() + 64);
    full_into(&mut out, resource, value, revision);
    out
}

fn full_into(out: &mut Vec<u8>, resource: &Resource, value: &Bytes, revision: Revision) {
    match resource.presentation {
        Presentation::AsStored => encode::serve_into(out, value, revision.0, None),
        Presentation::OtherVersion => {
            encode::serve_into(out, value, revision.0, Some(&resource.api_version()));
        }
        Presentation::NewEvents => match object(resource, value, revision) {
            Ok(object) => {
                let _ = serde_json::to_writer(out, &object);
            }
            Err(_) => out.extend_from_slice(value),
        },
    }
}

/// An object, decoded, in a version of its kind.
pub(crate) fn object(resource: &Resource, value: &Bytes, revision: Revision) -> Result<Object> {
    let stored = oversized::read(value)
        .map_err(|error| ApiError::internal(format!("a stored object can't be read: {error}")))?;
    Ok(super::update::shown(resource, stored, revision))
}

/// The metadata alone.
pub(crate) fn partial(object: &Object) -> Value {
    json!({
        "apiVersion": "meta.k8s.io/v1",
        "kind": "PartialObjectMetadata",
        "metadata": object.get("metadata").unwrap_or(&Value::Null),
    })
}

/// The part of an object that watchers of metadata get; the rest of it is skipped, not built.
#[derive(Deserialize)]
struct OnlyMetadata {
    #[serde(default)]
    metadata: Object,
}

/// The metadata alone, from the stored form. No version of a kind shows it differently.
pub(crate) fn metadata_only(value: &Bytes, revision: Revision) -> Result<Value> {
    let mut stored: OnlyMetadata = serde_json::from_slice(value)
        .map_err(|error| ApiError::internal(format!("a stored object can't be read: {error}")))?;
    let version = Value::String(revision.to_string());
    stored.metadata.insert("resourceVersion".into(), version);
    Ok(json!({
        "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": stored.metadata,
    }))
}

/// A list.
pub(crate) fn many(
    call: &Call,
    place: &Place,
    page: Page,
    token: Option<String>,
    remaining: Option<usize>,
    limits: &Limits<'_>,
) -> Result<Response<Body>> {
    let form = form(call)?;
    let resource = &place.resource;
    let mut metadata = json!({"resourceVersion": page.revision.to_string()});
    if let Some(token) = token {
        metadata["continue"] = json!(token);
        if let Some(remaining) = remaining {
            metadata["remainingItemCount"] = json!(remaining);
        }
    }
    let response = match form.shape {
        Shape::Full if form.encoding == Encoding::Json => {
            return full_list(call, resource, page.records, &metadata, limits.answers);
        }
        Shape::Full => {
            let frame = json!({
                "apiVersion": resource.api_version(), "kind": resource.list_kind,
                "metadata": metadata, "items": [],
            });
            let frame = Frame::new(&frame, "items", form.encoding);
            frame.filled(limits, &page.records, |record| {
                object(resource, &record.value, record.modified).map(Value::Object)
            })?
        }
        Shape::Metadata => {
            let frame = json!({
                "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList",
                "metadata": metadata, "items": [],
            });
            let frame = Frame::new(&frame, "items", form.encoding);
            frame.filled(limits, &page.records, |record| {
                metadata_only(&record.value, record.modified)
            })?
        }
        Shape::Table => {
            let include = table::Include::from_query(&call.query)?;
            let frame = table::table(resource, Vec::new(), &metadata, true);
            let frame = Frame::new(&frame, "rows", form.encoding);
            frame.filled(limits, &page.records, |record| {
                let object = object(resource, &record.value, record.modified)?;
                Ok(table::row(resource, object, include))
            })?
        }
    };
    Ok(compressed(call, response))
}

/// A list of whole objects: copied from what is stored, in pieces when it is long.
fn full_list(
    call: &Call,
    resource: &Arc<Resource>,
    records: Vec<Record>,
    metadata: &Value,
    answers: &Shares,
) -> Result<Response<Body>> {
    let size: usize = records.iter().map(|record| record.value.len() + 64).sum();
    let opening = format!(
        "{{\"apiVersion\":{},\"kind\":{},\"metadata\":{metadata},\"items\":[",
        json!(resource.api_version()),
        json!(resource.list_kind),
    );
    if size < COMPRESS_FROM {
        let mut out = Vec::with_capacity(size + opening.len() + 2);
        out.extend_from_slice(opening.as_bytes());
        for (index, record) in records.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            full_into(&mut out, resource, &record.value, record.modified);
        }
        out.extend_from_slice(b"]}");
        return Ok(respond::json_bytes(StatusCode::OK, out));
    }
    let largest = records.iter().map(|record| record.value.len()).max();
    let largest = PIECE + largest.unwrap_or_default();
    let compress = accepts_gzip(call);
    let pieces = ListPieces {
        resource: resource.clone(),
        records: records.into_iter(),
        pending: opening.into_bytes(),
        first: true,
        finished: false,
        gzip: compress.then(|| GzEncoder::new(Vec::new(), Compression::fast())),
    };
    let pieces = Box::pin(futures::stream::iter(pieces));
    let pieces = answers::count_pieces(answers, &call.identity, largest, pieces)?;
    let mut response = respond::pieces(pieces);
    if compress {
        mark_compressed(&mut response);
    }
    Ok(response)
}

/// The pieces of a long list, made one at a time.
struct ListPieces {
    resource: Arc<Resource>,
    records: std::vec::IntoIter<Record>,
    pending: Vec<u8>,
    first: bool,
    finished: bool,
    gzip: Option<GzEncoder<Vec<u8>>>,
}

impl Iterator for ListPieces {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        loop {
            if self.finished {
                return None;
            }
            let mut out = std::mem::take(&mut self.pending);
            out.reserve(PIECE + 4096);
            while out.len() < PIECE {
                let Some(record) = self.records.next() else {
                    out.extend_from_slice(b"]}");
                    self.finished = true;
                    break;
                };
                if !std::mem::take(&mut self.first) {
                    out.push(b',');
                }
                full_into(&mut out, &self.resource, &record.value, record.modified);
            }
            let piece = self.squeezed(out);
            if !piece.is_empty() {
                return Some(piece);
            }
        }
    }
}

impl ListPieces {
    /// The piece as it is sent: as it is, or what the compressor has ready so far.
    fn squeezed(&mut self, piece: Vec<u8>) -> Bytes {
        let Some(mut gzip) = self.gzip.take() else {
            return piece.into();
        };
        // Compressing into memory can't fail.
        let _ = gzip.write_all(&piece);
        if self.finished {
            return gzip.finish().unwrap_or_default().into();
        }
        let ready = std::mem::take(gzip.get_mut());
        self.gzip = Some(gzip);
        ready.into()
    }
}

fn accepts_gzip(call: &Call) -> bool {
    call.header(ACCEPT_ENCODING).is_some_and(|header| {
        header.split(',').any(|entry| {
            let mut parts = entry.split(';').map(str::trim);
            parts.next() == Some("gzip")
                && !parts.any(|parameter| matches!(parameter, "q=0" | "q=0.0"))
        })
    })
}

fn mark_compressed(response: &mut Response<Body>) {
    response
        .headers_mut()
        .insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    response
        .headers_mut()
        .append(VARY, HeaderValue::from_static("Accept-Encoding"));
}

/// Compresses a long answer when the client takes that.
pub(crate) fn compressed(call: &Call, response: Response<Body>) -> Response<Body> {
    let (parts, body) = response.into_parts();
    match body {
        Body::Whole(bytes) if bytes.len() >= COMPRESS_FROM && accepts_gzip(call) => {
            let mut gzip = GzEncoder::new(Vec::with_capacity(bytes.len() / 4), Compression::fast());
            let _ = gzip.write_all(&bytes);
            let squeezed = gzip.finish().unwrap_or_default();
            let mut response = Response::from_parts(parts, Body::Whole(squeezed.into()));
            mark_compressed(&mut response);
            response
        }
        body => Response::from_parts(parts, body),
    }
}
