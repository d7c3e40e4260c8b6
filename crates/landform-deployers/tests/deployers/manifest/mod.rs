//! kubernetes-manifest with two API servers: Landform's own, and one that a kubeconfig leads to.

mod applies;
mod cancels;
mod crashes;
mod keeps;
mod policies;
mod target;
mod tells;
mod waits;

use kube::api::PostParams;
use kube::core::DynamicObject;
use landform_deployers::DeployItems;
use landform_deployers::manifest::{KIND, KUBERNETES_CLUSTER, ManifestDeployer};
use serde_json::{Value, json};

use crate::harness::World;
use target::Target;

/// Landform, and a cluster that its Target `there` leads to.
pub(crate) struct Both {
    pub(crate) world: World,
    pub(crate) target: Target,
}

pub(crate) fn deployers() -> DeployItems {
    DeployItems::new().with(ManifestDeployer::new())
}

impl Both {
    pub(crate) async fn new() -> Self {
        let world = World::new(deployers()).await;
        let target = Target::new().await;
        let config = json!({"kubeconfig": target.kubeconfig().to_string()});
        make_target(&world, "there", KUBERNETES_CLUSTER, config).await;
        Self { world, target }
    }

    /// Hands out an item that goes there, and waits for its phase.
    pub(crate) async fn deploy(&self, name: &str, config: Value, phase: &str) -> DynamicObject {
        self.world.hand_out(name, spec(&config)).await;
        self.world.until_phase(name, phase).await
    }

    /// Changes the item's configuration, and waits for its phase.
    pub(crate) async fn change(&self, name: &str, config: Value, phase: &str) -> DynamicObject {
        let mut item = self.world.items().get(name).await.unwrap();
        item.data["spec"]["config"] = config;
        let items = self.world.items();
        let generation = item.metadata.generation;
        // The status may be written meanwhile.
        while let Err(error) = items.replace(name, &PostParams::default(), &item).await {
            assert!(error.to_string().contains("409"), "{error}");
            let found = items.get(name).await.unwrap();
            item.metadata = found.metadata;
        }
        self.world
            .until(name, |item| {
                let status = &item.data["status"];
                item.metadata.generation > generation
                    && status["phase"] == phase
                    && status["observedGeneration"].as_i64() == item.metadata.generation
            })
            .await
    }

    /// Asks for the item again, and waits until that is done.
    pub(crate) async fn again(&self, name: &str, phase: &str) -> DynamicObject {
        let operation = json!({"landscaper.gardener.cloud/operation": "reconcile"});
        let patch = json!({"metadata": {"annotations": operation}});
        self.world.patch(name, patch).await;
        self.world.until_phase(name, phase).await
    }

    pub(crate) async fn remove(&self, name: &str) {
        self.world.delete(name).await;
        self.world.until_gone(name).await;
    }
}

pub(crate) async fn make_target(world: &World, name: &str, kind: &str, config: Value) {
    let target = json!({
        "apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Target",
        "metadata": {"name": name}, "spec": {"type": kind, "config": config},
    });
    let target = serde_json::from_value(target).unwrap();
    let targets = world.api("Target", "targets");
    let made = targets.create(&PostParams::default(), &target).await;
    made.unwrap();
}

fn spec(config: &Value) -> Value {
    json!({"type": KIND, "target": {"name": "there"}, "config": config})
}

/// A ConfigMap as a manifest.
pub(crate) fn map(name: &str, data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

/// A configuration with some ConfigMaps.
pub(crate) fn maps(all: &[(&str, Value)]) -> Value {
    let manifests = all.iter();
    let manifests = manifests.map(|(name, data)| json!({"manifest": map(name, data.clone())}));
    json!({"manifests": manifests.collect::<Vec<_>>()})
}

/// A configuration with one ConfigMap and a policy.
pub(crate) fn with_policy(policy: &str, data: Value) -> Value {
    json!({"manifests": [{"policy": policy, "manifest": map("a", data)}]})
}

pub(crate) fn message(item: &DynamicObject) -> String {
    let message = &item.data["status"]["lastError"]["message"];
    message.as_str().unwrap_or_default().to_owned()
}
