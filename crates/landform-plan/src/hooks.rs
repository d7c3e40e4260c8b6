//! Kinds that hooks reconcile: everything as it is, but no hook is called.

use std::sync::Arc;

use futures::future::BoxFuture;
use kube::core::{DynamicObject, ObjectMeta};
use landform_api::{GroupKind, GroupVersionKind};
use landform_engine::hooks::Registry;
use landform_engine::{
    Context, Engine, ErrorPlace, Failure, Key, Order, Outcome, Provision, Reconciler, Ref, Related,
};
use serde_json::Value;

use crate::log::{Done, Log};

/// Registers hooks so that they are never called.
pub(crate) struct DryRegistry {
    engine: Engine,
    log: Log,
}

impl DryRegistry {
    pub(crate) fn new(engine: Engine, log: Log) -> Self {
        Self { engine, log }
    }
}

impl Registry for DryRegistry {
    fn register(&self, reconciler: Arc<dyn Reconciler>) -> BoxFuture<'_, Result<(), String>> {
        let dry = DryHook {
            inner: reconciler,
            log: self.log.clone(),
        };
        Registry::register(&self.engine, Arc::new(dry))
    }

    fn unregister(&self, kind: GroupKind) -> BoxFuture<'_, Result<(), String>> {
        Registry::unregister(&self.engine, kind)
    }

    fn ask(&self, key: Key) {
        self.engine.ask(key);
    }
}

/// A hook's reconciler whose runs only note that the hook would have been called.
struct DryHook {
    inner: Arc<dyn Reconciler>,
    log: Log,
}

impl Reconciler for DryHook {
    fn kind(&self) -> GroupVersionKind {
        self.inner.kind()
    }

    fn reconcile<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<Outcome, Failure>> {
        Box::pin(async move {
            let key = context.key();
            let name = (&*key.namespace, &*key.name);
            self.log.note(&key.kind.kind, name, Done::Hook);
            if context.deleting() && self.inner.finalizer().is_none() {
                return Ok(Outcome::Done);
            }
            Ok(Outcome::Wait(
                "its hook, which a plan doesn't call".to_owned(),
            ))
        })
    }

    fn refs(&self, object: &DynamicObject) -> Vec<Ref> {
        self.inner.refs(object)
    }

    fn related(&self) -> Vec<Related> {
        self.inner.related()
    }

    fn provides(&self, object: &DynamicObject) -> Vec<Provision> {
        self.inner.provides(object)
    }

    fn seen(&self, kind: &GroupKind, object: &DynamicObject) {
        self.inner.seen(kind, object);
    }

    fn gone(&self, kind: &GroupKind, namespace: &str, name: &str, uid: &str) {
        self.inner.gone(kind, namespace, name, uid);
    }

    fn listed(&self, kind: &GroupKind, objects: &[&ObjectMeta]) {
        self.inner.listed(kind, objects);
    }

    fn idle(&self, object: &DynamicObject) -> bool {
        self.inner.idle(object)
    }

    fn content(&self, object: &DynamicObject) -> u64 {
        self.inner.content(object)
    }

    fn finalizer(&self) -> Option<String> {
        self.inner.finalizer()
    }

    fn limit(&self) -> usize {
        self.inner.limit()
    }

    fn takes_turns(&self) -> bool {
        self.inner.takes_turns()
    }

    fn order(&self) -> Order {
        self.inner.order()
    }

    fn error_place(&self) -> ErrorPlace {
        // What a hook would say of an object is not known, so an error that is told on it stays.
        ErrorPlace::Nowhere
    }

    fn status_in_cycle(&self, object: &DynamicObject, cycle: &str) -> Option<Value> {
        self.inner.status_in_cycle(object, cycle)
    }
}
