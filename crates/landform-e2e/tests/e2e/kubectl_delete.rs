//! `kubectl delete`: objects, selections, namespaces, finalizers.

use landform_e2e::Server;
use serde_json::json;

use crate::{assert_contains, config_map, namespace};

/// An object that stays until somebody removes its finalizer.
fn held(name: &str) -> String {
    config_map(name, "held", &[]).replace(
        "metadata:\n",
        "metadata:\n  finalizers: [example.com/hold]\n",
    )
}

const RELEASE: &[&str] = &[
    "--type=merge",
    "-p",
    r#"{"metadata": {"finalizers": null}}"#,
];

#[test]
fn delete_by_name_label_and_all() {
    let server = Server::start();
    server.apply(&namespace("team"));
    let apps = [
        ("a", "web"),
        ("b", "web"),
        ("c", "db"),
        ("d", "log"),
        ("e", "log"),
    ];
    let manifests: String = apps
        .iter()
        .map(|(name, app)| config_map(name, app, &[]))
        .collect();
    server.kubectl_with(&["apply", "-n", "team", "-f", "-"], &manifests);
    let team = |arguments: &[&str]| server.kubectl(&[&["-n", "team"], arguments].concat());
    assert_eq!(team(&["delete", "cm", "d"]), "configmap \"d\" deleted");
    let said = team(&["delete", "cm", "-l", "app=web"]);
    assert_contains(
        &said,
        &["configmap \"a\" deleted", "configmap \"b\" deleted"],
    );
    team(&["delete", "cm", "--all"]);
    assert_eq!(team(&["get", "cm", "-l", "app", "-o", "name"]), "");
    let said = server.kubectl_fails(&["-n", "team", "delete", "cm", "d"]);
    assert_contains(&said, &["NotFound"]);
    assert_eq!(team(&["delete", "cm", "d", "--ignore-not-found"]), "");
}

#[test]
fn delete_what_a_file_names() {
    let server = Server::start();
    let manifests = config_map("one", "a", &[]) + &config_map("two", "b", &[]);
    server.apply(&manifests);
    let said = server.kubectl_with(&["delete", "-f", "-"], &manifests);
    assert_contains(
        &said,
        &["configmap \"one\" deleted", "configmap \"two\" deleted"],
    );
    assert_eq!(
        server.kubectl(&["get", "cm", "-l", "app", "-o", "name"]),
        ""
    );
}

#[test]
fn g3_a_finalizer_holds_an_object_until_it_is_removed() {
    let server = Server::start();
    server.apply(&held("stays"));
    let mut watch = server.kubectl_lines(&[
        "get",
        "cm",
        "-l",
        "app=held",
        "-w",
        "--output-watch-events",
        "--no-headers",
    ]);
    watch.expect(&["ADDED", "stays"]);
    server.kubectl(&["delete", "cm", "stays", "--wait=false"]);
    watch.expect(&["MODIFIED", "stays"]);
    let found = server.kubectl_json(&["get", "cm", "stays"]);
    assert!(
        found["metadata"]["deletionTimestamp"].is_string(),
        "{found}"
    );
    // The mark can't be undone.
    let undo = r#"{"metadata": {"deletionTimestamp": null}}"#;
    server.kubectl(&["patch", "cm", "stays", "--type=merge", "-p", undo]);
    let found = server.kubectl_json(&["get", "cm", "stays"]);
    assert!(
        found["metadata"]["deletionTimestamp"].is_string(),
        "{found}"
    );
    server.kubectl(&[&["patch", "cm", "stays"], RELEASE].concat());
    watch.expect(&["DELETED", "stays"]);
    assert_contains(
        &server.kubectl_fails(&["get", "cm", "stays"]),
        &["NotFound"],
    );
}

#[test]
fn kubectl_waits_until_the_object_is_gone() {
    let server = Server::start();
    server.apply(&held("slow"));
    let mut delete = server.kubectl_lines(&["delete", "cm", "slow", "-v=6"]);
    delete.expect(&["watch=true"]);
    server.kubectl(&[&["patch", "cm", "slow"], RELEASE].concat());
    let finished = delete.finish();
    assert!(finished.status.success(), "{}", finished.report());
}

#[test]
fn a_namespace_takes_its_content_with_it() {
    let server = Server::start();
    server.apply(&namespace("team"));
    let secret = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\n";
    let inside = config_map("one", "a", &[]) + &held("two") + secret;
    server.kubectl_with(&["apply", "-n", "team", "-f", "-"], &inside);
    server.kubectl(&["delete", "namespace", "team", "--wait=false"]);

    let mut gone = server.kubectl_lines(&[
        "wait",
        "--for=delete",
        "namespace/team",
        "--timeout=60s",
        "-v=6",
    ]);
    gone.expect(&["watch=true"]);
    let phase = ["get", "namespace", "team", "-o", "jsonpath={.status.phase}"];
    assert_eq!(server.kubectl(&phase), "Terminating");
    let late = server.kubectl_with_fails(
        &["create", "-n", "team", "-f", "-"],
        &config_map("late", "a", &[]),
    );
    assert_contains(&late, &["because it is being terminated"]);
    server.kubectl(&[&["patch", "cm", "two", "-n", "team"], RELEASE].concat());
    let finished = gone.finish();
    assert!(finished.status.success(), "{}", finished.report());
    assert_eq!(
        server.kubectl(&["get", "cm,secrets", "-n", "team", "-o", "name"]),
        ""
    );
}

#[test]
fn the_namespaces_of_the_system_stay() {
    let server = Server::start();
    let said = server.kubectl_fails(&["delete", "namespace", "default"]);
    assert_contains(&said, &["Forbidden", "default"]);
}

#[test]
fn preconditions_are_kept() {
    let server = Server::start();
    server.apply(&config_map("one", "a", &[]));
    let path = "/api/v1/namespaces/default/configmaps/one";
    let options =
        json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "another"}});
    let file = server.file("options.json", &options.to_string());
    let said = server.kubectl_fails(&["delete", "--raw", path, "-f", &file]);
    assert_contains(&said, &["Conflict"]);
    server.kubectl(&["get", "cm", "one"]);
}

#[test]
fn g7_g13_a_delete_ends_whatever_the_policy() {
    let server = Server::start();
    for policy in ["background", "foreground", "orphan"] {
        server.apply(&config_map("one", "a", &[]));
        server.kubectl(&["delete", "cm", "one", &format!("--cascade={policy}")]);
        assert_contains(&server.kubectl_fails(&["get", "cm", "one"]), &["NotFound"]);
    }
    server.apply(&config_map("one", "a", &[]));
    // No policy at all: what most client libraries send.
    server.kubectl(&[
        "delete",
        "--raw",
        "/api/v1/namespaces/default/configmaps/one",
    ]);
    server.kubectl(&["wait", "--for=delete", "cm/one", "--timeout=55s"]);
}

#[test]
fn g2_a_delete_without_a_policy_marks_the_object_for_good() {
    let server = Server::start();
    server.apply(&held("stays"));
    server.kubectl(&[
        "delete",
        "--raw",
        "/api/v1/namespaces/default/configmaps/stays",
    ]);
    let undo = r#"{"metadata": {"deletionTimestamp": null}}"#;
    server.kubectl(&["patch", "cm", "stays", "--type=merge", "-p", undo]);
    let found = server.kubectl_json(&["get", "cm", "stays"]);
    assert!(
        found["metadata"]["deletionTimestamp"].is_string(),
        "{found}"
    );
}
