//! Reconciles the objects of a kind by calling the hook of a `Reconciler`.
//!
//! # Flow of a run
//! 1. The children that exist are read.
//! 2. The hook is called with the object, what it refers to and its children.
//! 3. Its answer is applied: children, then status. `decide.rs` says what must be done.
//! 4. Its words about the future become the outcome: done, wait, again after some time, error.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use kube::ResourceExt as _;
use kube::api::{Patch, PatchParams};
use kube::core::DynamicObject;
use landform_api::GroupVersionKind;
use serde_json::{Value, json};

use super::call::{CallError, Hook, Limits, Means};
use super::children;
use super::decide::{self, Child, OwnedKind, Owner, Scope};
use super::kinds::{Kinds, Served};
use super::machine::Machine;
use super::permits::Permits;
use super::protocol::{self, Answer};
use super::references::{self, RefPath};
use super::spec::ReconcilerSpec;
use crate::acting::Actor;
use crate::clock::write_time;
use crate::context::Context;
use crate::errors::ErrorPlace;
use crate::reconciler::{Failure, Order, Outcome, PATIENCE, Reconciler, Ref, Related};

/// The finalizers of all Reconcilers begin with this; their name follows, so that none removes another's.
pub const FINALIZER_PREFIX: &str = "reconciler.landform.dev/";

/// What a run does after its call has ended takes less than this.
const MARGIN: Duration = Duration::from_secs(5);

/// Is told when a hook can't be reached, and when it can again.
pub(crate) type Listener = Arc<dyn Fn() + Send + Sync>;

/// Whether a hook can be reached, for the status of its Reconciler.
pub(crate) struct Health {
    problem: Mutex<Option<String>>,
    changed: Listener,
}

impl Health {
    pub(crate) fn new(changed: Listener) -> Self {
        Self {
            problem: Mutex::new(None),
            changed,
        }
    }

    /// Why the hook can't be reached; none when it can, or was never called.
    pub(crate) fn problem(&self) -> Option<String> {
        let problem = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
        problem.clone()
    }

    fn note(&self, now: Option<String>) {
        let mut problem = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
        // One that can't be reached may say so in several ways, in turn. The first one will do.
        let changed = problem.is_some() != now.is_some();
        if changed {
            *problem = now;
        }
        drop(problem);
        if changed {
            (self.changed)();
        }
    }
}

/// Reconciles a kind by a hook.
pub(crate) struct HookReconciler {
    spec: ReconcilerSpec,
    finalizer: String,
    kinds: Kinds,
    owned: Vec<(GroupVersionKind, Served)>,
    refs: Vec<RefPath>,
    hook: Hook,
    name: String,
    machine: Arc<dyn Machine>,
    health: Arc<Health>,
    permits: Permits,
}

impl HookReconciler {
    /// The reconciler that a `Reconciler` with this name and spec asks for.
    ///
    /// # Errors
    /// What is wrong with the spec, beyond what its schema can see.
    pub(crate) fn new(
        name: &str,
        spec: ReconcilerSpec,
        kinds: Kinds,
        health: Arc<Health>,
        means: Means,
        author: Actor,
    ) -> Result<Self, String> {
        let refs = references::compile(&spec)?;
        let machine = means.machine.clone();
        let hook = Hook::new(&spec.hook, means)?;
        let names = spec.owns.iter().map(super::spec::KindName::name);
        let owned = names.filter_map(|name| Some((name.clone(), kinds.get(&name)?.clone())));
        Ok(Self {
            permits: Permits::new(name, author, &spec, &kinds),
            finalizer: finalizer(name),
            owned: owned.collect(),
            spec,
            kinds,
            refs,
            hook,
            name: name.to_owned(),
            machine,
            health,
        })
    }

    async fn run(&self, context: &Context) -> Result<Outcome, Failure> {
        if !self.spec.finalize {
            self.let_go(context).await?;
            if context.deleting() {
                return Ok(Outcome::Done);
            }
        }
        self.permits.check(context, &self.refs).await?;
        let owner = self.owner(context);
        let client = context.client();
        let known = children::list(&client, &self.owned, &owner).await?;
        let answer = self.call(context, &known).await?;
        if let Some(after) = answer.retrigger_after {
            context.retrigger_after(after);
        }
        let mut problems = self.apply_children(context, &owner, known, &answer).await?;
        if let Some(status) = &answer.status {
            problems.extend(self.write_status(context, status).await?);
        }
        self.outcome(answer, problems)
    }

