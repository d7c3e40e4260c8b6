//! An operator written with kopf reconciles widgets and cleans up after them.

use landform_e2e::{Lines, Server, fixture, python};

use crate::assert_contains;
use crate::custom_resources::{widget, with_widgets};

fn operator(server: &Server) -> Lines {
    let mut command = server.client(python());
    command.args([
        "-m",
        "kopf",
        "run",
        "--standalone",
        "--namespace",
        "default",
    ]);
    Lines::of(command.arg(fixture("operators/widgets.py")))
}

fn wait_for(server: &Server, object: &str, jsonpath: &str, value: &str) {
    let condition = format!("--for=jsonpath={{{jsonpath}}}={value}");
    server.kubectl(&["wait", &condition, object, "--timeout=55s"]);
}

#[test]
fn an_operator_follows_a_resource_from_creation_to_deletion() {
    let server = with_widgets();
    if !server.kubectl_is_at_least(23) {
        return;
    }
    server.apply(&widget("before", "{color: red}"));
    let mut kopf = operator(&server);
    kopf.expect(&["default/before", "succeeded"]);
    wait_for(&server, "widget/before", ".status.create.color", "red");
    let color = ["get", "cm", "widget-before", "-o", "jsonpath={.data.color}"];
    assert_eq!(server.kubectl(&color), "red");

    server.apply(&widget("after", "{color: blue}"));
    wait_for(&server, "widget/after", ".status.create.color", "blue");
    server.apply(&widget("after", "{color: green}"));
    wait_for(&server, "widget/after", ".status.recolored", "green");
    let color = ["get", "cm", "widget-after", "-o", "jsonpath={.data.color}"];
    assert_eq!(server.kubectl(&color), "green");

    let finalizers = [
        "get",
        "widget",
        "after",
        "-o",
        "jsonpath={.metadata.finalizers}",
    ];
    assert_contains(&server.kubectl(&finalizers), &["kopf"]);
    // kubectl waits until the operator has removed its finalizer.
    server.kubectl(&["delete", "widget", "after", "--timeout=55s"]);
    assert_contains(
        &server.kubectl_fails(&["get", "cm", "widget-after"]),
        &["NotFound"],
    );
    assert_eq!(
        server.kubectl(&["get", "widgets", "-o", "name"]),
        "widget.example.com/before"
    );
}

#[test]
fn a_deletion_waits_for_an_operator_that_was_away() {
    let server = with_widgets();
    let mut kopf = operator(&server);
    server.apply(&widget("w", "{color: red}"));
    kopf.expect(&["default/w", "succeeded"]);
    // The handlers have run; their result and the finalizer are written before kopf is done.
    kopf.expect(&["default/w", "Creation is processed"]);
    drop(kopf);
    server.kubectl(&["delete", "widget", "w", "--wait=false"]);
    let found = server.kubectl_json(&["get", "widget", "w"]);
    assert!(
        found["metadata"]["deletionTimestamp"].is_string(),
        "{found}"
    );
    let mut gone =
        server.kubectl_lines(&["wait", "--for=delete", "widget/w", "--timeout=55s", "-v=6"]);
    gone.expect(&["watch=true"]);
    let _kopf = operator(&server);
    let finished = gone.finish();
    assert!(finished.status.success(), "{}", finished.report());
    assert_contains(
        &server.kubectl_fails(&["get", "cm", "widget-w"]),
        &["NotFound"],
    );
}
