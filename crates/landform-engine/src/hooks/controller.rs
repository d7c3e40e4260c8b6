//! Reconciles the kind `Reconciler` itself: has kinds reconciled by hooks, and says how that goes.
//!
//! # Flow of a run
//! 1. Of all Reconcilers for the same kind the oldest has it (`claims.rs`). Others say so, and are asked
//!    again when it lets go.
//! 2. The API is asked for the kinds that the Reconciler names.
//! 3. When the spec or those kinds differ from what is registered, a new [`HookReconciler`] takes the
//!    place of the old one, and all objects of the kind run.
//! 4. The status is written, if it differs.
//!
//! Runs of Reconcilers happen one after the other, so that what is held is known exactly.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use kube::api::ListParams;
use kube::core::DynamicObject;
use kube::{Client, ResourceExt as _};
use landform_api::{GroupKind, GroupVersionKind};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::OnceCell;

use super::call::Means;
use super::claims::{self, Claim};
use super::connect::Dial;
use super::kinds::{self, Kinds};
use super::letting_go;
use super::machine::Machine;
use super::permits::Permits;
use super::reconciler::{Health, HookReconciler, finalizer};
use super::spec::{GROUP, KIND, ReconcilerSpec, ReconcilerStatus, reconciler_kind};
use super::status::{self, FORBIDDEN, Holds, Standing};
use super::this_machine::ThisMachine;
use crate::acting::Actor;
use crate::clock::write_time;
use crate::context::Context;
use crate::custom_kinds::CustomKinds;
use crate::key::Key;
use crate::reconciler::{Failure, Order, Outcome, Reconciler, Related};

/// Holds a Reconciler until the objects of its kind are held by it no more.
pub const FINALIZER: &str = "landform.dev/reconciler";
/// While a kind is missing the API is asked again after this time, besides when definitions change.
const RECHECK: Duration = Duration::from_secs(30);

/// What the controller needs of an engine.
pub trait Registry: Send + Sync + 'static {
    /// Has a kind reconciled from now on, in place of what reconciled it before. All its objects run.
    fn register(&self, reconciler: Arc<dyn Reconciler>) -> BoxFuture<'_, Result<(), String>>;
    /// Ends the reconciling of a kind.
    fn unregister(&self, kind: GroupKind) -> BoxFuture<'_, Result<(), String>>;
    /// Asks for a run of an object.
    fn ask(&self, key: Key);
    /// How the URLs of hooks are reached, if not by the network.
    fn dial(&self) -> Option<Dial> {
        None
    }
    /// Where the commands of hooks run, if not on this machine.
    fn machine(&self) -> Option<Arc<dyn Machine>> {
        None
    }
}

/// Reconciles Reconcilers.
pub struct ReconcilerController {
    registry: Arc<dyn Registry>,
    machine: Arc<dyn Machine>,
    /// Whether what a former process has left on the machine is gone.
    swept: OnceCell<()>,
    state: Mutex<State>,
    /// The groups that each Reconciler names: their definitions lead to it.
    groups: Arc<Mutex<BTreeMap<String, BTreeSet<String>>>>,
}

#[derive(Default)]
struct State {
    held: BTreeMap<GroupKind, Held>,
}

/// What is registered for a kind.
struct Held {
    name: String,
    /// Who wrote the Reconciler.
    author: Actor,
    spec: ReconcilerSpec,
    kinds: Kinds,
    health: Arc<Health>,
}

/// An object of the kind, as far as the controller reads it.
#[derive(Deserialize)]
struct Manifest {
    spec: ReconcilerSpec,
    #[serde(default)]
    status: ReconcilerStatus,
}

impl ReconcilerController {
    /// A controller that registers what Reconcilers ask for.
    #[must_use]
    pub fn new(registry: Arc<dyn Registry>) -> Self {
        let machine = registry.machine();
        Self {
            machine: machine.unwrap_or_else(|| Arc::new(ThisMachine::default())),
            registry,
            swept: OnceCell::new(),
            state: Mutex::default(),
            groups: Arc::default(),
        }
    }

