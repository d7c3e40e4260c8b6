//! What statuses say when something is refused, and texts of others on a terminal: a table over the commands that print.

use std::process::Command;

use landform_e2e::{Server, landform, run};
use serde_json::{Value, json};

use crate::shop::Leftovers;
use crate::{assert_contains, landform_on};

const LANDSCAPER: &str = "landscaper.gardener.cloud/v1alpha1";
/// A line that looks like one of Landform's own, and codes that move the cursor, set a title and change colours.
const HOSTILE: &str =
    r"broken\nFORGED everything is fine\r\u001b[2J\u001b]0;title\u0007\u001b[31mred\u202etxt";
const ERROR: &str = "jsonpath={.status.lastError.message}{\"\\n\"}";

fn installation(name: &str, imports: &Value, template: &str) -> Value {
    let declared: Vec<Value> = imports
        .as_array()
        .into_iter()
        .flatten()
        .map(|import| json!({"name": import["name"], "type": "data", "schema": {}}))
        .collect();
    let blueprint = json!({
        "apiVersion": LANDSCAPER, "kind": "Blueprint", "imports": declared,
        "deployExecutions": [{"name": "d", "type": "GoTemplate", "template": template}],
    });
    json!({
        "apiVersion": LANDSCAPER, "kind": "Installation",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "imports": {"data": imports},
            "blueprint": {"inline": {"filesystem": {"blueprint.yaml": blueprint.to_string()}}},
        },
    })
}

fn error_of(server: &Server, object: &str) -> String {
    let mut told = server.kubectl_lines(&["get", object, "--watch", "-o", ERROR]);
    told.expect(&[" "])
}

#[test]
fn c6_a_refusal_says_which_right_is_missing_and_not_whether_the_object_exists() {
    let server = Server::start();
    let role = [
        "create",
        "clusterrole",
        "writer",
        "--verb=*",
        "--resource=installations.landscaper.gardener.cloud",
    ];
    server.kubectl(&role);
    server.kubectl(&[
        "create",
        "clusterrolebinding",
        "jane",
        "--clusterrole=writer",
        "--user=jane",
    ]);
    server.kubectl(&["create", "secret", "generic", "there", "--from-literal=a=b"]);
    let mut said = Vec::new();
    for secret in ["there", "absent"] {
        let imports = json!([{"name": "a", "secretRef": {"name": secret, "key": "a"}}]);
        let object = installation(secret, &imports, "deployItems: []").to_string();
        server.kubectl_with(&["create", "--as=jane", "-f", "-"], &object);
        let error = error_of(&server, &format!("installation/{secret}"));
        assert_contains(&error, &["jane", "get secrets"]);
        said.push(error.replace(secret, "NAME"));
    }
    assert_eq!(said[0], said[1]);
    assert!(!said[0].contains("exist"), "{}", said[0]);
}

#[test]
fn a_quota_that_refuses_deploy_items_is_the_error_of_their_execution() {
    let server = Server::start();
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none", "namespace": "default"},
        "spec": {"hard": {"count/deployitems.landscaper.gardener.cloud": "0"}},
    });
    server.kubectl_with(&["create", "-f", "-"], &quota.to_string());
    let template = "deployItems: [{name: a, type: landscaper.gardener.cloud/mock, config: {}}]";
    let object = installation("a", &json!([]), template);
    server.kubectl_with(&["create", "-f", "-"], &object.to_string());
    let mut told = server.kubectl_lines(&["get", "executions", "--watch", "-o", ERROR]);
    let error = told.expect(&["quota"]);
    assert_contains(&error, &["none"]);
}

/// Objects whose status and Events hold the text, which a template's `fail` gives.
fn hostile(server: &Server) {
    let template = format!("{{{{ fail \"{HOSTILE}\" }}}}");
    let object = installation("evil", &json!([]), &template);
    server.kubectl_with(&["create", "-f", "-"], &object.to_string());
    let data = json!({
        "apiVersion": LANDSCAPER, "kind": "DataObject",
        "metadata": {"name": "evil", "namespace": "default", "annotations": {"note": text()}},
        "data": text(),
    });
    server.kubectl_with(&["create", "-f", "-"], &data.to_string());
    server.kubectl(&[
        "wait",
        "installation/evil",
        "--for=jsonpath={.status.phase}=Failed",
    ]);
}

/// The text itself.
fn text() -> String {
    serde_json::from_str(&format!("\"{HOSTILE}\"")).unwrap()
}

/// What a printed text does that it must not.
fn harm(printed: &str) -> Option<&'static str> {
    let controls = |c: char| (c.is_control() && c != '\n' && c != '\t') || c == '\u{202e}';
    if printed.chars().any(controls) {
        return Some("it prints control characters");
    }
    // Values of a manifest are indented below their field.
    let forged = |line: &str| line.starts_with("FORGED");
    printed
        .lines()
        .any(forged)
        .then_some("it has a forged line")
}

