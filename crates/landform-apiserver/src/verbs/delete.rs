//! Delete: mark an object, or remove it when nothing holds it.
//!
//! A delete that names no policy does what the object says: one that carries `orphan` or `foregroundDeletion`
//! among its finalizers has chosen, as in Kubernetes. Otherwise it is `Cascade` (G13): the object is marked and held by
//! `cascade_deletion` until the collector finds no dependents (G2). Such a delete answers when the
//! object is gone, as long as that doesn't take long, so that a client that looks right afterwards
//! finds what it expects. A policy that is named counts, whatever the object carries.

use std::sync::Arc;

use futures::StreamExt as _;
use http::{Response, StatusCode};
use landform_api::keys::{FINALIZER_CASCADE, FINALIZER_FOREGROUND, FINALIZER_ORPHAN};
use landform_api::landscaper;
use landform_api::protection::is_protected;
use landform_store::{EventKind, Key, Record, Revision};
use serde::Deserialize;
use serde_json::{Value, json};

use super::list::Selection;
use super::protection::takes_down;
use super::update::{Change, is_to_delete};
use super::write::WriteOptions;
use super::{Place, present};
use crate::body::Body;
use crate::error::{ApiError, Reason, Result};
use crate::lifecycle::UNDELETABLE;
use crate::object::rules::Part;
use crate::object::{Object, meta};
use crate::registry::Resource;
use crate::request::accept;
use crate::request::decode::{self, BodyForm};
use crate::request::query::dry_run;
use crate::respond;
use crate::server::{ApiServer, Call};

/// So many objects of a collection are deleted at once: enough that commits are shared.
const AT_ONCE: usize = 64;

/// What happens to the dependents of a deleted object (G13).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    /// Every direct dependent goes first; what a delete without a policy means, unless the object says otherwise.
    Cascade,
    /// The object goes at once, dependents afterwards.
    Background,
    /// Dependents that block their owner go first.
    Foreground,
    /// Dependents stay, without their reference.
    Orphan,
}

impl Policy {
    fn finalizer(self) -> Option<&'static str> {
        match self {
            Self::Cascade => Some(FINALIZER_CASCADE),
            Self::Background => None,
            Self::Foreground => Some(FINALIZER_FOREGROUND),
            Self::Orphan => Some(FINALIZER_ORPHAN),
        }
    }
}

