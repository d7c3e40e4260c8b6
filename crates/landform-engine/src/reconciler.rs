//! What somebody writes to have a kind reconciled.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use kube::core::{DynamicObject, ObjectMeta};
use landform_api::kind::{GroupKind, GroupVersionKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::content::content_of_spec;
use crate::context::Context;
use crate::errors::ErrorPlace;

/// Unless a reconciler says otherwise, a cancelled run has this long to return (R9).
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Brings objects of one kind to where they should be, one object at a time.
///
/// # What it may rely on
/// - One object never runs twice at once, and nothing that it refers to, directly or not, runs meanwhile
///   (R3, R4): refs don't change under a run unless it is cancelled.
/// - It is called again after every change, every error and every cancellation.
///
/// # What is asked of it
/// - [`Reconciler::reconcile`] may be called at any time and twice for the same state: it looks, compares
///   and does what is missing.
/// - It returns soon after [`Context::cancelled`]; it may still write its status before.
/// - The status that it writes is true at every moment: others read it while it runs (R10).
/// - One value serves all objects of the kind; what it remembers between calls is only a cache (R1).
pub trait Reconciler: Send + Sync + 'static {
    /// The kind that it reconciles.
    fn kind(&self) -> GroupVersionKind;

    /// Brings one object to where it should be.
    fn reconcile<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<Outcome, Failure>>;

    /// The objects that an object refers to: it runs after them, and not together with them.
    fn refs(&self, object: &DynamicObject) -> Vec<Ref> {
        let _ = object;
        Vec::new()
    }

    /// Other kinds whose objects matter: when one changes, the objects that it leads to run.
    fn related(&self) -> Vec<Related> {
        Vec::new()
    }

    /// Nothing can be done for an object, because the account that is to act for it may not (C6): called instead of
    /// [`Reconciler::reconcile`] by kinds that say more about it than every object does.
    fn refused<'a>(
        &'a self,
        context: &'a Context,
        why: &'a Failure,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        let _ = (context, why);
        Box::pin(async { Ok(()) })
    }

    /// Names under which others refer to what an object gives them: whoever refers to such a name runs
    /// after this object and not together with it, and runs again when the provision moves. An object of
    /// that name may exist or not; its kind must have no reconciler.
    fn provides(&self, object: &DynamicObject) -> Vec<Provision> {
        let _ = object;
        Vec::new()
    }

    /// An object of its own kind, or of a related one, appeared or changed. Called in order, before
    /// anything is decided from it: for indexes. Must be quick.
    fn seen(&self, kind: &GroupKind, object: &DynamicObject) {
        let _ = (kind, object);
    }

    /// An object of its own kind, or of a related one, is gone under this name; another one may have it by now.
    fn gone(&self, kind: &GroupKind, namespace: &str, name: &str, uid: &str) {
        let _ = (kind, namespace, name, uid);
    }

    /// Its own kind, or a related one, was read as a whole: just these objects are there, none when the API
    /// doesn't serve the kind. What ended before the kind was followed, or while it was read anew, is only
    /// told by this. Called after [seen](Reconciler::seen) for each of them. Must be quick.
    fn listed(&self, kind: &GroupKind, objects: &[&ObjectMeta]) {
        let _ = (kind, objects);
    }

    /// Whether a run of this object, as a list shows it at the start, would do nothing at all. Such an
    /// object is looked at by this call alone, without a read: with many objects at rest a restart takes
    /// seconds instead of minutes. Everything that was listed has been [seen](Reconciler::seen) before.
    fn idle(&self, object: &DynamicObject) -> bool {
        let _ = object;
        false
    }

    /// A number that moves when something moved that this reconciler listens to. A status must not
    /// move it. The default moves with the spec.
    fn content(&self, object: &DynamicObject) -> u64 {
        content_of_spec(object)
    }

    /// A finalizer that the engine adds before the first run, and removes after a run of the marked
    /// object has ended with [`Outcome::Done`].
    fn finalizer(&self) -> Option<String> {
        None
    }

    /// At most so many objects of this kind run at once.
    fn limit(&self) -> usize {
        64
    }

    /// Whether its runs only compute and call the API, so that they are soon over: then few of them at once hold large
    /// objects in memory. A run that waits for programs or other servers would keep the others waiting.
    fn takes_turns(&self) -> bool {
        false
    }

    /// Among whom deletes and renames of this kind go first. [`Order::Strict`] suits a kind whose deletes are
    /// quick; a delete that may take long should hold back only what is related to it.
    fn order(&self) -> Order {
        Order::Strict
    }

    /// How long a cancelled run may take to return before it is reported, and before others get its place (R9).
    fn patience(&self) -> Duration {
        PATIENCE
    }

    /// Where its objects show the error of their last run, or of the cycle that they are in (R7b).
    fn error_place(&self) -> ErrorPlace {
        ErrorPlace::Annotation
    }

    /// What to merge into the status of an object that is part of a cycle of references, and therefore
    /// doesn't run (R7), in place of what [`Reconciler::error_place`] says. Besides, an Event and the engine's view
    /// name the cycle.
    fn status_in_cycle(&self, object: &DynamicObject, cycle: &str) -> Option<Value> {
        let _ = (object, cycle);
        None
    }
}

