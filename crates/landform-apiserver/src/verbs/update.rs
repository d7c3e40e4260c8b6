//! Update: replace an object, or one part of it, by what the client sends.
//!
//! [`ApiServer::modify`] is the way of every change of an existing object: PUT, the patches, the
//! subresources, and the deletion mark.

use http::{Response, StatusCode};
use landform_store::{Compare, Key, Op, Record, Revision, TxnOutcome};
use serde_json::Value;
use tokio::sync::SemaphorePermit;

use super::write::{self, WriteOptions, Written, guarded};
use super::{Place, check_kind, present};
use crate::body::Body;
use crate::error::Result;
use crate::heavy;
use crate::object::rules::Part;
use crate::object::{Object, meta, rules};
use crate::registry::{Presentation, Resource};
use crate::room::Growth;
use crate::server::{ApiServer, Call};

/// What a change makes of an object.
pub(crate) enum Change {
    /// The object as a client sent it: to be fitted to its kind and checked.
    Sent(Object),
    /// The object as the server itself changed it (a deletion mark): stored as it is.
    Marked(Object),
    /// Nothing: it is as it should be.
    Keep,
}

/// An object that is to be changed.
pub(crate) struct Found<'a> {
    /// As it is stored.
    pub(crate) old: &'a Object,
    pub(crate) record: &'a Record,
    resource: &'a Resource,
}

impl Found<'_> {
    /// A copy of it, as its kind's version shows it.
    pub(crate) fn shown(&self) -> Object {
        shown(self.resource, self.old.clone(), self.record.modified)
    }
}

/// One write of a changed object.
struct Replacement<'a> {
    record: &'a Record,
    old: &'a Object,
    object: &'a Object,
    /// What must hold beside.
    guards: Vec<(Key, Compare)>,
}

impl ApiServer {
    pub(super) async fn update(
        &self,
        call: &Call,
        place: &Place,
        part: Part,
    ) -> Result<Response<Body>> {
        let options = WriteOptions::from_call(call)?;
        let mut warnings = Vec::new();
        let object = write::object_from_body(call, &place.resource, &options, &mut warnings)?;
        check_names(place, &object)?;
        require_version(place, &object)?;
        let mut sent = Some(object);
        let written = self
            .modify(place, part, &options, warnings, |_| {
                let object = match sent.take() {
                    Some(object) => object,
                    // Another write came in between. That is rare, and a copy for it could be large.
                    None => {
                        write::object_from_body(call, &place.resource, &options, &mut Vec::new())?
                    }
                };
                Ok(Change::Sent(object))
            })
            .await?;
        present::written(call, &place.resource, StatusCode::OK, written)
    }

    /// Changes an existing object: reads it, lets `change` say what it should be, and writes that if nothing was
    /// written in between. Otherwise `change` is asked again about the newer object: a change that names a
    /// resourceVersion, by itself or as a patch that sets it, is refused then, any other one is made (C4).
    /// Limits how many large objects are decoded at once, for all callers together.
    pub(crate) async fn modify(
        &self,
        place: &Place,
        part: Part,
        options: &WriteOptions,
        mut warnings: Vec<String>,
        mut change: impl FnMut(Found<'_>) -> Result<Change>,
    ) -> Result<Written> {
        let resource = &place.resource;
        let key = resource.key(&place.namespace, place.name());
        let _lock = self.definitions_lock(resource).await;
        let already_warned = warnings.len();
        let mut turn = self.shared.turns.begin(&key).await;
        loop {
            warnings.truncate(already_warned);
            let record = self
                .shared
                .store
                .get(&key)
                .await?
                .ok_or_else(|| place.not_found())?;
            let place_for_large = self.place_for_large(&record).await;
            let old = write::decoded(&record)?;
            let mut announced = None;
            let mut owners = Vec::new();
            let found = Found {
                old: &old,
                record: &record,
                resource,
            };
            let object = match change(found)? {
                Change::Keep => {
                    return Ok(Written {
                        value: record.value,
                        revision: record.modified,
                        warnings,
                    });
                }
                Change::Marked(object) => object,
                Change::Sent(mut object) => {
                    check_kind(resource, &mut object)?;
                    check_version(place, &object, &old, record.modified)?;
                    let filled =
                        write::fit_to_schema(resource, &mut object, options, &mut warnings)?;
                    rules::prepare_update(resource, &mut object, &old, part);
                    let (authors, claim) = (options.authors.clone().and(filled), options.claim);
                    rules::note_writer(resource, &mut object, Some(&old), &authors, claim);
                    rules::note_maker(&mut object, Some(&old), options.taker.as_ref());
                    let errors = write::problems(resource, &mut object, Some(&old));
                    if !errors.is_empty() {
                        return Err(place.invalid(place.name(), &errors));
                    }
                    self.refuse_escalation(place, options.limited.as_ref(), &object, Some(&old))
                        .await?;
                    self.refuse_foreign_owner(place, options.limited.as_ref(), &object, Some(&old))
                        .await?;
                    self.refuse_definition(place, options.limited.as_ref(), &object, Some(&old))
                        .await?;
                    announced = self.refuse_owner_cycle(place, &object, &old).await?;
                    owners = self.name_owners(place, &mut object, Some(&old)).await?;
                    self.settle(resource, &mut object);
                    rules::count_generation(&mut object, &old);
                    object
                }
            };
            let write = Replacement {
                record: &record,
                old: &old,
                object: &object,
                guards: owners,
            };
            let replaced = self.replace(place, write, options).await?;
            drop(announced);
            if let Some((value, revision)) = replaced {
                return Ok(Written {
                    value,
                    revision,
                    warnings,
                });
            }
            drop((old, object, place_for_large));
            turn.lost().await;
        }
    }

    /// A place among the few changes of large objects that are under way; none is needed for a small one.
    async fn place_for_large(&self, record: &Record) -> Option<SemaphorePermit<'_>> {
        if record.value.len() <= heavy::LARGE_BYTES {
            return None;
        }
        // It is never closed.
        self.shared.large_changes.acquire().await.ok()
    }

