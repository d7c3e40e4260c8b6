//! A changed Secret deploys again what goes to the Target that names it, in each of the forms in which a Target can name one.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::harness::{Landscape, OPERATION};

const ITEM: &str = "DeployItem";
const KUBERNETES: &str = "landscaper.gardener.cloud/kubernetes-cluster";

fn secret(kubeconfig: &str) -> Value {
    json!({"data": {"kubeconfig": STANDARD.encode(kubeconfig)}})
}

/// An item that goes to a Target with this spec.
async fn item(land: &Landscape, target: &Value) {
    let mut spec = target.clone();
    spec["type"] = json!(KUBERNETES);
    land.create("Target", "place", json!({"spec": spec})).await;
    let spec = json!({"type": "test.dev/recorder", "target": {"name": "place"}});
    let now = json!({"landscaper.gardener.cloud/reconcile-time": "2026-11-19T00:00:00Z"});
    let content = json!({"spec": spec, "metadata": {"annotations": now}});
    land.create(ITEM, "item", content).await;
    land.until(ITEM, "item", |item| item["status"]["phase"] == "Succeeded")
        .await;
    land.quiet().await;
}

#[tokio::test]
async fn i13_a_changed_kubeconfig_deploys_again_what_goes_there() {
    let reference = |more: Value| {
        let mut reference = json!({"name": "keys"});
        if let (Some(all), Some(more)) = (reference.as_object_mut(), more.as_object()) {
            all.extend(more.clone());
        }
        json!({"config": {"kubeconfig": {"secretRef": reference}}})
    };
    let targets = [
        (
            json!({"secretRef": {"name": "keys", "key": "kubeconfig"}}),
            true,
        ),
        (reference(json!({"key": "kubeconfig"})), true),
        (reference(json!({})), true),
        (reference(json!({"namespace": "default"})), true),
        (reference(json!({"namespace": "elsewhere"})), false),
        (
            json!({"config": {"kubeconfig": "secretRef: {name: keys}"}}),
            false,
        ),
        (json!({"config": {"secretRef": {"name": "keys"}}}), false),
    ];
    for (target, follows) in targets {
        for stopped in [false, true] {
            let case = format!("{target}, stopped: {stopped}");
            let mut land = Landscape::new().await;
            land.create("Secret", "keys", secret("token: one")).await;
            item(&land, &target).await;
            assert_eq!(land.recorder.take(), ["deploy item"], "{case}");
            if stopped {
                land.stop().await;
            }
            land.patch("Secret", "keys", secret("token: two")).await;
            if stopped {
                land.restart().await;
            }
            land.quiet().await;
            let wanted: &[&str] = if follows { &["deploy item"] } else { &[] };
            assert_eq!(land.recorder.take(), wanted, "{case}");
            // The same content deploys nothing.
            land.annotate("Secret", "keys", "example.com/note", "seen")
                .await;
            land.quiet().await;
            assert!(land.recorder.take().is_empty(), "{case}");
            land.annotate(ITEM, "item", OPERATION, "reconcile").await;
            land.quiet().await;
        }
    }
}
