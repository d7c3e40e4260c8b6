//! A value of a Secret walks through a landscape: every deployer, nested installations, mappings, exports of exports. It, and what
//! templates made of it, is then looked for in all objects but Secrets, in what commands print and in all files, the store too. The
//! programs that it is for must have got it.

use std::collections::BTreeMap;
use std::path::Path;

use landform_e2e::Server;
use serde_json::{Value, json};

use super::{LANDSCAPER, object};
use crate::shop::Leftovers;

const PASSWORD: &str = "sealed5d2e-Pa55/word";
/// Its SHA-256, and the beginning of its base64.
const HASHED: &str = "711cc9582c1c8fe658b7b473705fb9a9";
const ENCODED: &str = "c2VhbGVkNWQyZS1QYTU1L3";
/// What is in each form of it as it is.
const PLAIN: &str = "sealed5d2e";
/// After the rotation.
const ROTATED: &str = "sealed5d2e-N3w/word";

fn filesystem(blueprint: &Value, more: &[(&str, &Value)]) -> Value {
    let mut files = serde_json::Map::new();
    files.insert("blueprint.yaml".into(), json!(blueprint.to_string()));
    for (name, content) in more {
        files.insert((*name).into(), json!(content.to_string()));
    }
    json!({"inline": {"filesystem": files}})
}

/// An item that writes what it is given into a file outside of Landform's directories.
fn command(name: &str, out: &Path, environment: &str, exports: &str) -> String {
    let file = out.join(name);
    format!(
        r#"- name: {name}
  type: landform.dev/command
  updateOnChangeOnly: true
  config:
    command: [sh, -c]
    args: ['echo "$OPERATION $GIVEN" >> {0}; {exports}']
    env: {{GIVEN: {environment}}}
    files: {{config.ini: {environment}}}
    importValues: {{given: {environment}}}
"#,
        file.display()
    )
}

fn definition(imports: &[&str], exports: &[&str], items: &str, rest: Value) -> Value {
    let named = |names: &[&str]| -> Vec<Value> {
        let names = names.iter();
        names
            .map(|name| json!({"name": name, "type": "data", "schema": {}}))
            .collect()
    };
    let mut all = json!({
        "apiVersion": LANDSCAPER, "kind": "Blueprint",
        "imports": named(imports), "exports": named(exports),
        "deployExecutions": [{"name": "d", "type": "GoTemplate", "template": format!("state: {{kept: {{{{ b64enc .imports.password }}}}}}\ndeployItems:\n{items}")}],
    });
    for (name, value) in rest.as_object().unwrap() {
        all[name] = value.clone();
    }
    all
}

