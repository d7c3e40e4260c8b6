//! `landform engine` reconciles through a kubeconfig what another process serves.

use std::process::Command;

use landform_e2e::{Lines, Server, landform, python, run};

use crate::assert_contains;

/// Sums: each adds its value to those that it refers to, and keeps the result in a ConfigMap.
const SUMS: &str = r#"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: sums.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Sum, listKind: SumList, plural: sums, singular: sum}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"#;

const HOOK: &str = r#"
import json, sys

call = json.load(sys.stdin)
spec, name = call["object"]["spec"], call["object"]["metadata"]["name"]
refs = [ref["object"] or {} for ref in call["refs"]]
value = spec["value"] + sum(ref.get("status", {}).get("value", 0) for ref in refs)
result = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "sum-" + name}}
result["data"] = {"value": str(value)}
json.dump({"status": {"value": value}, "owned": [result]}, sys.stdout)
"#;

fn reconciler(server: &Server) -> String {
    let hook = server.file("sum.py", HOOK);
    let python = python();
    format!(
        r#"
apiVersion: landform.dev/v1alpha1
kind: Reconciler
metadata: {{name: sums}}
spec:
  for: {{group: example.com, version: v1, kind: Sum}}
  refs: [{{path: ".spec.of[*]"}}]
  owns: [{{group: "", version: v1, kind: ConfigMap}}]
  hook: {{command: [{}, {hook}]}}
"#,
        python.display()
    )
}

fn sum(name: &str, spec: &str) -> String {
    format!("apiVersion: example.com/v1\nkind: Sum\nmetadata: {{name: {name}}}\nspec: {spec}\n")
}

fn start_engine(server: &Server) -> (Lines, String) {
    let mut command = server.client(landform());
    command.args(["engine", "--listen", "127.0.0.1:0", "--kubeconfig"]);
    let mut engine = Lines::of(command.arg(server.kubeconfig()));
    let ready = engine.expect(&["landform engine ready: http://"]);
    let url = ready
        .split_whitespace()
        .find(|word| word.ends_with("/engine"));
    (
        engine,
        url.unwrap_or_default()
            .trim_end_matches("/engine")
            .to_owned(),
    )
}

/// Reads a URL with the standard library of Python.
fn read(url: &str) -> String {
    let script =
        "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode())";
    let read = run(Command::new(python()).args(["-c", script, url]));
    assert!(read.status.success(), "{}", read.report());
    read.stdout
}

#[test]
fn r2_r6_an_engine_elsewhere_reconciles_through_a_kubeconfig_and_goes_on_after_a_restart() {
    let server = Server::start_with(&["--without-engine"]);
    if !server.kubectl_is_at_least(23) {
        return;
    }
    server.apply(SUMS);
    let wait = |object: &str, value: &str| {
        let condition = format!("--for=jsonpath={{.status.value}}={value}");
        server.kubectl(&["wait", &condition, object, "--timeout=55s"]);
    };
    let (engine, url) = start_engine(&server);
    server.apply(&reconciler(&server));
    server.apply(&sum("b", "{value: 2, of: [a]}"));
    server.apply(&sum("a", "{value: 1}"));
    wait("sum/b", "3");
    let data = ["get", "cm", "sum-b", "-o", "jsonpath={.data.value}"];
    assert_eq!(server.kubectl(&data), "3");
    let objects = read(&format!("{url}/engine/objects?kind=sum"));
    assert_contains(
        &objects,
        &["\"EngineObjectList\"", "\"name\":\"a\"", "\"name\":\"b\""],
    );
    assert_contains(
        &read(&format!("{url}/metrics")),
        &["landform_engine_runs_total"],
    );
    drop(engine);

    server.apply(&sum("a", "{value: 10}"));
    server.kubectl(&["delete", "cm", "sum-b"]);
    let (_engine, _) = start_engine(&server);
    wait("sum/b", "12");
    // The status is written after the children.
    assert_eq!(server.kubectl(&data), "12");
}

#[test]
fn an_engine_without_an_api_says_what_to_do() {
    let ended =
        run(Command::new(landform()).args(["engine", "--kubeconfig", "/nowhere/kubeconfig"]));
    assert!(!ended.status.success());
    assert_contains(
        &ended.stderr,
        &["error: can't use the kubeconfig /nowhere/kubeconfig"],
    );
}
