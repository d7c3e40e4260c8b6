//! The way of an object into the store: decode, check against its kind, encode, commit.

use bytes::Bytes;
use landform_api::budget::{self, Exceeded};
use landform_api::writer::{Authors, Maker, Writer};
use landform_api::{Budget, FieldError};
use landform_store::{Compare, Key, Op, Record, Revision, Txn, TxnOutcome};
use serde_json::Value;

use super::{Place, check_kind};
use crate::environment::timestamp;
use crate::error::{ApiError, Reason, Result};
use crate::identity::Identity;
use crate::kinds::{definition, event};
use crate::object::rules::Claim;
use crate::object::{Object, encode, meta, oversized, rules};
use crate::registry::{Origin, Presentation, Resource, stored_definition};
use crate::request::decode::{self, BODY_BYTES, BodyForm};
use crate::request::query::FieldValidation;
use crate::room::Spender;
use crate::server::{ApiServer, Call};

/// Options that all writes have.
pub(crate) struct WriteOptions {
    /// Everything but the write itself.
    pub(crate) dry_run: bool,
    /// What is done about unknown and duplicate fields.
    pub(crate) validation: FieldValidation,
    /// Who may grant only what they have; none for those who may do everything.
    pub(crate) limited: Option<Identity>,
    /// Who is noted as the writer (C6).
    pub(crate) authors: Authors,
    /// How much of the content is that writer's.
    pub(crate) claim: Claim,
    /// For which object it creates others, if that is to be noted (C6).
    pub(crate) maker: Option<Maker>,
    /// For which object it takes over what it changes (I40b).
    pub(crate) taker: Option<Maker>,
    /// Who writes, as far as room goes.
    pub(crate) spender: Spender,
}

impl WriteOptions {
    /// Those of the server's own writes.
    pub(crate) const OWN: Self = Self {
        dry_run: false,
        validation: FieldValidation::Ignore,
        limited: None,
        authors: Authors {
            writer: None,
            namer: None,
        },
        claim: Claim::Vouched,
        maker: None,
        taker: None,
        spender: Spender::Server,
    };

    /// Reads them from the query.
    pub(crate) fn from_call(call: &Call) -> Result<Self> {
        Ok(Self {
            dry_run: call.query.dry_run()?,
            validation: FieldValidation::from_query(&call.query)?,
            limited: (!call.identity.is_master()).then(|| call.identity.clone()),
            authors: call.authors.clone(),
            claim: call.claim,
            maker: call.maker.clone(),
            taker: call.taker.clone(),
            spender: if call.identity.is_internal() {
                Spender::Own
            } else {
                Spender::Client
            },
        })
    }
}

/// What a write left behind.
pub(crate) struct Written {
    /// The stored form.
    pub(crate) value: Bytes,
    /// The revision to show.
    pub(crate) revision: Revision,
    /// For `Warning` headers.
    pub(crate) warnings: Vec<String>,
}

/// An object from a request's body, in the form that it is stored in.
pub(crate) fn object_from_body(
    call: &Call,
    resource: &Resource,
    options: &WriteOptions,
    warnings: &mut Vec<String>,
) -> Result<Object> {
    let form = BodyForm::from_content_type(call.header(http::header::CONTENT_TYPE))?;
    if call.body.is_empty() {
        return Err(ApiError::bad_request(
            "the request has no body: send the object",
        ));
    }
    let decoded = decode::decode(&call.body, form)?;
    let Value::Object(mut object) = decoded.value else {
        return Err(ApiError::bad_request(
            "the body is not an object: it must be a JSON or YAML map",
        ));
    };
    check_kind(resource, &mut object)?;
    report_fields("duplicate", &decoded.duplicates, options, warnings)?;
    Ok(object)
}

/// Warns of fields, or refuses them, as the request wants it.
pub(crate) fn report_fields(
    what: &str,
    paths: &[String],
    options: &WriteOptions,
    warnings: &mut Vec<String>,
) -> Result<()> {
    let messages = paths.iter().map(|path| format!("{what} field \"{path}\""));
    match options.validation {
        FieldValidation::Ignore => {}
        FieldValidation::Warn => warnings.extend(messages),
        FieldValidation::Strict if paths.is_empty() => {}
        FieldValidation::Strict => {
            let list = messages.collect::<Vec<_>>().join(", ");
            return Err(ApiError::bad_request(format!(
                "strict decoding error: {list}"
            )));
        }
    }
    Ok(())
}

