//! The subresource `rename`: an object gets another name and stays the object that it is (R15).
//!
//! One transaction removes the object under its former name, puts it under the new one with the same uid,
//! status and all else, and puts the new name into the owner references of what it owns. A watch shows the object under
//! its former name with the annotation `landform.dev/renamed-to`, then that name deleted, then the new one added: who
//! sees the annotation on what is deleted knows that this is no end. The annotation `landform.dev/renamed-from` tells the
//! object's reconciler; the engine removes it when that has succeeded. `landform.dev/former-name` stays: it proves that
//! this very object had that name.
//!
//! Other writes of the object, or of what it owns, may come in between: then it is computed anew. A rename that has lost
//! several times is the only one for a while, and takes its turn with every key that it writes: no rename is refused for a
//! conflict, and two never wait for each other ([`super::turns`]).
//!
//! A rename is a change by its sender, who needs the rights to read and delete the object and to create it under the new
//! name, and is one of its writers from then on (C6): others find an object by its name.
//!
//! Names that other rules hang on can't change: those of namespaces, and those of definitions, which follow from
//! their spec.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::{Method, Response, StatusCode};
use landform_api::keys::{
    ANNOTATION_FORMER_NAME, ANNOTATION_RENAMED_FROM, ANNOTATION_RENAMED_TO, former_name_note,
};
use landform_store::{Compare, Key, Op, Revision, Txn, TxnOutcome};
use serde::Deserialize;
use serde_json::{Value, json};

use super::turns::{PATIENCE, Turn};
use super::write::{self, WriteOptions, Written};
use super::{Place, not_allowed, present};
use crate::audit::Renamed;
use crate::body::Body;
use crate::dependents::Owner;
use crate::error::{ApiError, Reason, Result};
use crate::identity::Identity;
use crate::object::{Object, encode, meta, rules};
use crate::rbac::{Action, Ask};
use crate::request::decode::{self, BodyForm};
use crate::room::Growth;
use crate::server::{ApiServer, Call};

/// What is sent.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Rename {
    #[serde(default)]
    #[expect(dead_code, reason = "said by clients, and needed by nobody")]
    api_version: String,
    #[serde(default)]
    kind: String,
    /// The new name.
    name: String,
    /// The object must be this one.
    #[serde(default)]
    uid: String,
}

impl ApiServer {
    pub(super) async fn rename(&self, call: &Call, place: &Place) -> Result<Response<Body>> {
        if call.method != Method::POST {
            return Err(not_allowed(&call.method, "the subresource rename"));
        }
        let resource = &place.resource;
        if resource.is_namespaces() || resource.is_definitions() {
            return Err(ApiError::new(
                Reason::MethodNotAllowed,
                format!("objects of kind {} can't be renamed", resource.kind),
            ));
        }
        let form = BodyForm::from_content_type(call.header(http::header::CONTENT_TYPE))?;
        let sent = decode::decode(&call.body, form)?.value;
        let rename: Rename = serde_json::from_value(sent).map_err(|error| {
            ApiError::bad_request(format!(
                "the body must be {{\"kind\": \"Rename\", \"name\": \"NEW\"}}: {error}"
            ))
        })?;
        if !matches!(rename.kind.as_str(), "" | "Rename") {
            let kind = &rename.kind;
            return Err(ApiError::bad_request(format!(
                "the body is a {kind}: a Rename is expected here"
            )));
        }
        let given = |error: ApiError| error.of_given(&rename.name);
        let options = WriteOptions::from_call(call).map_err(given)?;
        if let Some(who) = &options.limited {
            let asked = self.refuse_rename(who, place, &rename.name).await;
            asked.map_err(given)?;
        }
        let written = self.move_object(place, &rename, &options).await;
        let written = written.map_err(given)?;
        let mut response = present::written(call, resource, StatusCode::OK, written)?;
        response.extensions_mut().insert(Renamed(rename.name));
        Ok(response)
    }

