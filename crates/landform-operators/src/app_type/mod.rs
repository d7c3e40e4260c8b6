//! The reconciler of app types: `observe` → `landform_decide::app_type::decide` → `act`.
//!
//! What the catalogs offer is in memory; a catalog that changes asks for runs of the app types whose package
//! it has changed, so that a new version costs as much as there are app types of its package.

mod act;
mod observe;
mod offering;
mod resolving;

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::future::BoxFuture;
use kube::ResourceExt as _;
use kube::core::DynamicObject;
use landform_api::catalog::{self, AppType, AppTypePhase, keys};
use landform_api::keys::ANNOTATION_SERVICE_ACCOUNT;
use landform_api::{GroupKind, GroupVersionKind};
use landform_decide::app_type::decide;
use landform_engine::{Context, Failure, Order, Outcome, Reconciler, Related};
use serde::Deserialize as _;

use crate::facts::{
    AppTypeFacts, DefinitionFacts, VersionFacts, hash_of, is_held_up, version_movement,
};
use crate::objects::definition_kind;
use crate::shared::Shared;

/// Reconciles app types.
pub struct AppTypes {
    shared: Arc<Shared>,
}

impl AppTypes {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    async fn run(&self, context: &Context) -> Result<Outcome, Failure> {
        let object = context.object();
        let name = (object.namespace().unwrap_or_default(), object.name_any());
        // Before the look: catalogs that are read meanwhile find it.
        self.shared.wait_for_catalogs(name.clone());
        let world = observe::World::read(context, &self.shared).await?;
        if world.waits_for_catalogs() {
            return Ok(Outcome::Wait("catalogs are being read".into()));
        }
        self.shared.has_catalogs(&name);
        let decision = decide(&world.observed);
        tracing::debug!(rule = %decision.rule, phase = ?decision.phase, actions = ?decision.actions, "decided");
        act::carry_out(context, &self.shared, &world, decision).await
    }
}

impl Reconciler for AppTypes {
    fn kind(&self) -> GroupVersionKind {
        catalog::kind("AppType")
    }

    fn reconcile<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<Outcome, Failure>> {
        Box::pin(self.run(context))
    }

    fn order(&self) -> Order {
        Order::Related
    }

    fn related(&self) -> Vec<Related> {
        let shared = self.shared.clone();
        let versions = Related::new(catalog::kind("OperatorVersion"), move |version| {
            let namespace = version.namespace().unwrap_or_default();
            let facts = VersionFacts::of(version);
            let app_types = shared.index.app_types_in(&namespace, &facts.spec.package);
            let app_types = app_types.into_iter().map(|(name, _)| name);
            // Those of other packages may have waited for this one.
            let held_up = shared.index.held_up().into_iter();
            let held_up = held_up.filter(|(place, _)| *place == namespace);
            let names: BTreeSet<_> = app_types.chain(held_up.map(|(_, name)| name)).collect();
            names
                .into_iter()
                .map(|name| (Some(namespace.clone()), name))
                .collect()
        });
        let shared = self.shared.clone();
        let rivals = Related::new(self.kind(), move |app_type| {
            let namespace = app_type.namespace().unwrap_or_default();
            let facts = AppTypeFacts::of(app_type);
            let rivals = shared
                .index
                .app_types_in(&namespace, &facts.package)
                .into_iter();
            let rivals = rivals.filter(|(_, rival)| rival.uid != facts.uid);
            rivals
                .map(|(name, _)| (Some(namespace.clone()), name))
                .collect()
        });
        let rivals = rivals.when_moved(|app_type| {
            let facts = AppTypeFacts::of(app_type);
            hash_of(&(facts.uid, facts.package, facts.marked))
        });
        let shared = self.shared.clone();
        let definitions = Related::new(definition_kind(), move |definition| {
            let facts = DefinitionFacts::of(definition);
            let owner = facts.app_type();
            let owner = owner.map(|(namespace, name)| (namespace.to_owned(), name.to_owned()));
            let names: BTreeSet<_> = owner.into_iter().chain(shared.index.held_up()).collect();
            names
                .into_iter()
                .map(|(namespace, name)| (Some(namespace), name))
                .collect()
        });
        let definitions =
            definitions.when_moved(|definition| hash_of(&DefinitionFacts::of(definition)));
        vec![versions.when_moved(version_movement), rivals, definitions]
    }

    fn seen(&self, kind: &GroupKind, object: &DynamicObject) {
        match kind.kind.as_str() {
            "AppType" => self.shared.index.app_type_seen(object),
            "OperatorVersion" => self.shared.index.version_seen(object),
            "CustomResourceDefinition" => self.shared.index.definition_seen(object),
            _ => {}
        }
    }

    fn gone(&self, kind: &GroupKind, namespace: &str, name: &str, _uid: &str) {
        match kind.kind.as_str() {
            "AppType" => self.shared.index.app_type_gone(namespace, name),
            "OperatorVersion" => self.shared.index.version_gone(namespace, name),
            "CustomResourceDefinition" => self.shared.index.definition_gone(name),
            _ => {}
        }
    }

    /// One that has what it wants needs no look; when the catalogs have been read it is asked for anyway if
    /// they offer something else than when it was decided.
    fn idle(&self, object: &DynamicObject) -> bool {
        let status = AppType::deserialize(&object.data)
            .unwrap_or_default()
            .status;
        object.metadata.deletion_timestamp.is_none()
            && status.phase == Some(AppTypePhase::Succeeded)
            && status.observed_generation == object.metadata.generation
            && status.upgrading_to.is_none()
            && !is_held_up(&status)
            && !object.annotations().contains_key(keys::ROLLBACK)
    }

    fn content(&self, object: &DynamicObject) -> u64 {
        let rollback = object.annotations().get(keys::ROLLBACK);
        let account = object.annotations().get(ANNOTATION_SERVICE_ACCOUNT);
        let metadata = &object.metadata;
        hash_of(&(&metadata.uid, metadata.generation, rollback, account))
    }
}
