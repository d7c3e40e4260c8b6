//! A canary walk with the real binary: a value that is secret stands wherever a user may put one, things fail in every
//! way that is cheap to provoke, and the value is then looked for where it must not be.
//!
//! Not looked at, because values stand there in plain text on purpose: specs (of DataObjects, executions, deploy items
//! and so on) and Secrets, in the API and in the store's files; the workspaces of commands and processes. Some texts are
//! their author's own and are shown (docs/templates.md, docs/reconcilers.md), so they hold no canary here: that of `fail`
//! in a template, and `error` of a hook's answer. Errors of a command hook show its command line and the end of its
//! stderr, and the log of a process is what the process printed: open questions, which hold no canary here either. `state` of a template is in the installation's status
//! (docs/blueprints.md).

use std::path::Path;

use landform_e2e::Server;
use serde_json::{Value, json};

use crate::shop::Leftovers;

/// What is looked for; each place adds its own name, so that a finding says where it came from.
const CANARY: &str = "canary7f3a";
/// The canary as Secrets hold it, up to where other text follows.
const ENCODED: &str = "Y2FuYXJ5N2Yz";
const LANDSCAPER: &str = "landscaper.gardener.cloud/v1alpha1";

fn canary(place: &str) -> String {
    format!("{CANARY}-{place}")
}

fn object(version: &str, kind: &str, name: &str, rest: Value) -> Value {
    let mut object = json!({
        "apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "default"},
    });
    if let (Value::Object(object), Value::Object(rest)) = (&mut object, rest) {
        object.extend(rest);
    }
    object
}

fn item(name: &str, kind: &str, config: Value) -> Value {
    let spec = json!({"spec": {"type": kind, "target": {"name": "access"}, "config": config}});
    object(LANDSCAPER, "DeployItem", name, spec)
}

/// An installation that imports the DataObject, with this schema and template.
fn installation(name: &str, schema: Value, template: &str) -> Value {
    let blueprint = json!({
        "apiVersion": LANDSCAPER, "kind": "Blueprint",
        "imports": [{"name": "secret", "type": "data", "schema": schema}],
        "deployExecutions": [{"name": "d", "type": "GoTemplate", "template": template}],
    });
    let spec = json!({"spec": {
        "imports": {"data": [{"name": "secret", "dataRef": "secret"}]},
        "blueprint": {"inline": {"filesystem": {
            "blueprint.yaml": blueprint.to_string(), "file.txt": canary("file"),
        }}},
    }});
    object(LANDSCAPER, "Installation", name, spec)
}

fn hook(name: &str, script: &str) -> [Value; 2] {
    let kind = format!("{}{}", name[..1].to_uppercase(), &name[1..]);
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{name}s.example.com")},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": format!("{name}s"), "singular": name, "kind": kind, "listKind": format!("{kind}List")},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            }}}],
        },
    });
    let reconciler = json!({
        "apiVersion": "landform.dev/v1alpha1", "kind": "Reconciler", "metadata": {"name": name},
        "spec": {
            "for": {"group": "example.com", "version": "v1", "kind": kind},
            "owns": [{"version": "v1", "kind": "Secret"}],
            "hook": {"command": ["sh", "-c", script]},
        },
    });
    [definition, reconciler]
}