/// Among whom the deletes and renames of a kind's objects go first (R8, R8b).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// Among all objects of the namespace whose kind has this order.
    #[default]
    Strict,
    /// Among what is related: by references, by ownership, or by a name that both provide.
    Related,
    /// Among nothing: its runs wait for no delete of others, and its deletes hold back nobody.
    #[serde(skip)]
    Free,
}

/// A reference to an object, whether it exists or not.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ref {
    /// Its kind.
    pub kind: GroupVersionKind,
    /// Its namespace; none for objects of the cluster.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

/// Something that an object gives to others, under a name of its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Provision {
    /// The name that others refer to.
    pub name: Ref,
    /// A number that moves when those who refer to it should look again.
    pub content: u64,
}

/// The objects (namespace, name) of the reconciler's own kind that an object leads to.
type Mapping = dyn Fn(&DynamicObject) -> Vec<(Option<String>, String)> + Send + Sync;

/// A number that moves when something of an object moved that matters.
type Movement = dyn Fn(&DynamicObject) -> u64 + Send + Sync;

/// A kind whose objects lead to objects of the reconciler's kind.
#[derive(Clone)]
pub struct Related {
    /// The kind that is watched.
    pub kind: GroupVersionKind,
    pub(crate) leads_to: Arc<Mapping>,
    pub(crate) movement: Option<Arc<Movement>>,
}

impl Related {
    /// Objects of `kind` lead to what `leads_to` says: namespaces and names of the reconciler's kind.
    pub fn new(
        kind: GroupVersionKind,
        leads_to: impl Fn(&DynamicObject) -> Vec<(Option<String>, String)> + Send + Sync + 'static,
    ) -> Self {
        Self {
            kind,
            leads_to: Arc::new(leads_to),
            movement: None,
        }
    }

    /// Only changes count that move this number; without it, every change does.
    #[must_use]
    pub fn when_moved(
        mut self,
        movement: impl Fn(&DynamicObject) -> u64 + Send + Sync + 'static,
    ) -> Self {
        self.movement = Some(Arc::new(movement));
        self
    }

    /// Objects of `kind` lead to their owners of the kind `owner`.
    #[must_use]
    pub fn owned(kind: GroupVersionKind, owner: &GroupVersionKind) -> Self {
        let owner = owner.clone();
        Self::new(kind, move |object| {
            let owners = object.metadata.owner_references.iter().flatten();
            let owners = owners.filter(|found| {
                let group = landform_api::kind::split_api_version(&found.api_version);
                found.kind == owner.kind && group.is_some_and(|(group, _)| group == owner.group)
            });
            // The owner is in the same namespace or of the whole cluster. Only one of the two exists,
            // because a kind is either; the other name leads nowhere.
            let namespace = object.metadata.namespace.clone();
            let namespaces: BTreeSet<_> = [namespace, None].into();
            owners
                .flat_map(|found| {
                    let names = namespaces.iter().cloned();
                    names.map(|namespace| (namespace, found.name.clone()))
                })
                .collect()
        })
    }
}

impl fmt::Debug for Related {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Related").field(&self.kind).finish()
    }
}

/// How a run ended without an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// There is nothing left to do; a marked object may go.
    Done,
    /// It waits for something whose change brings the next run. What it is, for people.
    Wait(String),
    /// The same, but not for longer than until this time, in milliseconds since 1970. Nothing is written
    /// down: after a restart it is called once anyway, and says again until when it waits.
    WaitUntil(String, u64),
    /// It wants to be called again after this time, whatever happens.
    Recheck(Duration),
    /// It wants to be called again at this time: milliseconds since 1970.
    RecheckAt(u64),
}

/// Why a run could not do its work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Somebody wrote first. It is tried again soon, and nobody needs to know.
    #[error("somebody else wrote first: {0}")]
    Conflict(String),
    /// It may work the next time; the pause grows.
    #[error("{0}")]
    Transient(String),
    /// The API refused a request: a right, a quota or a rule is in the way. It is tried again with growing pauses; kinds
    /// with an error field in their status tell it there.
    #[error("{0}")]
    Refused(String),
    /// A person must change something; nothing is tried until then.
    #[error("{0}")]
    Invalid(String),
    /// It was told to stop, and did.
    #[error("cancelled")]
    Cancelled,
}

impl From<kube::Error> for Failure {
    fn from(error: kube::Error) -> Self {
        match &error {
            kube::Error::Api(status) if status.code == 409 => {
                Self::Conflict(status.message.clone())
            }
            kube::Error::Api(status) if matches!(status.code, 400 | 403 | 413 | 422) => {
                Self::Refused(status.message.clone())
            }
            kube::Error::Api(status) => Self::Transient(status.message.clone()),
            _ => Self::Transient(chain(&error)),
        }
    }
}

/// An error with everything that caused it, in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        // Some errors repeat their source in their own text.
        if !text.ends_with(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}
