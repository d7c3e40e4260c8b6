//! Patch: change part of an object by JSON patch, merge patch or strategic merge patch.
//!
//! Server-side apply (`application/apply-patch+yaml`) will be a fourth form here: it needs
//! managedFields, which the server drops until then.

use ::json_patch::PatchOperation;
use http::{Response, StatusCode};
use serde_json::Value;

use super::update::Change;
use super::write::WriteOptions;
use super::{Place, json_patch, present};
use crate::body::Body;
use crate::error::{ApiError, Reason, Result};
use crate::object::Object;
use crate::object::rules::Part;
use crate::request::decode;
use crate::server::{ApiServer, Call};

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
            .modify(place, part, &options, warnings, |found| {
                Ok(Change::Sent(patch.apply(place, found.shown())?))
            })
            .await?;
        present::written(call, &place.resource, StatusCode::OK, written)
    }
}

impl Patch {
    /// Reads a patch from a request's body; its content type says what it is.
    pub(super) fn from_call(call: &Call, place: &Place) -> Result<(Self, Vec<String>)> {
        let header = call.header(http::header::CONTENT_TYPE).unwrap_or_default();
        let media = decode::media_type(header);
        let decoded = decode::decode_json(&call.body);
        match media.as_str() {
            "application/json-patch+json" => Ok((
                Self::Json(json_patch::operations(decoded?.value)?),
                Vec::new(),
            )),
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
    pub(super) fn apply_plain(&self, place: &Place, object: Object) -> Result<Object> {
        match self {
            Self::Strategic(patch) => Self::Merge(patch.clone()).apply(place, object),
            Self::Json(_) | Self::Merge(_) => self.apply(place, object),
        }
    }

    /// The object as the patch leaves it.
    pub(super) fn apply(&self, place: &Place, object: Object) -> Result<Object> {
        let mut value = Value::Object(object);
        match self {
            Self::Json(operations) => json_patch::apply(place, &mut value, operations)?,
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

pub(super) fn unprocessable(place: &Place, message: &str) -> ApiError {
    ApiError::new(
        Reason::Invalid,
        format!("the server rejected our request due to an error in our request: {message}"),
    )
    .about(&place.resource.group, &place.resource.plural, place.name())
}
