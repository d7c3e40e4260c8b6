//! The reconciler of installations.
//!
//! A run observes, decides and acts until a decision waits for something: a write that a rule calls the
//! trigger of the next run (I2) leads to the next round of the same run.

mod act;
mod automatic;
mod export;
mod given;
mod imported;
mod imports;
mod item_secrets;
mod moment;
mod observe;
mod passed_on;
mod places;
mod rest;
mod shared_context;
mod state;
mod update;
mod warnings;

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use futures::future::BoxFuture;
use kube::ResourceExt as _;
use kube::core::DynamicObject;
use landform_api::landscaper::{self, Condition, ConditionStatus};
use landform_api::{GroupKind, GroupVersionKind};
use landform_decide::installation::decide;
use landform_engine::{
    Context, Engine, Failure, Key, Order, Outcome, Provision, Reconciler, Ref, Related, write_time,
};
use serde_json::{Value, json};

use super::belonging;
use super::blueprints::{Blueprints, Sums};
use super::facts::{self, Facts, GivenKind, movement, parent_of};
use super::index::Index;
use super::objects::{Objects, owning_installation};
use super::report::set_condition;
use super::{rename, report};

/// So many rounds of a run at most: each rule that asks for another one does so once.
const ROUNDS: usize = 8;

/// Reconciles installations.
pub struct Installations {
    index: Arc<Index>,
    blueprints: Arc<Blueprints>,
}

/// Knows of installations whose blueprints have changed.
#[derive(Clone)]
pub struct Outdated {
    index: Arc<Index>,
    blueprints: Arc<Blueprints>,
}

impl Outdated {
    /// Has those run that were last updated with other files of their blueprint, or of a nested one, than there are now.
    /// Returns how many these are.
    pub fn ask(&self, engine: &Engine) -> usize {
        let found = self.index.outdated(&Sums::new(&self.blueprints));
        let kind: Arc<GroupKind> = Arc::new(landscaper::kind("Installation").into());
        for (namespace, name) in &found {
            engine.ask(Key::new(kind.clone(), namespace, name));
        }
        found.len()
    }
}

impl Installations {
    pub(super) fn new(index: Arc<Index>, blueprints: Arc<Blueprints>) -> Self {
        Self { index, blueprints }
    }

    /// What knows of installations whose blueprints have changed.
    #[must_use]
    pub fn outdated(&self) -> Outdated {
        Outdated {
            index: self.index.clone(),
            blueprints: self.blueprints.clone(),
        }
    }

    async fn run(&self, context: &Context) -> Result<Outcome, Failure> {
        if let Some(parent) = belonging::awaited(&self.index, context.object()) {
            return Ok(Outcome::Wait(parent));
        }
        shared_context::ensure(context, &self.index).await?;
        let mut run = act::Act::new(context, &self.index, &self.blueprints)?;
        if let Some(former) = context.former_name() {
            run.begin_anew(rename::installation(context, former).await?);
        }
        self.restore(context).await?;
        for _ in 0..ROUNDS {
            let (index, blueprints) = (&self.index, &self.blueprints);
            let world =
                observe::World::read(context, index, blueprints, run.metadata(), run.status());
            let world = world.await?;
            let decision = decide(&world.observed());
            if let Some(rule) = decision.rule {
                tracing::debug!(%rule, actions = ?decision.actions, phase = ?decision.phase, "decided");
            }
            let again = decision.again;
            match run.carry_out(&world, decision).await? {
                act::End::Settled(outcome) if !again => return Ok(outcome),
                act::End::Stopped(outcome) => return Ok(outcome),
                act::End::Settled(_) => {}
            }
        }
        Err(Failure::Transient(format!(
            "no end was found in {ROUNDS} rounds: this is a bug in Landform"
        )))
    }
}

