//! Custom kinds that come and go while the collector runs, and kinds that can't be listed.

use http::Method;
use serde_json::{Value, json};

use crate::harness::{MAPS, World};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    })
}

async fn widget(world: &World, name: &str, owners: &[&str], finalizers: &[&str]) -> Value {
    let references = world.references(owners).await;
    let object = json!({
        "apiVersion": "example.com/v1", "kind": "Widget",
        "metadata": {"name": name, "ownerReferences": references, "finalizers": finalizers},
    });
    let (code, made) = world.send(Method::POST, WIDGETS, &object).await;
    assert_eq!(code, 201, "{made}");
    made
}

#[tokio::test]
async fn g5_a_kind_that_appears_later_is_followed_and_one_that_goes_is_forgotten() {
    let mut world = World::start().await;
    world.keep_house();
    world.make("early", &[]).await;
    world.barrier().await;
    for round in 0..2 {
        assert_eq!(
            world.send(Method::POST, DEFINITIONS, &definition()).await.0,
            201
        );
        let owner = format!("owner-{round}");
        world.make(&owner, &[]).await;
        let made = widget(&world, "w", &[&owner], &[]).await;
        let below = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": format!("below-{round}"), "ownerReferences": [
                {"apiVersion": "example.com/v1", "kind": "Widget", "name": "w", "uid": made["metadata"]["uid"]},
            ]},
        });
        assert_eq!(world.send(Method::POST, MAPS, &below).await.0, 201);
        world.delete(&owner, None).await;
        world.left(&["early"]).await;
        assert_eq!(world.get(&format!("{WIDGETS}/w")).await.0, 404);
        let path = format!("{DEFINITIONS}/widgets.example.com");
        world.send(Method::DELETE, &path, &Value::Null).await;
        world
            .until("the end of the definition", async || {
                (world.get(&path).await.0 == 404).then_some(())
            })
            .await;
    }
}

#[tokio::test]
async fn g6_a_definition_that_is_deleted_while_its_objects_are_collected_ends() {
    let mut world = World::start().await;
    world.keep_house();
    assert_eq!(
        world.send(Method::POST, DEFINITIONS, &definition()).await.0,
        201
    );
    world.make("owner", &[]).await;
    for name in ["a", "b", "c"] {
        widget(&world, name, &["owner"], &["x.io/hold"]).await;
    }
    world.delete("owner", None).await;
    let path = format!("{DEFINITIONS}/widgets.example.com");
    world.send(Method::DELETE, &path, &Value::Null).await;
    world.left(&["owner*"]).await;
    for name in ["a", "b", "c"] {
        let patch = json!({"metadata": {"finalizers": null}});
        world
            .until("the widget without its hold", async || {
                let path = format!("{WIDGETS}/{name}");
                let (code, found) = world.get(&path).await;
                if found["metadata"]["finalizers"].to_string().contains("x.io") {
                    world.send(Method::PATCH, &path, &patch).await;
                }
                (code == 404).then_some(())
            })
            .await;
    }
    world.left(&[]).await;
    world
        .until("the end of the definition", async || {
            (world.get(&path).await.0 == 404).then_some(())
        })
        .await;
}
