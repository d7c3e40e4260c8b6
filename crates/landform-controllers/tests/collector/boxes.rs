//! A kind of our own that comes and goes.

use http::Method;
use serde_json::{Value, json};

use crate::harness::{MAPS, World};

pub(crate) const BOXES: &str = "/apis/example.com/v1/namespaces/default/boxes";
pub(crate) const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
pub(crate) const DEFINITION: &str =
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/boxes.example.com";

/// Defines the kind.
pub(crate) async fn with_boxes(world: &World) {
    let version = json!({
        "name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
    });
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "boxes.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "versions": [version],
            "names": {"plural": "boxes", "kind": "Box"},
        },
    });
    let (code, made) = world.send(Method::POST, DEFINITIONS, &definition).await;
    assert_eq!(code, 201, "{made}");
}

/// Has the kind served, or not.
pub(crate) async fn serve(world: &World, served: bool) {
    let definition = world.read(DEFINITION).await;
    let mut versions = definition["spec"]["versions"].clone();
    versions[0]["served"] = json!(served);
    let patch = json!({"spec": {"versions": versions}});
    let (code, answer) = world.send(Method::PATCH, DEFINITION, &patch).await;
    assert_eq!(code, 200, "{answer}");
}

/// Makes a box with these references to owners.
pub(crate) async fn make_box(world: &World, name: &str, references: &[Value]) -> Value {
    let object = json!({
        "apiVersion": "example.com/v1", "kind": "Box",
        "metadata": {"name": name, "ownerReferences": references},
    });
    let (code, made) = world.send(Method::POST, BOXES, &object).await;
    assert_eq!(code, 201, "{made}");
    made
}

/// A reference to an object.
pub(crate) fn reference(owner: &Value) -> Value {
    json!({
        "apiVersion": owner["apiVersion"], "kind": owner["kind"], "blockOwnerDeletion": true,
        "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
    })
}

/// Makes a config map that others own.
pub(crate) async fn owned(world: &World, name: &str, owners: &[&Value]) -> Value {
    let references: Vec<Value> = owners.iter().map(|owner| reference(owner)).collect();
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "ownerReferences": references},
    });
    let (code, made) = world.send(Method::POST, MAPS, &object).await;
    assert_eq!(code, 201, "{made}");
    made
}
