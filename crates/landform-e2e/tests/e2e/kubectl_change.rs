//! Changes in place: label, annotate, patch, edit, scale, set.

use landform_e2e::{Server, run};
use serde_json::json;

use crate::{WEB, assert_contains, config_map};

#[test]
fn label_and_annotate() {
    let server = Server::start();
    server.apply(&config_map("settings", "web", &[]));
    assert_eq!(
        server.kubectl(&["label", "cm", "settings", "tier=front"]),
        "configmap/settings labeled"
    );
    let said = server.kubectl_fails(&["label", "cm", "settings", "tier=back"]);
    assert_contains(
        &said,
        &["already has a value (front), and --overwrite is false"],
    );
    server.kubectl(&["label", "cm", "settings", "tier=back", "--overwrite"]);
    server.kubectl(&["label", "cm", "settings", "app-"]);
    assert_eq!(
        server.kubectl(&["annotate", "cm", "settings", "note=a: b"]),
        "configmap/settings annotated"
    );
    let metadata = server.kubectl_json(&["get", "cm", "settings"])["metadata"].clone();
    assert_eq!(metadata["labels"], json!({"tier": "back"}));
    assert_eq!(metadata["annotations"]["note"], "a: b");
    let said = server.kubectl_fails(&["label", "cm", "settings", "x=not valid"]);
    assert_contains(&said, &["not valid"]);
}

#[test]
fn patches_of_all_kinds() {
    let server = Server::start();
    server.apply(WEB);
    let patch = |kind: &str, patch: &str| {
        server.kubectl(&["patch", "deployment", "web", "--type", kind, "-p", patch]);
        server.kubectl_json(&["get", "deployment", "web"])
    };
    let found = patch(
        "json",
        r#"[{"op": "test", "path": "/spec/replicas", "value": 2},
                                  {"op": "replace", "path": "/spec/replicas", "value": 3}]"#,
    );
    assert_eq!(found["spec"]["replicas"], 3);
    let found = patch(
        "merge",
        r#"{"metadata": {"labels": {"app": null, "new": "yes"}}}"#,
    );
    assert_eq!(found["metadata"]["labels"], json!({"new": "yes"}));
    let env = r#"{"spec":{"template":{"spec":{"containers":[
        {"name":"web","env":[{"name":"SHAPE","$patch":"delete"},{"name":"SIZE","value":"big"}]}]}}}}"#;
    let found = patch("strategic", env);
    let mut env = found["spec"]["template"]["spec"]["containers"][0]["env"]
        .as_array()
        .unwrap()
        .clone();
    env.sort_by_key(|entry| entry["name"].to_string());
    assert_eq!(
        env,
        [
            json!({"name": "COLOR", "value": "blue"}),
            json!({"name": "SIZE", "value": "big"})
        ]
    );
}

#[test]
fn a_patch_that_does_not_fit_changes_nothing() {
    let server = Server::start();
    server.apply(WEB);
    let before = server.kubectl_json(&["get", "deployment", "web"]);
    let fails = |kind: &str, patch: &str| {
        server.kubectl_fails(&["patch", "deployment", "web", "--type", kind, "-p", patch])
    };
    fails(
        "json",
        r#"[{"op": "test", "path": "/spec/replicas", "value": 7}]"#,
    );
    fails("json", r#"[{"op": "remove", "path": "/spec/nothing"}]"#);
    let said = fails("merge", r#"{"spec": {"replicas": "many"}}"#);
    assert_contains(&said, &["replicas"]);
    let said = fails("merge", r#"{"metadata": {"name": "other"}}"#);
    assert_contains(&said, &["name"]);
    assert_eq!(server.kubectl_json(&["get", "deployment", "web"]), before);
}

#[test]
fn edit_with_an_editor() {
    let server = Server::start();
    server.apply(&config_map("settings", "web", &[("color", "blue")]));
    let editor = server.file("editor.sh", "sed -i 's/color: blue/color: green/' \"$1\"\n");
    let mut command = server.kubectl_command(&["edit", "cm", "settings"]);
    let finished = run(command.env("KUBE_EDITOR", format!("sh {editor}")));
    assert!(finished.status.success(), "{}", finished.report());
    assert_contains(&finished.stdout, &["configmap/settings edited"]);
    assert_eq!(
        server.kubectl(&["get", "cm", "settings", "-o", "jsonpath={.data.color}"]),
        "green"
    );
}

#[test]
fn c2_only_changes_of_the_spec_raise_the_generation() {
    let server = Server::start();
    server.apply(WEB);
    let generation = || {
        server.kubectl(&[
            "get",
            "deployment",
            "web",
            "-o",
            "jsonpath={.metadata.generation}",
        ])
    };
    assert_eq!(generation(), "1");
    server.kubectl(&["label", "deployment", "web", "x=y"]);
    assert_eq!(generation(), "1", "a label is no change of the spec");
    server.kubectl(&["scale", "deployment", "web", "--replicas=5"]);
    assert_eq!(generation(), "2");
    if server.kubectl_is_at_least(24) {
        let status = r#"{"status": {"replicas": 5, "readyReplicas": 4}}"#;
        server.kubectl(&[
            "patch",
            "deployment",
            "web",
            "--subresource=status",
            "--type=merge",
            "-p",
            status,
        ]);
        assert_eq!(generation(), "2", "a status is no spec");
        let ready = server.kubectl(&["get", "deployment", "web", "--no-headers"]);
        assert_contains(&ready, &["4/5"]);
    }
    let ignored = r#"{"status": {"readyReplicas": 1}}"#;
    server.kubectl(&["patch", "deployment", "web", "--type=merge", "-p", ignored]);
    let status = server.kubectl_json(&["get", "deployment", "web"])["status"].clone();
    assert_ne!(
        status["readyReplicas"], 1,
        "the status has a door of its own"
    );
}

#[test]
fn scale_and_set() {
    let server = Server::start();
    server.apply(WEB);
    let said = server.kubectl(&[
        "scale",
        "deployment/web",
        "--current-replicas=2",
        "--replicas=4",
    ]);
    assert_eq!(said, "deployment.apps/web scaled");
    assert_eq!(
        server.kubectl(&[
            "get",
            "deployment",
            "web",
            "-o",
            "jsonpath={.spec.replicas}"
        ]),
        "4"
    );
    let said = server.kubectl_fails(&[
        "scale",
        "deployment/web",
        "--current-replicas=2",
        "--replicas=1",
    ]);
    assert_contains(&said, &["Expected replicas to be 2, was 4"]);
    server.kubectl(&["set", "image", "deployment/web", "web=nginx:3.0"]);
    server.kubectl(&["set", "env", "deployment/web", "COLOR-", "MODE=fast"]);
    let container = "jsonpath={.spec.template.spec.containers[0]}";
    let text = server.kubectl(&["get", "deployment", "web", "-o", container]);
    assert_contains(&text, &["nginx:3.0", "MODE", "SHAPE"]);
    assert!(!text.contains("COLOR"), "{text}");
}