    /// Removes a finalizer that is there from the time when the spec said `finalize: true`.
    async fn let_go(&self, context: &Context) -> Result<(), Failure> {
        let object = context.object();
        if !object.finalizers().contains(&self.finalizer) {
            return Ok(());
        }
        let patch = without_finalizer(object, &self.finalizer);
        let (name, params) = (object.name_any(), PatchParams::default());
        context
            .api()
            .patch(&name, &params, &Patch::Merge(patch))
            .await?;
        Ok(())
    }

    fn owner(&self, context: &Context) -> Owner {
        let object = context.object();
        Owner {
            kind: self.spec.of.name(),
            namespace: object.namespace(),
            name: object.name_any(),
            uid: object.uid().unwrap_or_default(),
            deleting: context.deleting(),
        }
    }

    async fn call(&self, context: &Context, known: &[Child]) -> Result<Answer, Failure> {
        let owned: Vec<Value> = known.iter().map(|child| child.value.clone()).collect();
        let states = context.ref_states().await?;
        let request = Bytes::from(protocol::request(context, &states, &owned).to_string());
        let limits = Limits {
            timeout: self.spec.timeout,
            grace: self.spec.hook.grace,
        };
        let called = self.hook.call(request, limits, context.cancelled());
        let late = async {
            tokio::time::sleep(limits.timeout).await;
            context.late();
            std::future::pending().await
        };
        let called = tokio::select! {
            biased;
            called = called => called,
            never = late => never,
        };
        let answer = match called {
            Ok(bytes) => {
                self.health.note(None);
                let answer = protocol::read(&bytes);
                answer.map_err(|problem| {
                    let words = String::from_utf8_lossy(&bytes);
                    self.keep(context, problem, protocol::cut(&words))
                })
            }
            Err(CallError::Cancelled) => return Err(Failure::Cancelled),
            Err(error @ CallError::Unreachable(_)) => {
                self.health.note(Some(format!("{} {error}", self.hook)));
                Err(error.to_string())
            }
            Err(error @ CallError::Failed(_)) => {
                self.health.note(None);
                Err(error.to_string())
            }
            Err(CallError::Refused { problem, words }) => {
                self.health.note(None);
                Err(self.keep(context, problem, &words))
            }
        };
        answer.map_err(|problem| {
            Failure::Transient(format!("{} for {}: {problem}", self.hook, context.key()))
        })
    }

    /// Keeps what a hook said, and adds to the problem where that can be read.
    fn keep(&self, context: &Context, problem: String, words: &str) -> String {
        let words = words.trim();
        if words.is_empty() {
            return problem;
        }
        let time = write_time(context.now_ms());
        let text: String = words.lines().map(|line| format!("  {line}\n")).collect();
        let text = format!("{time} {}: {problem}\n{text}", context.key());
        if !self.machine.keep(&self.name, &text) {
            return problem;
        }
        let name = &self.name;
        format!("{problem}; `landform logs reconciler/{name}` shows what it said")
    }

    /// Brings the children to what the answer says. Returns what can't be done.
    async fn apply_children(
        &self,
        context: &Context,
        owner: &Owner,
        mut known: Vec<Child>,
        answer: &Answer,
    ) -> Result<Vec<String>, Failure> {
        let Some(listed) = &answer.owned else {
            return Ok(Vec::new());
        };
        let wanted = match decide::wanted(owner, &self.owned_kinds(), listed) {
            Ok(wanted) => wanted,
            Err(problems) => {
                let words = Value::Array(listed.clone()).to_string();
                let problem = problems.join("; ");
                return Ok(vec![self.keep(context, problem, protocol::cut(&words))]);
            }
        };
        let client = context.client();
        known.extend(children::find(&client, &self.kinds, &wanted, &known).await?);
        let actor = self.permits.writes_children(context);
        let is_foreign = |child: &Value| context.is_foreign(child, &actor);
        let decision = decide::decide(owner, &wanted, &known, &is_foreign);
        let client = context.acting_as(&actor)?;
        let mut problems = decision.problems;
        for action in &decision.actions {
            if context.is_cancelled() {
                return Err(Failure::Cancelled);
            }
            match children::carry_out(&client, &self.kinds, action).await {
                Ok(()) => {}
                Err(Failure::Refused(problem)) => {
                    // Missing rights are listed, all of them, instead of one refusal for each child.
                    if let Some(denied) = self.permits.lacks_children(context, &self.owned).await? {
                        problems.push(denied.to_string());
                        return Ok(problems);
                    }
                    problems.push(problem);
                }
                Err(Failure::Transient(problem)) => problems.push(problem),
                Err(failure) => return Err(failure),
            }
        }
        Ok(problems)
    }