/// Drops fields that the kind doesn't have, fills in defaults, and translates to the stored form. What comes out is
/// within the budget of an object, whatever a patch or defaults have made of it. Returns the author of the kind's definition
/// if its defaults have become a part of the content, and the author may not do everything (C6).
pub(crate) fn fit_to_schema(
    resource: &Resource,
    object: &mut Object,
    options: &WriteOptions,
    warnings: &mut Vec<String>,
) -> Result<Option<Writer>> {
    let mut value = Value::Object(std::mem::take(object));
    let unknown = resource.schema.prune(&mut value);
    let author = resource.author();
    let sent = author.and(value.as_object()).cloned();
    let filled_in = resource.schema.apply_defaults(&mut value);
    filled_in
        .and_then(|()| Budget::OBJECT.check(&value))
        .map_err(|exceeded| too_large(resource, &value, exceeded))?;
    if let Value::Object(fitted) = value {
        *object = fitted;
    }
    report_fields("unknown", &unknown, options, warnings)?;
    if resource.presentation == Presentation::NewEvents {
        let errors = schema_problems(resource, object, None);
        if !errors.is_empty() {
            return Err(ApiError::invalid(
                &resource.group,
                &resource.kind,
                meta::name(object),
                &errors,
            ));
        }
        event::to_core(object);
    }
    object.insert(
        "apiVersion".into(),
        resource.stored_api_version.clone().into(),
    );
    let filled = sent.is_some_and(|sent| !rules::same_spec(&sent, object));
    Ok(author.filter(|_| filled).cloned())
}

fn too_large(resource: &Resource, object: &Value, exceeded: Exceeded) -> ApiError {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    ApiError::new(
        Reason::RequestEntityTooLarge,
        format!(
            "{} \"{}\" would be too large: {exceeded}",
            resource.plural,
            budget::shown(name)
        ),
    )
}

/// What is wrong with an object: its schema, its metadata, the rules of its kind.
pub(crate) fn problems(
    resource: &Resource,
    object: &mut Object,
    old: Option<&Object>,
) -> Vec<FieldError> {
    let mut errors = rules::check(resource, object, old);
    // Events of the new form were checked before they were translated: the stored form has another
    // schema.
    if resource.presentation != Presentation::NewEvents {
        // The schema knows the types of the metadata too; what was said needn't be said again. Both lists are short.
        let said: Vec<_> = errors
            .iter()
            .map(|error| (error.path.clone(), error.reason))
            .collect();
        let more = schema_problems(resource, object, old);
        errors.extend(
            more.into_iter()
                .filter(|error| !said.contains(&(error.path.clone(), error.reason))),
        );
    }
    errors.extend(resource.rules.validate(object, old));
    errors
}

fn schema_problems(
    resource: &Resource,
    object: &mut Object,
    old: Option<&Object>,
) -> Vec<FieldError> {
    let old = old.map(|old| Value::Object(old.clone()));
    // Moved into a value and back: a copy would cost more than the check.
    let value = Value::Object(std::mem::take(object));
    let errors = resource.schema.validate(&value, old.as_ref());
    if let Value::Object(same) = value {
        *object = same;
    }
    errors
}

/// The stored form of a new object, unless it is too large.
pub(crate) fn encoded(place: &Place, object: &Object) -> Result<Bytes> {
    stored_form(place, object, encode::stored(object))
}

/// The stored form of a changed object, unless it is too large.
pub(crate) fn encoded_again(place: &Place, object: &Object, record: &Record) -> Result<Bytes> {
    stored_form(place, object, oversized::write(object, &record.value))
}

fn stored_form(place: &Place, object: &Object, value: Vec<u8>) -> Result<Bytes> {
    if value.len() > BODY_BYTES {
        return Err(ApiError::new(
            Reason::RequestEntityTooLarge,
            format!(
                "{} \"{}\" would have {} bytes; an object may have {BODY_BYTES}",
                place.resource.plural,
                meta::name(object),
                value.len()
            ),
        ));
    }
    // Copied to a piece of memory of its size: the text was written into one that doubles as it
    // grows, and the store keeps this for as long as the object lives.
    Ok(Bytes::copy_from_slice(&value))
}

/// A stored object, decoded.
pub(crate) fn decoded(record: &Record) -> Result<Object> {
    oversized::read(&record.value).map_err(|error| {
        tracing::error!(key = %record.key, %error, "a stored object can't be read");
        ApiError::internal(format!(
            "the stored object {} can't be read: {error}",
            record.key
        ))
    })
}

impl ApiServer {
    /// The time as objects carry it.
    pub(crate) fn now(&self) -> String {
        timestamp(self.shared.environment.now())
    }

