//! Custom kinds that come and go while the collector runs, and kinds that can't be listed.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use http::{Method, Request, Response};
use landform_apiserver::{Body, LocalService};
use landform_store::memory::MemoryStore;
use serde_json::{Value, json};
use tower::Service;

use crate::boxes::{BOXES, DEFINITION, DEFINITIONS, with_boxes};
use crate::harness::{MAPS, World};

async fn held_box(world: &World, name: &str, owners: &[&str], finalizers: &[&str]) -> Value {
    let references = world.references(owners).await;
    let object = json!({
        "apiVersion": "example.com/v1", "kind": "Box",
        "metadata": {"name": name, "ownerReferences": references, "finalizers": finalizers},
    });
    let (code, made) = world.send(Method::POST, BOXES, &object).await;
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
        with_boxes(&world).await;
        let owner = format!("owner-{round}");
        world.make(&owner, &[]).await;
        let made = held_box(&world, "w", &[&owner], &[]).await;
        let below = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": format!("below-{round}"), "ownerReferences": [
                {"apiVersion": "example.com/v1", "kind": "Box", "name": "w", "uid": made["metadata"]["uid"]},
            ]},
        });
        assert_eq!(world.send(Method::POST, MAPS, &below).await.0, 201);
        world.delete(&owner, None).await;
        world.left(&["early"]).await;
        assert_eq!(world.get(&format!("{BOXES}/w")).await.0, 404);
        world.send(Method::DELETE, DEFINITION, &Value::Null).await;
        world
            .until("the end of the definition", async || {
                (world.get(DEFINITION).await.0 == 404).then_some(())
            })
            .await;
    }
}

#[tokio::test]
async fn g10_a_kind_that_its_groups_newest_version_does_not_have_is_collected() {
    let mut world = World::start().await;
    world.keep_house();
    with_boxes(&world).await;
    let mut newer = world.read(DEFINITION).await;
    newer["metadata"] = json!({"name": "gadgets.example.com"});
    newer["spec"]["names"] = json!({"plural": "gadgets", "kind": "Gadget"});
    newer["spec"]["versions"][0]["name"] = json!("v2");
    let (code, made) = world.send(Method::POST, DEFINITIONS, &newer).await;
    assert_eq!(code, 201, "{made}");
    world.make("owner", &[]).await;
    held_box(&world, "w", &["owner"], &[]).await;
    world.delete("owner", None).await;
    world.left(&[]).await;
    assert_eq!(world.get(&format!("{BOXES}/w")).await.0, 404);
}

#[tokio::test]
async fn g6_a_definition_that_is_deleted_while_its_objects_are_collected_ends() {
    let mut world = World::start().await;
    world.keep_house();
    with_boxes(&world).await;
    world.make("owner", &[]).await;
    for name in ["a", "b", "c"] {
        held_box(&world, name, &["owner"], &["x.io/hold"]).await;
    }
    world.delete("owner", None).await;
    world.send(Method::DELETE, DEFINITION, &Value::Null).await;
    world.left(&["owner*"]).await;
    for name in ["a", "b", "c"] {
        let patch = json!({"metadata": {"finalizers": null}});
        world
            .until("the box without its hold", async || {
                let path = format!("{BOXES}/{name}");
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
            (world.get(DEFINITION).await.0 == 404).then_some(())
        })
        .await;
}

/// A way to the server on which secrets can't be listed or watched.
#[derive(Clone)]
struct WithoutSecrets {
    inner: LocalService,
    broken: Arc<AtomicBool>,
}

impl Service<Request<kube::client::Body>> for WithoutSecrets {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<kube::client::Body>) -> Self::Future {
        if self.broken.load(Ordering::SeqCst) && request.uri().path() == "/api/v1/secrets" {
            // The server refuses a selector that it can't read.
            *request.uri_mut() = "/api/v1/secrets?labelSelector=((".parse().unwrap();
        }
        let mut inner = self.inner.clone();
        Box::pin(async move { inner.call(request).await })
    }
}

#[tokio::test]
async fn g5_g7_a_kind_whose_list_fails_waits_while_others_go_on() {
    let mut world = World::on(Arc::new(MemoryStore::new())).await;
    let broken = Arc::new(AtomicBool::new(true));
    let service = WithoutSecrets {
        inner: world.service(),
        broken: broken.clone(),
    };
    world.make("owner", &[]).await;
    world.make("child", &["owner"]).await;
    let secrets = "/api/v1/namespaces/default/secrets";
    let mut secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}});
    secret["metadata"]["ownerReferences"] = world.references(&["owner"]).await;
    assert_eq!(world.send(Method::POST, secrets, &secret).await.0, 201);
    world.make("other", &[]).await;
    world.make("others", &["other"]).await;
    world.collect_with(kube::Client::new(service, "default"));
    world.delete("owner", None).await;
    world.delete("other", None).await;
    // An owner doesn't go before a dependent that can't be seen (G7).
    world.left(&["owner*"]).await;
    let view = world.read("/apis/landform.dev/v1alpha1/deletion").await;
    assert_eq!(view["failingKinds"][0]["resource"], "secrets", "{view}");
    assert_eq!(world.get(&format!("{secrets}/s")).await.0, 200);
    broken.store(false, Ordering::SeqCst);
    world
        .until("the end of the secret", async || {
            (world.get(&format!("{secrets}/s")).await.0 == 404).then_some(())
        })
        .await;
    world.left(&[]).await;
}
