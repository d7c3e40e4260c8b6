//! The reconciler of nodes, which can be slow, fail, hang and panic when faults say so.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::core::DynamicObject;
use landform_api::GroupVersionKind;
use landform_engine::{Context, Failure, Outcome, Reconciler, Ref, Related};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{API_VERSION, Outside, Spec, kind};
use crate::disk::Life;
use crate::fault::{Fault, Faults};

/// No node owns more config maps.
pub const MOST_CHILDREN: u64 = 3;
pub(super) const FINALIZER: &str = "sim.landform.dev/outside";
/// The node that a config map belongs to.
const LABEL: &str = "sim.landform.dev/node";
/// Runs that are slow take up to so long.
const SLOW_MS: u64 = 30_000;
/// Runs that hang do so at least for this time, and up to three times as long.
const HUNG_MS: u64 = 8_000;

/// A mistake that a reconciler may make, to show that the simulator finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// It makes its config maps only before its first status: a crash in between loses them.
    ChildrenOnlyOnce,
    /// It remembers only in memory what it made outside: a crash makes it forget.
    RemembersInMemory,
}

/// Until when nodes wait, by uid and generation. It outlives the processes.
pub(super) type Pauses = Arc<Mutex<BTreeMap<(Option<String>, Option<i64>), u64>>>;

/// Brings nodes to where they should be.
pub struct NodeReconciler {
    pub(super) outside: Outside,
    pub(super) pauses: Pauses,
    pub(super) faults: Faults,
    pub(super) life: Arc<Life>,
    pub(super) flaw: Option<Flaw>,
    /// What this process made outside. Only a reconciler with a flaw asks it.
    pub(super) made: Mutex<BTreeSet<String>>,
}

impl NodeReconciler {
    /// What faults do to a run before it does anything.
    async fn suffer(&self, context: &Context) -> Result<(), Failure> {
        let name = || context.object().name_any();
        let chance = self.faults.chance();
        if self.faults.strikes(Fault::SlowRun, name) {
            let time = Duration::from_millis(chance.below(SLOW_MS));
            context.sleep(time).await?;
        }
        if self.faults.strikes(Fault::HungRun, name) {
            let time = Duration::from_millis(HUNG_MS + chance.below(2 * HUNG_MS));
            tokio::time::sleep(time).await;
        }
        if self.faults.strikes(Fault::FailedRun, name) {
            return Err(Failure::Transient("the world outside is closed".into()));
        }
        if self.faults.strikes(Fault::Panic, name) {
            // Without the message that a panic prints: it is meant to happen.
            std::panic::resume_unwind(Box::new("a simulated panic"));
        }
        Ok(())
    }

    async fn work(&self, context: &Context) -> Result<Outcome, Failure> {
        let node = context.object();
        let name = node.name_any();
        if context.deleting() {
            let remembers = self.flaw != Some(Flaw::RemembersInMemory);
            if remembers || self.made.lock().contains(&name) {
                self.outside.remove(&self.life, &name);
            }
            return Ok(Outcome::Done);
        }
        let spec = Spec::of(&node.data["spec"]);
        if let Some(until_ms) = self.waits_until(node, spec.pause, context.now_ms()) {
            return Ok(Outcome::WaitUntil("its pause is over".into(), until_ms));
        }
        let number = |object: &Arc<DynamicObject>| object.data["status"]["number"].as_u64();
        let refs = context.refs().iter();
        // A ref without a number counts as missing: it will get one, and then this node runs again.
        let sum = spec.sum(refs.map(|to| to.object.as_ref().and_then(number)));
        self.made.lock().insert(name.clone());
        self.outside.put(&self.life, &name, sum);
        let status = json!({"number": sum, "observedGeneration": node.metadata.generation});
        let first_status = node.data["status"].is_null();
        if self.flaw == Some(Flaw::ChildrenOnlyOnce) {
            context.write_status(&status).await?;
        }
        if self.flaw != Some(Flaw::ChildrenOnlyOnce) || first_status {
            let found = children(context).await?;
            for number in 0..MOST_CHILDREN {
                self.child(context, &spec, &found, number, sum).await?;
            }
        }
        context.write_status(&status).await?;
        Ok(Outcome::Done)
    }

