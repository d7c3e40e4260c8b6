//! `landform wait`, `logs`, `reconcile`, `retry`, `abort`, `trace` and `top` on deploy items that do real work.

use landform_e2e::{Lines, Server, landform, run_with_input};
use serde_json::json;

use crate::shop::Leftovers;
use crate::{assert_contains, config_map, landform_ok, landform_on};

fn item(name: &str, kind: &str, command: &[&str]) -> String {
    let item = json!({
        "apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "DeployItem",
        "metadata": {"name": name},
        "spec": {"type": format!("landform.dev/{kind}"), "config": {"command": command}},
    });
    item.to_string()
}

fn apply(server: &Server, manifest: &str) {
    let file = server.file("item.json", manifest);
    landform_ok(server, &["apply", "-f", &file]);
}

#[test]
fn wait_ends_with_success_or_at_once_with_the_error() {
    let server = Server::start();
    apply(&server, &item("good", "command", &["true"]));
    apply(
        &server,
        &item("bad", "command", &["sh", "-c", "echo broken pot; exit 3"]),
    );
    assert_eq!(
        landform_ok(&server, &["wait", "di/good"]),
        "DeployItem/good Succeeded\n"
    );
    let failed = landform_on(&server, &["wait", "di", "good", "bad", "--timeout=1m"]);
    assert_eq!(failed.status.code(), Some(1), "{}", failed.report());
    assert_contains(&failed.stdout, &["DeployItem/good Succeeded"]);
    assert_contains(&failed.stderr, &["DeployItem/bad has failed", "broken pot"]);
    landform_ok(&server, &["wait", "di/bad", "--for=phase=Failed"]);
    let told = landform_ok(&server, &["describe", "di/bad"]);
    assert_contains(
        &told,
        &["Phase:         Failed", "Last error:", "broken pot"],
    );
}

#[test]
fn wait_knows_conditions_paths_and_deletion_and_ends_in_time() {
    let server = Server::start();
    server.apply(&config_map("a", "x", &[("k", "v")]));
    landform_ok(&server, &["wait", "cm/a", "--for=jsonpath={.data.k}=v"]);
    landform_ok(
        &server,
        &[
            "wait",
            "crd/installations.landscaper.gardener.cloud",
            "--for=condition=Established",
        ],
    );
    let late = landform_on(
        &server,
        &[
            "wait",
            "cm/a",
            "--for=jsonpath={.data.k}=w",
            "--timeout=300ms",
        ],
    );
    assert_eq!(late.status.code(), Some(1), "{}", late.report());
    assert_contains(
        &late.stderr,
        &["is not {.data.k}=w after 300ms", "{.data.k} is v"],
    );
    let missing = landform_on(&server, &["wait", "cm/none", "--for=jsonpath={.data.k}=v"]);
    assert_contains(&missing.stderr, &["there is no ConfigMap none"]);
    let mut command = server.client(landform());
    let lines = Lines::of(command.args(["wait", "cm/a", "--for=delete"]));
    server.kubectl(&["delete", "cm", "a"]);
    let done = lines.finish();
    assert!(done.status.success(), "{}", done.report());
    assert_eq!(done.stdout, "ConfigMap/a is gone\n");
}

#[test]
fn logs_of_commands_are_kept_without_their_secrets() {
    let server = Server::start();
    apply(
        &server,
        &item("greet", "command", &["sh", "-c", "echo one; echo two"]),
    );
    landform_ok(&server, &["wait", "di/greet"]);
    assert_eq!(landform_ok(&server, &["logs", "di/greet"]), "one\ntwo\n");
    assert_eq!(
        landform_ok(&server, &["logs", "di/greet", "--tail=1"]),
        "two\n"
    );
    apply(
        &server,
        &item("greet", "command", &["sh", "-c", "echo three"]),
    );
    landform_ok(&server, &["wait", "di/greet"]);
    assert_eq!(landform_ok(&server, &["logs", "di/greet"]), "three\n");
    assert_eq!(
        landform_ok(&server, &["logs", "di/greet", "--previous"]),
        "one\ntwo\n"
    );
    let none = landform_on(&server, &["logs", "di/none"]);
    assert_eq!(none.status.code(), Some(1));
    assert_contains(&none.stderr, &["there is no DeployItem none"]);
}

#[test]
fn logs_of_a_process_are_followed() {
    let server = Server::start();
    let _leftovers = Leftovers(server.home().to_path_buf());
    let script = "echo begun; while [ ! -e go ]; do sleep 0.05; done; echo went; exec sleep 300";
    apply(&server, &item("run", "process", &["sh", "-c", script]));
    landform_ok(&server, &["wait", "di/run"]);
    let mut command = server.client(landform());
    let mut lines = Lines::of(command.args(["logs", "di/run", "-f"]));
    lines.expect(&["begun"]);
    let log = server.kubectl(&[
        "get",
        "di",
        "run",
        "-o",
        "jsonpath={.status.providerStatus.log}",
    ]);
    let log = std::path::Path::new(&log);
    let work = log.parent().unwrap().parent().unwrap().join("work");
    std::fs::write(work.join("go"), "").unwrap();
    lines.expect(&["went"]);
    landform_ok(&server, &["delete", "di/run", "--yes"]);
}