/// Things that fail, and the objects that tell of it.
fn failures() -> Vec<(&'static str, Value)> {
    let any = json!({});
    let echo = "env; echo \"$0\" $1; cat \"$IMPORTS_PATH\" \"$TARGET_PATH\" secret.txt; exit 1";
    let program = json!({
        "command": ["sh", "-c", echo], "args": [canary("args")],
        "env": {"PASSWORD": canary("env")}, "files": {"secret.txt": canary("files")},
    });
    let mut command = program.clone();
    command["importValues"] = json!({"a": {"b": canary("import-values")}});
    let mut process = program;
    process["restart"] = json!({"policy": "Never"});
    let manifest = |object: Value| json!({"thisServer": true, "manifests": [{"policy": "manage", "manifest": object}]});
    let manifests = "landscaper.gardener.cloud/kubernetes-manifest";
    let of_secret = |rest: Value| object("v1", "Secret", "deployed", rest);
    let without_target = |name: &str, rest: Value| {
        let mut item = item(name, manifests, manifest(of_secret(rest)));
        item["spec"]["target"] = Value::Null;
        item
    };
    vec![
        (
            "deployitem/command",
            item("command", "landform.dev/command", command),
        ),
        (
            "deployitem/process",
            item("process", "landform.dev/process", process),
        ),
        (
            "deployitem/unknown",
            item(
                "unknown",
                "landform.dev/command",
                json!({"command": ["true"], "unknown": canary("unknown")}),
            ),
        ),
        (
            "deployitem/types",
            item(
                "types",
                "landform.dev/command",
                json!({"command": canary("types"), "env": [canary("types")]}),
            ),
        ),
        (
            "deployitem/manifest",
            without_target("manifest", json!({"data": {"a": canary("no-base64")}})),
        ),
        (
            "deployitem/manifest2",
            without_target("manifest2", json!({"stringData": {"a": [canary("list")]}})),
        ),
        (
            "installation/typed",
            installation("typed", json!({"type": "integer"}), "deployItems: []"),
        ),
        (
            "installation/pattern",
            installation(
                "pattern",
                json!({"type": "string", "pattern": "^[0-9]+$"}),
                "deployItems: []",
            ),
        ),
        (
            "installation/field",
            installation(
                "field",
                any.clone(),
                "deployItems: {{ .imports.secret.a.b.c }}",
            ),
        ),
        (
            "installation/yaml",
            installation(
                "yaml",
                any.clone(),
                "deployItems: {{ .imports.secret }}: [: {{ .imports.secret }}",
            ),
        ),
        (
            "installation/convert",
            installation(
                "convert",
                any.clone(),
                "deployItems: {{ mustFromJson .imports.secret }}",
            ),
        ),
        (
            "installation/shape",
            installation(
                "shape",
                any,
                "deployItems: [{{ .imports.secret }}, {name: {{ .imports.secret }}}]",
            ),
        ),
        (
            "exiting/a",
            object(
                "example.com/v1",
                "Exiting",
                "a",
                json!({"spec": {"a": canary("spec")}}),
            ),
        ),
        (
            "babbling/a",
            object(
                "example.com/v1",
                "Babbling",
                "a",
                json!({"spec": {"a": canary("spec")}}),
            ),
        ),
        (
            "owning/a",
            object(
                "example.com/v1",
                "Owning",
                "a",
                json!({"spec": {"a": canary("spec")}}),
            ),
        ),
    ]
}

/// Refused requests: what is said to the one who sent it, too, has no value of a Secret.
fn refused(server: &Server) -> String {
    let bodies = [
        object("v1", "Secret", "s", json!({"data": {"a": canary("data")}})),
        object(
            "v1",
            "Secret",
            "s",
            json!({"stringData": {"a": {"b": canary("string-data")}}}),
        ),
        object(
            "v1",
            "Secret",
            "s",
            json!({"stringData": {"bad key": canary("key")}}),
        ),
    ];
    let mut said = String::new();
    for body in bodies {
        for more in [&[][..], &["--as=jane"]] {
            let arguments = [&["create", "--validate=false", "-f", "-"][..], more].concat();
            said += &server.kubectl_with_fails(&arguments, &body.to_string());
        }
    }
    said
}

/// What Landform wrote about an object: its status and annotations, not what users wrote.
fn written(object: &Value) -> String {
    let annotations = object["metadata"]["annotations"]
        .as_object()
        .into_iter()
        .flatten();
    let ours = annotations.filter(|(name, _)| !name.starts_with("kubectl.kubernetes.io/"));
    let ours: Vec<String> = ours
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    format!("{} {}", ours.join(" "), object["status"])
}

/// Files that hold the canary, of those that are neither the store nor a workspace.
fn files(directory: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let (path, name) = (
            entry.path(),
            entry.file_name().to_string_lossy().into_owned(),
        );
        if path.is_dir() {
            if !["store", "commands", "processes"].contains(&name.as_str()) {
                files(&path, found);
            }
        } else if !name.starts_with("store") {
            let text = std::fs::read(&path).unwrap_or_default();
            found.push(format!(
                "{}: {}",
                path.display(),
                String::from_utf8_lossy(&text)
            ));
        }
    }
}