    /// Writes a changed object, or removes it when the change leaves it marked and without
    /// finalizers (G3); `None` when another write came in between.
    async fn replace(
        &self,
        place: &Place,
        write: Replacement<'_>,
        options: &WriteOptions,
    ) -> Result<Option<(bytes::Bytes, Revision)>> {
        let Replacement {
            record,
            old,
            object,
            guards,
        } = write;
        if object == old {
            return Ok(Some((record.value.clone(), record.modified)));
        }
        let value = write::encoded_again(place, object, record)?;
        if options.dry_run {
            return Ok(Some((value, record.modified)));
        }
        let goes = is_to_delete(&place.resource, object);
        let op = if goes {
            Op::Delete
        } else {
            Op::Put(value.clone())
        };
        let compare = Compare::ModifiedAt(record.modified);
        let room = self.room(Growth::of_change(options.spender, old, object));
        let txn = guarded(record.key.clone(), compare, op, guards).within(room);
        let kept = (!goes).then_some(object);
        Ok(match self.commit(&place.resource, txn, kept).await? {
            TxnOutcome::Committed(revision) => Some((value, revision)),
            TxnOutcome::Conflict { .. } => None,
        })
    }

    /// Writes of definitions wait for each other; others don't.
    pub(crate) async fn definitions_lock(
        &self,
        resource: &Resource,
    ) -> Option<tokio::sync::MutexGuard<'_, ()>> {
        if resource.is_definitions() {
            Some(self.shared.definitions.lock().await)
        } else {
            None
        }
    }
}

const MODIFIED: &str =
    "the object has been modified since you read it: read it again, make your change and retry";

/// Whether an object is *to delete*: marked, and held by nothing any more (G3).
pub(crate) fn is_to_delete(resource: &Resource, object: &Object) -> bool {
    let held_by_content = resource.is_namespaces()
        && object
            .get("spec")
            .and_then(|spec| spec["finalizers"].as_array())
            .is_some_and(|list| !list.is_empty());
    meta::is_marked(object) && meta::finalizers(object).is_empty() && !held_by_content
}

/// A stored object as this version of its kind shows it, with its resourceVersion.
pub(crate) fn shown(resource: &Resource, stored: Object, revision: Revision) -> Object {
    let mut object = stored;
    if resource.presentation == Presentation::NewEvents {
        crate::kinds::event::from_core(&mut object);
    }
    object.insert("apiVersion".into(), resource.api_version().into());
    meta::set_text(&mut object, "resourceVersion", &revision.to_string());
    object
}

/// Checks resourceVersion and uid against what is stored (C4). A patched object has the stored version unless the
/// patch names another one.
fn check_version(place: &Place, object: &Object, old: &Object, stored: Revision) -> Result<()> {
    for field in ["resourceVersion", "uid"] {
        let value = meta::metadata(object).get(field);
        if value.is_some_and(|value| !value.is_string() && !value.is_null()) {
            let message = format!("metadata.{field} must be a string");
            return Err(crate::error::ApiError::bad_request(message));
        }
    }
    let version = meta::text(object, "resourceVersion");
    if !version.is_empty() && version != "0" && version != stored.to_string() {
        return Err(place.conflict(MODIFIED));
    }
    let uid = meta::uid(object);
    if !uid.is_empty() && uid != meta::uid(old) {
        let why = format!(
            "Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
            meta::uid(old)
        );
        return Err(place.conflict(&why));
    }
    Ok(())
}

/// Name and namespace of path and body must agree.
fn check_names(place: &Place, object: &Object) -> Result<()> {
    use crate::error::ApiError;
    let name = meta::name(object);
    if name != place.name() {
        return Err(ApiError::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({})",
            place.name()
        )));
    }
    let namespace = meta::namespace(object);
    if place.resource.namespaced && !namespace.is_empty() && namespace != place.namespace {
        return Err(ApiError::bad_request(format!(
            "the namespace of the object ({namespace}) does not match the namespace on the URL ({})",
            place.namespace
        )));
    }
    Ok(())
}

/// Custom resources, leases and definitions can only be replaced by somebody who saw them.
fn require_version(place: &Place, object: &Object) -> Result<()> {
    use landform_api::{FieldError, FieldPath, FieldReason};
    let resource = &place.resource;
    let strict = resource.is_custom() || resource.is_definitions() || resource.kind == "Lease";
    if strict && meta::text(object, "resourceVersion").is_empty() {
        let error = FieldError::with_value(
            &FieldPath::of("metadata.resourceVersion"),
            FieldReason::Invalid,
            &Value::from(0),
            "must be specified for an update: send the version that you read",
        );
        return Err(place.invalid(place.name(), &[error]));
    }
    Ok(())
}
