//! The example of a deployer in Python, as its README tells it: kubectl, the deployer and the binary.

use std::path::{Path, PathBuf};

use landform_e2e::{Lines, Server, python};

use crate::assert_contains;

fn example(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/deployer-python");
    folder.join(name)
}

fn deployer(server: &Server, directory: &Path) -> Lines {
    let mut command = server.client(python());
    command.arg(example("deployer.py")).arg("--directory");
    let mut lines = Lines::of(command.arg(directory));
    lines.expect(&["following deploy items"]);
    lines
}

fn wait(server: &Server, jsonpath: &str, value: &str) {
    let condition = format!("--for=jsonpath={{{jsonpath}}}={value}");
    server.kubectl(&["wait", &condition, "di/greeting", "--timeout=55s"]);
}

fn patch(server: &Server, patch: &str) {
    server.kubectl(&["patch", "di", "greeting", "--type=merge", "-p", patch]);
}

#[test]
fn e12_a_deployer_in_python_keeps_the_contract() {
    let server = Server::start();
    if !server.kubectl_is_at_least(23) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("greeting.txt");
    let mut running = deployer(&server, directory.path());
    server.apply(&std::fs::read_to_string(example("item.yaml")).unwrap());
    running.expect(&["default/greeting: picked up"]);
    wait(&server, ".status.phase", "Succeeded");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "hello");
    let item = server.kubectl_json(&["get", "di", "greeting"]);
    assert_eq!(
        item["status"]["observedGeneration"],
        item["metadata"]["generation"]
    );
    assert_eq!(item["status"]["exportRef"]["name"], "greeting-export");
    assert_contains(
        &item["metadata"]["finalizers"].to_string(),
        &["finalizer.landscaper"],
    );
    server.kubectl(&["get", "secret", "greeting-export"]);

    // A change is picked up; a deployer that was away goes on where it was.
    patch(
        &server,
        r#"{"spec":{"config":{"content":"later","seconds":2}}}"#,
    );
    running.expect(&["default/greeting: picked up"]);
    wait(&server, ".status.phase", "Progressing");
    drop(running);
    let mut running = deployer(&server, directory.path());
    running.expect(&["default/greeting: succeeded"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "later");

    // An abort is acknowledged when the work has stopped.
    patch(
        &server,
        r#"{"spec":{"config":{"content":"too late","seconds":60}}}"#,
    );
    running.expect(&["default/greeting: picked up"]);
    let abort = "landscaper.gardener.cloud/operation=abort";
    server.kubectl(&["annotate", "di", "greeting", abort]);
    running.expect(&["default/greeting: aborted"]);
    wait(&server, ".status.lastError.reason", "Aborted");
    wait(&server, ".status.phase", "Failed");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "later");

    // A broken configuration is an error at once, and doesn't keep the item from going.
    patch(
        &server,
        r#"{"spec":{"config":{"name":"../escape","seconds":null}}}"#,
    );
    wait(&server, ".status.lastError.reason", "InvalidConfiguration");
    server.kubectl(&["delete", "di", "greeting", "--timeout=55s"]);
    assert!(!file.exists());
}
