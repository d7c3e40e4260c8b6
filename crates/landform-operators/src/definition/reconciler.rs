//! The loop over definitions (O3): one that an app type owns, and that app type isn't there → it is created.
//!
//! That repairs a crash between the two writes of O11, which writes the definition first.

use std::sync::Arc;

use futures::future::BoxFuture;
use kube::core::DynamicObject;
use landform_api::catalog::{self, keys};
use landform_api::{GroupKind, GroupVersionKind};
use landform_engine::{Context, EventType, Failure, Order, Outcome, Reconciler, Related};
use serde_json::json;

use crate::facts::{DefinitionFacts, hash_of};
use crate::objects;
use crate::shared::Shared;

/// Has the owners of definitions be there.
pub struct Definitions {
    shared: Arc<Shared>,
}

impl Definitions {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    async fn run(&self, context: &Context) -> Result<Outcome, Failure> {
        let facts = DefinitionFacts::of(context.object());
        let (Some((namespace, name)), Some(package), false) =
            (facts.app_type(), &facts.package, facts.marked)
        else {
            return Ok(Outcome::Done);
        };
        let api = objects::app_types(&context.client(), namespace);
        if api.get_opt(name).await?.is_some() {
            return Ok(Outcome::Done);
        }
        let app_type = json!({
            "apiVersion": catalog::API_VERSION, "kind": "AppType",
            "metadata": {
                "name": name, "namespace": namespace,
                "annotations": {keys::REQUIRED_BY: format!("CustomResourceDefinition/{}", facts.name)},
            },
            "spec": {"package": package},
        });
        if objects::create(&api, app_type).await?.is_some() {
            let message = format!(
                "O3: the app type {name} in namespace {namespace} owns this kind and was missing"
            );
            context.event(EventType::Normal, "AppTypeCreated", &message);
        }
        Ok(Outcome::Done)
    }
}

impl Reconciler for Definitions {
    fn kind(&self) -> GroupVersionKind {
        objects::definition_kind()
    }

    fn reconcile<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<Outcome, Failure>> {
        Box::pin(self.run(context))
    }

    fn order(&self) -> Order {
        Order::Related
    }

    /// App types lead nowhere: only a definition that appears or changes has its owner be looked for.
    fn related(&self) -> Vec<Related> {
        let app_types = Related::new(catalog::kind("AppType"), |_| Vec::new());
        vec![app_types.when_moved(|_| 0)]
    }

    fn seen(&self, kind: &GroupKind, object: &DynamicObject) {
        match kind.kind.as_str() {
            "CustomResourceDefinition" => self.shared.index.definition_seen(object),
            "AppType" => self.shared.index.app_type_seen(object),
            _ => {}
        }
    }

    fn gone(&self, kind: &GroupKind, namespace: &str, name: &str, _uid: &str) {
        match kind.kind.as_str() {
            "CustomResourceDefinition" => self.shared.index.definition_gone(name),
            "AppType" => self.shared.index.app_type_gone(namespace, name),
            _ => {}
        }
    }

    fn idle(&self, object: &DynamicObject) -> bool {
        let facts = DefinitionFacts::of(object);
        facts.app_type().is_none_or(|(namespace, name)| {
            facts.marked || self.shared.index.app_type(namespace, name).is_some()
        })
    }

    fn content(&self, object: &DynamicObject) -> u64 {
        let facts = DefinitionFacts::of(object);
        hash_of(&(facts.owner, facts.package, facts.marked))
    }
}
