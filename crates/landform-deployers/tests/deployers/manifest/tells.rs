//! What is told when something is wrong, and what never is.

use k8s_openapi::api::core::v1::{Event, Secret};
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use landform_deployers::manifest::{KIND, KUBERNETES_CLUSTER};
use serde_json::{Value, json};

use super::{Both, make_target, maps, message, spec};

/// Everything about an item that people can see, but not what they wrote themselves.
async fn shown(both: &Both, name: &str) -> String {
    let item = both.world.items().get(name).await.unwrap();
    let events: Api<Event> = Api::default_namespaced(both.world.client.clone());
    let events = events.list(&ListParams::default()).await.unwrap();
    format!(
        "{} {:?} {:?}",
        item.data["status"], item.metadata, events.items
    )
}

#[tokio::test]
async fn values_of_secrets_and_credentials_are_never_told() {
    let both = Both::new().await;
    let secret = |data: Value| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": data});
    let manifests = [
        secret(json!({"key": "canary is not base64!"})),
        secret(json!({"a key": "Y2FuYXJ5"})),
        secret(json!({"key": ["canary"]})),
        json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "type": 5,
            "stringData": {"key": "canary"},
        }),
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"},
            "data": {"key": ["canary"]},
        }),
    ];
    for (index, manifest) in manifests.into_iter().enumerate() {
        let name = format!("web{index}");
        let config = json!({"manifests": [{"manifest": manifest}]});
        let item = both.deploy(&name, config, "Failed").await;
        let kind = if index == 4 {
            "ConfigMap default/m"
        } else {
            "Secret default/s"
        };
        assert!(message(&item).contains(kind), "{}", message(&item));
        let shown = shown(&both, &name).await;
        assert!(!shown.contains("canary"), "{index}: {shown}");
        assert!(!shown.contains("Y2FuYXJ5"), "{index}: {shown}");
    }
}

/// What an installation's template made of a secret stands in `spec.configFrom`, masked in `spec.config`.
#[tokio::test]
async fn what_is_masked_in_a_configuration_is_in_no_message() {
    let both = Both::new().await;
    let mask = "(secret)";
    let object = |kind: &str, name: &str, namespace: &str| json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": namespace}});
    let config = |object: Value| json!({"manifests": [{"policy": "manage", "manifest": object}]});
    let cases = [
        (
            config(object("ConfigMap", "CANARY_x", "default")),
            config(object("ConfigMap", mask, "default")),
        ),
        (
            config(object("CANARY_x", "a", "default")),
            config(object(mask, "a", "default")),
        ),
        (
            config(object("ConfigMap", "a", "CANARY_x")),
            config(object("ConfigMap", "a", mask)),
        ),
        (json!({"CANARY_x": 1, "manifests": 5}), json!(mask)),
        (
            json!({"updateStrategy": "CANARY_x", "manifests": []}),
            json!({"updateStrategy": mask, "manifests": []}),
        ),
        (
            json!({"manifests": [{"policy": "manage", "CANARY_x": 1, "manifest": {"CANARY_x": 1}}]}),
            json!({"manifests": [mask]}),
        ),
    ];
    let secrets: Api<Secret> = Api::default_namespaced(both.world.client.clone());
    for (index, (whole, shown_config)) in cases.into_iter().enumerate() {
        let name = format!("made{index}");
        let secret =
            json!({"metadata": {"name": name}, "stringData": {"config": whole.to_string()}});
        let secret = serde_json::from_value(secret).unwrap();
        secrets
            .create(&PostParams::default(), &secret)
            .await
            .unwrap();
        let mut spec = spec(&shown_config);
        spec["configFrom"] = json!({"name": name, "key": "config"});
        spec["timeout"] = json!("3s");
        both.world.hand_out(&name, spec).await;
        let item = both.world.until_phase(&name, "Failed").await;
        assert!(!message(&item).is_empty());
        let mut status = item.data["status"].clone();
        // It is what a removal starts from.
        status["providerStatus"] = Value::Null;
        let events: Api<Event> = Api::default_namespaced(both.world.client.clone());
        let events = events.list(&ListParams::default()).await.unwrap();
        let shown = format!("{status} {:?} {:?}", item.metadata, events.items);
        assert!(!shown.contains("CANARY"), "{index}: {shown}");
    }
}

#[tokio::test]
async fn a_target_out_of_reach_is_named_without_its_credentials() {
    let both = Both::new().await;
    let mut kubeconfig = both.target.kubeconfig();
    // Nobody listens on port 1.
    kubeconfig["clusters"][0]["cluster"]["server"] = json!("http://127.0.0.1:1");
    let config = json!({"kubeconfig": kubeconfig.to_string()});
    make_target(&both.world, "lost", KUBERNETES_CLUSTER, config).await;
    let mut lost = spec(&maps(&[("a", json!({"x": "canary"}))]));
    lost["target"]["name"] = json!("lost");
    lost["timeout"] = json!("1s");
    both.world.hand_out("web", lost).await;
    let item = both.world.until_phase("web", "Failed").await;
    assert!(message(&item).contains("target lost"), "{}", message(&item));
    assert!(!shown(&both, "web").await.contains("canary"));
}

#[tokio::test]
async fn a_kubeconfig_that_runs_programs_is_refused() {
    let both = Both::new().await;
    let mut kubeconfig = both.target.kubeconfig();
    kubeconfig["users"][0]["user"] = json!({"exec": {"command": "canary", "apiVersion": "x"}});
    let config = json!({"kubeconfig": kubeconfig.to_string()});
    make_target(&both.world, "exec", KUBERNETES_CLUSTER, config).await;
    let spec = json!({"type": KIND, "target": {"name": "exec"}, "config": {"manifests": []}});
    both.world.hand_out("web", spec).await;
    let item = both.world.until_phase("web", "Failed").await;
    assert!(message(&item).contains("user.exec"), "{}", message(&item));
    assert!(!shown(&both, "web").await.contains("canary"));
}

#[tokio::test]
async fn without_its_target_an_item_stays_and_says_so() {
    let both = Both::new().await;
    both.deploy("web", maps(&[("a", json!({}))]), "Succeeded")
        .await;
    let targets = both.world.api("Target", "targets");
    targets
        .delete("there", &DeleteParams::background())
        .await
        .unwrap();
    both.world.delete("web").await;
    let item = both
        .world
        .until("web", |item| item.data["status"]["lastError"].is_object())
        .await;
    let text = message(&item);
    assert!(text.contains("without its target there"), "{text}");
    assert!(text.contains("delete-without-uninstall"), "{text}");
    let config = json!({"kubeconfig": both.target.kubeconfig().to_string()});
    make_target(&both.world, "there", KUBERNETES_CLUSTER, config).await;
    both.world.until_gone("web").await;
    assert_eq!(both.target.map("a").await, None);
}

#[tokio::test]
async fn a_broken_configuration_does_not_keep_an_item_from_going() {
    let both = Both::new().await;
    both.deploy("web", maps(&[("a", json!({}))]), "Succeeded")
        .await;
    let broken = json!({"manifests": "broken", "deleteTimeout": 5});
    both.change("web", broken, "Failed").await;
    assert!(both.target.map("a").await.is_some());
    both.remove("web").await;
    assert_eq!(both.target.map("a").await, None);
}