    fn owned_kinds(&self) -> Vec<OwnedKind> {
        let names = self.spec.owns.iter().map(super::spec::KindName::name);
        let kinds = names.map(|name| {
            let scope = match self.kinds.get(&name) {
                None => Scope::Unknown,
                Some(served) if served.namespaced => Scope::Namespaced,
                Some(_) => Scope::Cluster,
            };
            OwnedKind { name, scope }
        });
        kinds.collect()
    }

    async fn write_status(
        &self,
        context: &Context,
        status: &Value,
    ) -> Result<Option<String>, Failure> {
        if context.is_cancelled() {
            return Err(Failure::Cancelled);
        }
        let own = self.spec.of.name();
        if self
            .kinds
            .get(&own)
            .is_some_and(|served| !served.has_status)
        {
            let kind = own.kind;
            return Ok(Some(format!(
                "its kind {kind} has no subresource status, so that none can be written"
            )));
        }
        let place = self.kinds.error_place();
        match context.replace_status(status, place).await {
            Ok(()) => Ok(None),
            Err(Failure::Transient(problem) | Failure::Refused(problem)) => {
                Ok(Some(format!("the status can't be written: {problem}")))
            }
            Err(failure) => Err(failure),
        }
    }

    fn outcome(&self, answer: Answer, problems: Vec<String>) -> Result<Outcome, Failure> {
        if let Some(complaint) = answer.error {
            // What the API refused may work the next time, whatever the hook thinks of its own error.
            let retry = complaint.retry || !problems.is_empty();
            let failure = if retry {
                Failure::Transient
            } else {
                Failure::Invalid
            };
            let texts = std::iter::once(complaint.message).chain(problems);
            let text = texts.collect::<Vec<_>>().join("; ");
            return Err(failure(text));
        }
        if !problems.is_empty() {
            let text = problems.join("; ");
            return Err(Failure::Transient(format!(
                "the answer of {}: {text}",
                self.hook
            )));
        }
        Ok(match answer.retrigger_after {
            // It was asked for already; besides, a marked object isn't let go yet.
            Some(after) => Outcome::Recheck(after),
            None if answer.done => Outcome::Done,
            None => Outcome::Wait("the hook says that it isn't done".to_owned()),
        })
    }
}

impl Reconciler for HookReconciler {
    fn kind(&self) -> GroupVersionKind {
        self.spec.of.name()
    }

    fn reconcile<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<Outcome, Failure>> {
        Box::pin(self.run(context))
    }

    fn refs(&self, object: &DynamicObject) -> Vec<Ref> {
        references::find(&self.refs, object).refs
    }

    fn related(&self) -> Vec<Related> {
        let own = self.kind();
        let namespaced = self.kinds.get(&own).is_none_or(|served| served.namespaced);
        let names = self.spec.owns.iter().map(super::spec::KindName::name);
        let related = names.map(|name| {
            let owner = own.clone();
            Related::new(name, move |child| owners(child, &owner, namespaced))
        });
        related.collect()
    }

    fn finalizer(&self) -> Option<String> {
        self.spec.finalize.then(|| self.finalizer.clone())
    }

    fn limit(&self) -> usize {
        self.spec.concurrency
    }

    fn order(&self) -> Order {
        self.spec.order
    }

    fn patience(&self) -> Duration {
        // A call within its grace period is no reason to complain; but however long that is, others get its place.
        self.spec.hook.grace.min(PATIENCE) + MARGIN
    }

    fn error_place(&self) -> ErrorPlace {
        self.kinds.error_place().clone()
    }
}

/// The finalizer of the Reconciler with this name.
pub(crate) fn finalizer(name: &str) -> String {
    format!("{FINALIZER_PREFIX}{name}")
}

/// A merge patch that removes a finalizer, if the object is still as it was seen.
pub(crate) fn without_finalizer(object: &DynamicObject, finalizer: &str) -> Value {
    let mut finalizers = object.finalizers().to_vec();
    finalizers.retain(|other| other != finalizer);
    json!({"metadata": {"resourceVersion": object.resource_version(), "finalizers": finalizers}})
}

/// The owners of a child that are of a kind. The child of an owner without a namespace may be in one.
fn owners(
    child: &DynamicObject,
    owner: &GroupVersionKind,
    namespaced: bool,
) -> Vec<(Option<String>, String)> {
    let namespace = child.namespace().filter(|_| namespaced);
    let is_owner = |api_version: &str, kind: &str| {
        let group = landform_api::kind::split_api_version(api_version);
        kind == owner.kind && group.is_some_and(|(group, _)| group == owner.group)
    };
    let references = child.owner_references().iter();
    references
        .filter(|found| is_owner(&found.api_version, &found.kind))
        .map(|found| (namespace.clone(), found.name.clone()))
        .collect()
}
