//! Real clients against the real binary; see the harness in `src/` for how.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a helper fails the test it helps"
)]

mod access;
mod beginnings;
mod blueprint_command;
mod canary;
mod catalog_command;
mod custom_resources;
mod deployer_python;
mod down_held;
mod edits;
mod engine_elsewhere;
mod example;
mod full_disk;
mod hook_commands;
mod hostile;
mod in_process;
mod inherited;
mod kopf_operator;
mod kube_rs;
mod kubectl_apply;
mod kubectl_cascade;
mod kubectl_change;
mod kubectl_create;
mod kubectl_delete;
mod kubectl_discovery;
mod kubectl_get;
mod kubectl_wait;
mod landform_delete;
mod lifecycle;
mod manifest_deployer;
mod migrating;
mod operator_example;
mod pages;
mod processes;
mod project;
mod python_client;
mod python_reconciler;
mod readme;
mod shop;
mod store_key;
mod target_sync;
mod tenant;
mod tenant_advice;
mod tenant_context;
mod tenant_deletion;
mod tenant_parts;
mod tenant_secrets;
mod tenant_takeover;
mod up;
mod verbs_apply;
mod verbs_change;
mod verbs_project;
mod verbs_read;
mod verbs_shell;
mod verbs_work;
mod why;
mod words;

/// A ConfigMap with one label and some data.
fn config_map(name: &str, app: &str, data: &[(&str, &str)]) -> String {
    let data: String = data
        .iter()
        .map(|(key, value)| format!("  {key}: \"{value}\"\n"))
        .collect();
    format!(
        "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  labels:\n    \
         app: {app}\ndata:\n{data}"
    )
}

fn namespace(name: &str) -> String {
    format!("---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}}}\n")
}

/// A Deployment with one container.
const WEB: &str = "
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app: web}
spec:
  replicas: 2
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
      - name: web
        image: nginx:1.0
        ports:
        - containerPort: 80
        env:
        - {name: COLOR, value: blue}
        - {name: SHAPE, value: round}
";

/// Runs the binary as a client of a server.
fn landform_on(server: &landform_e2e::Server, arguments: &[&str]) -> landform_e2e::Finished {
    let mut command = server.client(landform_e2e::landform());
    landform_e2e::run(command.args(arguments))
}

/// Runs the binary, which must succeed, and returns its stdout.
#[track_caller]
fn landform_ok(server: &landform_e2e::Server, arguments: &[&str]) -> String {
    let finished = landform_on(server, arguments);
    assert!(finished.status.success(), "{}", finished.report());
    finished.stdout
}

/// Fails with the whole text when a piece is missing.
#[track_caller]
fn assert_contains(text: &str, pieces: &[&str]) {
    for piece in pieces {
        assert!(text.contains(piece), "{piece:?} is missing in:\n{text}");
    }
}