    /// 403 unless its sender may do what a rename comes to: read the object, remove it, and create it under the new name.
    async fn refuse_rename(&self, who: &Identity, place: &Place, to: &str) -> Result<()> {
        let resource = &place.resource;
        for (verb, name) in [
            ("get", place.name()),
            ("delete", place.name()),
            ("create", to),
        ] {
            let ask = Ask::Action(Action {
                verb,
                group: &resource.group,
                resource: &resource.plural,
                namespace: &place.namespace,
                name: name.into(),
                ..Action::default()
            });
            self.authorize(who, &ask).await?;
        }
        Ok(())
    }

    /// Renames an object, however often other writes come in between.
    async fn move_object(
        &self,
        place: &Place,
        rename: &Rename,
        options: &WriteOptions,
    ) -> Result<Written> {
        let shared = self.shared.renames.read().await;
        let key = place.resource.key(&place.namespace, place.name());
        for _ in 0..PATIENCE {
            // Given up before the next step: who waits for other renames must hold up none.
            let _turn = self.shared.turns.begin(&key).await;
            match self.plan(place, rename, options).await? {
                Planned::Nothing(written) => return Ok(written),
                Planned::Move(planned) => {
                    if let Some(written) = self.put_renamed(place, rename, planned).await? {
                        return Ok(written);
                    }
                }
            }
        }
        drop(shared);
        let _alone = self.shared.renames.write().await;
        let mut turns: BTreeMap<Key, Turn<'_>> = BTreeMap::new();
        loop {
            let planned = match self.plan(place, rename, options).await? {
                Planned::Nothing(written) => return Ok(written),
                Planned::Move(planned) => planned,
            };
            let before = turns.len();
            for (key, ..) in &planned.txn.writes {
                if !turns.contains_key(key) {
                    turns.insert(key.clone(), self.shared.turns.take(key).await);
                }
            }
            // What was computed before the last turn came is out of date.
            if turns.len() > before {
                continue;
            }
            if let Some(written) = self.put_renamed(place, rename, planned).await? {
                return Ok(written);
            }
        }
    }

    /// What a rename writes, from the objects as they are now.
    async fn plan(
        &self,
        place: &Place,
        rename: &Rename,
        options: &WriteOptions,
    ) -> Result<Planned> {
        let place = &self.renewed(place)?;
        let resource = &place.resource;
        let old_key = resource.key(&place.namespace, place.name());
        let record = self.shared.store.get(&old_key).await?;
        let record = record.ok_or_else(|| place.not_found())?;
        let old = write::decoded(&record)?;
        if !rename.uid.is_empty() && rename.uid != meta::uid(&old) {
            return Err(place.conflict("another object has this name by now"));
        }
        if meta::is_marked(&old) {
            return Err(place.conflict("it is being deleted, and can't be renamed any more"));
        }
        if rename.name == place.name() {
            return Ok(Planned::Nothing(Written {
                value: record.value,
                revision: record.modified,
                warnings: Vec::new(),
            }));
        }
        let mut object = renamed(&old, place.name(), &rename.name);
        rules::note_renamer(&mut object, &options.authors);
        let errors = write::problems(resource, &mut object, None);
        if !errors.is_empty() {
            return Err(place.invalid(&rename.name, &errors));
        }
        self.refuse_escalation(place, options.limited.as_ref(), &object, None)
            .await?;
        let value = write::encoded_again(place, &object, &record)?;
        let new_key = resource.key(&place.namespace, &rename.name);
        if options.dry_run {
            return match self.shared.store.get(&new_key).await? {
                Some(_) => Err(taken(place, rename)),
                None => Ok(Planned::Nothing(Written {
                    value,
                    revision: record.modified,
                    warnings: Vec::new(),
                })),
            };
        }
        let farewell = write::encoded(place, &leaving(&old, &rename.name))?;
        // The former name goes first: whoever follows the log must not see one uid under two names.
        let at_old = Compare::ModifiedAt(record.modified);
        let mut txn = Txn::one(old_key.clone(), at_old, Op::Put(farewell));
        txn = txn.and(old_key, Compare::Any, Op::Delete);
        txn = txn.and(new_key, Compare::Absent, Op::Put(value.clone()));
        let guards = [
            self.namespace_guard(place).await?,
            Self::definition_guard(place)?,
        ];
        for (key, compare) in guards.into_iter().flatten() {
            txn = txn.and(key, compare, Op::Check);
        }
        let owned = self.owned_under(place, &old, &rename.name).await?;
        let written_after = owned.len() as u64;
        for (key, revision, value) in owned {
            txn = txn.and(key, Compare::ModifiedAt(revision), Op::Put(value.into()));
        }
        // A longer name makes everything larger that the object owns.
        let growth = Growth::of_change(options.spender, &old, &object);
        let txn = txn.within(self.room(growth));
        Ok(Planned::Move(Move {
            txn,
            value,
            written_after,
        }))
    }

