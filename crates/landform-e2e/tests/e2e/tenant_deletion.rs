//! C6 at the end of things: what a tenant can't hold, and what is not run any more once a right is gone.

use landform_e2e::{Server, landform, run};
use serde_json::json;

use crate::assert_contains;
use crate::shop::Leftovers;
use crate::tenant::{JANE, RIGHTS, TEAM, item, map};

/// Jane may run programs.
const RUNS: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: runs, namespace: team}
rules:
- {apiGroups: [landform.dev], resources: [processes], verbs: [run]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: runs, namespace: team}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: runs}
subjects: [{kind: User, name: jane, apiGroup: rbac.authorization.k8s.io}]
";

/// Waits until the object's status says all of this.
fn says(server: &Server, object: &str, parts: &[&str]) {
    let status = "jsonpath={.status}{\"\\n\"}";
    let arguments = ["get", object, "--watch", "-o", status, "-n", "team"];
    server.kubectl_lines(&arguments).expect(parts);
}

/// Waits until a deploy item has Succeeded.
fn succeeded(server: &Server, name: &str) {
    let phase = "--for=jsonpath={.status.phase}=Succeeded";
    let wait = [
        "wait",
        phase,
        "deployitem",
        name,
        "-n",
        "team",
        "--timeout=55s",
    ];
    server.kubectl(&wait);
}

fn gone(server: &Server, object: &str) {
    server.kubectl(&[
        "wait",
        "--for=delete",
        object,
        "-n",
        "team",
        "--timeout=55s",
    ]);
}

#[test]
fn c6_a_project_that_a_tenant_edited_goes_with_what_it_made() {
    let files = tempfile::tempdir().unwrap();
    let server = Server::start_with(&["--projects", files.path().to_str().unwrap()]);
    server.apply(RIGHTS);
    let gadgets = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
    });
    let made = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "made"}});
    // The admin's projects, which Jane edits although she has no right to any of their objects.
    let project = |name: &str, objects: &[serde_json::Value]| {
        let directory = files.path().join(name);
        std::fs::create_dir(&directory).unwrap();
        for (number, object) in objects.iter().enumerate() {
            std::fs::write(directory.join(format!("{number}.yaml")), object.to_string()).unwrap();
        }
        let project = json!({
            "apiVersion": "landform.dev/v1alpha1", "kind": "Project",
            "metadata": {"name": name}, "spec": {"directory": directory},
        });
        server.apply(&project.to_string());
        let count = format!("\"objects\":{}", objects.len());
        says(&server, &format!("project/{name}"), &["Synced", &count]);
        let edit = r#"{"spec": {"grace": "1s"}}"#;
        server.kubectl(&["patch", "project", name, "--type=merge", "-p", edit, JANE]);
    };
    project("whole", &[map("m", "made"), made, gadgets]);
    server.kubectl(&["delete", "project", "whole", "--timeout=55s"]);
    for gone in ["namespace/made", "crd/gadgets.example.com"] {
        assert_contains(&server.try_kubectl(&["get", gone]).stderr, &["NotFound"]);
    }
    // An object that carries a project's marks, and isn't of its making, doesn't go with Landform's rights.
    project("marked", &[map("own", "default")]);
    let mut forged = map("forged", "default");
    forged["metadata"]["labels"] = json!({"landform.dev/project": "marked"});
    forged["metadata"]["annotations"] = json!({
        "landform.dev/project-file": "0.yaml", "landform.dev/maker": "{}",
    });
    server.apply(&forged.to_string());
    server.kubectl(&["delete", "project", "marked", "--wait=false"]);
    server.kubectl(&[
        "wait",
        "--for=delete",
        "configmap/own",
        "-n",
        "default",
        "--timeout=55s",
    ]);
    let told = [
        "forged",
        "cannot delete resource",
        "replace the project with a changed spec",
    ];
    says(&server, "project/marked", &told);
    server.kubectl(&["get", "configmap", "forged", "-n", "default"]);
    // The way out that it names.
    let found = server.kubectl(&["get", "project", "marked", "-o", "json"]);
    let changed = found.replace(r#""grace": "1s""#, r#""grace": "2s""#);
    assert_ne!(changed, found);
    server.kubectl_with(&["replace", "-f", "-"], &changed);
    server.kubectl(&["wait", "--for=delete", "project/marked", "--timeout=55s"]);
}