/// The landscape: one that is given the Secret and exports what it made of it, with another one in it, and one that imports that.
fn landscape(out: &Path) -> Vec<Value> {
    let export = r#"echo "{\"token\": \"t:$GIVEN\", \"port\": 5432}" > $EXPORTS_PATH"#;
    let nested = definition(
        &["password"],
        &["inner"],
        &command("nested", out, "'{{ .imports.password }}'", export),
        json!({"exportExecutions": [{"name": "e", "type": "GoTemplate", "template":
            "exports: {inner: {dsn: '{{ .values.deployitems.nested.token }}@host', port: {{ .values.deployitems.nested.port }}}}"}]}),
    );
    let subinstallation = json!({
        "name": "inside",
        "blueprint": {"filesystem": filesystem(&nested, &[])["inline"]["filesystem"]},
        "imports": {"data": [{"name": "password", "dataRef": "mapped"}]},
        "exports": {"data": [{"name": "inner", "dataRef": "inner"}]},
    });
    let manifest = r#"- name: manifest
  type: landscaper.gardener.cloud/kubernetes-manifest
  config:
    thisServer: true
    manifests: [{policy: manage, manifest: {apiVersion: v1, kind: Secret, metadata: {name: deployed, namespace: default}, stringData: {a: '{{ .imports.password }}'}}}]
    exports: {exports: [{key: encoded, jsonPath: .data.a}]}
"#;
    let process = r#"- name: process
  type: landform.dev/process
  config:
    command: [sleep, '100000']
    env: {GIVEN: '{{ .imports.password }}'}
    files: {config.ini: '{{ .imports.password }}'}
    exports: {given: {value: 'http://{{ .imports.password }}/'}}
"#;
    let items = [
        command(
            "command",
            out,
            "'https://u:{{ .imports.password }}@{{ .imports.host }}/'",
            "true",
        ),
        command("hashed", out, "{{ sha256sum .imports.password }}", "true"),
        command("other", out, "{{ .imports.host }}", "true"),
        manifest.to_owned(),
        process.to_owned(),
    ];
    let outer = definition(
        &["password", "host", "mapped"],
        &["url", "encoded", "inner", "host"],
        &items.concat(),
        json!({
            "subinstallations": [{"file": "nested.json"}],
            "exportExecutions": [{"name": "e", "type": "GoTemplate", "template":
                "exports: {url: '{{ .values.deployitems.process.given }}', encoded: '{{ .values.deployitems.manifest.encoded }}', inner: {{ toJson .values.dataobjects.inner }}, host: '{{ .imports.host }}'}"}],
        }),
    );
    let importer = definition(
        &["password", "inner"],
        &[],
        &command(
            "importer",
            out,
            "'{{ .imports.password }} {{ .imports.inner.dsn }}'",
            "true",
        ),
        json!({}),
    );
    let secret = json!({"stringData": {"password": PASSWORD}});
    let outer = json!({"spec": {
        "imports": {"data": [
            {"name": "password", "secretRef": {"name": "db", "key": "password"}}, {"name": "host", "dataRef": "host"},
        ]},
        "importDataMappings": {"mapped": "x{{ .imports.password }}"},
        "exports": {"data": [
            {"name": "url", "dataRef": "url"}, {"name": "inner", "dataRef": "inner"}, {"name": "whole", "dataRef": "whole"},
            {"name": "host", "dataRef": "seen"}, {"name": "encoded", "dataRef": "encoded"},
        ]},
        "exportDataMappings": {"whole": {"all": "{{ .exports.url }}", "host": "{{ .exports.host }}"}},
        "blueprint": filesystem(&outer, &[("nested.json", &subinstallation)]),
    }});
    let importer = json!({"spec": {
        "imports": {"data": [{"name": "password", "dataRef": "url"}, {"name": "inner", "dataRef": "inner"}]},
        "blueprint": filesystem(&importer, &[]),
    }});
    vec![
        object("v1", "Secret", "db", secret),
        object(
            LANDSCAPER,
            "DataObject",
            "host",
            json!({"data": "db.local"}),
        ),
        object(LANDSCAPER, "Installation", "outer", outer),
        object(LANDSCAPER, "Installation", "importer", importer),
    ]
}

/// What each command was given, line by line.
fn given(out: &Path) -> BTreeMap<String, Vec<String>> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(out).unwrap().flatten() {
        let text = std::fs::read_to_string(entry.path()).unwrap();
        let name = entry.file_name().to_string_lossy().into_owned();
        all.insert(name, text.lines().map(str::to_owned).collect());
    }
    all
}

/// Waits until a file's last line is this.
#[track_caller]
fn wait_for_line(out: &Path, name: &str, line: &str) {
    let file = out.join(name);
    let script = format!(
        "for i in $(seq 600); do [ \"$(tail -n 1 {0} 2>/dev/null)\" = '{line}' ] && exit 0; sleep 0.1; done; tail -n 3 {0}; exit 1",
        file.display()
    );
    let finished = landform_e2e::run(std::process::Command::new("sh").args(["-c", &script]));
    assert!(
        finished.status.success(),
        "{name} has not {line:?}: {}",
        finished.report()
    );
}

fn wait(server: &Server) {
    for name in ["outer", "importer"] {
        let name = format!("installation/{name}");
        let succeeded = "--for=jsonpath={.status.phase}=Succeeded";
        let waited = server.try_kubectl(&["wait", succeeded, &name, "--timeout=60s"]);
        if !waited.status.success() {
            panic!(
                "{}\n{}",
                waited.report(),
                server.kubectl(&["get", "installations,deployitems", "-o", "yaml"])
            );
        }
    }
}

