//! What a run is given.

use std::future::Future;
use std::sync::{Arc, Mutex as StdMutex, OnceLock, PoisonError};
use std::time::Duration;

use kube::api::{Api, Patch, PatchParams};
use kube::core::response::StatusDetails;
use kube::core::{ApiResource, DynamicObject, ObjectMeta};
use kube::{Client, ResourceExt as _};
use landform_api::keys::{ANNOTATION_MAKER, ANNOTATION_SERVICE_ACCOUNT, ANNOTATION_WRITER};
use landform_api::writer::{Maker, Writer};
use landform_schedule::{Event, Phase, Reason, RunId};
use landform_threads::Large;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::acting::{self, Actor, Right, RightsLater};
use crate::client::{Clients, Guise};
use crate::clock::{Clock, millis};
use crate::denied::Denied;
use crate::driver::Driver;
use crate::errors::{self, ErrorPlace};
use crate::hooks::three_way;
use crate::key::Key;
use crate::merge;
use crate::message::{Inbox, Message};
use crate::reconciler::{Failure, Ref};
use crate::recorder::{EventType, Recorder};
use crate::standing::{self, RefState};

/// So often metadata are read and written when others write at the same time.
const EDIT_ATTEMPTS: usize = 5;

/// An object that the run's object refers to, as it was when the run started.
#[derive(Clone, Debug)]
pub struct Referred {
    /// What the reference says.
    pub reference: Ref,
    /// The object; none when it doesn't exist (R11).
    pub object: Option<Arc<DynamicObject>>,
    /// The right to read it, which is the same whether it exists or not; none when the API doesn't serve its kind.
    pub right: Option<Right>,
}

/// Everything that a run may see and use. Snapshots don't change while it runs (R10).
pub struct Context {
    pub(crate) key: Key,
    pub(crate) resource: ApiResource,
    pub(crate) object: Arc<DynamicObject>,
    pub(crate) refs: Vec<Referred>,
    pub(crate) client: Client,
    pub(crate) clients: Clients,
    /// Settled before the reconciler is called.
    pub(crate) actor: OnceLock<Actor>,
    pub(crate) cancellation: CancellationToken,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) former_name: Option<String>,
    pub(crate) reason: Reason,
    pub(crate) phase: Phase,
    pub(crate) retrigger_at_ms: Option<u64>,
    pub(crate) recorder: Recorder,
    pub(crate) inbox: Inbox,
    pub(crate) run: RunId,
    /// When this run wants its object to be looked at again, whatever else it says.
    pub(crate) asked_at_ms: StdMutex<Option<u64>>,
    /// The status as this run last wrote it.
    pub(crate) written: Mutex<Option<Value>>,
    pub(crate) large: Large,
}

impl Context {
    /// The object's name for the engine.
    #[must_use]
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// The object, as it was when the run started.
    #[must_use]
    pub fn object(&self) -> &Arc<DynamicObject> {
        &self.object
    }

