//! `landform delete`: the preview, the question, the progress (G14).

use landform_e2e::{Finished, Server, landform, run};

use crate::{assert_contains, config_map};

fn delete(server: &Server, arguments: &[&str]) -> Finished {
    let mut command = server.client(landform());
    command.arg("delete").args(arguments);
    run(command.arg("--kubeconfig").arg(server.kubeconfig()))
}

fn with_child(server: &Server) {
    server.apply(&config_map("owner", "a", &[]));
    let uid = server.kubectl(&["get", "cm", "owner", "-o", "jsonpath={.metadata.uid}"]);
    let owners = format!(
        "metadata:\n  ownerReferences: [{{apiVersion: v1, kind: ConfigMap, name: owner, uid: {uid}}}]\n"
    );
    server.apply(&config_map("child", "a", &[]).replace("metadata:\n", &owners));
}

#[test]
fn g14_a_dry_run_shows_the_tree_and_deletes_nothing() {
    let server = Server::start();
    with_child(&server);
    let finished = delete(&server, &["cm", "owner", "--dry-run"]);
    assert!(finished.status.success(), "{}", finished.report());
    assert_contains(
        &finished.stdout,
        &[
            "ConfigMap default/owner\n  ConfigMap default/child",
            "Cascade deletes 2 configmaps",
            "dry run",
        ],
    );
    server.kubectl(&["get", "cm", "owner", "child"]);
}

#[test]
fn g14_nobody_to_ask_and_no_yes_is_refused() {
    let server = Server::start();
    with_child(&server);
    let finished = delete(&server, &["ConfigMap", "owner"]);
    assert_eq!(finished.status.code(), Some(1));
    assert_contains(&finished.stderr, &["nobody can be asked here: say --yes"]);
    server.kubectl(&["get", "cm", "owner", "child"]);
}

#[test]
fn g14_with_yes_it_deletes_and_waits_until_it_is_gone() {
    let server = Server::start();
    with_child(&server);
    let finished = delete(&server, &["configmaps", "owner", "-n", "default", "--yes"]);
    assert!(finished.status.success(), "{}", finished.report());
    assert_contains(&finished.stdout, &["It is gone."]);
    assert_eq!(
        server.kubectl(&["get", "cm", "-l", "app=a", "-o", "name"]),
        ""
    );
}

#[test]
fn g14_g15_a_deletion_that_does_not_end_names_its_blocker() {
    let server = Server::start();
    with_child(&server);
    let hold = r#"{"metadata": {"finalizers": ["example.com/hold"]}}"#;
    server.kubectl(&["patch", "cm", "child", "--type=merge", "-p", hold]);
    let finished = delete(&server, &["cm", "owner", "--yes", "--timeout", "1"]);
    assert_eq!(finished.status.code(), Some(1));
    assert_contains(
        &finished.stdout,
        &["blocker: ConfigMap default/child will stay until example.com/hold"],
    );
    assert_contains(
        &finished.stderr,
        &[
            "child is held by example.com/hold",
            "the controller of example.com",
        ],
    );
    let unknown = delete(&server, &["cm", "nothing", "--yes"]);
    assert_contains(
        &unknown.stderr,
        &["there is no ConfigMap nothing in namespace default"],
    );
    let kind = delete(&server, &["nokind", "nothing", "--yes"]);
    assert_contains(&kind.stderr, &["doesn't have a kind"]);
}
