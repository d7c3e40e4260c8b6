//! Who may write which definition, and whose work the defaults are that it fills in (C6).

use http::Method;
use landform_apiserver::{AUTHENTICATED, Identity, MASTERS};
use serde_json::{Value, json};

use crate::harness::{Answer, Api, DEFINITIONS, WIDGETS, widget, widgets};
use crate::writer_notes::NOTE;

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

/// A user with these rules in the whole cluster.
async fn user(api: &Api, name: &str, rules: Value) -> Api {
    let role = json!({"metadata": {"name": name}, "rules": rules});
    api.post(&format!("{RBAC}/clusterroles"), role).await.ok();
    let binding = json!({
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name}],
    });
    api.post(&format!("{RBAC}/clusterrolebindings"), binding)
        .await
        .ok();
    api.by(Identity::new(name, [AUTHENTICATED]))
}

fn rule(verbs: &str, group: &str, resources: &str) -> Value {
    json!({"verbs": [verbs], "apiGroups": [group], "resources": [resources]})
}

fn on_definitions() -> Value {
    rule("*", "apiextensions.k8s.io", "*")
}

fn definition(group: &str) -> Value {
    let mut definition = widgets();
    definition["metadata"]["name"] = json!(format!("widgets.{group}"));
    definition["spec"]["group"] = json!(group);
    definition
}

/// Where the schema of `spec` is.
const SPEC: &str = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";

fn with_default(value: Value) -> Value {
    json!([{"op": "add", "path": format!("{SPEC}/color/default"), "value": value}])
}

/// All ways to write a definition that is there.
async fn all_ways(client: &Api, root: &Api, path: &str) -> Vec<(&'static str, Answer)> {
    let mut whole = root.get(path).await.ok();
    whole["metadata"]["labels"] = json!({"a": client.get(path).await.code.to_string()});
    let label = json!({"metadata": {"labels": {"b": "c"}}});
    let finalizers = json!([{"op": "replace", "path": "/metadata/finalizers", "value": []}]);
    let all = format!("{DEFINITIONS}?labelSelector=a!=b");
    let collection = client.send(Method::DELETE, &all, &[], "").await;
    vec![
        ("put", client.put(path, whole).await),
        (
            "default",
            client.patch(path, "json", with_default(json!("red"))).await,
        ),
        ("label", client.patch(path, "merge", label.clone()).await),
        (
            "strategic",
            client.patch(path, "strategic-merge", label).await,
        ),
        ("finalizers", client.patch(path, "json", finalizers).await),
        ("collection", collection),
        ("delete", client.delete(path).await),
    ]
}

#[tokio::test]
async fn c6_definitions_of_landforms_own_kinds_are_written_with_all_rights_only() {
    for group in [
        "landscaper.gardener.cloud",
        "catalog.landform.dev",
        "landform.dev",
    ] {
        let api = Api::start().await;
        let root = api.by(Identity::new("root", [MASTERS]));
        let crds = user(&api, "crds", json!([on_definitions()])).await;
        let much = json!([on_definitions(), rule("*", group, "*")]);
        let much = user(&api, "much", much).await;
        let all = user(&api, "all", json!([rule("*", "*", "*")])).await;
        let path = format!("{DEFINITIONS}/widgets.{group}");
        for client in [&crds, &much] {
            let refused = client.post(DEFINITIONS, definition(group)).await;
            let (code, _, message) = refused.failed();
            assert_eq!(code, 403);
            assert!(message.contains("Landform's own"), "{message}");
            assert!(message.contains("cluster-admin"), "{message}");
        }
        root.post(DEFINITIONS, definition(group)).await.ok();
        let before = root.get(&path).await.ok();
        for client in [&crds, &much] {
            for (way, answer) in all_ways(client, &root, &path).await {
                assert_eq!(answer.failed().0, 403, "{way}: {}", answer.value);
            }
            // What changes nothing is no write.
            client.put(&path, before.clone()).await.ok();
            assert_eq!(root.get(&path).await.ok(), before);
        }
        let defaults = with_default(json!("red"));
        all.patch(&path, "json", defaults.clone()).await.ok();
        root.patch(&path, "json", defaults).await.ok();
        all.delete(&path).await.ok();
    }
}

