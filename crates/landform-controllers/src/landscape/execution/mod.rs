//! The reconciler of executions.

mod act;
mod export;
mod observe;

use std::sync::Arc;

use futures::future::BoxFuture;
use kube::ResourceExt as _;
use kube::core::DynamicObject;
use landform_api::landscaper::{self, Execution};
use landform_api::{GroupKind, GroupVersionKind};
use landform_decide::execution::{Decision, decide};
use landform_decide::installation::ChildKind;
use landform_engine::{Context, Failure, Order, Outcome, Reconciler, Related};
use serde::Deserialize as _;

use super::belonging;
use super::facts::{self, GivenKind, content, movement};
use super::index::Index;
use super::objects::{Objects, owning_execution};
use super::{rename, report};
pub(super) use observe::item_object;

/// Reconciles executions.
pub struct Executions {
    index: Arc<Index>,
}

impl Executions {
    pub(super) fn new(index: Arc<Index>) -> Self {
        Self { index }
    }

    async fn run(&self, context: &Context) -> Result<Outcome, Failure> {
        if let Some(former) = context.former_name() {
            rename::execution(context, former).await?;
        }
        self.restore(context).await?;
        let world = observe::World::read(context, &self.index).await?;
        let decision = decide(&world.observed());
        if let Some(rule) = decision.rule {
            tracing::debug!(%rule, actions = ?decision.actions, "decided");
        }
        act::Act::new(context, world).carry_out(decision).await
    }
}

impl Executions {
    /// I5b: what it has collected says again whose it is, whatever else is to be done.
    async fn restore(&self, context: &Context) -> Result<(), Failure> {
        let object = context.object();
        let execution = Execution::deserialize(&object.data).unwrap_or_default();
        let objects = Objects::new(context.client(), &object.namespace().unwrap_or_default());
        let exports = observe::exports_of(&object.name_any(), &execution);
        belonging::restore_given(context, &self.index, &objects, &exports).await
    }
}

impl Reconciler for Executions {
    fn kind(&self) -> GroupVersionKind {
        landscaper::kind("Execution")
    }

    fn reconcile<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<Outcome, Failure>> {
        Box::pin(async move {
            match self.run(context).await {
                Ok(outcome) => Ok(outcome),
                Err(failure) => Err(report::tell(context, "ReconcileDeployItems", failure).await),
            }
        })
    }

    fn order(&self) -> Order {
        Order::Related
    }

    fn takes_turns(&self) -> bool {
        true
    }

    fn related(&self) -> Vec<Related> {
        let index = self.index.clone();
        let items = Related::new(landscaper::kind("DeployItem"), move |item| {
            let execution = index.execution_of(item).into_iter();
            execution.map(|name| (item.namespace(), name)).collect()
        });
        // An execution that goes together with its installation waits for a word of that. What its items deployed may stay
        // when an installation above it says so.
        let index = self.index.clone();
        let owners = Related::new(landscaper::kind("Installation"), move |installation| {
            let namespace = installation.namespace().unwrap_or_default();
            let own = installation.name_any();
            let names = if facts::is_bare(installation) {
                index.with_nested(&namespace, &own)
            } else {
                let marked = installation.metadata.deletion_timestamp.is_some();
                marked.then_some(own).into_iter().collect()
            };
            let names = names.into_iter();
            names.map(|name| (Some(namespace.clone()), name)).collect()
        });
        // What it has collected from its items, when others have changed it (I5b).
        let index = self.index.clone();
        let exports = Related::new(landscaper::kind("DataObject"), move |object| {
            let owner = owning_execution(&object.metadata).map(str::to_owned);
            let owner = owner.or_else(|| index.made_for(ChildKind::Execution, object));
            owner
                .map(|name| (object.namespace(), name))
                .into_iter()
                .collect()
        });
        let exports = exports.when_moved(|object| {
            let whole = !belonging::is_ownerless(object);
            u64::from(whole && facts::is_intact(GivenKind::Data, object))
        });
        vec![
            items.when_moved(movement),
            owners.when_moved(movement),
            exports,
        ]
    }

    fn seen(&self, kind: &GroupKind, object: &DynamicObject) {
        if kind.kind == "DeployItem" {
            self.index.item_seen(object);
        }
    }

    fn gone(&self, kind: &GroupKind, namespace: &str, name: &str, _uid: &str) {
        if kind.kind == "DeployItem" {
            self.index.item_gone(namespace, name);
        }
    }

    fn idle(&self, object: &DynamicObject) -> bool {
        let Ok(execution) = Execution::deserialize(&object.data) else {
            return false;
        };
        let namespace = object.namespace().unwrap_or_default();
        let exports = observe::exports_of(&object.name_any(), &execution);
        let mut recorded = exports.iter();
        if !recorded.all(|exports| observe::is_recorded(&execution, exports))
            || self.index.drift(&namespace, &exports).is_some()
            || !self.index.unclear(&namespace, &exports).is_empty()
        {
            return false;
        }
        let items = self.index.items_seen(&namespace, &object.name_any());
        let decision = decide(&observe::observed(&object.metadata, &execution, items));
        let Decision {
            rule: _,
            actions,
            phase,
            waiting_on,
            problem,
            afterwards,
        } = decision;
        actions.is_empty()
            && afterwards.is_empty()
            && phase.is_none()
            && waiting_on.is_empty()
            && problem.is_none()
    }

    fn content(&self, execution: &DynamicObject) -> u64 {
        content(execution)
    }
}
