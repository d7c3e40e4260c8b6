//! Who may do what: roles, bindings, 403s, escalation, impersonation and reviews, as clients see them.

use http::Method;
use landform_apiserver::{AUTHENTICATED, Identity};
use serde_json::{Value, json};

use crate::harness::{Api, MAPS, map};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const REVIEW: &str = "/apis/authorization.k8s.io/v1";

fn jane() -> Identity {
    Identity::new("jane", [AUTHENTICATED])
}

fn rule(verbs: &[&str], resources: &[&str]) -> Value {
    json!({"verbs": verbs, "apiGroups": [""], "resources": resources})
}

fn role(name: &str, rules: Value) -> Value {
    json!({"metadata": {"name": name}, "rules": rules})
}

fn binding(name: &str, kind: &str, role: &str, user: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    })
}

/// Gives somebody rules in the namespace default.
async fn grant(api: &Api, user: &str, rules: Value) {
    let name = format!("of-{user}");
    let roles = format!("{RBAC}/namespaces/default/roles");
    api.post(&roles, role(&name, rules)).await.ok();
    let bindings = format!("{RBAC}/namespaces/default/rolebindings");
    api.post(&bindings, binding(&name, "Role", &name, user))
        .await
        .ok();
}

#[tokio::test]
async fn a_role_counts_from_the_next_request_on_and_as_long_as_it_is_bound() {
    let api = Api::start().await;
    let jane = api.by(jane());
    api.post(MAPS, map("a")).await.ok();
    let denied = jane.get(MAPS).await;
    assert_eq!(
        denied.failed(),
        (
            403,
            "Forbidden",
            r#"configmaps is forbidden: User "jane" cannot list resource "configmaps" in API group "" in the namespace "default""#
        )
    );
    assert_eq!(denied.value["details"], json!({"kind": "configmaps"}));
    grant(
        &api,
        "jane",
        json!([rule(&["get", "list"], &["configmaps"])]),
    )
    .await;
    jane.get(MAPS).await.ok();
    jane.get(&format!("{MAPS}/a")).await.ok();
    let denied = jane.delete(&format!("{MAPS}/a")).await;
    assert_eq!(
        denied.failed().2,
        r#"configmaps "a" is forbidden: User "jane" cannot delete resource "configmaps" in API group "" in the namespace "default""#
    );
    assert_eq!(
        denied.value["details"],
        json!({"name": "a", "kind": "configmaps"})
    );
    assert_eq!(
        jane.get("/api/v1/configmaps").await.failed().2,
        r#"configmaps is forbidden: User "jane" cannot list resource "configmaps" in API group "" at the cluster scope"#
    );
    assert_eq!(
        jane.get("/apis/apps/v1/namespaces/default/deployments/x/scale")
            .await
            .failed()
            .2,
        r#"deployments.apps "x" is forbidden: User "jane" cannot get resource "deployments/scale" in API group "apps" in the namespace "default""#
    );
    let role = format!("{RBAC}/namespaces/default/roles/of-jane");
    let more = json!({"rules": [rule(&["watch"], &["configmaps"])]});
    api.patch(&role, "merge", more).await.ok();
    assert_eq!(jane.get(MAPS).await.code, 403);
    assert_eq!(jane.watch(MAPS).await.code, 200);
    let bound = format!("{RBAC}/namespaces/default/rolebindings/of-jane");
    let options = json!({"propagationPolicy": "Background"}).to_string();
    let headers = [("content-type", "application/json")];
    api.send(Method::DELETE, &bound, &headers, options)
        .await
        .ok();
    assert_eq!(jane.watch(MAPS).await.code, 403);
}

#[tokio::test]
async fn everybody_may_discover_and_ask_about_themselves_and_nothing_else() {
    let api = Api::start().await;
    let jane = api.by(jane());
    for path in [
        "/api",
        "/apis",
        "/api/v1",
        "/apis/apps/v1",
        "/version",
        "/openapi/v3",
        "/healthz",
    ] {
        assert_eq!(jane.get(path).await.code, 200, "{path}");
    }
    assert_eq!(
        jane.get("/metrics").await.failed().2,
        r#"forbidden: User "jane" cannot get path "/metrics""#
    );
    for path in [
        "/api/v1/namespaces/default/nonsense",
        "/apis/x.io/v1/things/a",
    ] {
        assert_eq!(jane.get(path).await.code, 403, "{path}");
    }
    let whoami = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let review = jane.post(whoami, json!({})).await.ok();
    assert_eq!(review["status"]["userInfo"]["username"], "jane");
    let other = jane
        .post(&format!("{REVIEW}/subjectaccessreviews"), json!({}))
        .await;
    assert_eq!(other.code, 403);
}