/// All objects of all kinds that can be listed, but Secrets.
fn objects(server: &Server, places: &mut Vec<(String, String)>) {
    let kinds = server.kubectl(&["api-resources", "--verbs=list", "-o", "name"]);
    for kind in kinds.lines().filter(|kind| *kind != "secrets") {
        let all = server.kubectl_json(&["get", kind, "--all-namespaces"]);
        for object in all["items"].as_array().into_iter().flatten() {
            let name = format!("{kind} {}", object["metadata"]["name"]);
            places.push((name, object.to_string()));
        }
    }
}

/// All files but what is there for the programs themselves.
fn files(directory: &Path, places: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let (path, name) = (
            entry.path(),
            entry.file_name().to_string_lossy().into_owned(),
        );
        let of_program = ["content", "run", "work"].contains(&name.as_str());
        if path.is_dir() && !of_program {
            files(&path, places);
        } else if path.is_file() {
            let text = std::fs::read(&path).unwrap_or_default();
            let text = String::from_utf8_lossy(&text).into_owned();
            places.push((path.display().to_string(), text));
        }
    }
}

/// What commands print about all of it.
fn printed(server: &Server, places: &mut Vec<(String, String)>) {
    let items = server.kubectl(&[
        "get",
        "installations,executions,deployitems,dataobjects",
        "-o",
        "name",
    ]);
    let secret = object(
        "v1",
        "Secret",
        "db",
        json!({"stringData": {"password": "sealed5d2e-plan"}}),
    );
    let planned = server.file("planned.json", &secret.to_string());
    let mut commands = vec![
        vec!["plan".to_owned(), "-f".into(), planned.clone()],
        vec!["plan".to_owned(), "-f".into(), planned, "--json".into()],
        ["get", "events", "-o", "yaml"].map(str::to_owned).to_vec(),
    ];
    for name in items.lines() {
        for verb in ["describe", "why", "history", "tree"] {
            commands.push(vec![verb.to_owned(), name.to_owned()]);
        }
    }
    for arguments in commands {
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let finished = crate::landform_on(server, &words);
        places.push((
            arguments.join(" "),
            format!("{}{}", finished.stdout, finished.stderr),
        ));
    }
}

#[track_caller]
fn search(places: &[(String, String)]) {
    let forms = [PLAIN, HASHED, ENCODED];
    let mut leaks = Vec::new();
    for (place, text) in places {
        let found = forms.iter().filter_map(|form| text.find(form)).min();
        if let Some(at) = found {
            let begin = text.floor_char_boundary(at.saturating_sub(150));
            let shown: String = text[begin..].chars().take(300).collect();
            leaks.push(format!("--- {place}\n{shown}"));
        }
    }
    assert!(
        leaks.is_empty(),
        "{} of {} places leak:\n{}",
        leaks.len(),
        places.len(),
        leaks.join("\n")
    );
}