/// How an object is to be deleted.
pub(crate) struct DeleteOptions {
    /// What the client named.
    pub(crate) policy: Option<Policy>,
    pub(crate) grace_period: Option<i64>,
    pub(crate) uid: Option<String>,
    pub(crate) resource_version: Option<String>,
    pub(crate) dry_run: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SentOptions {
    propagation_policy: Option<String>,
    orphan_dependents: Option<bool>,
    grace_period_seconds: Option<i64>,
    preconditions: Option<Preconditions>,
    dry_run: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Preconditions {
    uid: Option<String>,
    resource_version: Option<String>,
}

impl DeleteOptions {
    /// A delete by the server itself.
    pub(crate) fn internal(policy: Policy) -> Self {
        Self {
            policy: Some(policy),
            grace_period: None,
            uid: None,
            resource_version: None,
            dry_run: false,
        }
    }

    fn from_call(call: &Call) -> Result<Self> {
        let mut sent = SentOptions::default();
        if !call.body.is_empty() {
            let form = BodyForm::from_content_type(call.header(http::header::CONTENT_TYPE))?;
            let value = decode::decode(&call.body, form)?.value;
            if !value.is_null() {
                sent = serde_json::from_value(value).map_err(|error| {
                    ApiError::bad_request(format!("the body is not a DeleteOptions: {error}"))
                })?;
            }
        }
        let query = &call.query;
        let policy = query
            .get("propagationPolicy")
            .map(str::to_owned)
            .or(sent.propagation_policy);
        let orphan = query
            .optional_flag("orphanDependents")?
            .or(sent.orphan_dependents);
        let grace = match query.get("gracePeriodSeconds") {
            Some(text) => Some(text.parse::<i64>().map_err(|_| {
                ApiError::bad_request(format!("gracePeriodSeconds={text}: must be a whole number"))
            })?),
            None => sent.grace_period_seconds,
        };
        if policy.is_some() && orphan.is_some() {
            return Err(ApiError::bad_request(
                "orphanDependents and propagationPolicy cannot both be set",
            ));
        }
        let policy = match (policy.as_deref(), orphan) {
            (None | Some(""), None) => None,
            (None | Some(""), Some(true)) => Some(Policy::Orphan),
            (None | Some(""), Some(false)) => Some(Policy::Background),
            (Some("Cascade"), _) => Some(Policy::Cascade),
            (Some("Background"), _) => Some(Policy::Background),
            (Some("Foreground"), _) => Some(Policy::Foreground),
            (Some("Orphan"), _) => Some(Policy::Orphan),
            (Some(other), _) => {
                return Err(ApiError::bad_request(format!(
                    "propagationPolicy={other}: must be Cascade, Background, Foreground or Orphan"
                )));
            }
        };
        let preconditions = sent.preconditions.unwrap_or_default();
        Ok(Self {
            policy,
            grace_period: grace,
            uid: preconditions.uid,
            resource_version: preconditions.resource_version,
            dry_run: dry_run(
                sent.dry_run
                    .iter()
                    .map(String::as_str)
                    .chain(query.all("dryRun")),
            )?,
        })
    }
}

impl ApiServer {
    pub(super) async fn delete(&self, call: &Call, place: &Place) -> Result<Response<Body>> {
        let options = DeleteOptions::from_call(call)?;
        let limited = (!call.identity.is_master()).then_some(&call.identity);
        self.refuse_own_definition(place, limited, place.name())
            .await?;
        let gone = self.delete_one(place, &options).await?;
        match gone {
            Deleted::Gone { uid } => Ok(respond::value(
                StatusCode::OK,
                &success(place, &uid),
                accept::negotiate(call.header(http::header::ACCEPT))?.encoding,
            )),
            Deleted::Held {
                record_value,
                revision,
            } => present::one(
                call,
                &place.resource,
                StatusCode::OK,
                &record_value,
                revision,
            ),
        }
    }

    /// Deletes every object that the selectors name.
    pub(super) async fn delete_collection(
        &self,
        call: &Call,
        place: &Place,
    ) -> Result<Response<Body>> {
        let options = DeleteOptions::from_call(call)?;
        let limited = (!call.identity.is_master()).then_some(&call.identity);
        let selection = Selection::from_call(call, place)?;
        let (records, _) = self.select(place, &selection, None, None, None).await?;
        let options = Arc::new(options);
        // Before the first of them goes: all or nothing.
        for record in &records.records {
            let one = Self::place_of(&place.resource, &record.key);
            self.refuse_own_definition(place, limited, one.name())
                .await?;
            let policy = options.policy;
            let policy =
                |object: &Object| policy.or_else(|| preset(object)).unwrap_or(Policy::Cascade);
            self.check_protection(&one, policy).await?;
        }
        let deletes = records.records.into_iter().map(|record| {
            let (server, resource, options) =
                (self.clone(), place.resource.clone(), options.clone());
            async move {
                let one = Self::place_of(&resource, &record.key);
                match server.delete_one(&one, &options).await {
                    // Somebody else was faster.
                    Err(error) if error.reason() == Reason::NotFound => Ok(()),
                    result => result.map(|_| ()),
                }
            }
        });
        let mut results = futures::stream::iter(deletes)
            .buffer_unordered(AT_ONCE)
            .boxed();
        while let Some(result) = results.next().await {
            result?;
        }
        let status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
            "details": {"group": place.resource.group, "kind": place.resource.plural},
        });
        Ok(respond::value(
            StatusCode::OK,
            &status,
            accept::negotiate(call.header(http::header::ACCEPT))?.encoding,
        ))
    }

    fn place_of(resource: &Arc<Resource>, key: &Key) -> Place {
        let (namespace, name) = resource.names_in_key(key);
        Place {
            namespace: namespace.to_owned(),
            name: Some(name.to_owned()),
            resource: resource.clone(),
        }
    }

    /// Marks one object, or removes it.
    pub(crate) async fn delete_one(
        &self,
        place: &Place,
        options: &DeleteOptions,
    ) -> Result<Deleted> {
        if place.resource.is_namespaces() && UNDELETABLE.contains(&place.name()) {
            let why = "this namespace may not be deleted";
            return Err(ApiError::forbidden("", "namespaces", place.name(), why));
        }
        let policy = |object: &Object| {
            let named = options.policy.or_else(|| preset(object));
            named.unwrap_or(Policy::Cascade)
        };
        self.check_protection(place, policy).await?;
        let write = WriteOptions {
            dry_run: options.dry_run,
            ..WriteOptions::OWN
        };
        let now = self.now();
        let mut seen = None;
        let written = self
            .modify(place, Part::Main, &write, Vec::new(), |found| {
                let old = found.old;
                check_preconditions(place, options, old, found.record)?;
                let protected = old.get("metadata").is_some_and(is_protected);
                if protected && !meta::is_marked(old) {
                    // It was protected since that was asked above: the next try says how to end that.
                    return Err(place.conflict("it was protected from deletion meanwhile"));
                }
                check_orphans(place, options, old)?;
                let mut object = old.clone();
                mark(&mut object, options, &now);
                if place.resource.is_namespaces() {
                    object.insert("status".into(), terminating(&object));
                }
                self.settle(&place.resource, &mut object);
                seen = Some(Marked {
                    uid: meta::uid(old).to_owned(),
                    goes: is_to_delete(&place.resource, &object),
                    only_cascade: meta::finalizers(&object) == [FINALIZER_CASCADE],
                });
                if object == *old {
                    Ok(Change::Keep)
                } else {
                    Ok(Change::Marked(object))
                }
            })
            .await?;
        let Some(Marked {
            uid,
            goes,
            only_cascade,
        }) = seen
        else {
            return Err(place.not_found());
        };
        if goes {
            return Ok(Deleted::Gone { uid });
        }
        let held = Deleted::Held {
            record_value: written.value,
            revision: written.revision,
        };
        if options.policy.is_some()
            || options.dry_run
            || !only_cascade
            || place.resource.is_namespaces()
        {
            return Ok(held);
        }
        let waiting = self.wait_until_gone(place, written.revision);
        match tokio::time::timeout(self.shared.config.delete_patience, waiting).await {
            Ok(true) => Ok(Deleted::Gone { uid }),
            Ok(false) | Err(_) => Ok(held),
        }
    }

