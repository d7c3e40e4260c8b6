//! What comes from a Secret is in Secrets only: in no other object, no metric and no log line.

use std::io;
use std::sync::Arc;

use landform_deployers::DeployItems;
use landform_deployers::command::CommandDeployer;
use landform_deployers::manifest::ManifestDeployer;
use landform_deployers::process::ProcessDeployer;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::harness::{Landscape, data_import, files, kept, template, text};
use crate::recorder::Recorder;

/// What must not be seen.
const CANARY: &str = "canary-4f1e8b2a";

/// Log lines, kept.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Lines {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

/// An item of each deployer gets the password; one command fails with it on its lips.
const ITEMS: &str = r#"
deployItems:
- name: manifest
  type: landscaper.gardener.cloud/kubernetes-manifest
  target: {name: here}
  config:
    manifests:
    - manifest:
        apiVersion: v1
        kind: Secret
        metadata: {name: made, namespace: default}
        stringData: {password: {{ .imports.password }}}
    exports:
      exports:
      - key: password
        jsonPath: .data.password
        fromResource: {apiVersion: v1, kind: Secret, name: made, namespace: default}
- name: process
  type: landform.dev/process
  config:
    command: [sh, -c, 'echo {{ .imports.password }}; echo up; exec sleep 1000', {{ .imports.password }}]
    env: {PASSWORD: {{ .imports.password }}}
    files: {secret.txt: {{ .imports.password }}}
    readiness: {log: {pattern: ^up$}}
    exports: {password: {value: {{ .imports.password }}}}
- name: command
  type: landform.dev/command
  config:
    command: [sh, -c, 'echo "{\"password\": \"$PASSWORD\"}" > "$EXPORTS_PATH"; cp "$IMPORTS_PATH" "$STATE_PATH/kept"']
    env: {PASSWORD: {{ .imports.password }}}
    importValues: {password: {{ .imports.password }}}
- name: mock
  type: landscaper.gardener.cloud/mock
  config: {export: {password: {{ .imports.password }}}}
"#;

const FAILING: &str = r#"
deployItems:
- name: failing
  type: landform.dev/command
  config:
    command: [sh, -c, 'echo "told: $PASSWORD"; echo "and: $PASSWORD" >&2; exit 3']
    env: {PASSWORD: {{ .imports.password }}}
"#;

