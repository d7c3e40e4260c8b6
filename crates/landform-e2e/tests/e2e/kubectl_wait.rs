//! `kubectl wait`: conditions, fields and deletions, before and after they happen.

use landform_e2e::Server;

use crate::{WEB, assert_contains, config_map};

#[test]
fn wait_for_a_field() {
    let server = Server::start();
    if !server.kubectl_is_at_least(23) {
        return;
    }
    server.apply(&config_map("job", "web", &[("state", "running")]));
    let mut wait = server.kubectl_lines(&[
        "wait",
        "--for=jsonpath={.data.state}=done",
        "cm/job",
        "--timeout=60s",
        "-v=6",
    ]);
    wait.expect(&["watch=true"]);
    server.kubectl(&[
        "patch",
        "cm",
        "job",
        "-p",
        r#"{"data": {"state": "failed"}}"#,
    ]);
    server.kubectl(&["patch", "cm", "job", "-p", r#"{"data": {"state": "done"}}"#]);
    let finished = wait.finish();
    assert!(finished.status.success(), "{}", finished.report());
    assert_contains(&finished.stdout, &["configmap/job condition met"]);
}

#[test]
fn wait_for_a_condition() {
    let server = Server::start();
    if !server.kubectl_is_at_least(24) {
        return;
    }
    server.apply(WEB);
    let mut wait = server.kubectl_lines(&[
        "wait",
        "--for=condition=Available",
        "deployment/web",
        "--timeout=60s",
        "-v=6",
    ]);
    wait.expect(&["watch=true"]);
    let status = r#"{"status": {"conditions": [{"type": "Available", "status": "True"}]}}"#;
    server.kubectl(&[
        "patch",
        "deployment",
        "web",
        "--subresource=status",
        "--type=merge",
        "-p",
        status,
    ]);
    let finished = wait.finish();
    assert!(finished.status.success(), "{}", finished.report());
    assert_contains(&finished.stdout, &["deployment.apps/web condition met"]);
}

#[test]
fn wait_for_deletion() {
    let server = Server::start();
    server.apply(&config_map("gone", "web", &[]));
    let mut wait =
        server.kubectl_lines(&["wait", "--for=delete", "cm/gone", "--timeout=60s", "-v=6"]);
    wait.expect(&["watch=true"]);
    server.kubectl(&["delete", "cm", "gone"]);
    let finished = wait.finish();
    assert!(finished.status.success(), "{}", finished.report());
    assert_contains(&finished.stdout, &["configmap/gone condition met"]);
}

#[test]
fn a_wait_in_vain_ends_with_an_error() {
    let server = Server::start();
    server.apply(&config_map("stays", "web", &[]));
    let said = server.kubectl_fails(&["wait", "--for=delete", "cm/stays", "--timeout=1s"]);
    assert_contains(&said, &["timed out waiting for the condition"]);
}
