//! Patch: change part of an object by JSON patch, merge patch or strategic merge patch.
//!
//! Server-side apply (`application/apply-patch+yaml`) will be a fourth form here: it needs
//! managedFields, which the server drops until then.

use http::{Response, StatusCode};
use json_patch::PatchOperation;
use serde_json::Value;

use super::update::Change;
use super::write::WriteOptions;
use super::{Place, present};
use crate::body::Body;
use crate::error::{ApiError, Reason, Result};
use crate::object::Object;
use crate::object::rules::Part;
use crate::request::decode::{self, BODY_BYTES};
use crate::server::{ApiServer, Call};

/// A JSON patch may have so many operations.
const OPERATIONS: usize = 10_000;

/// A patch, read and ready to be applied any number of times.
pub(super) enum Patch {
    Json(Vec<PatchOperation>),
    Merge(Value),
    Strategic(Value),
}

impl ApiServer {
    pub(super) async fn patch(
        &self,
        call: &Call,
        place: &Place,
        part: Part,
    ) -> Result<Response<Body>> {
        let options = WriteOptions::from_call(call)?;
        let (patch, duplicates) = Patch::from_call(call, place)?;
        let mut warnings = Vec::new();
        super::write::report_fields("duplicate", &duplicates, &options, &mut warnings)?;
        let written = self
            .modify(place, part, &options, warnings, |shown, _| {
                Ok(Change::Sent(patch.apply(place, shown)?))
            })
            .await?;
        present::written(call, &place.resource, StatusCode::OK, written)
    }
}

impl Patch {
    /// Reads a patch from a request's body; its content type says what it is.
    pub(super) fn from_call(call: &Call, place: &Place) -> Result<(Self, Vec<String>)> {
        let header = call.header(http::header::CONTENT_TYPE).unwrap_or_default();
        let media = header.split(';').next().unwrap_or_default().trim();
        let decoded = decode::decode_json(&call.body);
        match media {
            "application/json-patch+json" => {
                Ok((Self::Json(operations(decoded?.value)?), Vec::new()))
            }
            "application/merge-patch+json" => {
                let decoded = decoded?;
                Ok((Self::Merge(decoded.value), decoded.duplicates))
            }
            "application/strategic-merge-patch+json" if place.resource.is_custom() => {
                Err(ApiError::new(
                    Reason::UnsupportedMediaType,
                    "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json (custom resources have no strategic merge patch)",
                ))
            }
            "application/strategic-merge-patch+json" => {
                let decoded = decoded?;
                Ok((Self::Strategic(decoded.value), decoded.duplicates))
            }
            "application/apply-patch+yaml" | "application/apply-patch+cbor" => Err(ApiError::new(
                Reason::UnsupportedMediaType,
                "server-side apply is not available on this server yet: use `kubectl apply` without --server-side",
            )),
            other => Err(ApiError::new(
                Reason::UnsupportedMediaType,
                format!(
                    "the body of the request was in an unknown format ({other:?}) - accepted media types include: application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json"
                ),
            )),
        }
    }

    /// As [`Patch::apply`], for a value without merge keys (a `Scale`): a strategic merge patch of it
    /// is a merge patch.
    pub(super) fn apply_plain(&self, place: &Place, object: &Object) -> Result<Object> {
        match self {
            Self::Strategic(patch) => Self::Merge(patch.clone()).apply(place, object),
            Self::Json(_) | Self::Merge(_) => self.apply(place, object),
        }
    }

    /// The object as the patch leaves it.
    pub(super) fn apply(&self, place: &Place, object: &Object) -> Result<Object> {
        let mut value = Value::Object(object.clone());
        match self {
            Self::Json(operations) => apply_operations(place, &mut value, operations)?,
            Self::Merge(patch) => {
                if !patch.is_object() {
                    return Err(ApiError::bad_request("a merge patch must be a JSON object"));
                }
                landform_schema::merge::json_merge(&mut value, patch);
            }
            Self::Strategic(patch) => {
                value =
                    landform_schema::merge::strategic_merge(&place.resource.schema, &value, patch)
                        .map_err(|problem| {
                            ApiError::bad_request(format!(
                                "the strategic merge patch can't be applied: {problem}"
                            ))
                        })?;
            }
        }
        match value {
            Value::Object(object) => Ok(object),
            _ => Err(unprocessable(
                place,
                "the patch leaves something that is not an object",
            )),
        }
    }
}

fn operations(value: Value) -> Result<Vec<PatchOperation>> {
    let operations: Vec<PatchOperation> = serde_json::from_value(value).map_err(|error| {
        ApiError::bad_request(format!(
            "the body is not a JSON patch, a list of operations with op and path: {error}"
        ))
    })?;
    if operations.len() > OPERATIONS {
        return Err(ApiError::new(
            Reason::RequestEntityTooLarge,
            format!(
                "the JSON patch has {} operations; {OPERATIONS} are allowed",
                operations.len()
            ),
        ));
    }
    Ok(operations)
}

/// Applies operations one by one. Copies can double a value each time, so what they copy is counted.
fn apply_operations(place: &Place, value: &mut Value, operations: &[PatchOperation]) -> Result<()> {
    let mut copied = 0;
    for (index, operation) in operations.iter().enumerate() {
        if let PatchOperation::Copy(copy) = operation {
            copied += value.pointer(copy.from.as_str()).map_or(0, size);
            if copied > BODY_BYTES {
                return Err(ApiError::new(
                    Reason::RequestEntityTooLarge,
                    format!("the JSON patch copies more than {BODY_BYTES} bytes"),
                ));
            }
        }
        json_patch::patch(value, std::slice::from_ref(operation)).map_err(|error| {
            unprocessable(
                place,
                &format!("operation {index} of the JSON patch failed: {error}"),
            )
        })?;
    }
    Ok(())
}

/// About how many bytes a value has as text.
fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::Array(list) => 2 + list.iter().map(|entry| size(entry) + 1).sum::<usize>(),
        Value::Object(map) => {
            2 + map
                .iter()
                .map(|(key, entry)| key.len() + 4 + size(entry))
                .sum::<usize>()
        }
    }
}

fn unprocessable(place: &Place, message: &str) -> ApiError {
    ApiError::new(
        Reason::Invalid,
        format!("the server rejected our request due to an error in our request: {message}"),
    )
    .about(&place.resource.group, &place.resource.plural, place.name())
}
