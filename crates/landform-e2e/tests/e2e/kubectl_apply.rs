//! `kubectl apply`, `diff` and `replace`: what people do all day.

use landform_e2e::Server;
use serde_json::json;

use crate::{WEB, assert_contains, config_map};

#[test]
fn apply_creates_changes_and_leaves_alone() {
    let server = Server::start();
    let first = config_map("settings", "web", &[("a", "1")]);
    assert_eq!(server.apply(&first), "configmap/settings created");
    assert_eq!(server.apply(&first), "configmap/settings unchanged");
    let second = config_map("settings", "web", &[("a", "2")]);
    assert_eq!(server.apply(&second), "configmap/settings configured");
    assert_eq!(
        server.kubectl(&["get", "cm", "settings", "-o", "jsonpath={.data.a}"]),
        "2"
    );
}

#[test]
fn apply_removes_what_was_dropped_and_keeps_what_others_added() {
    let server = Server::start();
    server.apply(&config_map(
        "settings",
        "web",
        &[("kept", "1"), ("dropped", "2")],
    ));
    let patch = r#"{"data": {"by-others": "3"}}"#;
    server.kubectl(&["patch", "cm", "settings", "--type", "merge", "-p", patch]);
    server.apply(&config_map("settings", "web", &[("kept", "1")]));
    let found = server.kubectl_json(&["get", "cm", "settings"]);
    assert_eq!(found["data"], json!({"kept": "1", "by-others": "3"}));
}

#[test]
fn apply_merges_lists_of_built_in_kinds_by_key() {
    let server = Server::start();
    assert_eq!(server.apply(WEB), "deployment.apps/web created");
    let sidecar =
        r#"{"spec":{"template":{"spec":{"containers":[{"name":"log","image":"log:1"}]}}}}"#;
    server.kubectl(&["patch", "deployment", "web", "-p", sidecar]);
    let changed = WEB
        .replace("nginx:1.0", "nginx:2.0")
        .replace("        - {name: SHAPE, value: round}\n", "");
    assert_eq!(server.apply(&changed), "deployment.apps/web configured");

    let found = server.kubectl_json(&["get", "deployment", "web"]);
    let containers = found["spec"]["template"]["spec"]["containers"]
        .as_array()
        .unwrap();
    let named = |name: &str| {
        containers
            .iter()
            .find(|container| container["name"] == name)
            .unwrap()
    };
    assert_eq!(containers.len(), 2, "{containers:?}");
    assert_eq!(named("log")["image"], "log:1");
    assert_eq!(named("web")["image"], "nginx:2.0");
    assert_eq!(
        named("web")["env"],
        json!([{"name": "COLOR", "value": "blue"}])
    );
}

#[test]
fn apply_takes_many_documents_lists_and_json() {
    let server = Server::start();
    let many = config_map("one", "a", &[("k", "v")]) + &config_map("two", "b", &[("k", "v")]);
    assert_eq!(
        server.apply(&many),
        "configmap/one created\nconfigmap/two created"
    );
    let list = json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "three"}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "four"}, "stringData": {"p": "x"}},
    ]});
    assert_eq!(
        server.apply(&list.to_string()),
        "configmap/three created\nsecret/four created"
    );
    assert_eq!(
        server.kubectl(&["get", "secret", "four", "-o", "jsonpath={.data.p}"]),
        "eA=="
    );
}

#[test]
fn a_dry_run_on_the_server_changes_nothing() {
    let server = Server::start();
    let manifest = config_map("settings", "web", &[("a", "1")]);
    let dry_run = ["apply", "--dry-run=server", "-f", "-"];
    let said = server.kubectl_with(&dry_run, &manifest);
    assert_eq!(said, "configmap/settings created (server dry run)");
    assert_contains(
        &server.kubectl_fails(&["get", "cm", "settings"]),
        &["NotFound"],
    );
    server.apply(&manifest);
    let changed = config_map("settings", "web", &[("a", "2")]);
    let said = server.kubectl_with(&dry_run, &changed);
    assert_eq!(said, "configmap/settings configured (server dry run)");
    assert_eq!(
        server.kubectl(&["get", "cm", "settings", "-o", "jsonpath={.data.a}"]),
        "1"
    );
}