    /// `None` when another write came in between.
    async fn put_renamed(
        &self,
        place: &Place,
        rename: &Rename,
        planned: Move,
    ) -> Result<Option<Written>> {
        match self.shared.store.commit(planned.txn).await? {
            TxnOutcome::Committed(last) => Ok(Some(Written {
                value: planned.value,
                revision: Revision(last.0 - planned.written_after),
                warnings: Vec::new(),
            })),
            TxnOutcome::Conflict { index: 2, .. } => Err(taken(place, rename)),
            TxnOutcome::Conflict { .. } => Ok(None),
        }
    }

    /// What an object owns, with its new name in their references.
    async fn owned_under(
        &self,
        place: &Place,
        owner: &Object,
        name: &str,
    ) -> Result<Vec<(Key, Revision, Vec<u8>)>> {
        let owner = Owner {
            resource: &place.resource,
            namespace: &place.namespace,
            uid: meta::uid(owner),
        };
        let mut found = Vec::new();
        for (record, mut object) in self.dependents(owner).await? {
            if name_owner(&mut object, owner.uid, name) {
                let value = encode::stored(&object);
                found.push((record.key, record.modified, value));
            }
        }
        Ok(found)
    }
}

/// What is to be written.
enum Planned {
    /// It has its name, or only asked what would be.
    Nothing(Written),
    Move(Move),
}

struct Move {
    txn: Txn,
    /// The object under its new name.
    value: Bytes,
    /// How many writes come after that of the object.
    written_after: u64,
}

fn taken(place: &Place, rename: &Rename) -> ApiError {
    let resource = &place.resource;
    ApiError::already_exists(&resource.group, &resource.plural, &rename.name)
}

/// The object under its new name. A reconciler that has not yet been told of an earlier rename knows the name
/// before that one.
fn renamed(old: &Object, from: &str, to: &str) -> Object {
    let mut object = old.clone();
    meta::set_text(&mut object, "name", to);
    let untold = meta::metadata(old)
        .get("annotations")
        .and_then(|annotations| annotations[ANNOTATION_RENAMED_FROM].as_str());
    let former = untold.filter(|untold| *untold != to).unwrap_or(from);
    set_annotation(&mut object, ANNOTATION_RENAMED_FROM, former);
    let note = former_name_note(meta::uid(old), from);
    set_annotation(&mut object, ANNOTATION_FORMER_NAME, &note);
    object
}

fn set_annotation(object: &mut Object, name: &str, value: &str) {
    let annotations = meta::metadata_mut(object)
        .entry("annotations")
        .or_insert_with(|| json!({}));
    if let Value::Object(annotations) = annotations {
        annotations.insert(name.to_owned(), value.into());
    }
}

/// The object as it leaves its former name.
fn leaving(old: &Object, to: &str) -> Object {
    let mut object = old.clone();
    set_annotation(&mut object, ANNOTATION_RENAMED_TO, to);
    object
}

/// Puts an owner's new name where its uid stands; says whether it stands there.
fn name_owner(object: &mut Object, uid: &str, name: &str) -> bool {
    let references = meta::metadata_mut(object).get_mut("ownerReferences");
    let references = references.and_then(Value::as_array_mut);
    let mut changed = false;
    for reference in references.into_iter().flatten() {
        if reference["uid"] == uid && reference["name"] != name {
            reference["name"] = name.into();
            changed = true;
        }
    }
    changed
}