    /// Writes calls of commands down in a directory. What another process that is no more has left there is ended
    /// before any hook is called (R9b).
    #[must_use]
    pub fn recording_in(mut self, directory: PathBuf) -> Self {
        self.machine = Arc::new(ThisMachine::recording_in(directory));
        self
    }

    /// Ends what a former process has left: before that no hook is called at all, since it may belong to any object.
    async fn sweep(&self) -> Result<(), Failure> {
        let end = || self.machine.end_leftovers();
        let swept = self.swept.get_or_try_init(end).await;
        swept.copied().map_err(|error| {
            Failure::Transient(format!(
                "hooks can't be called before calls of a former process have ended: {error}"
            ))
        })
    }

    async fn run(&self, context: &Context) -> Result<Outcome, Failure> {
        let manifest: Manifest = context.typed()?;
        let name = context.object().name_any();
        self.remember_groups(&name, &manifest.spec);
        let standing = if context.deleting() {
            match self.give_up(context, &name, &manifest.spec).await? {
                Some(holds) => Standing::Holds(holds),
                None => return Ok(Outcome::Done),
            }
        } else {
            self.settle(context, &name, &manifest.spec).await?
        };
        let outcome = match &standing {
            Standing::KindsMissing(_)
            | Standing::NotServed(_)
            | Standing::Holds(_)
            | Standing::Denied(_) => Outcome::Recheck(RECHECK),
            // No event says that a right was taken away.
            Standing::Registered if *context.actor() != Actor::Engine => Outcome::Recheck(RECHECK),
            Standing::Taken(by) => Outcome::Wait(format!("{KIND} {by} to let go of the kind")),
            Standing::Registered | Standing::Invalid(_) | Standing::Unreachable(_) => Outcome::Done,
        };
        self.tell(context, &manifest, &standing).await?;
        Ok(outcome)
    }

    async fn tell(
        &self,
        context: &Context,
        manifest: &Manifest,
        standing: &Standing,
    ) -> Result<(), Failure> {
        let generation = context.object().metadata.generation;
        let now = write_time(context.now_ms() / 1000 * 1000);
        let status = status::status(standing, &manifest.status, generation, &now);
        context.write_status(&status).await
    }

    /// The account that is to act for a Reconciler may not.
    async fn refuse(&self, context: &Context, why: &Failure) -> Result<(), Failure> {
        if context.deleting() {
            return Ok(());
        }
        let manifest: Manifest = context.typed()?;
        let name = context.object().name_any();
        let kind = manifest.spec.of.group_kind();
        self.stand_back(context, &name, &kind).await?;
        let standing = Standing::Denied(why.to_string());
        self.tell(context, &manifest, &standing).await
    }

    /// Registers what a Reconciler asks for, if it may, and says how it stands.
    async fn settle(
        &self,
        context: &Context,
        name: &str,
        spec: &ReconcilerSpec,
    ) -> Result<Standing, Failure> {
        let kind = spec.of.group_kind();
        if let Some(by) = self.other_holder(context, name, &kind).await? {
            return Ok(Standing::Taken(by));
        }
        self.sweep().await?;
        let kinds = Kinds::discover(&context.client(), spec).await?;
        let author = context.actor();
        let permits = Permits::new(name, author.clone(), spec, &kinds);
        if let Some(denied) = permits.author_lacks(context).await? {
            self.stand_back(context, name, &kind).await?;
            return Ok(Standing::Denied(denied.to_string()));
        }
        let health = match self.held_by(name, author, spec, &kinds) {
            Some(health) => health,
            None => match self.register(name, author, spec, kinds.clone()).await {
                Ok(health) => health,
                Err(problem) => return Ok(Standing::Invalid(problem)),
            },
        };
        let missing = kinds.missing(spec);
        if !missing.is_empty() {
            return self.without(&context.client(), missing).await;
        }
        Ok(match health.problem() {
            Some(problem) => Standing::Unreachable(problem),
            None => Standing::Registered,
        })
    }