impl Installations {
    /// I5b: what Landform made for this installation says again whose it is, whatever else is to be done.
    async fn restore(&self, context: &Context) -> Result<(), Failure> {
        let object = context.object();
        let status = facts::read(object).status;
        if facts::is_ignored(object, status.phase) {
            return Ok(());
        }
        let objects = Objects::new(context.client(), &object.namespace().unwrap_or_default());
        let given = status.exported_objects.iter();
        let given = given.chain(&status.context_objects);
        belonging::restore_given(context, &self.index, &objects, given).await?;
        let nested = &status.installation_refs;
        belonging::restore_nested(context, &self.index, &objects, nested).await
    }
}

impl Reconciler for Installations {
    fn kind(&self) -> GroupVersionKind {
        landscaper::kind("Installation")
    }

    fn reconcile<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<Outcome, Failure>> {
        Box::pin(async move {
            match self.run(context).await {
                Ok(outcome) => Ok(outcome),
                Err(failure) => Err(report::tell(context, "Reconcile", failure).await),
            }
        })
    }

    fn order(&self) -> Order {
        Order::Related
    }

    fn takes_turns(&self) -> bool {
        true
    }

    fn refs(&self, object: &DynamicObject) -> Vec<Ref> {
        imports::references(object, &self.index)
    }

    fn provides(&self, object: &DynamicObject) -> Vec<Provision> {
        // It was seen a moment ago.
        let namespace = object.namespace().unwrap_or_default();
        let facts = self.index.facts(&namespace, &object.name_any());
        let facts = facts.unwrap_or_else(|| Facts::of(object));
        let content = facts.provision();
        let given = facts.exports.keys();
        given
            .map(|given| Provision {
                name: Ref {
                    kind: given.kind.kind(),
                    namespace: object.namespace(),
                    name: given.name.clone(),
                },
                content,
            })
            .collect()
    }

    fn related(&self) -> Vec<Related> {
        // Its execution has its name; owner references can be changed by others.
        let execution = Related::new(landscaper::kind("Execution"), |execution| {
            let owner = owning_installation(&execution.metadata).map(str::to_owned);
            let names = BTreeSet::from_iter([execution.name_any()].into_iter().chain(owner));
            let names = names.into_iter();
            names.map(|name| (execution.namespace(), name)).collect()
        });
        let index = self.index.clone();
        let relatives = Related::new(self.kind(), move |object| relatives(object, &index));
        // Who imports them refers to them. Who has written them looks at them when others have changed them (I5b).
        // Who would like to export under such a name looks when it is free, or another's.
        let given = [GivenKind::Data, GivenKind::Target];
        let followed = given.map(|kind| {
            let index = self.index.clone();
            let related = Related::new(kind.kind(), move |object| concerned(kind, object, &index));
            related.when_moved(move |object| {
                let owner = owning_installation(&object.metadata);
                let mut hasher = DefaultHasher::new();
                (facts::is_intact(kind, object), owner).hash(&mut hasher);
                hasher.finish()
            })
        });
        // It is followed for the index.
        let context = Related::new(landscaper::kind("Context"), |_| Vec::new()).when_moved(|_| 0);
        let mut related = vec![
            execution.when_moved(movement),
            relatives.when_moved(movement),
            context,
        ];
        related.extend(followed);
        related
    }

    fn seen(&self, kind: &GroupKind, object: &DynamicObject) {
        match kind.kind.as_str() {
            "Installation" => self.index.installation_seen(object),
            "Execution" => self.index.execution_seen(object),
            "DataObject" => self.index.given_seen(GivenKind::Data, object),
            "Target" => self.index.given_seen(GivenKind::Target, object),
            "Context" => self.index.context_seen(object),
            _ => {}
        }
    }

    fn gone(&self, kind: &GroupKind, namespace: &str, name: &str, uid: &str) {
        match kind.kind.as_str() {
            "Installation" => self.index.installation_gone(namespace, name, uid),
            "Execution" => self.index.execution_gone(namespace, name, uid),
            "DataObject" => self.index.given_gone(GivenKind::Data, namespace, name),
            "Target" => self.index.given_gone(GivenKind::Target, namespace, name),
            "Context" => self.index.context_gone(namespace, name),
            _ => {}
        }
    }

