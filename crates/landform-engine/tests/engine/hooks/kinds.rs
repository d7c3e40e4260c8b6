//! Which Reconciler has which kind, and what its status says.

use kube::api::PostParams;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind as KubeKind};
use landform_engine::hooks;
use serde_json::{Value, json};

use super::server::HookServer;
use super::stage::{Stage, spec};

#[tokio::test]
async fn r14_the_definition_is_installed_once_and_put_right() {
    let stage = Stage::new().await;
    let kind = KubeKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let client = stage.world.client.clone();
    let definitions: kube::Api<DynamicObject> =
        kube::Api::all_with(client.clone(), &ApiResource::from_gvk(&kind));
    let name = "reconcilers.landform.dev";
    // The first time after a creation notes what was applied.
    hooks::install(&client).await.unwrap();
    let first = definitions.get(name).await.unwrap();
    hooks::install(&client).await.unwrap();
    let second = definitions.get(name).await.unwrap();
    assert_eq!(
        first.metadata.resource_version,
        second.metadata.resource_version
    );
    let meddled = json!({"spec": {"names": {"shortNames": ["x"]}}});
    stage.patch(&definitions, name, meddled).await;
    hooks::install(&client).await.unwrap();
    let third = definitions.get(name).await.unwrap();
    assert_eq!(third.data["spec"]["names"]["shortNames"], json!(["rec"]));
}

#[tokio::test]
async fn r2_a_changed_spec_takes_effect_and_all_objects_run_once() {
    let (mut first, mut second) = (HookServer::start().await, HookServer::start().await);
    let mut stage = Stage::with_url(&first.url(), json!({})).await;
    for name in ["a", "b"] {
        stage.world.create(name, json!({})).await;
        first.call_for(name).await.answer(json!({}));
        stage.success_of(name).await;
    }
    stage.standing("toys", "True", "Registered").await;
    let patch = json!({"spec": {"hook": {"url": second.url()}}});
    stage.patch(&stage.reconcilers(), "toys", patch).await;
    let (one, two) = (second.next().await, second.next().await);
    let mut names = [one.name().to_owned(), two.name().to_owned()];
    names.sort();
    assert_eq!(names, ["a", "b"]);
    one.answer(json!({}));
    two.answer(json!({}));
    // Nothing else runs: the next call is for something new.
    stage.world.create("c", json!({})).await;
    second.call_for("c").await.answer(json!({}));
}

#[tokio::test]
async fn of_two_reconcilers_the_older_keeps_the_kind_until_it_goes() {
    let (mut older, mut younger) = (HookServer::start().await, HookServer::start().await);
    let mut stage = Stage::with_url(&older.url(), json!({})).await;
    stage.world.create("a", json!({})).await;
    older.call_for("a").await.answer(json!({}));
    stage.success_of("a").await;
    // Its name is later in the alphabet: both may be of the same second.
    stage
        .reconciler("younger", spec(json!({"url": younger.url()}), json!({})))
        .await;
    let message = stage.standing("younger", "False", "KindTaken").await;
    assert_eq!(message, "Reconciler toys is older and has the kind");
    stage.standing("toys", "True", "Registered").await;
    stage.delete(&stage.reconcilers(), "toys").await;
    younger.call_for("a").await.answer(json!({}));
    stage.standing("younger", "True", "Registered").await;
}

#[tokio::test]
async fn a_kind_that_is_not_there_is_waited_for() {
    let mut hook = HookServer::start().await;
    let mut stage = Stage::new().await;
    let more =
        json!({"for": {"group": "later.example.com", "version": "v1", "kind": "Late"}, "refs": []});
    stage
        .reconciler("late", spec(json!({"url": hook.url()}), more))
        .await;
    let message = stage.standing("late", "False", "KindNotFound").await;
    assert_eq!(
        message,
        "the API doesn't know later.example.com/v1, Kind=Late"
    );
    create(&stage, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", json!({
        "metadata": {"name": "lates.later.example.com"},
        "spec": {
            "group": "later.example.com", "scope": "Cluster", "names": {"plural": "lates", "kind": "Late"},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}],
        },
    }))
    .await;
    stage.standing("late", "True", "Registered").await;
    create(
        &stage,
        "later.example.com/v1",
        "Late",
        "lates",
        json!({"metadata": {"name": "l"}}),
    )
    .await;
    // An object of the cluster may own children in namespaces.
    let child = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "namespace": "default"}});
    hook.call_for("l")
        .await
        .answer(json!({"owned": [child], "status": {"ok": true}}));
    stage.success_of("l").await;
    stage.delete(&stage.world.maps(), "m").await;
    let call = hook.call_for("l").await;
    assert_eq!(
        (&call.request["reason"], &call.request["owned"]),
        (&json!("owned"), &json!([]))
    );
}

async fn create(stage: &Stage, api_version: &str, kind: &str, plural: &str, mut object: Value) {
    object["apiVersion"] = json!(api_version);
    object["kind"] = json!(kind);
    let (group, version) = api_version.split_once('/').unwrap();
    let resource = ApiResource::from_gvk_with_plural(&KubeKind::gvk(group, version, kind), plural);
    let api: kube::Api<DynamicObject> = kube::Api::all_with(stage.world.client.clone(), &resource);
    let object = serde_json::from_value(object).unwrap();
    api.create(&PostParams::default(), &object).await.unwrap();
}

#[tokio::test]
async fn a_hook_that_can_not_be_reached_shows_on_the_reconciler_until_it_can() {
    // A port that is free, as we have just had it.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let mut stage = Stage::with_url(&format!("http://{address}/"), json!({})).await;
    stage.standing("toys", "True", "Registered").await;
    stage.world.create("a", json!({})).await;
    let message = stage.standing("toys", "False", "HookUnreachable").await;
    assert!(
        message.contains(&address) && message.contains("Connection refused"),
        "{message}"
    );
    let mut hook = HookServer::start_at(&address).await;
    hook.call_for("a").await.answer(json!({}));
    stage.standing("toys", "True", "Registered").await;
}

#[tokio::test]
async fn a_path_that_can_not_be_read_shows_on_the_reconciler() {
    let mut stage = Stage::new().await;
    let more = json!({"refs": [{"path": ".spec.[["}]});
    stage
        .reconciler("toys", spec(json!({"command": ["true"]}), more))
        .await;
    let message = stage.standing("toys", "False", "Invalid").await;
    assert!(
        message.contains("the path \".spec.[[\" can't be read at character"),
        "{message}"
    );
}

#[tokio::test]
async fn a_status_for_a_kind_without_one_is_an_error_that_says_so() {
    let mut hook = HookServer::start().await;
    let mut stage = Stage::new().await;
    let more = json!({"for": {"version": "v1", "kind": "Secret"}, "refs": []});
    stage
        .reconciler("secrets", spec(json!({"url": hook.url()}), more))
        .await;
    stage.standing("secrets", "True", "Registered").await;
    let secrets = ApiResource::from_gvk(&KubeKind::gvk("", "v1", "Secret"));
    let secrets: kube::Api<DynamicObject> =
        kube::Api::default_namespaced_with(stage.world.client.clone(), &secrets);
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}});
    let secret = serde_json::from_value(secret).unwrap();
    secrets
        .create(&PostParams::default(), &secret)
        .await
        .unwrap();
    hook.call_for("s")
        .await
        .answer(json!({"status": {"ok": true}}));
    let error = stage.failure_of("s").await;
    assert!(
        error.contains("its kind Secret has no subresource status"),
        "{error}"
    );
}