#[test]
fn strict_validation_names_the_field() {
    let server = Server::start();
    let typo = WEB.replace("replicas: 2", "replicaz: 2");
    let said = server.kubectl_with_fails(&["apply", "-f", "-"], &typo);
    assert_contains(&said, &["unknown field", "replicaz"]);
    let wrong_type = WEB.replace("replicas: 2", "replicas: many");
    let said = server.kubectl_with_fails(&["apply", "-f", "-"], &wrong_type);
    assert_contains(&said, &["replicas"]);
    // The server refuses on its own what kubectl doesn't look at.
    let said = server.kubectl_with_fails(&["create", "--validate=false", "-f", "-"], &wrong_type);
    assert_contains(&said, &["replicas"]);
    assert_contains(
        &server.kubectl_fails(&["get", "deployment", "web"]),
        &["NotFound"],
    );
}

#[test]
fn invalid_names_and_labels_are_refused_with_a_reason() {
    let server = Server::start();
    let said =
        server.kubectl_with_fails(&["apply", "-f", "-"], &config_map("Not_A_Name", "web", &[]));
    assert_contains(
        &said,
        &["is invalid", "metadata.name", "Not_A_Name", "RFC 1123"],
    );
    let said = server.kubectl_with_fails(&["apply", "-f", "-"], &config_map("fine", "-bad-", &[]));
    assert_contains(&said, &["is invalid", "metadata.labels", "-bad-"]);
    let elsewhere =
        config_map("lost", "web", &[]).replace("name: lost", "name: lost\n  namespace: nowhere");
    let said = server.kubectl_with_fails(&["create", "-f", "-"], &elsewhere);
    assert_contains(&said, &["NotFound", "namespaces \"nowhere\" not found"]);
}

#[test]
fn diff_shows_what_an_apply_would_change() {
    let server = Server::start();
    let before = config_map("settings", "web", &[("a", "1")]);
    let after = config_map("settings", "web", &[("a", "2")]);
    server.apply(&before);
    let file = server.file("before.yaml", &before);
    let same = server.try_kubectl(&["diff", "-f", &file]);
    assert_eq!(
        (same.status.code(), same.stdout.as_str()),
        (Some(0), ""),
        "{}",
        same.report()
    );
    let file = server.file("after.yaml", &after);
    let differs = server.try_kubectl(&["diff", "-f", &file]);
    assert_eq!(differs.status.code(), Some(1), "{}", differs.report());
    assert_contains(&differs.stdout, &["-  a: \"1\"", "+  a: \"2\""]);
    let file = server.file("new.yaml", &config_map("fresh", "web", &[("b", "3")]));
    let new = server.try_kubectl(&["diff", "-f", &file]);
    assert_eq!(new.status.code(), Some(1), "{}", new.report());
    assert_contains(&new.stdout, &["+  b: \"3\"", "+  name: fresh"]);
    assert_contains(
        &server.kubectl_fails(&["get", "cm", "fresh"]),
        &["NotFound"],
    );
}

#[test]
fn c4_replace_with_a_stale_version_is_a_conflict() {
    let server = Server::start();
    server.kubectl_with(
        &["create", "-f", "-"],
        &config_map("settings", "web", &[("a", "1")]),
    );
    let mut stale = server.kubectl_json(&["get", "cm", "settings"]);
    server.kubectl(&["annotate", "cm", "settings", "seen=yes"]);
    stale["data"]["a"] = json!("stale");
    let said = server.kubectl_with_fails(&["replace", "-f", "-"], &stale.to_string());
    assert_contains(&said, &["Conflict", "the object has been modified"]);
    assert_eq!(
        server.kubectl(&["get", "cm", "settings", "-o", "jsonpath={.data.a}"]),
        "1"
    );

    let mut fresh = server.kubectl_json(&["get", "cm", "settings"]);
    fresh["data"]["a"] = json!("fresh");
    let said = server.kubectl_with(&["replace", "-f", "-"], &fresh.to_string());
    assert_eq!(said, "configmap/settings replaced");
    assert_eq!(
        server.kubectl(&["get", "cm", "settings", "-o", "jsonpath={.data.a}"]),
        "fresh"
    );
}