    /// The object as a type of one's own.
    ///
    /// # Errors
    /// [`Failure::Invalid`] when the object isn't of that type; a person must change it.
    pub fn typed<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        let value = serde_json::to_value(&*self.object);
        value
            .and_then(serde_json::from_value)
            .map_err(|error| Failure::Invalid(format!("{} can't be read: {error}", self.key)))
    }

    /// What the object refers to, in the order of [`crate::Reconciler::refs`].
    #[must_use]
    pub fn refs(&self) -> &[Referred] {
        &self.refs
    }

    /// Whether the object is marked for deletion.
    #[must_use]
    pub fn deleting(&self) -> bool {
        self.object.metadata.deletion_timestamp.is_some()
    }

    /// A client whose writes the engine knows as this run's own (R5). All writes should use it.
    #[must_use]
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// With whose rights the run acts for its object (C6).
    #[must_use]
    pub fn actor(&self) -> &Actor {
        self.actor.get().unwrap_or(&Actor::Engine)
    }

    /// With whose rights something is done for another object than the run's own (C6).
    ///
    /// # Errors
    /// When the object names a service account that its writer may not act as, or that is no name.
    pub async fn actor_of(&self, object: &DynamicObject) -> Result<Actor, Failure> {
        acting::actor_of(&self.client, object, self.clients.writers_noted).await
    }

    /// A client with the rights of the service account that the object names, or else of who wrote it (C6): for
    /// everything that the object's text asks for. Its writes are this run's own, too.
    ///
    /// # Errors
    /// When the user's name can't stand in a request.
    pub fn acting(&self) -> Result<Client, Failure> {
        self.acting_as(self.actor())
    }

    /// The client of [`Context::acting`]; what it creates is noted as made for the run's object, see [`Context::maker_of`].
    ///
    /// # Errors
    /// When the user's name can't stand in a request.
    pub fn making(&self) -> Result<Client, Failure> {
        let uid = self.object.metadata.uid.as_deref().unwrap_or_default();
        let guise = acting::guise(self.actor())?;
        Ok(self.clients.maker_with(guise, uid))
    }

    /// The client of [`Context::client`]; what it creates is noted as made for the run's object.
    #[must_use]
    pub fn making_parts(&self) -> Client {
        let uid = self.object.metadata.uid.as_deref().unwrap_or_default();
        self.clients.maker_with(Guise::default(), uid)
    }

    /// The client of [`Context::client`] for what the run's object takes over from another one: what it changes is noted as made
    /// for the run's object.
    #[must_use]
    pub fn taking_over(&self) -> Client {
        let uid = self.object.metadata.uid.as_deref().unwrap_or_default();
        self.clients.taker(uid)
    }

    /// Whether an object was made as a part of the run's object, whatever its labels and owner references say, which others may
    /// have edited. None where the API notes no makers.
    #[must_use]
    pub fn is_part(&self, object: &DynamicObject) -> Option<bool> {
        let note = object.annotations().get(ANNOTATION_MAKER);
        let maker = note.and_then(|note| Maker::read(note));
        let own = self.object.metadata.uid.as_deref();
        let is_part = maker.is_some_and(|maker| Some(maker.uid.as_str()) == own);
        self.clients.writers_noted.then_some(is_part)
    }

    /// Whether Landform made one object for an owner of another, both of which others may have edited. Where the API notes no
    /// makers, the owner references count.
    #[must_use]
    pub fn is_made_beside(&self, made: &DynamicObject, other: &DynamicObject) -> bool {
        let owners = |object: &DynamicObject| {
            let owners = object.owner_references().iter();
            owners.map(|owner| owner.uid.clone()).collect::<Vec<_>>()
        };
        let makers = if self.clients.writers_noted {
            let note = made.annotations().get(ANNOTATION_MAKER);
            let maker = note.and_then(|note| Maker::read(note));
            maker.map(|maker| maker.uid).into_iter().collect()
        } else {
            owners(made)
        };
        let owners = owners(other);
        makers.iter().any(|uid| owners.contains(uid))
    }

    /// Whether the API server noted the same writers of an object as of the run's own, so that no rights are gained or lost
    /// between the two.
    #[must_use]
    pub fn is_of_same_writer(&self, object: &DynamicObject) -> bool {
        let note = |object: &DynamicObject| object.annotations().get(ANNOTATION_WRITER).cloned();
        !self.clients.writers_noted || note(object) == note(&self.object)
    }

    /// The users who wrote parts of an object and nothing of the run's own, as the API server noted them: with the rights of the
    /// run's object nothing of theirs may be done.
    #[must_use]
    pub fn other_writers(&self, object: &DynamicObject) -> Vec<String> {
        let each = |object: &DynamicObject| {
            let authors = acting::authors_of(object, self.clients.writers_noted);
            authors.writer.map_or_else(Vec::new, |writer| writer.each())
        };
        let own = each(&self.object);
        let others = each(object).into_iter();
        let others = others.filter(|writer| !own.contains(writer));
        others.map(|writer| writer.user).collect()
    }

    /// For which object this one was made and with whose rights, if the API server noted it.
    #[must_use]
    pub fn maker_of(&self, object: &Value) -> Option<Maker> {
        let note = object["metadata"]["annotations"][ANNOTATION_MAKER].as_str();
        note.filter(|_| self.clients.writers_noted)
            .and_then(Maker::read)
    }

    /// The same with the rights of another actor.
    ///
    /// # Errors
    /// When the user's name can't stand in a request.
    pub fn acting_as(&self, actor: &Actor) -> Result<Client, Failure> {
        match actor.who() {
            None => Ok(self.client()),
            Some(_) => Ok(self.clients.client_with(acting::guise(actor)?)),
        }
    }

    /// The actor that has the rights that the run's actor and another one both have. Where writers aren't noted it is the
    /// run's own: requests can be made as one user only.
    pub(crate) fn together_with(&self, other: &Actor) -> Actor {
        if self.clients.writers_noted {
            self.actor().together_with(other)
        } else {
            self.actor().clone()
        }
    }

    /// Whether the API server noted others as the writers of an object than an actor whose writes should be all that is in it.
    #[must_use]
    pub fn is_foreign(&self, object: &Value, actor: &Actor) -> bool {
        let note = object["metadata"]["annotations"][ANNOTATION_WRITER].as_str();
        let noted = note.map(Writer::read);
        self.clients.writers_noted && noted.as_ref() != actor.writer()
    }

    /// Which of these rights the run's actor doesn't have.
    ///
    /// # Errors
    /// What the API answers.
    pub async fn missing(
        &self,
        rights: impl IntoIterator<Item = Right>,
    ) -> Result<Option<Denied>, Failure> {
        self.missing_of(self.actor(), rights).await
    }

    /// Which of these rights another actor doesn't have.
    ///
    /// # Errors
    /// What the API answers.
    pub async fn missing_of(
        &self,
        actor: &Actor,
        rights: impl IntoIterator<Item = Right>,
    ) -> Result<Option<Denied>, Failure> {
        let home = self.object.metadata.namespace.as_deref();
        acting::missing_of(&self.client, actor, home, rights).await
    }

    /// The same question, for a task that outlives the run: it asks anew each time.
    #[must_use]
    pub fn rights_later(&self, rights: impl IntoIterator<Item = Right>) -> RightsLater {
        RightsLater {
            // The run's own client would report to a run that has ended.
            client: self.clients.client.clone(),
            object: self.object.clone(),
            noted: self.clients.writers_noted,
            rights: rights.into_iter().collect(),
        }
    }

    /// Makes something that is made for the object inherit the service account that acts for it.
    pub fn inherit(&self, made: &mut ObjectMeta) {
        match self.object.annotations().get(ANNOTATION_SERVICE_ACCOUNT) {
            Some(name) => {
                let annotations = made.annotations.get_or_insert_default();
                annotations.insert(ANNOTATION_SERVICE_ACCOUNT.to_owned(), name.clone());
            }
            None => {
                if let Some(annotations) = &mut made.annotations {
                    annotations.remove(ANNOTATION_SERVICE_ACCOUNT);
                }
            }
        }
    }

    /// Finds out with whose rights the run acts.
    pub(crate) async fn settle_actor(&self, writers_noted: bool) -> Result<(), Failure> {
        let actor = acting::actor_of(&self.client, &self.object, writers_noted).await?;
        self.actor.get_or_init(|| actor);
        Ok(())
    }

    /// The API of the object's own kind, in its namespace.
    #[must_use]
    pub fn api(&self) -> Api<DynamicObject> {
        api_of(
            self.client(),
            &self.resource,
            self.object.metadata.namespace.as_deref(),
        )
    }

    /// Resolves when the run should return: its object or something above it changed, or the process
    /// ends.
    pub fn cancelled(&self) -> impl Future<Output = ()> + Send + use<> {
        self.cancellation.clone().cancelled_owned()
    }

    /// Whether the run should return.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancellation.is_cancelled()
    }

    /// Does some work, unless the run is cancelled first.
    ///
    /// # Errors
    /// [`Failure::Cancelled`] when the run was cancelled; the work is dropped where it stood.
    pub async fn or_cancelled<T>(&self, work: impl Future<Output = T>) -> Result<T, Failure> {
        tokio::select! {
            biased;
            () = self.cancellation.cancelled() => Err(Failure::Cancelled),
            value = work => Ok(value),
        }
    }

    /// The time of day, in milliseconds since 1970.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    /// Waits, unless the run is cancelled first.
    ///
    /// # Errors
    /// [`Failure::Cancelled`] when the run was cancelled.
    pub async fn sleep(&self, time: Duration) -> Result<(), Failure> {
        self.or_cancelled(tokio::time::sleep(time)).await
    }

    /// The name that the object had when its reconciler last succeeded, after a rename.
    #[must_use]
    pub fn former_name(&self) -> Option<&str> {
        self.former_name.as_deref()
    }

    /// Why this run was started.
    #[must_use]
    pub fn reason(&self) -> Reason {
        self.reason
    }

    /// Whether this is the run of a delete, of a rename or an ordinary one.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// When an earlier run asked to be called again; restarts don't forget it (R12).
    #[must_use]
    pub fn retrigger_at_ms(&self) -> Option<u64> {
        self.retrigger_at_ms
    }

    /// Says that this run handles values whose size others decide: from its next wait on it computes beside the threads
    /// that serve requests, in turns with other such runs.
    pub fn computes_aside(&self) {
        self.large.set();
    }

    /// Asks for another run after this time, whatever else this one says: an error, that nothing must be tried
    /// again, that it waits (R12b). It stands until it was due, or a later run asks for another time.
    pub fn retrigger_after(&self, after: Duration) {
        let at_ms = self.now_ms().saturating_add(millis(after));
        let mut asked = self
            .asked_at_ms
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *asked = Some(at_ms);
    }

    pub(crate) fn asked_at_ms(&self) -> Option<u64> {
        let asked = self.asked_at_ms.lock();
        *asked.unwrap_or_else(PoisonError::into_inner)
    }

    /// Says that the time of this run is over, though it can't return yet: it holds back none but its relatives from
    /// now on (R8b).
    pub(crate) fn late(&self) {
        let run = self.run;
        let tell = move |driver: &mut Driver| driver.events.push(Event::Late { run });
        self.inbox.put(Message::Visit(Box::new(tell)));
    }

    /// How the objects stand that this one refers to, in the order of [`Context::refs`], by their last runs.
    pub(crate) async fn ref_states(&self) -> Result<Vec<RefState>, Failure> {
        if self.refs.is_empty() {
            return Ok(Vec::new());
        }
        let references = self.refs.iter().map(|found| found.reference.clone());
        standing::ask(&self.inbox, references.collect()).await
    }

    /// Tells people that something happened to the object. Never waits, never fails.
    pub fn event(&self, kind: EventType, reason: &str, message: &str) {
        self.recorder
            .record(&self.object, &self.resource, kind, reason, message);
    }

    /// Changes the object's metadata as it is now, if `edit` changes anything. Returns the object; none
    /// when it is gone.
    ///
    /// # Errors
    /// What the API answers; a conflict only if others write all the time.
    pub async fn edit_metadata(
        &self,
        edit: impl Fn(&mut ObjectMeta) + Send + Sync,
    ) -> Result<Option<DynamicObject>, Failure> {
        let (api, name) = (self.api(), self.object.name_any());
        let mut attempt = 1;
        loop {
            let Some(found) = get(&api, &name).await? else {
                return Ok(None);
            };
            let mut metadata = found.metadata.clone();
            edit(&mut metadata);
            let unreadable = |error: serde_json::Error| Failure::Transient(error.to_string());
            let before = serde_json::to_value(&found.metadata).map_err(unreadable)?;
            let after = serde_json::to_value(&metadata).map_err(unreadable)?;
            let Some(mut change) = merge::patch(&before, &after) else {
                return Ok(Some(found));
            };
            change["resourceVersion"] = json!(found.metadata.resource_version);
            let patch = Patch::Merge(json!({"metadata": change}));
            match api.patch(&name, &PatchParams::default(), &patch).await {
                Ok(written) => return Ok(Some(written)),
                Err(kube::Error::Api(status)) if status.code == 409 && attempt < EDIT_ATTEMPTS => {
                    attempt += 1;
                }
                Err(error) if is_gone(&error) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The object's status, as this run found it or wrote it last.
    pub async fn status(&self) -> Value {
        let written = self.written.lock().await;
        let found = || self.object.data.get("status").cloned();
        written.clone().or_else(found).unwrap_or(Value::Null)
    }

    /// Replaces the object's status, if it differs from the one that this run found or wrote last.
    ///
    /// # Errors
    /// What the API answers.
    pub async fn write_status(&self, status: &impl Serialize) -> Result<(), Failure> {
        let status = serde_json::to_value(status)
            .map_err(|error| Failure::Transient(format!("the status can't be written: {error}")))?;
        let mut written = self.written.lock().await;
        let found = self.object.data.get("status").unwrap_or(&Value::Null);
        let Some(change) = merge::patch(written.as_ref().unwrap_or(found), &status) else {
            return Ok(());
        };
        let patch = Patch::Merge(json!({"status": change}));
        let name = self.object.name_any();
        self.api()
            .patch_status(&name, &PatchParams::default(), &patch)
            .await?;
        *written = Some(status);
        Ok(())
    }

    /// Replaces the object's status as it is now, whatever others wrote into it since the run began, if it differs.
    /// What the engine itself tells there about an error stays.
    ///
    /// # Errors
    /// What the API answers.
    pub(crate) async fn replace_status(
        &self,
        status: &Value,
        place: &ErrorPlace,
    ) -> Result<(), Failure> {
        let (api, name) = (self.api(), self.object.name_any());
        let mut written = self.written.lock().await;
        let Some(found) = get(&api, &name).await? else {
            return Ok(());
        };
        let stored = found.data.get("status").unwrap_or(&Value::Null);
        let mut wanted = three_way::without_nulls(status.clone());
        errors::keep(place, stored, &mut wanted);
        if *stored != wanted {
            // One operation that names no version: it replaces what is there, whoever writes at the same time.
            let operations = json!([{"op": "add", "path": "/status", "value": wanted}]);
            let patch = serde_json::from_value(operations).map_err(|error| {
                Failure::Transient(format!("the status can't be written: {error}"))
            })?;
            let patch = Patch::Json::<()>(patch);
            api.patch_status(&name, &PatchParams::default(), &patch)
                .await?;
        }
        *written = Some(wanted);
        Ok(())
    }
}

/// An object as it is stored; none when it is gone.
///
/// # Errors
/// What the API answers; also when it doesn't serve the kind at the moment, because nothing is known of the object then.
pub(crate) async fn get(
    api: &Api<DynamicObject>,
    name: &str,
) -> Result<Option<DynamicObject>, kube::Error> {
    match api.get(name).await {
        Ok(object) => Ok(Some(object)),
        Err(error) if is_gone(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether the API says that there is no such object. Of a kind that it doesn't serve it says that the path leads
/// nowhere, and names no object.
pub(crate) fn is_gone(error: &kube::Error) -> bool {
    let kube::Error::Api(status) = error else {
        return false;
    };
    let names_it = |details: &StatusDetails| !details.name.is_empty();
    status.is_not_found() && status.details.as_ref().is_some_and(names_it)
}

/// The API of a kind, in a namespace or of the whole cluster.
pub(crate) fn api_of(
    client: Client,
    resource: &ApiResource,
    namespace: Option<&str>,
) -> Api<DynamicObject> {
    match namespace {
        Some(namespace) => Api::namespaced_with(client, namespace, resource),
        None => Api::all_with(client, resource),
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    #[test]
    fn r2_g12b_an_object_is_gone_only_if_the_api_says_so_by_name() {
        let named = |name: &str| -> StatusDetails {
            serde_json::from_value(json!({"name": name})).unwrap()
        };
        let not_found = || Status::failure("not found", "NotFound").with_code(404);
        let table = [
            ("the object", not_found().with_details(named("a")), true),
            ("a kind that isn't served", not_found(), false),
            ("no name", not_found().with_details(named("")), false),
            (
                "a conflict",
                Status::failure("no", "Conflict").with_code(409),
                false,
            ),
        ];
        for (words, status, expected) in table {
            let error = kube::Error::Api(status.boxed());
            assert_eq!(is_gone(&error), expected, "{words}");
        }
    }
}
