//! The server notes who wrote an object's content, in a place that nobody else writes (C6).

use http::Method;
use landform_apiserver::{AUTHENTICATED, Identity, MASTERS};
use serde_json::{Value, json};

use crate::harness::{Api, MAPS, map};

pub(crate) const NOTE: &str = "landform.dev/writer";
const NAMER: &str = "landform.dev/service-account-writer";
const ACCOUNT: &str = "landform.dev/service-account";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
pub(crate) const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

/// Jane may write everything in the namespace.
pub(crate) async fn prepared() -> (Api, Api) {
    let api = Api::start().await;
    api.post(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        json!({
            "metadata": {"name": "widgets.example.com"},
            "spec": {
                "group": "example.com", "scope": "Namespaced",
                "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "subresources": {"status": {}, "scale": {
                        "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
                    }},
                    "schema": {"openAPIV3Schema": {
                        "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                    }},
                }],
            },
        }),
    )
    .await
    .ok();
    let all = json!([{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]);
    let rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    let role = json!({"metadata": {"name": "all"}, "rules": all});
    api.post(&format!("{rbac}/roles"), role).await.ok();
    for user in ["jane", "bob"] {
        let binding = json!({
            "metadata": {"name": user},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "all"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
        });
        api.post(&format!("{rbac}/rolebindings"), binding)
            .await
            .ok();
    }
    let jane = api.by(Identity::new("jane", ["dev", AUTHENTICATED]));
    (api, jane)
}

fn bob(api: &Api) -> Api {
    api.by(Identity::new("bob", [AUTHENTICATED]))
}

fn note(object: &Value) -> Option<Value> {
    let note = object["metadata"]["annotations"][NOTE].as_str()?;
    Some(serde_json::from_str(note).unwrap())
}

fn jane_note() -> Option<Value> {
    Some(json!({"user": "jane", "groups": ["dev"]}))
}

fn widget(name: &str, annotations: Value) -> Value {
    json!({
        "apiVersion": "example.com/v1", "kind": "Widget",
        "metadata": {"name": name, "annotations": annotations}, "spec": {"replicas": 1},
    })
}

#[tokio::test]
async fn c6_the_writer_of_every_kind_of_object_is_noted() {
    let (api, jane) = prepared().await;
    assert_eq!(note(&jane.post(MAPS, map("a")).await.ok()), jane_note());
    let made = jane.post(WIDGETS, widget("a", json!({}))).await.ok();
    assert_eq!(note(&made), jane_note());
    let generated = json!({"metadata": {"generateName": "x-"}});
    assert_eq!(note(&jane.post(MAPS, generated).await.ok()), jane_note());
    // Who may do everything is not noted, nor is the server itself.
    let root = api.by(Identity::new("root", [MASTERS, AUTHENTICATED]));
    let made = root.post(MAPS, map("root")).await.ok();
    assert_eq!(made["metadata"]["annotations"], json!(null));
    let made = api.post(MAPS, map("own")).await.ok();
    assert_eq!(note(&made), None);
    // It is stored, and not only said.
    let read = api.get(&format!("{MAPS}/a")).await.ok();
    assert_eq!(note(&read), jane_note());
}

#[tokio::test]
async fn c6_who_changes_the_content_is_its_writer_from_then_on() {
    let (api, jane) = prepared().await;
    let bob = bob(&api);
    jane.post(WIDGETS, widget("a", json!({}))).await.ok();
    let path = format!("{WIDGETS}/a");
    let bobs = Some(json!({"user": "bob"}));
    // Metadata and status are no content.
    let labels = json!({"metadata": {"labels": {"a": "b"}, "finalizers": ["x/y"]}});
    let changed = bob.patch(&path, "merge", labels).await.ok();
    assert_eq!(note(&changed), jane_note());
    let status = json!({"status": {"replicas": 1}});
    let changed = bob.patch(&format!("{path}/status"), "merge", status).await;
    assert_eq!(note(&changed.ok()), jane_note());
    // The same content again is no change.
    let same = json!({"spec": {"replicas": 1}});
    assert_eq!(
        note(&bob.patch(&path, "merge", same).await.ok()),
        jane_note()
    );
    // A dry run notes it only in the answer.
    let other = json!({"spec": {"replicas": 2}});
    let tried = format!("{path}?dryRun=All");
    assert_eq!(
        note(&bob.patch(&tried, "merge", other.clone()).await.ok()),
        bobs
    );
    assert_eq!(note(&api.get(&path).await.ok()), jane_note());
    assert_eq!(note(&bob.patch(&path, "merge", other).await.ok()), bobs);
    // Every way to change it counts.
    let scale = json!({"spec": {"replicas": 5}});
    jane.patch(&format!("{path}/scale"), "merge", scale)
        .await
        .ok();
    assert_eq!(note(&api.get(&path).await.ok()), jane_note());
    let operations = json!([{"op": "replace", "path": "/spec/replicas", "value": 6}]);
    assert_eq!(note(&bob.patch(&path, "json", operations).await.ok()), bobs);
    let mut whole = api.get(&path).await.ok();
    whole["spec"]["replicas"] = json!(7);
    assert_eq!(note(&jane.put(&path, whole).await.ok()), jane_note());
    // One who may do everything leaves no note.
    let root = api.by(Identity::new("root", [MASTERS]));
    let changed = root.patch(&path, "merge", json!({"spec": {"replicas": 8}}));
    assert_eq!(note(&changed.await.ok()), None);
}