#[test]
fn c6_a_process_is_not_started_again_once_the_right_is_gone() {
    let server = Server::start();
    let _leftovers = Leftovers(server.home().to_owned());
    server.apply(RIGHTS);
    server.apply(RUNS);
    let config = json!({
        "command": ["sh", "-c", "echo started; exec sleep 1000"],
        "readiness": {"log": {"pattern": "started"}}, "restart": {"backoff": "10ms"},
    });
    let process = item("process", "landform.dev/process", &config);
    server.kubectl_with(&["apply", "-f", "-", JANE], &process.to_string());
    succeeded(&server, "process");
    let status = || {
        let found = server.kubectl_json(&[&["get", "deployitem", "process"][..], &TEAM].concat());
        found["status"]["providerStatus"].clone()
    };
    let before = status();
    let (pid, log) = (
        before["pid"].to_string(),
        before["log"].as_str().unwrap().to_owned(),
    );
    server.kubectl(&["delete", "rolebinding", "runs", "-n", "team"]);
    // What runs goes on; when it has ended, nothing is started.
    assert!(std::path::Path::new("/proc").join(&pid).exists());
    let killed = std::process::Command::new("kill")
        .args(["-9", &pid])
        .status();
    assert!(killed.unwrap().success());
    says(
        &server,
        "deployitem/process",
        &[
            "Failed",
            "run processes.landform.dev",
            "in the namespace team",
        ],
    );
    let output = std::fs::read_to_string(log).unwrap();
    assert_eq!(output, "started\n", "it was started once");
    // With the right again it runs again.
    server.apply(RUNS);
    let again = "landscaper.gardener.cloud/operation=reconcile";
    server.kubectl(&["annotate", "deployitem", "process", again, "-n", "team"]);
    succeeded(&server, "process");
    // To end a process takes no right.
    server.kubectl(&["delete", "rolebinding", "runs", "-n", "team"]);
    server.kubectl(&[
        "delete",
        "deployitem",
        "process",
        "-n",
        "team",
        "--timeout=55s",
    ]);
}

#[test]
fn c6_the_removal_of_a_command_needs_the_right_and_has_a_way_out() {
    let server = Server::start();
    server.apply(RIGHTS);
    server.apply(RUNS);
    let proof = server.home().join("proof");
    let script = format!("echo $OPERATION $0 >> {}", proof.display());
    let names = ["granted", "let-go"];
    for name in names {
        let config = json!({"command": ["sh", "-c", script, name]});
        let command = item(name, "landform.dev/command", &config);
        server.kubectl_with(&["apply", "-f", "-", JANE], &command.to_string());
        succeeded(&server, name);
    }
    server.kubectl(&["delete", "rolebinding", "runs", "-n", "team"]);
    server.kubectl(&[
        "delete",
        "deployitem",
        "--all",
        "-n",
        "team",
        "--wait=false",
    ]);
    let annotation = "landscaper.gardener.cloud/delete-without-uninstall=true";
    for name in names {
        let object = format!("deployitem/{name}");
        let advice = format!("kubectl annotate deployitem {name} -n team {annotation}");
        says(&server, &object, &["run processes.landform.dev", &advice]);
    }
    let why = ["why", "deployitem/granted", "-n", "team"];
    let why = run(server.client(landform()).args(why)).stdout;
    assert_contains(&why, &["run processes.landform.dev", annotation]);
    let ran = || {
        let text = std::fs::read_to_string(&proof).unwrap();
        let mut lines: Vec<_> = text.lines().map(ToOwned::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(ran(), ["RECONCILE granted", "RECONCILE let-go"]);
    server.kubectl(&["annotate", "deployitem", "let-go", annotation, "-n", "team"]);
    gone(&server, "deployitem/let-go");
    // A removal is tried again by itself.
    server.apply(RUNS);
    gone(&server, "deployitem/granted");
    assert_eq!(
        ran(),
        ["DELETE granted", "RECONCILE granted", "RECONCILE let-go"]
    );
}
