//! The guide `docs/adding-a-resource-type.md`, followed to the letter.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that can't go on fails"
)]

mod greeting;

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use landform_apiserver::{ApiServer, Config, Identity, LocalService};
use landform_engine::Engine;
use landform_store::memory::MemoryStore;
use serde_json::{Value, json};

const GUIDE: &str = include_str!("../../../../docs/adding-a-resource-type.md");

fn api(client: &Client, group: &str, kind: &str, plural: &str) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk(group, "v1", kind);
    let resource = ApiResource::from_gvk_with_plural(&kind, plural);
    if plural == "greetings" {
        Api::default_namespaced_with(client.clone(), &resource)
    } else {
        Api::all_with(client.clone(), &resource)
    }
}

async fn text(greetings: &Api<DynamicObject>, name: &str) -> Value {
    greetings.get(name).await.unwrap().data["status"]["text"].clone()
}

async fn wait_for(greetings: &Api<DynamicObject>, name: &str, expected: &str) {
    let said = async {
        while text(greetings, name).await != expected {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    if tokio::time::timeout(Duration::from_secs(600), said)
        .await
        .is_err()
    {
        panic!(
            "{name} says {}, not {expected}",
            text(greetings, name).await
        );
    }
}

#[test]
fn r14_the_guide_shows_the_code_that_is_tested() {
    for (what, source) in [
        ("greeting.yaml", include_str!("greeting.yaml")),
        ("greeting.rs", include_str!("greeting.rs")),
    ] {
        assert!(GUIDE.contains(source), "the guide differs from {what}");
    }
}

#[tokio::test(start_paused = true)]
async fn r14_a_schema_and_a_reconciler_are_all_that_a_kind_needs() {
    let store = Arc::new(MemoryStore::new());
    let server = ApiServer::start(store, Config::default()).await.unwrap();
    let service = LocalService::new(server, Identity::internal());
    let client = Client::new(service, "default");

    let limits = landform_yaml::Budget::FILE;
    let definition = landform_yaml::parse_one(include_str!("greeting.yaml"), &limits).unwrap();
    let definition = serde_json::from_value(definition).unwrap();
    let group = "apiextensions.k8s.io";
    let definitions = api(
        &client,
        group,
        "CustomResourceDefinition",
        "customresourcedefinitions",
    );
    definitions
        .create(&PostParams::default(), &definition)
        .await
        .unwrap();
    let _engine = Engine::builder(client.clone())
        .reconciler(greeting::Greetings)
        .start()
        .unwrap();

    let greetings = api(&client, "guide.landform.dev", "Greeting", "greetings");
    for (name, spec) in [
        ("second", json!({"name": "Grace", "after": "first"})),
        ("first", json!({"name": "Ada"})),
    ] {
        let greeting = json!({
            "apiVersion": "guide.landform.dev/v1", "kind": "Greeting",
            "metadata": {"name": name}, "spec": spec,
        });
        let greeting = serde_json::from_value(greeting).unwrap();
        greetings
            .create(&PostParams::default(), &greeting)
            .await
            .unwrap();
    }
    wait_for(&greetings, "second", "Hello Ada and Grace").await;
    let change = Patch::Merge(json!({"spec": {"name": "Mary"}}));
    greetings
        .patch("first", &PatchParams::default(), &change)
        .await
        .unwrap();
    wait_for(&greetings, "second", "Hello Mary and Grace").await;
}