    /// Resolves with true when the object that was marked at this revision is removed.
    async fn wait_until_gone(&self, place: &Place, marked: Revision) -> bool {
        let key = place.resource.key(&place.namespace, place.name());
        let Ok(mut watch) = self.shared.store.watch(&key.bucket, &key.name, marked) else {
            return false;
        };
        while let Ok(events) = watch.next().await {
            if events
                .iter()
                .any(|e| e.record.key == key && e.kind == EventKind::Deleted)
            {
                return true;
            }
        }
        false
    }
}

/// What must be known of an object that was marked.
struct Marked {
    uid: String,
    /// Nothing holds it.
    goes: bool,
    /// Nothing holds it but the collector.
    only_cascade: bool,
}

/// What a delete did.
pub(crate) enum Deleted {
    /// The object is no more.
    Gone { uid: String },
    /// It is marked, and something holds it.
    Held {
        record_value: bytes::Bytes,
        revision: Revision,
    },
}

fn check_preconditions(
    place: &Place,
    options: &DeleteOptions,
    old: &Object,
    record: &Record,
) -> Result<()> {
    if let Some(uid) = &options.uid
        && uid != meta::uid(old)
    {
        return Err(place.conflict(&format!(
            "Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
            meta::uid(old)
        )));
    }
    if let Some(version) = &options.resource_version
        && *version != record.modified.to_string()
    {
        return Err(place.conflict(&format!(
            "Precondition failed: ResourceVersion in precondition: {version}, ResourceVersion in object meta: {}",
            record.modified
        )));
    }
    Ok(())
}

/// Sets the deletion mark (G2): irreversible, and a change of generation (C2).
fn mark(object: &mut Object, options: &DeleteOptions, now: &str) {
    if !meta::is_marked(object) {
        let policy = options.policy.or_else(|| preset(object));
        let generation = meta::generation(object) + 1;
        let metadata = meta::metadata_mut(object);
        metadata.insert("deletionTimestamp".into(), json!(now));
        metadata.insert(
            "deletionGracePeriodSeconds".into(),
            json!(options.grace_period.unwrap_or(0).max(0)),
        );
        metadata.insert("generation".into(), json!(generation));
        hold_for(object, policy.unwrap_or(Policy::Cascade));
    } else if let Some(policy) = options.policy
        && !meta::finalizers(object).is_empty()
    {
        // A second delete may turn to another policy, as long as the object still waits.
        hold_for(object, policy);
    }
}

/// What installations and executions made is taken down by their controllers, whoever owns it by then. A delete that asks for it
/// to stay is refused, because there is another word for that.
fn check_orphans(place: &Place, options: &DeleteOptions, object: &Object) -> Result<()> {
    let resource = &place.resource;
    let by_finalizer = preset(object) == Some(Policy::Orphan);
    if options.policy != Some(Policy::Orphan) || by_finalizer || !takes_down(resource) {
        return Ok(());
    }
    let why = format!(
        "what it made goes with it, so the policy Orphan can't keep that. To keep what was deployed, annotate it with {}=true and delete it without a policy",
        landscaper::keys::DELETE_WITHOUT_UNINSTALL
    );
    let (group, plural) = (&resource.group, &resource.plural);
    Err(ApiError::forbidden(group, plural, place.name(), &why))
}

/// The policy that an object asks for by its finalizers.
fn preset(object: &Object) -> Option<Policy> {
    let finalizers = meta::finalizers(object);
    [Policy::Orphan, Policy::Foreground]
        .into_iter()
        .find(|policy| {
            policy
                .finalizer()
                .is_some_and(|held| finalizers.contains(&held))
        })
}

/// Has an object held by the finalizer of one policy, and of no other.
fn hold_for(object: &mut Object, policy: Policy) {
    for finalizer in [FINALIZER_CASCADE, FINALIZER_FOREGROUND, FINALIZER_ORPHAN] {
        if Some(finalizer) != policy.finalizer() {
            meta::remove_finalizer(object, finalizer);
        }
    }
    if let Some(finalizer) = policy.finalizer() {
        meta::add_finalizer(object, finalizer);
    }
}

fn terminating(object: &Object) -> Value {
    let mut status = object.get("status").cloned().unwrap_or_else(|| json!({}));
    status["phase"] = json!("Terminating");
    status
}

fn success(place: &Place, uid: &str) -> Value {
    let mut details = json!({"name": place.name, "kind": place.resource.plural, "uid": uid});
    if !place.resource.group.is_empty() {
        details["group"] = json!(place.resource.group);
    }
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
}
