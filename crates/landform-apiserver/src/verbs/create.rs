//! Create: a new object, with a name of its own or a generated one.

use std::sync::Arc;

use http::{Response, StatusCode};
use landform_api::{FieldError, FieldPath, FieldReason};
use landform_store::{Compare, Op, TxnOutcome};
use serde_json::Value;

use super::write::{self, WriteOptions, Written, guarded};
use super::{Place, present};
use crate::body::Body;
use crate::environment::generated_name;
use crate::error::{ApiError, Reason, Result};
use crate::object::{Object, meta, rules};
use crate::registry::Resource;
use crate::room::{Growth, Spender};
use crate::server::{ApiServer, Call};

/// A generated name that is taken is tried again so often.
const NAME_TRIES: usize = 8;
/// A namespace, definition or owner's name that changes in between is looked at again so often.
const GUARD_TRIES: usize = 20;

impl ApiServer {
    pub(super) async fn create(&self, call: &Call, place: &Place) -> Result<Response<Body>> {
        let options = WriteOptions::from_call(call)?;
        let mut warnings = Vec::new();
        let object = write::object_from_body(call, &place.resource, &options, &mut warnings)?;
        let given = meta::name(&object).to_owned();
        if !meta::text(&object, "resourceVersion").is_empty() {
            let message = "resourceVersion should not be set on objects to be created";
            return Err(ApiError::bad_request(message).of_given(&given));
        }
        let written = self
            .create_object(place, object, &options, warnings)
            .await
            .map_err(|error| error.of_given(&given))?;
        present::written(call, &place.resource, StatusCode::CREATED, written)
    }

    /// Creates an object from what somebody sent.
    async fn create_object(
        &self,
        place: &Place,
        mut object: Object,
        options: &WriteOptions,
        mut warnings: Vec<String>,
    ) -> Result<Written> {
        settle_namespace(place, &mut object)?;
        let filled = write::fit_to_schema(&place.resource, &mut object, options, &mut warnings)?;
        let now = self.now();
        rules::prepare_create(
            &place.resource,
            &mut object,
            &self.shared.environment.uid(),
            &now,
        );
        let (authors, claim) = (options.authors.clone().and(filled), options.claim);
        rules::note_writer(&place.resource, &mut object, None, &authors, claim);
        rules::note_maker(&mut object, None, options.maker.as_ref());
        self.insert(place, object, options, warnings).await
    }