    /// A Reconciler may not have the kind: others may.
    async fn stand_back(
        &self,
        context: &Context,
        name: &str,
        kind: &GroupKind,
    ) -> Result<(), Failure> {
        let held = self.state().held.get(kind).map(|held| held.name.clone());
        if held.as_deref() == Some(name) {
            self.release(kind).await?;
        }
        for claim in claims_on(context, kind).await? {
            if claim.name != name && !claim.marked {
                self.registry.ask(key_of(&claim.name));
            }
        }
        Ok(())
    }

    /// How a Reconciler stands whose kinds aren't all served.
    async fn without(
        &self,
        client: &Client,
        missing: Vec<GroupVersionKind>,
    ) -> Result<Standing, Failure> {
        let custom = CustomKinds::read(client).await?;
        let definition = |kind: &GroupVersionKind| {
            let found = custom.unserved(&kind.clone().into())?;
            Some(found.definition())
        };
        let unserved: Option<Vec<String>> = missing.iter().map(definition).collect();
        Ok(unserved.map_or(Standing::KindsMissing(missing), Standing::NotServed))
    }

    /// Who has the kind instead of this Reconciler. Lets it go when it is no longer this one's.
    async fn other_holder(
        &self,
        context: &Context,
        name: &str,
        kind: &GroupKind,
    ) -> Result<Option<String>, Failure> {
        let claims = claims_on(context, kind).await?;
        let rightful = claims::rightful(&claims).map(|claim| claim.name.clone());
        let holder = self.state().held.get(kind).map(|held| held.name.clone());
        match (rightful, holder) {
            (Some(rightful), holder) if rightful != name => {
                if holder.as_deref() == Some(name) {
                    self.release(kind).await?;
                    self.registry.ask(key_of(&rightful));
                }
                Ok(Some(rightful))
            }
            // Whoever has it without a right to it lets it go when it runs, and asks for us then.
            (_, Some(holder)) if holder != name => {
                self.registry.ask(key_of(&holder));
                Ok(Some(holder))
            }
            _ => Ok(None),
        }
    }

    /// The health of what is registered, if it is just what is asked for.
    fn held_by(
        &self,
        name: &str,
        author: &Actor,
        spec: &ReconcilerSpec,
        kinds: &Kinds,
    ) -> Option<Arc<Health>> {
        let state = self.state();
        let held = state.held.get(&spec.of.group_kind())?;
        let same = held.name == name
            && held.author == *author
            && held.spec == *spec
            && held.kinds == *kinds;
        same.then(|| held.health.clone())
    }

    async fn register(
        &self,
        name: &str,
        author: &Actor,
        spec: &ReconcilerSpec,
        kinds: Kinds,
    ) -> Result<Arc<Health>, String> {
        let (registry, key) = (self.registry.clone(), key_of(name));
        let health = Arc::new(Health::new(Arc::new(move || registry.ask(key.clone()))));
        let means = Means {
            machine: self.machine.clone(),
            dial: self.registry.dial(),
        };
        let reconciler = HookReconciler::new(
            name,
            spec.clone(),
            kinds.clone(),
            health.clone(),
            means,
            author.clone(),
        )?;
        self.registry.register(Arc::new(reconciler)).await?;
        tracing::info!(reconciler = name, kind = %spec.of.name(), "a hook reconciles this kind from now on");
        let held = Held {
            name: name.to_owned(),
            author: author.clone(),
            spec: spec.clone(),
            kinds,
            health: health.clone(),
        };
        self.state().held.insert(spec.of.group_kind(), held);
        Ok(health)
    }

    async fn release(&self, kind: &GroupKind) -> Result<(), Failure> {
        let released = self.registry.unregister(kind.clone()).await;
        released.map_err(Failure::Transient)?;
        self.state().held.remove(kind);
        Ok(())
    }

