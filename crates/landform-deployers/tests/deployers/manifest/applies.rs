//! What is applied, in which order, and what is left alone.

use landform_deployers::manifest::{KIND, KUBERNETES_CLUSTER, THIS_SERVER};
use serde_json::{Value, json};

use super::{Both, deployers, make_target, map, maps, message};
use crate::harness::World;

/// Some of everything, in an order that can't be applied as it is.
pub(crate) fn everything() -> Value {
    let manifests = [
        json!({
            "apiVersion": "toys.example.com/v1", "kind": "Toy",
            "metadata": {"name": "bear", "namespace": "nursery"}, "spec": {"size": 1},
        }),
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "rules", "namespace": "nursery"}, "data": {"a": "1"},
        }),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": "player"}, "rules": [],
        }),
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "nursery"}}),
        definition(),
    ];
    let manifests = manifests.map(|manifest| json!({"manifest": manifest}));
    json!({"manifests": manifests})
}

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "toys.toys.example.com"},
        "spec": {
            "group": "toys.example.com", "scope": "Namespaced",
            "names": {"plural": "toys", "singular": "toy", "kind": "Toy", "listKind": "ToyList"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {
                    "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                }},
            }],
        },
    })
}

#[tokio::test]
async fn objects_come_in_order_and_go_in_the_reverse_order() {
    let both = Both::new().await;
    let item = both.deploy("toys", everything(), "Succeeded").await;
    let expected = [
        "POST customresourcedefinitions toys.toys.example.com",
        "POST namespaces nursery",
        "POST clusterroles player",
        "POST toys bear",
        "POST configmaps rules",
    ];
    assert_eq!(both.target.writes(), expected);
    let resources = &item.data["status"]["providerStatus"]["managedResources"];
    let uids = resources.as_array().unwrap().iter();
    assert!(
        uids.clone()
            .all(|entry| entry["resource"]["uid"].is_string()),
        "{resources}"
    );
    assert_eq!(uids.count(), 5);
    both.remove("toys").await;
    let expected = [
        "DELETE configmaps rules",
        "DELETE toys bear",
        "DELETE clusterroles player",
        "DELETE namespaces nursery",
        "DELETE customresourcedefinitions toys.toys.example.com",
    ];
    assert_eq!(both.target.writes(), expected);
    let namespaces = both.target.api("", "Namespace", None);
    assert!(namespaces.get_opt("nursery").await.unwrap().is_none());
}

#[tokio::test]
async fn nothing_is_written_when_nothing_changed() {
    let both = Both::new().await;
    both.deploy("toys", everything(), "Succeeded").await;
    both.target.writes();
    both.again("toys", "Succeeded").await;
    assert_eq!(both.target.writes(), [""; 0]);
}