    /// A namespace that objects may be created in, as a guard: the transaction that creates one
    /// holds only while the namespace is as it was seen here.
    pub(crate) async fn namespace_guard(&self, place: &Place) -> Result<Option<(Key, Compare)>> {
        if !place.resource.namespaced {
            return Ok(None);
        }
        let namespaces = self.namespaces();
        let key = namespaces.key("", &place.namespace);
        let record = self
            .shared
            .store
            .get(&key)
            .await?
            .ok_or_else(|| ApiError::no_such_namespace(&place.namespace))?;
        // The mark is near the front of the stored form and nowhere else in a namespace without one.
        let marked = memchr::memmem::find(&record.value, b"\"deletionTimestamp\"").is_some();
        if marked && meta::is_marked(&decoded(&record)?) {
            let why = format!(
                "unable to create new content in namespace {} because it is being terminated",
                place.namespace
            );
            return Err(ApiError::forbidden(
                &place.resource.group,
                &place.resource.plural,
                "",
                &why,
            )
            .caused_by("NamespaceTerminating", &why, "metadata.namespace"));
        }
        Ok(Some((key, Compare::ModifiedAt(record.modified))))
    }

    /// The definition that a custom kind comes from, as a guard of the same sort.
    pub(crate) fn definition_guard(place: &Place) -> Result<Option<(Key, Compare)>> {
        match &place.resource.origin {
            Origin::Builtin => Ok(None),
            Origin::Custom {
                terminating: true, ..
            } => Err(ApiError::new(
                Reason::MethodNotAllowed,
                format!(
                    "create not allowed while custom resource definition {}.{} is terminating",
                    place.resource.plural, place.resource.group
                ),
            )),
            Origin::Custom {
                definition,
                revision,
                ..
            } => Ok(Some((definition.clone(), Compare::ModifiedAt(*revision)))),
        }
    }

    /// Commits one write of one object. Writes of definitions also change the set of kinds.
    pub(crate) async fn commit(
        &self,
        resource: &Resource,
        txn: Txn,
        object: Option<&Object>,
    ) -> Result<TxnOutcome> {
        if !resource.is_definitions() {
            return Ok(self.shared.store.commit(txn).await?);
        }
        // The kinds are there before anybody can see that they are established, and go after the
        // definition has gone. Until the commit they carry the revision that they replace, so that
        // objects can be created meanwhile.
        let (name, replaced) = match txn.writes.first() {
            Some((key, Compare::ModifiedAt(revision), _)) => (key.name.to_string(), *revision),
            Some((key, ..)) => (key.name.to_string(), Revision::ZERO),
            None => (String::new(), Revision::ZERO),
        };
        let before = object.map(|object| self.put_definition(object, replaced));
        let outcome = self.shared.store.commit(txn).await;
        match (&outcome, object) {
            (Ok(TxnOutcome::Committed(revision)), Some(object)) => {
                self.put_definition(object, *revision);
            }
            (Ok(TxnOutcome::Committed(_)), None) => self.shared.registry.remove(&name),
            _ => {
                if before.is_some() {
                    self.load_definitions().await?;
                }
            }
        }
        Ok(outcome?)
    }

    fn put_definition(&self, object: &Object, revision: Revision) {
        match stored_definition(object, revision) {
            Ok(definition) => self.shared.registry.put(definition),
            Err(errors) => {
                let problems: Vec<_> = errors.iter().map(ToString::to_string).collect();
                tracing::warn!(
                    name = meta::name(object),
                    ?problems,
                    "a definition can't be served"
                );
            }
        }
    }

    /// Makes the kinds of all stored definitions.
    pub(crate) async fn load_definitions(&self) -> Result<()> {
        let definitions = self.definitions();
        let page = self
            .shared
            .store
            .range(landform_store::RangeQuery {
                bucket: definitions.bucket.clone(),
                prefix: String::new(),
                after: None,
                limit: None,
                at: None,
            })
            .await?;
        let mut found = Vec::new();
        for record in &page.records {
            match stored_definition(&decoded(record)?, record.modified) {
                Ok(definition) => found.push(definition),
                Err(errors) => {
                    let problems: Vec<_> = errors.iter().map(ToString::to_string).collect();
                    tracing::warn!(key = %record.key, ?problems, "a stored definition can't be served");
                }
            }
        }
        self.shared.registry.replace(found);
        Ok(())
    }

    /// Settles a definition's conditions before it is written.
    pub(crate) fn settle(&self, resource: &Resource, object: &mut Object) {
        if resource.is_definitions() {
            definition::settle(object, &self.shared.registry.kinds(), &self.now());
        }
    }
}

/// A transaction that writes one key, guarded by others.
pub(crate) fn guarded(
    key: Key,
    compare: Compare,
    op: Op,
    guards: impl IntoIterator<Item = (Key, Compare)>,
) -> Txn {
    guards
        .into_iter()
        .fold(Txn::one(key, compare, op), |txn, (key, compare)| {
            txn.and(key, compare, Op::Check)
        })
}