#[test]
fn a_secret_of_a_landscape_is_in_secrets_alone_and_at_the_programs_that_it_is_for() {
    let server = Server::start_with(&["--audit-level", "all"]);
    let _leftovers = Leftovers(server.home().to_owned());
    let out = server.home().join("out");
    std::fs::create_dir(&out).unwrap();
    for object in landscape(&out) {
        server.kubectl_with(&["create", "-f", "-"], &object.to_string());
    }
    wait(&server);
    let reconciled = |text: &str| format!("RECONCILE {text}");
    let first = [
        ("command", format!("https://u:{PASSWORD}@db.local/")),
        (
            "hashed",
            "711cc9582c1c8fe658b7b473705fb9a9ebb617f8ea6cc91e18c6acdbb51592c9".to_owned(),
        ),
        ("other", "db.local".to_owned()),
        ("nested", format!("x{PASSWORD}")),
        ("importer", format!("http://{PASSWORD}/ t:x{PASSWORD}@host")),
    ];
    for (name, text) in &first {
        wait_for_line(&out, name, &reconciled(text));
    }
    let seen = server.kubectl_json(&["get", "dataobject", "whole"]);
    assert_eq!(
        seen["data"],
        json!({"all": "(secret)", "host": "db.local"}),
        "what isn't secret is shown"
    );
    let mut places = Vec::new();
    objects(&server, &mut places);
    printed(&server, &mut places);
    places.push(("the log".to_owned(), server.log()));
    files(&server.home().join("data"), &mut places);
    search(&places);

    // A restart deploys nothing again, and neither does a Secret whose values stay as they are.
    let before = given(&out);
    let server = server.restart(|_| {});
    wait(&server);
    assert_eq!(given(&out), before, "nothing has changed");

    server.kubectl(&["label", "secret", "db", "touched=yes"]);

    // Rotation: who uses it gets the new one, and nothing else runs.
    let patch = json!({"stringData": {"password": ROTATED}}).to_string();
    server.kubectl(&["patch", "secret", "db", "--type=merge", "-p", &patch]);
    for (name, text) in &first {
        let hashed = "{sha256}";
        let text = match *name {
            "other" => continue,
            "hashed" => hashed.to_owned(),
            _ => text.replace(PASSWORD, ROTATED),
        };
        if text != hashed {
            wait_for_line(&out, name, &reconciled(&text));
        }
    }
    wait(&server);
    let rotated = given(&out);
    assert_eq!(
        rotated["other"], before["other"],
        "it doesn't use the Secret"
    );
    for name in ["command", "hashed", "nested"] {
        assert_eq!(rotated[name].len(), before[name].len() + 1, "{name}");
    }
    let mut places = Vec::new();
    objects_and_files(&server, &mut places);
    search(&places);

    // The removal gets what it was deployed with, though the Secret is gone by then.
    server.kubectl(&["delete", "secret", "db"]);
    server.kubectl(&[
        "delete",
        "installation",
        "importer",
        "outer",
        "--timeout=60s",
    ]);
    for (name, text) in &first {
        if *name != "hashed" {
            let line = format!("DELETE {}", text.replace(PASSWORD, ROTATED));
            wait_for_line(&out, name, &line);
        }
    }
    let left = server.kubectl(&["get", "secrets", "-o", "name"]);
    assert_eq!(left.trim(), "", "no Secret is left behind");
}

#[test]
fn a_changed_secret_of_a_target_is_deployed_to_the_items_that_use_it() {
    let server = Server::start();
    let _leftovers = Leftovers(server.home().to_owned());
    let out = server.home().join("out");
    std::fs::create_dir(&out).unwrap();
    let config = |password: &str| json!({"stringData": {"config": json!({"password": password}).to_string()}});
    let access = json!({"spec": {"type": "x", "secretRef": {"name": "access", "key": "config"}}});
    let item = |name: &str, target: Value| {
        let script = "sed 's/.*password\":\"//; s/\".*//' \"$TARGET_PATH\" >> $0; echo >> $0";
        let file = out.join(name);
        let spec = json!({"spec": {"type": "landform.dev/command", "target": target, "config": {
            "command": ["sh", "-c", script], "args": [file],
        }}});
        object(LANDSCAPER, "DeployItem", name, spec)
    };
    let all = [
        object("v1", "Secret", "access", config(PASSWORD)),
        object(LANDSCAPER, "Target", "access", access),
        object(
            LANDSCAPER,
            "Target",
            "plain",
            json!({"spec": {"type": "x", "config": {"password": "none"}}}),
        ),
        item("aimed", json!({"name": "access"})),
        item("beside", json!({"name": "plain"})),
    ];
    for object in all {
        server.kubectl_with(&["create", "-f", "-"], &object.to_string());
    }
    wait_for_line(&out, "aimed", PASSWORD);
    wait_for_line(&out, "beside", "none");
    let patch = config(ROTATED).to_string();
    server.kubectl(&["patch", "secret", "access", "--type=merge", "-p", &patch]);
    wait_for_line(&out, "aimed", ROTATED);
    let given = given(&out);
    assert_eq!(given["beside"].len(), 1, "it goes elsewhere");
    let mut places = Vec::new();
    objects_and_files(&server, &mut places);
    search(&places);
}

fn objects_and_files(server: &Server, places: &mut Vec<(String, String)>) {
    objects(server, places);
    files(&server.home().join("data"), places);
}