/// The note of who named the account.
fn namer(object: &Value) -> Option<Value> {
    let note = object["metadata"]["annotations"][NAMER].as_str()?;
    Some(serde_json::from_str(note).unwrap())
}

#[tokio::test]
async fn c6_who_names_an_account_is_not_the_writer_of_the_content() {
    let (api, jane) = prepared().await;
    let bob = bob(&api);
    let root = api.by(Identity::new("root", [MASTERS, AUTHENTICATED]));
    jane.post(WIDGETS, widget("a", json!({}))).await.ok();
    let path = format!("{WIDGETS}/a");
    let account = |name: Value| json!({"metadata": {"annotations": {ACCOUNT: name}}});
    let bobs = Some(json!({"user": "bob"}));
    let masters = Some(json!({"user": MASTERS, "groups": [MASTERS]}));
    // Setting, changing and removing it leaves the content's writer, who counts again when it is gone.
    let steps: [(&Api, Value, Option<Value>); 7] = [
        (&root, json!("web"), masters.clone()),
        (&root, Value::Null, None),
        (&bob, json!("web"), bobs.clone()),
        (&root, json!("db"), masters.clone()),
        // The same again names nothing new.
        (&bob, json!("db"), masters),
        // The writer needs no note of their own.
        (&jane, json!("web"), None),
        (&bob, Value::Null, None),
    ];
    for (client, name, expected) in steps {
        let changed = client.patch(&path, "merge", account(name.clone())).await;
        let changed = changed.ok();
        assert_eq!(note(&changed), jane_note(), "{name}");
        assert_eq!(namer(&changed), expected, "{name}");
    }
    // Who writes the content vouches for the account that it goes with.
    root.patch(&path, "merge", account(json!("web"))).await.ok();
    let other = |replicas: u32| json!({"spec": {"replicas": replicas}});
    let changed = bob.patch(&path, "merge", other(2)).await.ok();
    assert_eq!((note(&changed), namer(&changed)), (bobs.clone(), None));
    // The content of one who may do everything, and another's account.
    root.patch(&path, "merge", other(3)).await.ok();
    let changed = bob.patch(&path, "merge", account(json!("db"))).await.ok();
    assert_eq!((note(&changed), namer(&changed)), (None, bobs));
    let changed = bob.patch(&path, "merge", account(Value::Null)).await.ok();
    assert_eq!((note(&changed), namer(&changed)), (None, None));
    // Nobody forges it.
    let forged = json!({"metadata": {"annotations": {
        ACCOUNT: "web", NAMER: r#"{"user":"root","groups":["system:masters"]}"#,
    }}});
    let changed = bob.patch(&path, "merge", forged.clone()).await.ok();
    assert_eq!(namer(&changed), Some(json!({"user": "bob"})));
    let made = jane.post(
        WIDGETS,
        widget("b", forged["metadata"]["annotations"].clone()),
    );
    assert_eq!(namer(&made.await.ok()), None);
}