#[test]
fn no_secret_value_is_in_a_log_a_status_an_event_a_view_or_a_file() {
    let server = Server::start_with(&["--audit-level", "all"]);
    let _leftovers = Leftovers(server.home().to_owned());
    let mut places: Vec<(String, String)> = Vec::new();
    // The canary is in what the hooks print, not in their command lines.
    let noise = server.file("noise", &canary("hook"));
    let owned = json!({"owned": [{
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "o"}, "data": {"a": canary("owned")},
    }]});
    let owned = server.file("owned", &owned.to_string());
    let hooks = [
        hook("exiting", &format!("cat; cat {noise}; exit 3")),
        hook("babbling", &format!("cat; cat {noise}")),
        hook("owning", &format!("cat > /dev/null; cat {owned}")),
    ];
    let secret =
        json!({"stringData": {"config": json!({"password": canary("target-secret")}).to_string()}});
    let access = json!({"spec": {"type": "x", "secretRef": {"name": "access", "key": "config"}}});
    let config = json!({"spec": {"type": "x", "config": {"a": canary("target")}}});
    let basis = [
        object("v1", "Secret", "access", secret),
        object(LANDSCAPER, "Target", "access", access),
        object(LANDSCAPER, "Target", "config", config),
        object(
            LANDSCAPER,
            "DataObject",
            "secret",
            json!({"data": canary("data-object")}),
        ),
    ];
    for object in basis.iter().chain(hooks.iter().flatten()) {
        server.kubectl_with(&["create", "-f", "-"], &object.to_string());
    }
    let failures = failures();
    for (_, object) in &failures {
        server.kubectl_with(&["create", "-f", "-"], &object.to_string());
    }
    places.push(("answers about Secrets".to_owned(), refused(&server)));
    let template =
        "jsonpath={.metadata.annotations.landform\\.dev/error}{.status.lastError.message}{\"\\n\"}";
    for (name, _) in &failures {
        // Any text at all: every message has a blank in it.
        let mut told = server.kubectl_lines(&["get", name, "--watch", "-o", template]);
        places.push((format!("the error of {name}"), told.expect(&[" "])));
    }
    for kind in [
        "installations",
        "executions",
        "deployitems",
        "exitings",
        "babblings",
        "ownings",
        "dataobjects",
        "targets",
        "secrets",
        "reconcilers",
        "events",
    ] {
        let all = server.kubectl_json(&["get", kind, "--all-namespaces"]);
        for object in all["items"].as_array().unwrap() {
            let name = format!("{kind} {}", object["metadata"]["name"]);
            let text = if kind == "events" {
                object.to_string()
            } else {
                written(object)
            };
            places.push((name, text));
        }
    }
    let views = "/apis/landform.dev/v1alpha1";
    for path in [
        "/metrics".to_owned(),
        format!("{views}/engine"),
        format!("{views}/engine/objects"),
        format!("{views}/engine/trace"),
        format!("{views}/deletion"),
    ] {
        places.push((path.clone(), server.kubectl(&["get", "--raw", &path])));
    }
    for (name, _) in &failures {
        for verb in ["why", "history", "tree", "logs"] {
            if (verb, *name) == ("logs", "deployitem/process") {
                continue;
            }
            let finished = crate::landform_on(&server, &[verb, name]);
            places.push((
                format!("{verb} {name}"),
                format!("{}{}", finished.stdout, finished.stderr),
            ));
        }
    }
    for (name, _) in &failures {
        server.kubectl(&["delete", name, "--wait=false"]);
    }
    places.push((
        "deletion".to_owned(),
        server.kubectl(&["get", "--raw", &format!("{views}/deletion")]),
    ));
    for file in ["cmdline", "environ"] {
        let text = std::fs::read(format!("/proc/{}/{file}", server.id())).unwrap();
        places.push((file.to_owned(), String::from_utf8_lossy(&text).into_owned()));
    }
    places.push(("the log".to_owned(), server.log()));
    let mut found = Vec::new();
    files(&server.home().join("data"), &mut found);
    assert!(
        found.iter().any(|file| file.contains("audit.log")),
        "the audit log is looked at"
    );
    places.extend(found.into_iter().map(|text| ("a file".to_owned(), text)));
    let leaks: Vec<String> = places
        .iter()
        .filter(|(_, text)| text.contains(CANARY) || text.contains(ENCODED))
        .map(|(place, text)| {
            format!(
                "--- {place}\n{}",
                text.chars().take(1_500).collect::<String>()
            )
        })
        .collect();
    assert!(
        leaks.is_empty(),
        "{} of {} places leak:\n{}",
        leaks.len(),
        places.len(),
        leaks.join("\n")
    );
}
