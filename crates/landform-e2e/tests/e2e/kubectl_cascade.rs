//! `kubectl delete --cascade=…`: what happens to dependents in each mode (G13), and why something stays.

use landform_e2e::Server;

use crate::assert_contains;

/// A config map that is owned by others.
fn owned(server: &Server, name: &str, owners: &[&str]) {
    let references: String = owners
        .iter()
        .map(|owner| {
            let uid = server.kubectl(&["get", "cm", owner, "-o", "jsonpath={.metadata.uid}"]);
            format!("  - {{apiVersion: v1, kind: ConfigMap, name: {owner}, uid: {uid}, blockOwnerDeletion: true}}\n")
        })
        .collect();
    let references = if references.is_empty() {
        String::new()
    } else {
        format!("  ownerReferences:\n{references}")
    };
    server.apply(&format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  labels: {{app: family}}\n{references}"
    ));
}

/// An owner with a child and a grandchild, and a child that another one owns as well.
fn family(server: &Server) {
    owned(server, "owner", &[]);
    owned(server, "other", &[]);
    owned(server, "child", &["owner"]);
    owned(server, "grandchild", &["child"]);
    owned(server, "shared", &["owner", "other"]);
}

fn left(server: &Server) -> String {
    let names = server.kubectl(&["get", "cm", "-l", "app=family", "-o", "name"]);
    names.replace("configmap/", "").replace('\n', " ")
}

fn gone(server: &Server, names: &[&str]) {
    for name in names {
        server.kubectl(&[
            "wait",
            "--for=delete",
            &format!("cm/{name}"),
            "--timeout=50s",
        ]);
    }
}

#[test]
fn g13_background_takes_dependents_along_but_not_shared_ones() {
    let server = Server::start();
    family(&server);
    server.kubectl(&["delete", "cm", "owner", "--cascade=background"]);
    gone(&server, &["child", "grandchild"]);
    assert_eq!(left(&server), "other shared");
}

#[test]
fn g13_foreground_takes_dependents_first_but_not_shared_ones() {
    let server = Server::start();
    family(&server);
    server.kubectl(&["delete", "cm", "owner", "--cascade=foreground"]);
    assert_eq!(
        left(&server),
        "other shared",
        "kubectl waited for the owner"
    );
}

#[test]
fn g13_orphan_leaves_dependents_where_they_are() {
    let server = Server::start();
    family(&server);
    server.kubectl(&["delete", "cm", "owner", "--cascade=orphan"]);
    assert_eq!(left(&server), "child grandchild other shared");
    let owners = "jsonpath={.metadata.ownerReferences}";
    assert_eq!(server.kubectl(&["get", "cm", "child", "-o", owners]), "");
}

#[test]
fn g6_g13_without_a_policy_everything_below_goes() {
    let server = Server::start();
    family(&server);
    let path = "/api/v1/namespaces/default/configmaps/owner";
    server.kubectl(&["delete", "--raw", path]);
    gone(&server, &["owner"]);
    assert_eq!(left(&server), "other");
}

#[test]
fn g11_a_cycle_of_owners_is_refused_with_the_cycle() {
    let server = Server::start();
    family(&server);
    let uid = server.kubectl(&["get", "cm", "grandchild", "-o", "jsonpath={.metadata.uid}"]);
    let patch = format!(
        r#"{{"metadata": {{"ownerReferences": [{{"apiVersion": "v1", "kind": "ConfigMap", "name": "grandchild", "uid": "{uid}"}}]}}}}"#
    );
    let said = server.kubectl_fails(&["patch", "cm", "owner", "--type=merge", "-p", &patch]);
    assert_contains(
        &said,
        &[
            "ConfigMap default/owner is owned by ConfigMap default/grandchild is owned by ConfigMap default/child is owned by ConfigMap default/owner",
        ],
    );
}

#[test]
fn g10_a_deletion_that_was_begun_ends_after_a_restart() {
    let server = Server::start();
    family(&server);
    let hold = r#"{"metadata": {"finalizers": ["example.com/hold"]}}"#;
    server.kubectl(&["patch", "cm", "grandchild", "--type=merge", "-p", hold]);
    server.kubectl(&[
        "delete",
        "cm",
        "owner",
        "--cascade=foreground",
        "--wait=false",
    ]);
    let server = server.restart(|_| {});
    let path = "/apis/landform.dev/v1alpha1/deletion";
    assert_contains(&server.kubectl(&["get", "--raw", path]), &["owner"]);
    let free = r#"{"metadata": {"finalizers": null}}"#;
    server.kubectl(&["patch", "cm", "grandchild", "--type=merge", "-p", free]);
    gone(&server, &["owner"]);
    assert_eq!(left(&server), "other shared");
}