#[tokio::test]
async fn c6_nobody_but_the_server_writes_the_note() {
    let (api, jane) = prepared().await;
    let forged = json!({NOTE: r#"{"user":"root","groups":["system:masters"]}"#});
    let made = jane.post(WIDGETS, widget("a", forged.clone())).await.ok();
    assert_eq!(note(&made), jane_note());
    let path = format!("{WIDGETS}/a");
    let patch = json!({"metadata": {"annotations": forged}});
    for (path, form) in [(path.clone(), "merge"), (format!("{path}/status"), "merge")] {
        let changed = jane.patch(&path, form, patch.clone()).await.ok();
        assert_eq!(note(&changed), jane_note(), "{path}");
    }
    let taken_away = json!({"metadata": {"annotations": {NOTE: null}}});
    let changed = jane.patch(&path, "merge", taken_away.clone()).await.ok();
    assert_eq!(note(&changed), jane_note());
    let escaped = NOTE.replace('/', "~1");
    let operations = [
        json!([{"op": "remove", "path": format!("/metadata/annotations/{escaped}")}]),
        json!([{"op": "replace", "path": format!("/metadata/annotations/{escaped}"), "value": "{}"}]),
        json!([{"op": "remove", "path": "/metadata/annotations"}]),
    ];
    for operations in operations {
        let changed = jane.patch(&path, "json", operations.clone()).await.ok();
        assert_eq!(note(&changed), jane_note(), "{operations}");
    }
    let mut whole = api.get(&path).await.ok();
    whole["metadata"]["annotations"] = json!({});
    assert_eq!(note(&jane.put(&path, whole).await.ok()), jane_note());
    // Built-in kinds let annotations change together with a status.
    jane.post(
        DEPLOYMENTS,
        json!({
            "metadata": {"name": "d"},
            "spec": {
                "selector": {"matchLabels": {"a": "b"}},
                "template": {
                    "metadata": {"labels": {"a": "b"}},
                    "spec": {"containers": [{"name": "c", "image": "i"}]},
                },
            },
        }),
    )
    .await
    .ok();
    let status = format!("{DEPLOYMENTS}/d/status");
    for form in ["merge", "strategic-merge"] {
        let changed = jane.patch(&status, form, taken_away.clone()).await.ok();
        assert_eq!(note(&changed), jane_note(), "{form}");
    }
    // A renamed object has the writer that it had.
    let rename = json!({"kind": "Rename", "name": "b"});
    let renamed = bob(&api).post(&format!("{path}/rename"), rename).await.ok();
    assert_eq!(note(&renamed), jane_note());
    // No header makes a request one on behalf of others.
    let headers = [
        ("content-type", "application/json"),
        ("landform-on-behalf", r#"{"user":"root"}"#),
    ];
    let body = map("h").to_string();
    let made = jane.send(Method::POST, MAPS, &headers, body).await.ok();
    assert_eq!(note(&made), jane_note());
}

#[tokio::test]
async fn c6_who_is_impersonated_is_the_writer() {
    let (api, _) = prepared().await;
    let headers = [
        ("content-type", "application/json"),
        ("impersonate-user", "jane"),
        ("impersonate-group", "dev"),
    ];
    let body = map("a").to_string();
    let made = api.send(Method::POST, MAPS, &headers, body).await.ok();
    assert_eq!(note(&made), jane_note());
}

#[tokio::test]
async fn c6_roles_and_secrets_leave_a_namespace_last() {
    let (api, _) = prepared().await;
    let namespaces = "/api/v1/namespaces";
    api.post(namespaces, json!({"metadata": {"name": "team"}}))
        .await
        .ok();
    let held = json!({
        "metadata": {"name": "held", "finalizers": ["example.com/uninstall"]},
    });
    api.post("/api/v1/namespaces/team/configmaps", held)
        .await
        .ok();
    let secret = json!({"metadata": {"name": "s"}});
    api.post("/api/v1/namespaces/team/secrets", secret)
        .await
        .ok();
    let roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/team/roles";
    api.post(roles, json!({"metadata": {"name": "r"}, "rules": []}))
        .await
        .ok();
    let mut watch = api
        .watch("/api/v1/namespaces?fieldSelector=metadata.name=team")
        .await;
    api.delete("/api/v1/namespaces/team").await;
    loop {
        let (_, namespace) = watch.next().await.unwrap();
        let remaining = namespace["status"]["conditions"].to_string();
        if remaining.contains("example.com/uninstall in 1 resource instances") {
            break;
        }
    }
    api.get("/api/v1/namespaces/team/secrets/s").await.ok();
    api.get(&format!("{roles}/r")).await.ok();
    let free = json!({"metadata": {"finalizers": null}});
    api.patch("/api/v1/namespaces/team/configmaps/held", "merge", free)
        .await
        .ok();
    api.gone("/api/v1/namespaces/team").await;
    assert_eq!(api.get(&format!("{roles}/r")).await.code, 404);
}

#[tokio::test]
async fn c6_no_client_says_what_an_object_was_made_for() {
    const MAKER: &str = "landform.dev/maker";
    let (api, jane) = prepared().await;
    let root = api.by(Identity::new("root", [MASTERS, AUTHENTICATED]));
    for (name, client) in [("jane", &jane), ("root", &root), ("own", &api)] {
        let forged = widget(name, json!({MAKER: r#"{"uid":"1"}"#}));
        let made = client.post(WIDGETS, forged).await.ok();
        let noted = |object: &Value| object["metadata"]["annotations"][MAKER].clone();
        assert_eq!(noted(&made), Value::Null, "{name}");
        let path = format!("{WIDGETS}/{name}");
        let patch = json!({"metadata": {"annotations": {MAKER: r#"{"uid":"1"}"#}}});
        let made = client.patch(&path, "merge", patch).await.ok();
        assert_eq!(noted(&made), Value::Null, "{name}");
    }
}