#[tokio::test]
async fn what_the_server_drops_is_sent_once_more_and_then_left_alone() {
    let both = Both::new().await;
    let mut config = everything();
    let manifests = config["manifests"].as_array_mut().unwrap();
    let schema = json!({"type": "object", "properties": {"spec": {
        "type": "object", "properties": {"size": {"type": "integer"}},
    }}});
    manifests[4]["manifest"]["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema;
    manifests[0]["manifest"]["spec"] = json!({"size": 1, "unknown": 2});
    both.deploy("toys", config, "Succeeded").await;
    both.again("toys", "Succeeded").await;
    both.target.writes();
    both.again("toys", "Succeeded").await;
    assert_eq!(both.target.writes(), [""; 0]);
    // Drift is seen nevertheless.
    let resource = kube::core::GroupVersionKind::gvk("toys.example.com", "v1", "Toy");
    let resource = kube::core::ApiResource::from_gvk_with_plural(&resource, "toys");
    let client = both.target.client.clone();
    let toys: kube::Api<kube::core::DynamicObject> =
        kube::Api::namespaced_with(client, "nursery", &resource);
    let larger = kube::api::Patch::Merge(json!({"spec": {"size": 5}}));
    toys.patch("bear", &Default::default(), &larger)
        .await
        .unwrap();
    both.again("toys", "Succeeded").await;
    assert_eq!(toys.get("bear").await.unwrap().data["spec"]["size"], 1);
}

#[tokio::test]
async fn fields_and_objects_that_are_wanted_no_more_go_and_those_of_others_stay() {
    let both = Both::new().await;
    let first = maps(&[("a", json!({"x": "1", "y": "1"})), ("b", json!({"x": "1"}))]);
    both.deploy("web", first, "Succeeded").await;
    both.target
        .patch_map("a", json!({"data": {"theirs": "1"}}))
        .await;
    both.target.writes();
    let item = both
        .change("web", maps(&[("a", json!({"x": "2"}))]), "Succeeded")
        .await;
    assert_eq!(
        both.target.map("a").await,
        Some(json!({"x": "2", "theirs": "1"}))
    );
    assert_eq!(both.target.map("b").await, None);
    assert_eq!(
        both.target.writes(),
        ["PATCH configmaps a", "DELETE configmaps b"]
    );
    let resources = &item.data["status"]["providerStatus"]["managedResources"];
    assert_eq!(resources.as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_change_by_somebody_else_is_put_right_when_the_item_is_asked_for() {
    let both = Both::new().await;
    both.deploy("web", maps(&[("a", json!({"x": "1"}))]), "Succeeded")
        .await;
    both.target
        .patch_map("a", json!({"data": {"x": "2"}}))
        .await;
    both.again("web", "Succeeded").await;
    assert_eq!(both.target.map("a").await, Some(json!({"x": "1"})));
}

#[tokio::test]
async fn landform_itself_is_a_target() {
    let world = World::new(deployers()).await;
    make_target(&world, "here", THIS_SERVER, Value::Null).await;
    let config = maps(&[("a", json!({"x": "1"}))]);
    let spec = json!({"type": KIND, "target": {"name": "here"}, "config": config});
    world.hand_out("web", spec).await;
    world.until_phase("web", "Succeeded").await;
    let resource = kube::core::ApiResource::erase::<k8s_openapi::api::core::v1::ConfigMap>(&());
    let maps: kube::Api<kube::core::DynamicObject> =
        kube::Api::default_namespaced_with(world.client.clone(), &resource);
    assert_eq!(maps.get("a").await.unwrap().data["data"], json!({"x": "1"}));
    world.delete("web").await;
    world.until_gone("web").await;
    assert!(maps.get_opt("a").await.unwrap().is_none());
}

#[tokio::test]
async fn the_kubeconfig_may_be_in_a_secret() {
    let both = Both::new().await;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "access"},
        "stringData": {"admin.conf": both.target.kubeconfig().to_string()},
    });
    let secret: k8s_openapi::api::core::v1::Secret = serde_json::from_value(secret).unwrap();
    let secrets = kube::Api::default_namespaced(both.world.client.clone());
    secrets.create(&Default::default(), &secret).await.unwrap();
    let reference = json!({"kubeconfig": {"secretRef": {"name": "access", "key": "admin.conf"}}});
    make_target(&both.world, "secret", KUBERNETES_CLUSTER, reference).await;
    let config = maps(&[("a", json!({"x": "1"}))]);
    let spec = json!({"type": KIND, "target": {"name": "secret"}, "config": config});
    both.world.hand_out("web", spec).await;
    both.world.until_phase("web", "Succeeded").await;
    assert_eq!(both.target.map("a").await, Some(json!({"x": "1"})));
}

#[tokio::test]
async fn an_item_without_a_target_says_what_to_do() {
    let world = World::new(deployers()).await;
    world
        .hand_out("web", json!({"type": KIND, "config": {"manifests": []}}))
        .await;
    let item = world.until_phase("web", "Failed").await;
    assert!(message(&item).contains(THIS_SERVER), "{}", message(&item));
    world.delete("web").await;
    world.until_gone("web").await;
}

#[tokio::test]
async fn an_item_does_not_move_to_another_target() {
    let both = Both::new().await;
    both.deploy("web", maps(&[("a", json!({}))]), "Succeeded")
        .await;
    make_target(&both.world, "here", THIS_SERVER, Value::Null).await;
    both.world
        .patch("web", json!({"spec": {"target": {"name": "here"}}}))
        .await;
    let item = both.world.until_phase("web", "Failed").await;
    assert!(
        message(&item).contains("at the target there"),
        "{}",
        message(&item)
    );
}

#[tokio::test]
async fn two_manifests_of_one_object_are_refused() {
    let both = Both::new().await;
    let config = maps(&[("a", json!({})), ("a", json!({}))]);
    let item = both.deploy("web", config, "Failed").await;
    let expected = "spec.config.manifests[1].manifest: is a second manifest of ConfigMap default/a";
    assert_eq!(message(&item), expected);
    assert_eq!(both.target.writes(), [""; 0]);
}

#[tokio::test]
async fn a_kind_that_comes_later_is_waited_for() {
    let both = Both::new().await;
    let toy = json!({
        "apiVersion": "toys.example.com/v1", "kind": "Toy", "metadata": {"name": "bear"},
    });
    both.world
        .hand_out(
            "toys",
            super::spec(&json!({"manifests": [{"manifest": toy}]})),
        )
        .await;
    let item = both
        .world
        .until("toys", |item| item.data["status"]["lastError"].is_object())
        .await;
    assert!(
        message(&item).contains("doesn't serve the kind Toy"),
        "{}",
        message(&item)
    );
    let definitions =
        json!({"manifests": [{"manifest": definition()}, {"manifest": map("x", json!({}))}]});
    both.deploy("kinds", definitions, "Succeeded").await;
    both.world.until_phase("toys", "Succeeded").await;
}
