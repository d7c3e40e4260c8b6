//! What is waited for and can't be read, because no version of its kind is served: the table of what is said, and each
//! advice is followed.

use serde_json::{Value, json};

use crate::harness::World;

const DEFINITION: &str = "toys.toys.example.com";

fn versions(served: bool) -> Value {
    json!([{"name": "v1", "served": served, "storage": true,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}])
}

async fn serve(world: &World, served: bool) {
    let patch = json!({"spec": {"versions": versions(served)}});
    world
        .patch("CustomResourceDefinition", DEFINITION, patch)
        .await;
}

/// A ConfigMap `top` that owns a toy `mid` with finalizers.
async fn owned(finalizers: Value) -> World {
    let world = World::new().await;
    world
        .create(json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": DEFINITION},
            "spec": {"group": "toys.example.com", "scope": "Namespaced",
                "names": {"plural": "toys", "kind": "Toy"}, "versions": versions(true)},
        }))
        .await;
    let top = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "top"}});
    world.create(top).await;
    let top = world.api("ConfigMap").get("top").await.unwrap();
    let owner = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "top", "uid": top.metadata.uid,
        "blockOwnerDeletion": true}]);
    world
        .create(json!({
            "apiVersion": "toys.example.com/v1", "kind": "Toy",
            "metadata": {"name": "mid", "finalizers": finalizers, "ownerReferences": owner},
        }))
        .await;
    world
}

/// Deletes in the foreground, so that dependents go first.
async fn delete(world: &World, kind: &str, name: &str) {
    let policy = kube::api::DeleteParams::foreground();
    world.api(kind).delete(name, &policy).await.unwrap();
}

async fn gone(world: &World, kind: &str, name: &str) {
    world.until(kind, name, Value::is_null).await;
}

const UNSERVED: &str = "\
ConfigMap/top is being deleted since TIME

ConfigMap/top Deleting
└─ Toy/mid NotServed: Toy default/mid can't be reached: its kind is not served at the moment [G13]

Root cause
  Toy/mid can't be reached: no version of toys.toys.example.com is served at the moment
  NotServed, rule G13
  → serve a version of toys.toys.example.com again: run landform edit crd/toys.toys.example.com and set served to true in spec.versions; or delete the definition, which takes it along
";

#[tokio::test]
async fn g12b_what_waits_for_an_unserved_dependent_names_the_definition() {
    for by_definition in [false, true] {
        let world = owned(json!([])).await;
        serve(&world, false).await;
        delete(&world, "ConfigMap", "top").await;
        world.says("ConfigMap", "top", UNSERVED).await;
        if by_definition {
            delete(&world, "CustomResourceDefinition", DEFINITION).await;
        } else {
            serve(&world, true).await;
        }
        gone(&world, "ConfigMap", "top").await;
    }
}

#[tokio::test]
async fn g12b_a_kind_that_was_read_before_and_is_served_no_more_is_not_called_missing() {
    let world = owned(json!([])).await;
    world.why("Toy", "mid").await;
    serve(&world, false).await;
    delete(&world, "ConfigMap", "top").await;
    world.says("ConfigMap", "top", UNSERVED).await;
}

/// A toy `held` with a finalizer, in the namespace `w`.
async fn held_elsewhere(world: &World) -> kube::Api<kube::core::DynamicObject> {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "w"}});
    world.create(namespace).await;
    let gvk = kube::core::GroupVersionKind::gvk("toys.example.com", "v1", "Toy");
    let resource = kube::core::ApiResource::from_gvk_with_plural(&gvk, "toys");
    let toys = kube::Api::namespaced_with(world.client.clone(), "w", &resource);
    let toy = json!({
        "apiVersion": "toys.example.com/v1", "kind": "Toy",
        "metadata": {"name": "held", "finalizers": ["ex.example/hold"]},
    });
    let toy = serde_json::from_value(toy).unwrap();
    toys.create(&Default::default(), &toy).await.unwrap();
    toys
}

#[tokio::test]
async fn g14_a_namespace_and_a_definition_name_what_holds_them_served_or_not() {
    for (kind, name) in [("Namespace", "w"), ("CustomResourceDefinition", DEFINITION)] {
        for served in [true, false] {
            let world = owned(json!([])).await;
            let toys = held_elsewhere(&world).await;
            serve(&world, served).await;
            world.delete(kind, name).await;
            let (state, reason, told) = if served {
                ("Deleting", "Toy w/held is held by ex.example/hold, which the controller of ex.example has to remove [G15]",
                "\
  Toy/held is held by ex.example/hold, which the controller of ex.example has to remove
  Finalizer, since TIME
  → the controller of ex.example has to remove the finalizer ex.example/hold: see whether it runs; if it never will again, remove the finalizer from Toy/held yourself
")
            } else {
                ("NotServed", "it is held by ex.example/hold", "\
  Toy/held can't be reached: no version of toys.toys.example.com is served at the moment, and it is held by ex.example/hold
  NotServed
  → serve a version of toys.toys.example.com again: run landform edit crd/toys.toys.example.com and set served to true in spec.versions; then the controller of ex.example can remove the finalizer ex.example/hold
")
            };
            let expected = format!(
                "{kind}/{name} is being deleted since TIME\n\n{kind}/{name} Deleting\n└─ Toy/held in w {state}: {reason}\n\nRoot cause\n  {told}"
            );
            world.says(kind, name, &expected).await;
            if !served {
                serve(&world, true).await;
            }
            let patch = json!({"metadata": {"finalizers": null}});
            let patch = kube::api::Patch::Merge(patch);
            toys.patch("held", &Default::default(), &patch)
                .await
                .unwrap();
            gone(&world, kind, name).await;
        }
    }
}

#[tokio::test]
async fn r8_a_reconciler_of_an_unserved_kind_says_that_it_must_be_served() {
    let world = owned(json!(["reconciler.landform.dev/toys"])).await;
    world
        .create(json!({
            "apiVersion": "landform.dev/v1alpha1", "kind": "Reconciler", "metadata": {"name": "toys"},
            "spec": {"for": {"group": "toys.example.com", "version": "v1", "kind": "Toy"},
                "finalize": true, "hook": {"command": ["true"]}},
        }))
        .await;
    serve(&world, false).await;
    let says = |message: &'static str, first: &'static str| {
        format!(
            "{first}\n\nRoot cause\n  Reconciler/toys: {message}\n  since TIME, next try at TIME\n  → serve a version of what the \
             message names again: run landform edit crd/NAME and set served to true in spec.versions; Landform goes on by itself then\n"
        )
    };
    let live = says(
        "no version of toys.toys.example.com is served",
        "Reconciler/toys is not as it should be since TIME",
    );
    world.says("Reconciler", "toys", &live).await;
    world.delete("Reconciler", "toys").await;
    let marked = says(
        "it holds Toy default/mid, and no version of toys.toys.example.com is served",
        "Reconciler/toys is being deleted since TIME",
    );
    world.says("Reconciler", "toys", &marked).await;
    serve(&world, true).await;
    gone(&world, "Reconciler", "toys").await;
}
