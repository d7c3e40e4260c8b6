//! The reconciler of operator versions: `observe` → `landform_decide::operator_version::decide` → `act`.
//!
//! A run goes on in rounds while a decision asks for it: a definition was written, owners were changed. It
//! ends when something else has to move, which leads to the next run: the execution that installs it, another
//! version of its family, its app type, a definition, a resource that it owns.

mod act;
mod needs;
mod observe;
mod resources;

use std::sync::Arc;

use futures::future::BoxFuture;
use kube::ResourceExt as _;
use kube::core::DynamicObject;
use landform_api::catalog::operator_version::OperatorVersion;
use landform_api::catalog::{self, Phase, keys};
use landform_api::landscaper;
use landform_api::{GroupKind, GroupVersionKind};
use landform_decide::operator_version::decide;
use landform_engine::{Context, Failure, Order, Outcome, Reconciler, Related};

use crate::facts::{DefinitionFacts, VersionFacts, hash_of, operator_version, version_movement};
use crate::objects::definition_kind;
use crate::shared::Shared;

/// So many rounds of a run at most: a definition, two steps of a handover, the rest.
const ROUNDS: usize = 10;

/// Reconciles operator versions.
pub struct OperatorVersions {
    shared: Arc<Shared>,
}

impl OperatorVersions {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    async fn run(&self, context: &Context) -> Result<Outcome, Failure> {
        for _ in 0..ROUNDS {
            let world = observe::World::read(context, &self.shared).await?;
            let decision = decide(&world.observed);
            tracing::debug!(rule = %decision.rule, reason = %decision.reason, actions = ?decision.actions,
                afterwards = ?decision.afterwards, "decided");
            let again = decision.again;
            let outcome = act::carry_out(context, &self.shared, &world, decision).await?;
            if !again {
                return Ok(outcome);
            }
        }
        Err(Failure::Transient(format!(
            "no end was found in {ROUNDS} rounds: others write at the same time"
        )))
    }
}

impl Reconciler for OperatorVersions {
    fn kind(&self) -> GroupVersionKind {
        catalog::kind("OperatorVersion")
    }

    fn reconcile<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<Outcome, Failure>> {
        Box::pin(self.run(context))
    }

    fn order(&self) -> Order {
        Order::Related
    }

    fn related(&self) -> Vec<Related> {
        let executions = Related::owned(landscaper::kind("Execution"), &self.kind());
        let executions = executions.when_moved(|execution| {
            let status = &execution.data["status"];
            let marked = execution.metadata.deletion_timestamp.is_some();
            let error = status["lastError"]["message"].as_str();
            let phase = (
                status["phase"].as_str(),
                status["observedGeneration"].as_i64(),
            );
            hash_of(&(execution.metadata.generation, marked, phase, error))
        });
        let shared = self.shared.clone();
        let family = Related::new(self.kind(), move |object| relatives(&shared, object));
        let app_types = Related::new(catalog::kind("AppType"), |app_type| {
            let installed = app_type.data["status"]["installed"]["name"].as_str();
            let installed = installed.map(|name| (app_type.namespace(), name.to_owned()));
            installed.into_iter().collect()
        });
        let app_types = app_types.when_moved(|app_type| {
            let status = &app_type.data["status"];
            hash_of(&(status["next"].to_string(), status["blockedBy"].to_string()))
        });
        let shared = self.shared.clone();
        let definitions = Related::new(definition_kind(), move |definition| {
            let facts = DefinitionFacts::of(definition);
            let names = shared.index.of_kind(&facts.group_kind()).into_iter();
            names
                .map(|(namespace, name)| (Some(namespace), name))
                .collect()
        });
        let definitions =
            definitions.when_moved(|definition| hash_of(&DefinitionFacts::of(definition)));
        let deployment = GroupVersionKind::new("apps", "v1", "Deployment");
        let deployments = Related::new(deployment, |deployment| {
            let name = deployment.labels().get(keys::OPERATOR_VERSION).cloned();
            name.map(|name| (deployment.namespace(), name))
                .into_iter()
                .collect()
        });
        let deployments =
            deployments.when_moved(|deployment| hash_of(&observe::unavailable(deployment)));
        vec![
            executions,
            family.when_moved(version_movement),
            app_types,
            definitions,
            deployments,
        ]
    }

    fn seen(&self, kind: &GroupKind, object: &DynamicObject) {
        match kind.kind.as_str() {
            "OperatorVersion" => self.shared.index.version_seen(object),
            "CustomResourceDefinition" => self.shared.index.definition_seen(object),
            "AppType" => self.shared.index.app_type_seen(object),
            _ => {}
        }
    }

    fn gone(&self, kind: &GroupKind, namespace: &str, name: &str, _uid: &str) {
        match kind.kind.as_str() {
            "OperatorVersion" => self.shared.index.version_gone(namespace, name),
            "CustomResourceDefinition" => self.shared.index.definition_gone(name),
            "AppType" => self.shared.index.app_type_gone(namespace, name),
            _ => {}
        }
    }

    /// One that runs, alone in its family and waiting for nothing, needs no look if it says of a higher version what its
    /// app type does.
    fn idle(&self, object: &DynamicObject) -> bool {
        let version = operator_version(object);
        let namespace = object.namespace().unwrap_or_default();
        let alone = self
            .shared
            .index
            .family(&namespace, &version.spec.package)
            .len()
            == 1;
        alone
            && object.metadata.deletion_timestamp.is_none()
            && version.status.phase == Some(Phase::Succeeded)
            && version.status.observed_generation == object.metadata.generation
            && version.status.waiting_on.is_empty()
            && !object.annotations().contains_key(keys::ROLLBACK_OF)
            && self.says_what_is_offered(object, &version)
    }

    fn content(&self, object: &DynamicObject) -> u64 {
        let rollback = object.annotations().get(keys::ROLLBACK_OF);
        let conditions = object.data["status"]["conditions"].to_string();
        let metadata = &object.metadata;
        hash_of(&(&metadata.uid, metadata.generation, rollback, conditions))
    }
}

impl OperatorVersions {
    /// A crash may have come between what the app type says and what the version does (O2).
    fn says_what_is_offered(&self, object: &DynamicObject, version: &OperatorVersion) -> bool {
        let facts = VersionFacts::of(object);
        let Some(owner) = &facts.app_type else {
            return version.status.higher.is_none();
        };
        let namespace = object.namespace().unwrap_or_default();
        let app_type = self.shared.index.app_type(&namespace, &owner.name);
        app_type.is_some_and(|app_type| {
            let installed = app_type.installed.as_ref() == Some(&facts.member.name);
            let offer = app_type.offer.filter(|_| installed);
            version.status.higher == offer
        })
    }
}

/// Who must look again when a version moved: the others of its family, and those that need its package.
fn relatives(shared: &Shared, object: &DynamicObject) -> Vec<(Option<String>, String)> {
    let namespace = object.namespace().unwrap_or_default();
    let facts = VersionFacts::of(object);
    let package = &facts.spec.package;
    let family = shared.index.family(&namespace, package).into_iter();
    let mut names: Vec<_> = family.map(|found| found.member.name).collect();
    names.extend(shared.index.requiring(&namespace, package));
    names.retain(|name| *name != facts.member.name);
    names
        .into_iter()
        .map(|name| (Some(namespace.clone()), name))
        .collect()
}