    /// A Reconciler is being deleted: the next one may have the kind, and its objects are let go. Says what it holds
    /// and can't let go of (R8): it has to stay until then, since objects come back when their kind is served again.
    async fn give_up(
        &self,
        context: &Context,
        name: &str,
        spec: &ReconcilerSpec,
    ) -> Result<Option<Holds>, Failure> {
        let kind = spec.of.group_kind();
        let holds = self
            .state()
            .held
            .get(&kind)
            .is_some_and(|held| held.name == name);
        if holds {
            self.release(&kind).await?;
        }
        for claim in claims_on(context, &kind).await? {
            if claim.name != name && !claim.marked {
                self.registry.ask(key_of(&claim.name));
            }
        }
        let holds = letting_go::let_go(&context.client(), &kind, &finalizer(name)).await?;
        if holds.is_none() {
            self.groups().remove(name);
        }
        Ok(holds)
    }

    fn remember_groups(&self, name: &str, spec: &ReconcilerSpec) {
        let groups = kinds::named(spec).into_iter().map(|kind| kind.group);
        self.groups().insert(name.to_owned(), groups.collect());
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn groups(&self) -> MutexGuard<'_, BTreeMap<String, BTreeSet<String>>> {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reconciler for ReconcilerController {
    fn kind(&self) -> GroupVersionKind {
        reconciler_kind()
    }

    fn reconcile<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<Outcome, Failure>> {
        Box::pin(self.run(context))
    }

    fn refused<'a>(
        &'a self,
        context: &'a Context,
        why: &'a Failure,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(self.refuse(context, why))
    }

    fn related(&self) -> Vec<Related> {
        let kind = "CustomResourceDefinition";
        let definitions = GroupVersionKind::new("apiextensions.k8s.io", "v1", kind);
        let groups = self.groups.clone();
        let leads_to = move |definition: &DynamicObject| {
            let group = definition
                .data
                .pointer("/spec/group")
                .and_then(Value::as_str);
            let group = group.unwrap_or_default();
            let groups = groups.lock().unwrap_or_else(PoisonError::into_inner);
            let naming = groups.iter().filter(|(_, groups)| groups.contains(group));
            naming.map(|(name, _)| (None, name.clone())).collect()
        };
        vec![Related::new(definitions, leads_to)]
    }

    fn finalizer(&self) -> Option<String> {
        Some(FINALIZER.to_owned())
    }

    fn limit(&self) -> usize {
        1
    }

    fn order(&self) -> Order {
        Order::Free
    }
}

fn key_of(name: &str) -> Key {
    let kind = GroupKind {
        group: GROUP.to_owned(),
        kind: KIND.to_owned(),
    };
    Key::new(Arc::new(kind), "", name)
}

/// Whether a Reconciler was told that it can't have its kind.
fn is_refused(object: &DynamicObject) -> bool {
    let conditions = object.data.pointer("/status/conditions");
    let conditions = conditions.and_then(Value::as_array).into_iter().flatten();
    let mut ready = conditions.filter(|condition| condition["type"] == "Ready");
    ready.any(|condition| condition["reason"] == FORBIDDEN || condition["reason"] == "Invalid")
}

/// All Reconcilers that want a kind.
async fn claims_on(context: &Context, kind: &GroupKind) -> Result<Vec<Claim>, Failure> {
    let list = context.api().list(&ListParams::default()).await?;
    let wants = |object: &DynamicObject| {
        let text = |field: &str| {
            let value = object.data.pointer(&format!("/spec/for/{field}"));
            value.and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        text("group") == kind.group && text("kind") == kind.kind
    };
    let claims = list
        .items
        .iter()
        .filter(|object| wants(object))
        .map(|object| Claim {
            name: object.name_any(),
            created: object
                .creation_timestamp()
                .map(|time| time.0.to_string())
                .unwrap_or_default(),
            marked: object.metadata.deletion_timestamp.is_some(),
            refused: object.name_any() != context.object().name_any() && is_refused(object),
        });
    Ok(claims.collect())
}