fn blueprint(items: &str, exports: Value) -> Value {
    json!({
        "imports": [data_import("password", json!({"type": "string"}))],
        "exports": exports,
        "importExecutions": template("bind", "bindings: {again: {{ .imports.password }}}"),
        "deployExecutions": template("items", items),
        "exportExecutions": template("exports", r#"
exports:
  password: {{ .values.deployitems.mock.password }}-{{ .values.deployitems.process.password }}
"#),
    })
}

fn password_of(reference: Value) -> Value {
    let mut import = reference;
    import["name"] = "password".into();
    json!({"imports": {"data": [import]}})
}

/// All that people may see who may not see Secrets.
async fn seen(land: &Landscape) -> String {
    let mut seen = String::new();
    for kind in [
        "Installation",
        "Execution",
        "DeployItem",
        "DataObject",
        "Target",
    ] {
        for object in land.list(kind).await {
            seen.push_str(&object.to_string());
        }
    }
    for event in land.list("Event").await {
        seen.push_str(&event.to_string());
    }
    let summary = land.engine.summary().await.unwrap();
    seen.push_str(&serde_json::to_string(&summary).unwrap());
    let objects = land.engine.objects(landform_engine::view::Filter {
        limit: 1000,
        ..Default::default()
    });
    seen.push_str(&serde_json::to_string(&objects.await.unwrap().0).unwrap());
    for family in land.server.metrics_registry().gather() {
        seen.push_str(&format!("{family:?}"));
    }
    seen
}

#[tokio::test]
async fn a_secret_is_never_seen_outside_of_secrets() {
    let lines = Lines::default();
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new("info,landform=debug"))
        .with_writer(lines.clone())
        .finish();
    // For all threads: with one of its own, what other tests do first decides which lines are kept.
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let data = tempfile::tempdir().unwrap();
    let recorder = Recorder::default();
    let items = DeployItems::new()
        .with(landform_deployers::mock::Mock)
        .with(recorder.clone())
        .with(ManifestDeployer::new())
        .with(ProcessDeployer::new(data.path()))
        .with(CommandDeployer::new(data.path()));
    let land = Landscape::with(items, recorder).await;
    let this_server = json!({"spec": {"type": "landform.dev/this-server"}});
    land.create("Target", "here", this_server).await;
    let secret = json!({"stringData": {"password": CANARY}});
    land.create("Secret", "source", secret).await;

    // Through everything that works, with a nested installation.
    let from_secret = json!({"secretRef": {"name": "source", "key": "password"}});
    let mut good = blueprint(ITEMS, json!([data_import("password", json!({}))]));
    good["subinstallations"] = json!([{
        "name": "inner",
        "blueprint": {"filesystem": files(json!({
            "imports": [data_import("password", json!({}))],
            "deployExecutions": template("items",
                "deployItems: [{name: it, type: test.dev/recorder, config: {p: {{ .imports.password }}}}]"),
        }))},
        "imports": {"data": [{"name": "password", "dataRef": "password"}]},
        "importDataMappings": {"password": "{{ .imports.password }}-x"},
    }]);
    let mut spec = password_of(from_secret.clone());
    spec["exports"] = json!({"data": [{"name": "password", "dataRef": "exported"}]});
    land.install("good", good, spec).await;
    land.phase("good", "Succeeded").await;
    let exported = land.get("DataObject", "exported").await;
    assert_eq!(exported["data"], "(secret)");
    let reference = exported["secretRef"].clone();
    let secret = text(&reference["name"]);
    let whole = kept(&land.get("Secret", secret).await, text(&reference["key"]));
    assert_eq!(whole, format!("{CANARY}-{CANARY}"));

    // And through all that fails: a command, a schema, templates, an export.
    let pattern = json!({"type": "string", "pattern": "^[0-9]+$", "maxLength": 3});
    let mut schema = blueprint("deployItems: []", json!([]));
    schema["imports"] = json!([data_import("password", pattern.clone())]);
    let mapped = json!([data_import("password", pattern)]);
    let mock = "deployItems: [{name: mock, type: landscaper.gardener.cloud/mock, config: {export: {password: {{ .imports.password }}}}}, {name: process, type: landscaper.gardener.cloud/mock, config: {export: {password: {{ .imports.password }}}}}]";
    let failing = [
        ("command", blueprint(FAILING, json!([]))),
        ("schema", schema),
        (
            "field",
            blueprint("{{ .imports.password.nothing }}", json!([])),
        ),
        (
            "yaml",
            blueprint("deployItems: [{{ .imports.password }}: {", json!([])),
        ),
        (
            "item",
            blueprint("deployItems: [{{ .imports.password }}]", json!([])),
        ),
        (
            "mock",
            blueprint(
                "deployItems: [{name: mock, type: landscaper.gardener.cloud/mock, config: {phase: {{ .imports.password }}}}]",
                json!([]),
            ),
        ),
        (
            "settings",
            blueprint(
                "deployItems: [{name: a, type: landform.dev/process, config: {command: {{ .imports.password }}, restart: {{ .imports.password }}}}]",
                json!([]),
            ),
        ),
        (
            "objects",
            blueprint(
                "deployItems: [{name: a, type: landscaper.gardener.cloud/kubernetes-manifest, target: {name: here}, config: {manifests: [{manifest: {apiVersion: v1, kind: Secret, metadata: {name: refused, namespace: default}, data: {a: {{ .imports.password }}}}}]}}]",
                json!([]),
            ),
        ),
        ("export", blueprint(mock, mapped)),
    ];
    let mut leaks = Vec::new();
    for (name, blueprint, exports) in failing.map(|(name, blueprint)| {
        let exports = blueprint["exports"].clone();
        (name, blueprint, exports)
    }) {
        let mut spec = password_of(from_secret.clone());
        if exports
            .as_array()
            .is_some_and(|exports| !exports.is_empty())
        {
            spec["exports"] = json!({"data": [{"name": "password", "dataRef": name}]});
        }
        land.install(name, blueprint, spec).await;
        let failed = land
            .until("Installation", name, |object| {
                object["status"]["lastError"].is_object() && object["status"]["phase"] == "Failed"
            })
            .await;
        let message = text(&failed["status"]["lastError"]["message"]);
        if message.contains(CANARY) {
            leaks.push(format!("{name}: {message}"));
        }
    }

    // It changes, and all goes.
    let changed = json!({"stringData": {"password": format!("{CANARY}-2")}});
    land.patch("Secret", "source", changed).await;
    land.until("Secret", secret, |object| {
        let keys = object["data"].as_object().into_iter().flatten();
        let mut wholes = keys.map(|(key, _)| kept(object, key));
        wholes.any(|whole| whole == format!("{CANARY}-2-{CANARY}-2"))
    })
    .await;
    land.phase("good", "Succeeded").await;
    let before = seen(&land).await;
    for name in land.names("Installation").await {
        land.delete("Installation", &name).await;
    }
    land.gone("Installation", "good").await;
    let after = seen(&land).await;
    let logged = String::from_utf8_lossy(&lines.0.lock()).into_owned();
    assert!(logged.contains("decided"), "the log is kept");
    for (place, text) in [
        ("seen", &before),
        ("seen at the end", &after),
        ("logged", &logged),
    ] {
        if let Some(at) = text.find(CANARY) {
            let (from, to) = (at.saturating_sub(300), (at + 100).min(text.len()));
            let around = String::from_utf8_lossy(&text.as_bytes()[from..to]);
            leaks.push(format!("{place}: …{around}…"));
        }
    }
    assert!(leaks.is_empty(), "{leaks:#?}");
}