#[tokio::test]
async fn c6_new_defaults_take_the_right_to_update_the_objects() {
    let api = Api::start().await;
    let crds = user(&api, "crds", json!([on_definitions()])).await;
    let rules = json!([on_definitions(), rule("update", "example.com", "widgets")]);
    let owner = user(&api, "owner", rules).await;
    // Its replicas have a default.
    let refused = crds.post(DEFINITIONS, widgets()).await;
    let (code, _, message) = refused.failed();
    assert_eq!(code, 403);
    assert!(message.contains("update resource \"widgets\""), "{message}");
    owner.post(DEFINITIONS, widgets()).await.ok();
    let path = format!("{DEFINITIONS}/widgets.example.com");
    for patch in [
        with_default(json!("red")),
        json!([{"op": "replace", "path": format!("{SPEC}/replicas/default"), "value": 3}]),
        json!([{"op": "add", "path": format!("{SPEC}/more"), "value": {
            "type": "array", "items": {"type": "object", "properties": {
                "default": {"type": "string", "default": "x"},
            }},
        }}]),
    ] {
        assert_eq!(
            crds.patch(&path, "json", patch.clone()).await.failed().0,
            403,
            "{patch}"
        );
        let tried = format!("{path}?dryRun=All");
        owner.patch(&tried, "json", patch).await.ok();
    }
    // All else goes on: other fields, also one that is called so, and a default less.
    for patch in [
        json!([{"op": "add", "path": format!("{SPEC}/default"), "value": {"type": "string"}}]),
        json!([{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}]),
        json!([{"op": "remove", "path": format!("{SPEC}/replicas/default")}]),
    ] {
        crds.patch(&path, "json", patch).await.ok();
    }
}

#[tokio::test]
async fn c6_what_a_default_fills_in_is_the_work_of_the_definitions_author() {
    let api = Api::start().await;
    let root = api.by(Identity::new("root", [MASTERS]));
    let rules = json!([on_definitions(), rule("update", "example.com", "widgets")]);
    let owner = user(&api, "owner", rules).await;
    let jane = user(&api, "jane", json!([rule("*", "example.com", "*")])).await;
    let mut plain = widgets();
    let properties = plain.pointer_mut(SPEC).unwrap();
    properties["replicas"] = json!({"type": "integer"});
    root.post(DEFINITIONS, plain).await.ok();
    let note = |object: &Value| {
        let note = object["metadata"]["annotations"][NOTE].as_str()?;
        Some(serde_json::from_str::<Value>(note).unwrap())
    };
    let made = root
        .post(WIDGETS, widget("a", json!({"size": 1})))
        .await
        .ok();
    assert_eq!(note(&made), None);
    let path = format!("{DEFINITIONS}/widgets.example.com");
    owner
        .patch(&path, "json", with_default(json!("red")))
        .await
        .ok();
    let owners = Some(json!({"user": "owner"}));
    // A write by Landform itself, or an administrator, that changes something else.
    for client in [&api, &root] {
        let tried = format!("{WIDGETS}/a?dryRun=All");
        let label = json!({"metadata": {"labels": {"a": "b"}}});
        let patched = client.patch(&tried, "merge", label).await.ok();
        assert_eq!(patched["spec"]["color"], "red");
        assert_eq!(note(&patched), owners);
        let mut whole = root.get(&format!("{WIDGETS}/a")).await.ok();
        whole["spec"]["size"] = json!(2);
        assert_eq!(note(&client.put(&tried, whole).await.ok()), owners);
        let tried = format!("{WIDGETS}?dryRun=All");
        let made = client.post(&tried, widget("b", json!({"size": 1}))).await;
        assert_eq!(note(&made.ok()), owners);
    }
    let both = Some(json!({"user": "jane", "and": [{"user": "owner"}]}));
    let made = jane
        .post(WIDGETS, widget("c", json!({"size": 1})))
        .await
        .ok();
    assert_eq!(note(&made), both);
    // Who says it instead leaves nothing to the default.
    let said = widget("d", json!({"size": 1, "color": "green"}));
    let made = jane.post(WIDGETS, said).await.ok();
    assert_eq!(note(&made), Some(json!({"user": "jane"})));
}