    fn idle(&self, object: &DynamicObject) -> bool {
        let seen = rest::observed(object, &self.index, &self.blueprints);
        seen.is_some_and(|seen| rest::asks_for_nothing(&decide(&seen)))
    }

    fn content(&self, object: &DynamicObject) -> u64 {
        facts::content(object)
    }

    fn status_in_cycle(&self, object: &DynamicObject, cycle: &str) -> Option<Value> {
        let message = format!(
            "installations import from each other in a circle, so none of them can be first: {cycle}; take one import out of it"
        );
        let before = facts::read(object).status.last_error;
        let before = before.filter(|before| before.message == message);
        let since = before.and_then(|before| before.last_transition_time);
        let since = since.unwrap_or_else(|| {
            let now_ms = landform_engine::Clock::now_ms(&landform_engine::SystemClock);
            write_time(now_ms)
        });
        // All that a run may have left is replaced: whether one came before the circle was closed must not matter.
        let reason = facts::IN_CIRCLE;
        let conditions = object.data["status"]["conditions"].clone();
        let mut conditions: Vec<Condition> = serde_json::from_value(conditions).unwrap_or_default();
        let imports = "ValidateImports";
        let wrong = ConditionStatus::False;
        set_condition(&mut conditions, imports, wrong, reason, &message, &since);
        Some(json!({
            "phase": "Failed",
            "endedGeneration": object.metadata.generation,
            "endedImports": null,
            "endedBlueprint": null,
            "waitingOn": null,
            "conditions": conditions,
            "lastError": {
                "operation": "CheckDependencies", "reason": reason, "message": message,
                "codes": ["ERR_CYCLIC_DEPENDENCIES"],
                "lastTransitionTime": since, "lastUpdateTime": since,
            },
        }))
    }
}

/// Whom a DataObject or a Target concerns: the installation that has written it, and those that export something under its
/// name, which may be another's or a person's.
fn concerned(
    kind: GivenKind,
    object: &DynamicObject,
    index: &Index,
) -> Vec<(Option<String>, String)> {
    let namespace = object.namespace().unwrap_or_default();
    let name = object.name_any();
    let mut names = index.exporters(&namespace, &facts::Given { kind, name });
    names.extend(owning_installation(&object.metadata).map(str::to_owned));
    names.extend(index.maker_of(object));
    let names = names.into_iter();
    names.map(|name| (Some(namespace.clone()), name)).collect()
}

/// Who must look again when an installation moved: its parent, its nested installations, siblings that
/// wait with their deletion until it imports nothing from them any more, and those that export what it
/// exports, which only one of them can.
fn relatives(object: &DynamicObject, index: &Index) -> Vec<(Option<String>, String)> {
    let namespace = object.namespace().unwrap_or_default();
    let own = object.name_any();
    let mut names = index.children(&namespace, &own);
    names.extend(parent_of(object));
    names.extend(owning_installation(&object.metadata).map(str::to_owned));
    let before = index.facts(&namespace, &own);
    // Others may have taken away what says whose it is.
    names.extend(index.maker_of(object));
    names.extend(before.as_ref().and_then(|facts| facts.parent.clone()));
    let (before, rivals) = before
        .map(|facts| (facts.imports, facts.exports))
        .unwrap_or_default();
    let now = Facts::of(object);
    for given in rivals.keys().chain(now.exports.keys()) {
        names.extend(index.exporters(&namespace, given));
    }
    for given in before.into_iter().chain(now.imports) {
        let exporters = index.exporters(&namespace, &given).into_iter();
        let going = exporters.filter(|name| {
            let facts = index.facts(&namespace, name);
            facts.is_some_and(|facts| facts.marked)
        });
        names.extend(going);
    }
    names.remove(&own);
    let names = names.into_iter();
    names.map(|name| (Some(namespace.clone()), name)).collect()
}