    /// Creates an object of the server's own unless there is one of its name.
    pub(crate) async fn ensure(
        &self,
        resource: &Arc<Resource>,
        namespace: &str,
        object: Value,
    ) -> Result<()> {
        let Value::Object(mut object) = object else {
            return Ok(());
        };
        let key = resource.key(namespace, meta::name(&object));
        if self.shared.store.get(&key).await?.is_some() {
            return Ok(());
        }
        super::check_kind(resource, &mut object)?;
        let place = Place {
            resource: resource.clone(),
            namespace: namespace.to_owned(),
            name: None,
        };
        let options = WriteOptions::OWN;
        match self
            .create_object(&place, object, &options, Vec::new())
            .await
        {
            Ok(_) => Ok(()),
            Err(error) if error.reason() == Reason::AlreadyExists => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Puts a prepared object into the store under its own or a generated name.
    async fn insert(
        &self,
        place: &Place,
        mut object: Object,
        options: &WriteOptions,
        warnings: Vec<String>,
    ) -> Result<Written> {
        let base = meta::text(&object, "generateName").to_owned();
        let generates = meta::name(&object).is_empty() && !base.is_empty();
        for _ in 0..NAME_TRIES {
            if generates {
                let name = generated_name(&base, &*self.shared.environment);
                meta::set_text(&mut object, "name", &name);
                if place.resource.is_namespaces() {
                    place.resource.rules.prepare_create(&mut object);
                }
            }
            match self.insert_named(place, &mut object, options).await? {
                Some((value, revision)) => {
                    return Ok(Written {
                        value,
                        revision,
                        warnings,
                    });
                }
                None if generates => {}
                None => break,
            }
        }
        Err(ApiError::already_exists(
            &place.resource.group,
            &place.resource.plural,
            meta::name(&object),
        ))
    }

    /// Puts an object into the store; `None` when its name is taken.
    async fn insert_named(
        &self,
        place: &Place,
        object: &mut Object,
        options: &WriteOptions,
    ) -> Result<Option<(bytes::Bytes, landform_store::Revision)>> {
        let resource = &place.resource;
        let lock = self.definitions_lock(resource).await;
        let errors = write::problems(resource, object, None);
        if !errors.is_empty() {
            return Err(place.invalid(meta::name(object), &errors));
        }
        self.refuse_escalation(place, options.limited.as_ref(), object, None)
            .await?;
        self.refuse_foreign_owner(place, options.limited.as_ref(), object, None)
            .await?;
        self.refuse_definition(place, options.limited.as_ref(), object, None)
            .await?;
        self.settle(resource, object);
        let key = resource.key(&place.namespace, meta::name(object));
        let _reserved = match options.spender {
            Spender::Server => None,
            Spender::Own | Spender::Client => self.reserve(place, meta::name(object)).await?,
        };
        for _ in 0..GUARD_TRIES {
            let owners = self.name_owners(place, object, None).await?;
            let value = write::encoded(place, object)?;
            let guards = [
                self.namespace_guard(place).await?,
                Self::definition_guard(&self.renewed(place)?)?,
            ];
            let mut guards: Vec<_> = guards.into_iter().flatten().collect();
            for owner in owners {
                // Its namespace or its definition may own it.
                if !guards.iter().any(|(key, _)| *key == owner.0) {
                    guards.push(owner);
                }
            }
            if options.dry_run {
                let taken = self.shared.store.get(&key).await?.is_some();
                return Ok((!taken).then_some((value, landform_store::Revision::ZERO)));
            }
            let txn = guarded(key.clone(), Compare::Absent, Op::Put(value.clone()), guards)
                .within(self.room(Growth::of_creation(options.spender)));
            match self.commit(resource, txn, Some(object)).await? {
                TxnOutcome::Committed(revision) => return Ok(Some((value, revision))),
                TxnOutcome::Conflict { index: 0, .. } => return Ok(None),
                TxnOutcome::Conflict { .. } => {}
            }
        }
        drop(lock);
        Err(place.conflict("its namespace, its definition or the names of its owners keep changing; please try again"))
    }

    /// The same place with its kind as it is now: a definition may have changed meanwhile.
    pub(super) fn renewed(&self, place: &Place) -> Result<Place> {
        let resource = &place.resource;
        let resource = self
            .shared
            .registry
            .find(&resource.group, &resource.version, &resource.plural)
            .ok_or_else(ApiError::no_such_path)?;
        Ok(Place {
            resource,
            namespace: place.namespace.clone(),
            name: place.name.clone(),
        })
    }
}

/// The namespace of path and body must agree; a body without one gets the path's.
fn settle_namespace(place: &Place, object: &mut Object) -> Result<()> {
    if let Some(given) = meta::metadata(object).get("namespace")
        && !given.is_string()
        && !given.is_null()
    {
        let path = FieldPath::of("metadata.namespace");
        let error =
            FieldError::with_value(&path, FieldReason::TypeInvalid, given, "must be a string");
        return Err(place.invalid(meta::name(object), &[error]));
    }
    if !place.resource.namespaced {
        meta::metadata_mut(object).remove("namespace");
        return Ok(());
    }
    let given = meta::namespace(object).to_owned();
    if place.namespace.is_empty() {
        return Err(ApiError::bad_request(format!(
            "an empty namespace may not be set during creation: create {} below /namespaces/NAME/",
            place.resource.plural
        )));
    }
    if !given.is_empty() && given != place.namespace {
        return Err(ApiError::bad_request(format!(
            "the namespace of the provided object ({given}) does not match the namespace sent on the request ({})",
            place.namespace
        )));
    }
    meta::set_text(object, "namespace", &place.namespace.clone());
    Ok(())
}