#[tokio::test]
async fn default_roles_are_there_once_and_stay_as_they_were_left() {
    let api = Api::without_background(landform_apiserver::Config::default()).await;
    let path = format!("{RBAC}/clusterroles/view");
    let view = api.get(&path).await.ok();
    let label = "kubernetes.io/bootstrapping";
    assert_eq!(view["metadata"]["labels"][label], "rbac-defaults");
    assert!(view["aggregationRule"].is_object());
    let changed = json!({"metadata": {"labels": {"mine": "yes"}}});
    api.patch(&path, "merge", changed).await.ok();
    let again = landform_apiserver::ApiServer::start(
        api.store.clone(),
        landform_apiserver::Config::default(),
    );
    again.await.unwrap();
    assert_eq!(
        api.get(&path).await.ok()["metadata"]["labels"]["mine"],
        "yes"
    );
    for (path, name) in [
        ("clusterroles", "cluster-admin"),
        ("clusterroles", "admin"),
        ("clusterroles", "edit"),
        ("clusterroles", "system:basic-user"),
        ("clusterrolebindings", "cluster-admin"),
        ("clusterrolebindings", "system:discovery"),
        ("clusterrolebindings", "system:public-info-viewer"),
    ] {
        assert_eq!(
            api.get(&format!("{RBAC}/{path}/{name}")).await.code,
            200,
            "{name}"
        );
    }
}