/// An installation with two commands, the second of which fails.
const PAIR: &str = "
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Installation
metadata: {name: pair}
spec:
  blueprint:
    inline:
      filesystem:
        blueprint.yaml: |
          apiVersion: landscaper.gardener.cloud/v1alpha1
          kind: Blueprint
          deployExecutions:
          - name: commands
            type: GoTemplate
            template: |
              deployItems:
              - name: first
                type: landform.dev/command
                config: {command: [sh, -c, 'echo tick']}
              - name: second
                type: landform.dev/command
                config: {command: [sh, -c, 'echo tock; exit 4']}
";

#[test]
fn an_installation_has_the_logs_of_all_its_items_and_is_retried_through_one_of_them() {
    let server = Server::start();
    apply(&server, PAIR);
    let failed = landform_on(&server, &["wait", "inst/pair", "--timeout=50s"]);
    assert_eq!(failed.status.code(), Some(1), "{}", failed.report());
    assert_contains(&failed.stderr, &["Installation/pair has failed"]);
    let logs = landform_ok(&server, &["logs", "inst/pair"]);
    assert_contains(&logs, &[" | tick\n", " | tock\n"]);
    let items = landform_ok(&server, &["get", "di", "-o", "name"]);
    let item = items.lines().next().unwrap();
    let told = landform_ok(&server, &["retry", item]);
    assert_eq!(told, "Installation/pair is tried again\n");
}

#[test]
fn top_fills_a_terminal_until_q() {
    let server = Server::start();
    let mut command = server.client("script");
    let line = format!("{} top", landform().display());
    command.args(["-q", "-e", "-c", &line, "/dev/null"]);
    let finished = run_with_input(command.env("TERM", "xterm"), "q");
    assert!(finished.status.success(), "{}", finished.report());
    // The terminal is left as it was.
    assert_contains(&finished.stdout, &["\x1b[?1049h", "runs/s", "\x1b[?1049l"]);
}

#[test]
fn reconcile_runs_again_and_retry_takes_what_has_failed() {
    let server = Server::start();
    let work = server.home().join("count");
    let count = format!(
        "echo x >> {}; test -e {}.fixed",
        work.display(),
        work.display()
    );
    apply(&server, &item("job", "command", &["sh", "-c", &count]));
    landform_ok(&server, &["wait", "di/job", "--for=phase=Failed"]);
    std::fs::write(server.home().join("count.fixed"), "").unwrap();
    assert_eq!(
        landform_ok(&server, &["retry"]),
        "DeployItem/job is tried again\n"
    );
    landform_ok(&server, &["wait", "di/job"]);
    assert_eq!(landform_ok(&server, &["retry"]), "Nothing has failed.\n");
    assert_contains(
        &landform_ok(&server, &["retry", "di/job"]),
        &["has not failed"],
    );
    let before = std::fs::read_to_string(&work).unwrap().lines().count();
    let told = landform_ok(&server, &["reconcile", "di/job"]);
    assert_eq!(told, "DeployItem/job was asked to reconcile\n");
    landform_ok(&server, &["wait", "di/job"]);
    let after = std::fs::read_to_string(&work).unwrap().lines().count();
    assert_eq!(after, before + 1);
    let unknown = landform_on(&server, &["reconcile", "ns/default"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert_contains(
        &unknown.stderr,
        &["nothing reconciles the kind Namespace here"],
    );
}

#[test]
fn abort_stops_what_is_going_on() {
    let server = Server::start();
    let _leftovers = Leftovers(server.home().to_path_buf());
    apply(&server, &item("long", "command", &["sleep", "600"]));
    landform_ok(&server, &["wait", "di/long", "--for=phase=Progressing"]);
    assert_contains(
        &landform_ok(&server, &["abort", "di/long"]),
        &["asked to abort"],
    );
    landform_ok(
        &server,
        &["wait", "di/long", "--for=phase=Failed", "--timeout=30s"],
    );
    let other = landform_on(&server, &["abort", "ns/default"]);
    assert_contains(&other.stderr, &["can't be aborted"]);
}

#[test]
fn r13_trace_shows_runs_as_they_happen_and_top_what_is_left() {
    let server = Server::start();
    let mut command = server.client(landform());
    let mut lines = Lines::of(command.args(["trace"]));
    apply(&server, &item("bad", "command", &["false"]));
    lines.expect(&["DeployItem/default/bad", "started run"]);
    lines.expect(&["DeployItem/default/bad", "finished run"]);
    // The engine can be asked about every kind that it reconciles.
    let definition = "crd/installations.landscaper.gardener.cloud";
    landform_ok(&server, &["reconcile", definition]);
    lines.expect(&[
        "CustomResourceDefinition/installations.landscaper.gardener.cloud",
        "started run",
        "asked",
    ]);
    let once = landform_ok(&server, &["trace", "di/bad", "--once"]);
    assert_contains(&once, &["queued", "started run"]);
    let top = landform_ok(&server, &["top", "--once"]);
    assert_contains(&top, &["runs/s", "KIND", "DeployItem"]);
}