#[test]
fn no_text_of_others_does_anything_to_a_terminal_or_looks_like_a_line_of_ours() {
    let server = Server::start();
    hostile(&server);
    let changed = installation(
        "evil",
        &json!([]),
        &format!("{{{{ fail \"{HOSTILE} now\" }}}}"),
    );
    let file = server.file("changed.json", &changed.to_string());
    let table: [&[&str]; 23] = [
        &["why", "installation/evil"],
        &["why", "installation/evil", "--json"],
        &["describe", "installation/evil"],
        &["describe", "dataobject/evil"],
        &["tree"],
        &["tree", "installation/evil"],
        &["graph"],
        &["graph", "-o", "dot"],
        &["graph", "-o", "mermaid"],
        &["events"],
        &["events", "-o", "yaml"],
        &["get", "installations"],
        &["get", "installation/evil", "-o", "wide"],
        &["get", "installation/evil", "-o", "json"],
        &["get", "dataobject/evil", "-o", "yaml"],
        &["trace", "--once"],
        &["top", "--once"],
        &["wait", "installation/evil", "--timeout=0"],
        &["plan", "-f", &file],
        &["diff", "-f", &file],
        &["apply", "-f", &file],
        &["logs", "installation/evil"],
        &["delete", "installation/evil", "--yes"],
    ];
    let mut found = Vec::new();
    for arguments in table {
        let finished = landform_on(&server, arguments);
        for printed in [&finished.stdout, &finished.stderr] {
            if let Some(harm) = harm(printed) {
                found.push(format!(
                    "--- landform {}: {harm}\n{printed:?}",
                    arguments.join(" ")
                ));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn what_a_process_printed_is_harmless_on_a_terminal_and_as_it_is_for_programs() {
    let server = Server::start();
    let _leftovers = Leftovers(server.home().to_owned());
    let script = r"printf '\033[2Jone\rtwo\n'; exec sleep 600";
    let item = json!({
        "apiVersion": LANDSCAPER, "kind": "DeployItem", "metadata": {"name": "a", "namespace": "default"},
        "spec": {"type": "landform.dev/process", "config": {"command": ["sh", "-c", script]}},
    });
    server.kubectl_with(&["create", "-f", "-"], &item.to_string());
    server.kubectl(&[
        "wait",
        "deployitem/a",
        "--for=jsonpath={.status.phase}=Succeeded",
    ]);
    let mut follow = server.client(landform());
    let mut lines = landform_e2e::Lines::of(follow.args(["logs", "-f", "deployitem/a"]));
    lines.expect(&["\x1b[2Jone\rtwo"]);
    let line = format!("exec {} logs deployitem/a", landform().display());
    let mut command: Command = server.client("script");
    let shown = run(command
        .args(["-qefc", &line, "/dev/null"])
        .env("TERM", "xterm"));
    assert_contains(&shown.stdout, &[r"\u{1b}[2Jone\u{d}two"]);
    // An item that runs no program says so.
    let mock = json!({
        "apiVersion": LANDSCAPER, "kind": "DeployItem", "metadata": {"name": "b", "namespace": "default"},
        "spec": {"type": "landscaper.gardener.cloud/mock", "config": {}},
    });
    server.kubectl_with(&["create", "-f", "-"], &mock.to_string());
    let none = landform_on(&server, &["logs", "deployitem/b"]);
    assert_contains(
        &none.stderr,
        &["only items of the types landform.dev/process and landform.dev/command"],
    );
}

#[test]
fn what_a_hook_printed_is_in_its_log_and_not_in_the_error_of_an_object() {
    let server = Server::start();
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "toys.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "toys", "singular": "toy", "kind": "Toy", "listKind": "ToyList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            }}}],
        },
    });
    server.kubectl_with(&["create", "-f", "-"], &definition.to_string());
    let reconciler = json!({
        "apiVersion": "landform.dev/v1alpha1", "kind": "Reconciler", "metadata": {"name": "toys"},
        "spec": {"for": {"group": "example.com", "version": "v1", "kind": "Toy"}, "hook": {"command": ["sh", "-c", "echo no license >&2; exit 7", "hush"]}},
    });
    server.kubectl_with(&["create", "-f", "-"], &reconciler.to_string());
    let toy = json!({"apiVersion": "example.com/v1", "kind": "Toy", "metadata": {"name": "a"}});
    server.kubectl_with(&["create", "-f", "-"], &toy.to_string());
    let annotation = "jsonpath={.metadata.annotations.landform\\.dev/error}{\"\\n\"}";
    let mut told = server.kubectl_lines(&["get", "toy/a", "--watch", "-o", annotation]);
    let error = told.expect(&[
        "hook `sh`",
        "exit status: 7",
        "landform logs reconciler/toys",
    ]);
    assert!(
        !error.contains("license") && !error.contains("hush"),
        "{error}"
    );
    // The advice works, for those who may read logs.
    let log = landform_on(&server, &["logs", "reconciler/toys"]);
    assert_contains(
        &log.stdout,
        &["default/a: ended with exit status: 7", "  no license"],
    );
    let raw = "/apis/landform.dev/v1alpha1/logs/reconcilers.landform.dev/toys";
    let refused = server.kubectl_fails(&["get", "--raw", raw, "--as=jane"]);
    assert_contains(&refused, &["Forbidden"]);
}