#[tokio::test]
async fn view_edit_and_admin_hold_what_their_names_say() {
    let api = Api::start().await;
    let bindings = format!("{RBAC}/namespaces/default/rolebindings");
    for role in ["view", "edit", "admin"] {
        api.post(&bindings, binding(role, "ClusterRole", role, role))
            .await
            .ok();
    }
    let secrets = "/api/v1/namespaces/default/secrets";
    let roles = format!("{RBAC}/namespaces/default/roles");
    let quota = "/api/v1/namespaces/default/resourcequotas";
    for (user, maps, write, secret, role) in [
        ("view", 200, 403, 403, 403),
        ("edit", 200, 201, 200, 403),
        ("admin", 200, 201, 200, 200),
    ] {
        let api = api.by(Identity::new(user, [AUTHENTICATED]));
        assert_eq!(api.get(MAPS).await.code, maps, "{user}");
        assert_eq!(api.post(MAPS, map(user)).await.code, write, "{user}");
        assert_eq!(api.get(secrets).await.code, secret, "{user}");
        assert_eq!(api.get(&roles).await.code, role, "{user}");
        assert_eq!(api.get(quota).await.code, 200, "{user}");
        let other = "/api/v1/namespaces/kube-system/configmaps";
        assert_eq!(api.get(other).await.code, 403, "{user}");
    }
    // A definition brings its own share, and what is gathered is written down.
    let share = json!({
        "metadata": {"name": "widgets-view", "labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}},
        "rules": [{"verbs": ["list"], "apiGroups": ["x.io"], "resources": ["widgets"]}],
    });
    api.post(&format!("{RBAC}/clusterroles"), share).await.ok();
    let viewer = api.by(Identity::new("view", [AUTHENTICATED]));
    let widgets = "/apis/x.io/v1/namespaces/default/widgets";
    assert_eq!(viewer.get(widgets).await.code, 404);
    let mut watch = api
        .watch(&format!(
            "{RBAC}/clusterroles?fieldSelector=metadata.name=admin"
        ))
        .await;
    loop {
        let (_, admin) = watch.next().await.unwrap();
        if admin["rules"].to_string().contains("x.io") {
            // What the server itself brings was written down from the start.
            assert_eq!(admin["metadata"]["generation"], 2);
            break;
        }
    }
}

#[tokio::test]
async fn nobody_grants_what_they_do_not_have() {
    let api = Api::start().await;
    let all = json!(["roles", "rolebindings"]);
    let write =
        json!({"verbs": ["*"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": all});
    // Everything on roles includes `escalate` and `bind`: so it is spelled out here.
    let mut limited = write.clone();
    limited["verbs"] = json!(["create", "update", "patch", "get", "delete"]);
    grant(
        &api,
        "jane",
        json!([limited, rule(&["get", "list"], &["pods"])]),
    )
    .await;
    grant(&api, "root", json!([write])).await;
    let (jane, root) = (
        api.by(jane()),
        api.by(Identity::new("root", [AUTHENTICATED])),
    );
    let roles = format!("{RBAC}/namespaces/default/roles");
    let bindings = format!("{RBAC}/namespaces/default/rolebindings");

    let held = role("held", json!([rule(&["get"], &["pods"])]));
    jane.post(&roles, held).await.ok();
    let more = role("more", json!([rule(&["get", "delete"], &["pods"])]));
    let refused = jane.post(&roles, more.clone()).await;
    assert_eq!(
        refused.failed().2,
        "roles.rbac.authorization.k8s.io \"more\" is forbidden: user \"jane\" (groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"delete\"]}"
    );
    let widened = json!({"rules": [rule(&["*"], &["*"])]});
    let refused = jane.patch(&format!("{roles}/held"), "merge", widened).await;
    assert_eq!(refused.code, 403);
    let labelled = json!({"metadata": {"labels": {"a": "b"}}});
    jane.patch(&format!("{roles}/of-root"), "merge", labelled)
        .await
        .ok();
    root.post(&roles, more).await.ok();

    jane.post(&bindings, binding("held", "Role", "held", "john"))
        .await
        .ok();
    let refused = jane
        .post(&bindings, binding("more", "Role", "more", "john"))
        .await;
    assert_eq!(refused.code, 403);
    let refused = jane
        .post(
            &bindings,
            binding("all", "ClusterRole", "cluster-admin", "jane"),
        )
        .await;
    assert_eq!(refused.code, 403);
    let absent = jane
        .post(&bindings, binding("none", "Role", "absent", "john"))
        .await;
    assert_eq!(absent.failed().0, 404);
    let other = json!({"subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "jane"}]});
    let refused = jane
        .patch(&format!("{bindings}/of-root"), "merge", other)
        .await;
    assert_eq!(refused.code, 403);
    root.post(&bindings, binding("more", "Role", "more", "john"))
        .await
        .ok();
    let other_role = json!({"roleRef": {"name": "held"}});
    let refused = root
        .patch(&format!("{bindings}/more"), "merge", other_role)
        .await;
    assert_eq!(refused.failed().0, 422);
}

#[tokio::test]
async fn who_may_impersonate_acts_as_somebody_else() {
    let api = Api::start().await;
    let whoami = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let user = [("impersonate-user", "john")];
    let denied = api.by(jane()).send(Method::POST, whoami, &user, "{}").await;
    assert_eq!(
        denied.failed().2,
        r#"users "john" is forbidden: User "jane" cannot impersonate resource "users" in API group "" at the cluster scope"#
    );
    let all = [
        ("impersonate-user", "john"),
        ("impersonate-group", "painters"),
        ("impersonate-uid", "u1"),
        ("impersonate-extra-scopes", "a"),
        ("impersonate-extra-scopes", "b"),
    ];
    let review = api.send(Method::POST, whoami, &all, "{}").await.ok();
    assert_eq!(
        review["status"]["userInfo"],
        json!({
            "username": "john", "uid": "u1", "groups": ["painters", "system:authenticated"],
            "extra": {"scopes": ["a", "b"]},
        })
    );
    let account = [("impersonate-user", "system:serviceaccount:default:x")];
    let review = api.send(Method::POST, whoami, &account, "{}").await.ok();
    assert_eq!(
        review["status"]["userInfo"]["groups"],
        json!([
            "system:serviceaccounts",
            "system:serviceaccounts:default",
            "system:authenticated"
        ])
    );
    assert_eq!(api.send(Method::GET, MAPS, &account, "").await.code, 403);
    let nobody = [("impersonate-group", "painters")];
    assert_eq!(
        api.send(Method::GET, MAPS, &nobody, "").await.failed().0,
        400
    );

    let rule = json!([{"verbs": ["impersonate"], "apiGroups": [""], "resources": ["users"], "resourceNames": ["john"]}]);
    api.post(&format!("{RBAC}/clusterroles"), role("as-john", rule))
        .await
        .ok();
    let bound = binding("as-john", "ClusterRole", "as-john", "jane");
    api.post(&format!("{RBAC}/clusterrolebindings"), bound)
        .await
        .ok();
    let jane = api.by(jane());
    jane.send(Method::POST, whoami, &user, "{}").await.ok();
    let masters = [
        ("impersonate-user", "john"),
        ("impersonate-group", "system:masters"),
    ];
    assert_eq!(jane.send(Method::GET, MAPS, &masters, "").await.code, 403);
}

#[tokio::test]
async fn reviews_tell_the_truth() {
    let api = Api::start().await;
    grant(&api, "jane", json!([rule(&["get"], &["pods"])])).await;
    let attributes = |verb: &str, namespace: &str| json!({"resourceAttributes": {"verb": verb, "resource": "pods", "namespace": namespace}});
    let own = format!("{REVIEW}/selfsubjectaccessreviews");
    let others = format!("{REVIEW}/subjectaccessreviews");
    for (verb, namespace, expected) in [
        ("get", "default", true),
        ("list", "default", false),
        ("get", "kube-system", false),
        ("get", "", false),
    ] {
        let mut spec = attributes(verb, namespace);
        let review = api.by(jane()).post(&own, json!({"spec": spec})).await.ok();
        assert_eq!(review["status"]["allowed"], expected, "{verb} {namespace}");
        let review = api.post(&own, json!({"spec": spec})).await.ok();
        assert_eq!(review["status"]["allowed"], true);
        spec["user"] = json!("jane");
        let review = api.post(&others, json!({"spec": spec})).await.ok();
        assert_eq!(review["status"]["allowed"], expected, "{verb} {namespace}");
        if expected {
            assert_eq!(
                review["status"]["reason"],
                r#"RBAC: allowed by RoleBinding "default/of-jane" of Role "of-jane" to User "jane""#
            );
        }
    }
    let local = format!("{REVIEW}/namespaces/default/localsubjectaccessreviews");
    let mut spec = attributes("get", "default");
    spec["user"] = json!("jane");
    let review = api.post(&local, json!({"spec": spec})).await.ok();
    assert_eq!(review["status"]["allowed"], true);
    spec["resourceAttributes"]["namespace"] = json!("kube-system");
    assert_eq!(
        api.post(&local, json!({"spec": spec})).await.failed().0,
        400
    );
    assert_eq!(
        api.post(&others, json!({"spec": {"user": "a"}}))
            .await
            .failed()
            .0,
        400
    );
    let path = json!({"spec": {"nonResourceAttributes": {"verb": "get", "path": "/version"}}});
    let review = api.by(jane()).post(&own, path).await.ok();
    assert_eq!(review["status"]["allowed"], true);

    let rules = format!("{REVIEW}/selfsubjectrulesreviews");
    let asked = json!({"spec": {"namespace": "default"}});
    let review = api.by(jane()).post(&rules, asked.clone()).await.ok();
    let found = review["status"]["resourceRules"].as_array().unwrap();
    let pods =
        json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": []});
    assert!(found.contains(&pods), "{review}");
    assert!(
        found
            .iter()
            .any(|rule| rule["resources"][0] == "selfsubjectreviews")
    );
    assert!(
        review["status"]["nonResourceRules"]
            .to_string()
            .contains("/openapi")
    );
    let review = api.post(&rules, asked).await.ok();
    assert_eq!(
        review["status"]["resourceRules"][0]["resources"],
        json!(["*"])
    );
}

#[tokio::test]
async fn views_are_resources_of_landform() {
    let api = Api::start().await;
    api.server
        .mount("echo", std::sync::Arc::new(crate::views::Echo));
    let path = "/apis/landform.dev/v1alpha1/echo/a/b/c/d/e";
    let jane = api.by(jane());
    assert_eq!(
        jane.get(path).await.failed().2,
        r#"echo.landform.dev is forbidden: User "jane" cannot get resource "echo" in API group "landform.dev" at the cluster scope"#
    );
    let rule = json!([{"verbs": ["get"], "apiGroups": ["landform.dev"], "resources": ["echo"]}]);
    api.post(&format!("{RBAC}/clusterroles"), role("echo", rule))
        .await
        .ok();
    let bound = binding("echo", "ClusterRole", "echo", "jane");
    api.post(&format!("{RBAC}/clusterrolebindings"), bound)
        .await
        .ok();
    jane.get(path).await.ok();
}
