//! The verbs, for any kind: one generic way to create, read, change and delete.
//!
//! A request is routed here with its path taken apart. Each verb has a file; what they share is
//! [`write`] (the way of an object into the store) and [`present`] (the way out).

mod create;
mod definition_rights;
mod delete;
mod frame;
mod json_patch;
mod list;
mod owner_names;
mod owner_rights;
mod owners;
mod patch;
pub(crate) mod present;
mod protection;
mod read;
mod rename;
mod reviews;
mod scale;
mod turns;
mod update;
mod watch;
pub(crate) mod write;

pub(crate) use delete::{DeleteOptions, Policy};
pub(crate) use owners::Announced;
pub(crate) use reviews::REVIEWS;
pub(crate) use turns::Turns;
pub(crate) use update::Change;
pub(crate) use watch::RecentLines;

use std::sync::Arc;

use http::{Method, Response};
use landform_api::field::FieldPath;
use landform_api::{FieldError, FieldReason};
use serde_json::json;

use crate::body::Body;
use crate::error::{ApiError, Reason, Result};
use crate::object::Object;
use crate::object::rules::Part;
use crate::registry::Resource;
use crate::request::path::ObjectsPath;
use crate::server::{ApiServer, Call};

/// A path to objects of a kind that exists.
pub(crate) struct Place {
    pub(crate) resource: Arc<Resource>,
    /// Empty for cluster-scoped kinds, and for lists over all namespaces.
    pub(crate) namespace: String,
    pub(crate) name: Option<String>,
}

impl Place {
    /// The object's name; only for paths that have one.
    fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    /// 404 for this object.
    pub(crate) fn not_found(&self) -> ApiError {
        ApiError::not_found(&self.resource.group, &self.resource.plural, self.name())
    }

    /// 409 for this object.
    pub(crate) fn conflict(&self, why: &str) -> ApiError {
        ApiError::conflict(
            &self.resource.group,
            &self.resource.plural,
            self.name(),
            why,
        )
    }

    /// 422 for this object.
    pub(crate) fn invalid(&self, name: &str, errors: &[FieldError]) -> ApiError {
        let Resource { group, kind, .. } = &*self.resource;
        if self.resource.is_secrets() {
            let hidden: Vec<FieldError> = errors.iter().map(without_value).collect();
            return ApiError::invalid(group, kind, name, &hidden);
        }
        ApiError::invalid(group, kind, name, errors)
    }
}

/// A problem of a Secret: what its sender knows must not come back in errors, which are logged and shown.
fn without_value(error: &FieldError) -> FieldError {
    let mut detail = error.detail.as_str();
    // Some details repeat the value, as JSON and perhaps longer than it is shown: what is quoted goes.
    if let Some((before, _)) = detail.split_once('"') {
        detail = before.trim_end_matches([':', ' ']);
    }
    let detail = match &error.value {
        Some(value) => detail.replace(value.as_str(), "…"),
        None => detail.to_owned(),
    };
    FieldError {
        value: None,
        detail,
        ..error.clone()
    }
}

impl ApiServer {
    /// Carries out a request on objects.
    pub(crate) async fn objects(
        &self,
        call: &Call,
        path: ObjectsPath,
        is_watch: bool,
    ) -> Result<Response<Body>> {
        if let Some(response) = self.review(call, &path).await? {
            return Ok(response);
        }
        let resource = self
            .shared
            .registry
            .find(&path.group, &path.version, &path.resource)
            .ok_or_else(ApiError::no_such_path)?;
        let place = place(resource, &path)?;
        match (path.subresource.as_deref(), &place.name) {
            (None, None) => self.collection(call, &place, is_watch).await,
            (None, Some(_)) => self.single(call, &place, is_watch).await,
            (Some("status"), Some(_)) if place.resource.status => {
                self.part(call, &place, Part::Status).await
            }
            (Some("finalize"), Some(_)) if place.resource.is_namespaces() => {
                self.part(call, &place, Part::Finalize).await
            }
            (Some("scale"), Some(_)) if place.resource.scale.is_some() => {
                self.scale(call, &place).await
            }
            (Some("token"), Some(_)) if place.resource.is_service_accounts() => {
                self.issue_token(call, &place).await
            }
            (Some("rename"), Some(_)) => self.rename(call, &place).await,
            _ => Err(ApiError::no_such_path()),
        }
    }

    async fn collection(
        &self,
        call: &Call,
        place: &Place,
        is_watch: bool,
    ) -> Result<Response<Body>> {
        match call.method {
            Method::GET | Method::HEAD if is_watch => self.watch(call, place).await,
            Method::GET | Method::HEAD => self.list(call, place).await,
            Method::POST => self.create(call, place).await,
            Method::DELETE => self.delete_collection(call, place).await,
            _ => Err(not_allowed(&call.method, "a collection")),
        }
    }

    async fn single(&self, call: &Call, place: &Place, is_watch: bool) -> Result<Response<Body>> {
        match call.method {
            Method::GET | Method::HEAD if is_watch => self.watch(call, place).await,
            Method::GET | Method::HEAD => self.get(call, place).await,
            Method::PUT => self.update(call, place, Part::Main).await,
            Method::PATCH => self.patch(call, place, Part::Main).await,
            Method::DELETE => self.delete(call, place).await,
            _ => Err(not_allowed(&call.method, "an object")),
        }
    }

    async fn part(&self, call: &Call, place: &Place, part: Part) -> Result<Response<Body>> {
        match call.method {
            Method::GET | Method::HEAD => self.get(call, place).await,
            Method::PUT => self.update(call, place, part).await,
            Method::PATCH => self.patch(call, place, part).await,
            _ => Err(not_allowed(&call.method, "a subresource")),
        }
    }
}

fn place(resource: Arc<Resource>, path: &ObjectsPath) -> Result<Place> {
    if path.namespace.is_some() && !resource.namespaced {
        return Err(ApiError::no_such_path());
    }
    if resource.namespaced && path.namespace.is_none() && path.name.is_some() {
        return Err(ApiError::no_such_path());
    }
    Ok(Place {
        resource,
        namespace: path.namespace.clone().unwrap_or_default(),
        name: path.name.clone(),
    })
}

pub(crate) fn not_allowed(method: &Method, what: &str) -> ApiError {
    ApiError::new(
        Reason::MethodNotAllowed,
        format!("{method} is not possible on {what}"),
    )
}

/// Checks that a body is an object of the kind that the path names, and fills in what it leaves out.
pub(crate) fn check_kind(resource: &Resource, object: &mut Object) -> Result<()> {
    for (field, expected) in [
        ("apiVersion", resource.api_version()),
        ("kind", resource.kind.clone()),
    ] {
        match object.get(field).and_then(|value| value.as_str()) {
            None | Some("") => {
                object.insert(field.into(), json!(expected));
            }
            Some(found) if found == expected => {}
            Some(found) => {
                return Err(ApiError::bad_request(format!(
                    "the {field} in the body ({found}) does not match the one of this path ({expected})"
                )));
            }
        }
    }
    match object.get("metadata") {
        Some(serde_json::Value::Object(_)) => Ok(()),
        None | Some(serde_json::Value::Null) => {
            object.insert("metadata".into(), json!({}));
            Ok(())
        }
        Some(other) => {
            let error = FieldError::with_value(
                &FieldPath::of("metadata"),
                FieldReason::TypeInvalid,
                other,
                "must be an object",
            );
            Err(ApiError::bad_request(error.to_string()))
        }
    }
}