    /// When the pause of a change ends, if it has not.
    fn waits_until(&self, node: &DynamicObject, pause: u64, now_ms: u64) -> Option<u64> {
        let change = (node.metadata.uid.clone(), node.metadata.generation);
        let mut pauses = self.pauses.lock();
        let until_ms = *pauses.entry(change).or_insert(now_ms + pause * 1000);
        (now_ms < until_ms).then_some(until_ms)
    }

    /// Makes, changes or removes one config map.
    async fn child(
        &self,
        context: &Context,
        spec: &Spec,
        found: &[DynamicObject],
        number: u64,
        sum: u64,
    ) -> Result<(), Failure> {
        let node = context.object();
        let maps = maps(context);
        let name = format!("{}-{number}", node.name_any());
        let found = found.iter().find(|map| map.name_any() == name);
        let wanted = number < spec.children;
        let data = json!({"number": sum.to_string()});
        match found {
            None if !wanted => {}
            None => {
                let map = child_object(node, &name, &data);
                let map = serde_json::from_value(map)
                    .map_err(|error| Failure::Invalid(error.to_string()))?;
                maps.create(&PostParams::default(), &map).await?;
            }
            Some(map) if map.metadata.deletion_timestamp.is_some() => {
                return if wanted {
                    Err(Failure::Conflict(format!("{name} is being deleted")))
                } else {
                    Ok(())
                };
            }
            Some(_) if !wanted => {
                maps.delete(&name, &DeleteParams::background()).await?;
            }
            Some(map) if map.data["data"] != data => {
                let patch =
                    json!({"metadata": {"resourceVersion": map.resource_version()}, "data": data});
                maps.patch(&name, &PatchParams::default(), &Patch::Merge(patch))
                    .await?;
            }
            Some(_) => {}
        }
        Ok(())
    }
}

fn maps(context: &Context) -> Api<DynamicObject> {
    let namespace = context.object().metadata.namespace.as_deref();
    let namespace = namespace.unwrap_or_default();
    Api::namespaced_with(context.client(), namespace, &maps_resource())
}

/// The config maps of a node that there are.
async fn children(context: &Context) -> Result<Vec<DynamicObject>, Failure> {
    let name = context.object().name_any();
    let of_node = ListParams::default().labels(&format!("{LABEL}={name}"));
    Ok(maps(context).list(&of_node).await?.items)
}

fn maps_resource() -> kube::core::ApiResource {
    let kind = kube::core::GroupVersionKind::gvk("", "v1", "ConfigMap");
    kube::core::ApiResource::from_gvk_with_plural(&kind, "configmaps")
}

/// A child as it should be in the end, where owners are named by what they are.
pub(super) fn expected_child(node: &str, name: &str, number: u64) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": name, "namespace": "default", "labels": {LABEL: node},
            "ownerReferences": [{
                "apiVersion": API_VERSION, "kind": "Node", "name": node,
                "uid": format!("{} default/{node}", super::BUCKET), "controller": true,
            }],
        },
        "data": {"number": number.to_string()},
    })
}

fn child_object(node: &DynamicObject, name: &str, data: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": name, "namespace": node.metadata.namespace, "labels": {LABEL: node.name_any()},
            "ownerReferences": [{
                "apiVersion": API_VERSION, "kind": "Node", "name": node.name_any(),
                "uid": node.metadata.uid, "controller": true,
            }],
        },
        "data": data,
    })
}

impl Reconciler for NodeReconciler {
    fn kind(&self) -> GroupVersionKind {
        kind()
    }

    fn reconcile<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<Outcome, Failure>> {
        async move {
            self.suffer(context).await?;
            context.or_cancelled(self.work(context)).await?
        }
        .boxed()
    }

    fn refs(&self, object: &DynamicObject) -> Vec<Ref> {
        let refs = Spec::of(&object.data["spec"]).refs.into_iter();
        refs.map(|name| Ref {
            kind: kind(),
            namespace: object.metadata.namespace.clone(),
            name,
        })
        .collect()
    }

    fn related(&self) -> Vec<Related> {
        let maps = GroupVersionKind::new("", "v1", "ConfigMap");
        vec![Related::owned(maps, &kind())]
    }

    fn finalizer(&self) -> Option<String> {
        Some(FINALIZER.to_owned())
    }

    fn status_in_cycle(&self, _object: &DynamicObject, cycle: &str) -> Option<Value> {
        Some(json!({"cycle": cycle}))
    }
}
