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
async fn c6_who_changes_the_content_is_one_of_its_writers_from_then_on() {
    let (api, jane) = prepared().await;
    let bob = bob(&api);
    jane.post(WIDGETS, widget("a", json!({}))).await.ok();
    let path = format!("{WIDGETS}/a");
    let bobs = Some(json!({"user": "bob"}));
    let jane_alone = jane_note().unwrap();
    let both = Some(json!({"user": "bob", "and": [jane_alone]}));
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
    // A patch leaves the work of others, who stay noted. A dry run notes it only in the answer.
    let other = json!({"spec": {"replicas": 2}});
    let tried = format!("{path}?dryRun=All");
    assert_eq!(
        note(&bob.patch(&tried, "merge", other.clone()).await.ok()),
        both
    );
    assert_eq!(note(&api.get(&path).await.ok()), jane_note());
    assert_eq!(note(&bob.patch(&path, "merge", other).await.ok()), both);
    let root = api.by(Identity::new("root", [MASTERS]));
    let changed = root.patch(&path, "merge", json!({"spec": {"replicas": 8}}));
    assert_eq!(note(&changed.await.ok()), both);
    // Who replaces it vouches for all of it.
    let replaced = async |client: &Api, replicas: u32| {
        let mut whole = api.get(&path).await.ok();
        whole["spec"]["replicas"] = json!(replicas);
        note(&client.put(&path, whole).await.ok())
    };
    assert_eq!(replaced(&bob, 7).await, bobs);
    // Every way to change a part counts.
    let scale = json!({"spec": {"replicas": 5}});
    jane.patch(&format!("{path}/scale"), "merge", scale.clone())
        .await
        .ok();
    assert_eq!(note(&api.get(&path).await.ok()), both);
    assert_eq!(replaced(&jane, 6).await, jane_note());
    let mut scaled = api.get(&format!("{path}/scale")).await.ok();
    scaled["spec"] = scale["spec"].clone();
    bob.put(&format!("{path}/scale"), scaled).await.ok();
    assert_eq!(note(&api.get(&path).await.ok()), both);
    assert_eq!(replaced(&jane, 7).await, jane_note());
    let operations = json!([{"op": "replace", "path": "/spec/replicas", "value": 6}]);
    assert_eq!(note(&bob.patch(&path, "json", operations).await.ok()), both);
    // One who may do everything leaves no note.
    assert_eq!(replaced(&root, 9).await, None);
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
    // Setting and changing it leaves the content's writer, who counts again when one with all rights takes it away.
    let steps: [(&Api, Value, Option<Value>); 6] = [
        (&root, json!("web"), masters.clone()),
        (&root, Value::Null, None),
        (&bob, json!("web"), bobs.clone()),
        (&root, json!("db"), masters.clone()),
        // The same again names nothing new.
        (&bob, json!("db"), masters),
        // The writer needs no note of their own.
        (&jane, json!("web"), None),
    ];
    for (client, name, expected) in steps {
        let changed = client.patch(&path, "merge", account(name.clone())).await;
        let changed = changed.ok();
        assert_eq!(note(&changed), jane_note(), "{name}");
        assert_eq!(namer(&changed), expected, "{name}");
    }
    // Who writes the content vouches for the account that it goes with.
    root.patch(&path, "merge", account(json!("web"))).await.ok();
    let mut whole = api.get(&path).await.ok();
    whole["spec"]["replicas"] = json!(2);
    let changed = bob.put(&path, whole.clone()).await.ok();
    assert_eq!((note(&changed), namer(&changed)), (bobs.clone(), None));
    // The content of one who may do everything, and another's account.
    whole["spec"]["replicas"] = json!(3);
    whole["metadata"]["resourceVersion"] = changed["metadata"]["resourceVersion"].clone();
    root.put(&path, whole).await.ok();
    let changed = bob.patch(&path, "merge", account(json!("db"))).await.ok();
    assert_eq!((note(&changed), namer(&changed)), (None, bobs.clone()));
    // An account may be a limit: who takes it away answers for the content as well.
    let changed = bob.patch(&path, "merge", account(Value::Null)).await.ok();
    assert_eq!((note(&changed), namer(&changed)), (bobs, None));
    // Nobody forges it.
    let forged = json!({"metadata": {"annotations": {
        ACCOUNT: "web", NAMER: r#"{"user":"root","groups":["system:masters"]}"#,
    }}});
    let changed = jane.patch(&path, "merge", forged.clone()).await.ok();
    assert_eq!(namer(&changed), jane_note());
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
    // By its name others choose an object: who renames it is one of its writers.
    let rename = |to: &str| json!({"kind": "Rename", "name": to});
    let renamed = jane.post(&format!("{path}/rename"), rename("b")).await;
    assert_eq!(note(&renamed.ok()), jane_note());
    let path = format!("{WIDGETS}/b/rename");
    let renamed = bob(&api).post(&path, rename("c")).await.ok();
    let both = Some(json!({"user": "bob", "and": [jane_note()]}));
    assert_eq!(note(&renamed), both);
    let path = format!("{WIDGETS}/c/rename");
    assert_eq!(note(&api.post(&path, rename("d")).await.ok()), both);
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

/// Metadata and statuses that decide what Landform does for an object: who changes them answers for it.
#[tokio::test]
async fn c6_who_moves_an_object_into_another_context_is_one_of_its_writers() {
    use landform_api::landscaper::keys;
    const ITEMS: &str = "/apis/landscaper.gardener.cloud/v1alpha1/namespaces/default";
    let (api, _) = prepared().await;
    let bob = bob(&api);
    let root = api.by(Identity::new("root", [MASTERS]));
    for definition in landform_api::landscaper::definition::definitions() {
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        root.post(path, definition).await.ok();
    }
    let bobs = Some(json!({"user": "bob"}));
    let label = |key: &str| json!({"metadata": {"labels": {key: "of-bob"}}});
    let annotation = |key: &str| json!({"metadata": {"annotations": {key: "of-bob"}}});
    let state = json!({"status": {"templateState": {"deploy/d": {"port": "1; id"}}}});
    let export = json!({"status": {"exportRef": {"name": "other", "namespace": "default"}}});
    let phase = json!({"status": {"phase": "Failed"}});
    let table = [
        ("installations", "", label(keys::ENCOMPASSED_BY), &bobs),
        (
            "installations",
            "",
            annotation(keys::SUBINSTALLATION_NAME),
            &bobs,
        ),
        ("installations", "/status", state, &bobs),
        ("executions", "/status", export, &bobs),
        ("deployitems", "", label(keys::MANAGED_BY), &bobs),
        ("deployitems", "", label(keys::ITEM_NAME), &bobs),
        // A deployer, which may be anybody's program, says how an item is doing.
        ("deployitems", "/status", phase, &None),
        ("deployitems", "", label("team"), &None),
        ("installations", "", annotation(keys::OPERATION), &None),
    ];
    for (number, (plural, part, change, expected)) in table.into_iter().enumerate() {
        let kind = match plural {
            "installations" => "Installation",
            "executions" => "Execution",
            _ => "DeployItem",
        };
        let spec = match kind {
            "DeployItem" => json!({"type": "example.com/some"}),
            "Execution" => json!({"deployItems": []}),
            _ => json!({"blueprint": {"path": "b"}}),
        };
        let name = format!("o-{number}");
        let object = json!({
            "apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": kind,
            "metadata": {"name": name}, "spec": spec,
        });
        root.post(&format!("{ITEMS}/{plural}"), object).await.ok();
        let path = format!("{ITEMS}/{plural}/{name}");
        bob.patch(&format!("{path}{part}"), "merge", change.clone())
            .await
            .ok();
        let stored = api.get(&path).await.ok();
        assert_eq!(&note(&stored), expected, "{plural}{part}: {change}");
    }
}
