//! A canary walk with the real binary: a value that is secret stands wherever a user may put one, things fail in every
//! way that is cheap to provoke, and the value is then looked for where it must not be.
//!
//! Not looked at, because values stand there in plain text on purpose: specs (of DataObjects, executions, deploy items
//! and so on) and Secrets, in the API and in the store's files; the workspaces of commands and processes; what processes and
//! hooks printed themselves, which `landform logs` shows to those with the right to `logs`. Some texts are their author's own and are shown
//! in statuses, Events and views, though nowhere else (docs/security.md): those of `fail` and `state` in a template, as far as they don't depend on a Secret, and
//! of `error` in a hook's answer.

use std::path::Path;

use landform_e2e::Server;
use serde_json::{Value, json};

use crate::shop::Leftovers;

mod failures;
mod hooks;
mod sealed;
mod up;

use failures::{canary, failures, object};

/// What is looked for; each place adds its own name, so that a finding says where it came from.
const CANARY: &str = "canary7f3a";
/// The canary as Secrets hold it, up to where other text follows.
const ENCODED: &str = "Y2FuYXJ5N2Yz";
/// Texts that their authors show on purpose: `fail` of a template, its `state`, and `error` of a hook.
const TOLD: &str = "told7f3a";
const LANDSCAPER: &str = "landscaper.gardener.cloud/v1alpha1";

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

/// What plans tell: of the same objects with a label more, which makes them run again, and of changed Secrets and Targets.
fn plans(server: &Server, basis: &[Value], failures: &[(&str, Value)]) -> Vec<(String, String)> {
    let labelled = failures.iter().map(|(_, object)| {
        let mut object = object.clone();
        object["metadata"]["labels"] = json!({"planned": "yes"});
        object
    });
    let changed = basis.iter().filter(|object| object["kind"] != "DataObject");
    let changed = changed.cloned().map(|mut object| {
        match object["kind"].as_str() {
            Some("Secret") => object["stringData"]["config"] = json!(canary("planned")),
            _ => object["spec"]["config"] = json!({"a": canary("planned")}),
        }
        object
    });
    let objects: Vec<Value> = labelled.chain(changed).collect();
    let mut told = Vec::new();
    for (number, object) in objects.iter().enumerate() {
        let file = server.file(&format!("planned-{number}.json"), &object.to_string());
        for more in [&[][..], &["--json"]] {
            let finished = crate::landform_on(server, &[&["plan", "-f", &file][..], more].concat());
            let title = format!("plan of {}", object["metadata"]["name"]);
            told.push((title, format!("{}{}", finished.stdout, finished.stderr)));
        }
    }
    told
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
    let status = object["status"].to_string();
    format!("{} {status}", ours.join(" "))
}

/// What is in files, but for the store, the workspaces, and the logs of hooks, which only their owner can read.
fn files(directory: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let (path, name) = (
            entry.path(),
            entry.file_name().to_string_lossy().into_owned(),
        );
        if path.is_dir() {
            if !["store", "commands", "processes", "hooks"].contains(&name.as_str()) {
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
    let secret =
        json!({"stringData": {"config": json!({"password": canary("target-secret")}).to_string()}});
    let access = json!({"spec": {"type": "x", "secretRef": {"name": "access", "key": "config"}}});
    let config = json!({"spec": {"type": "x", "config": {"a": canary("target")}}});
    let basis = [
        object("v1", "Secret", "access", secret),
        failures::imported(),
        object(LANDSCAPER, "Target", "access", access),
        object(LANDSCAPER, "Target", "config", config),
        object(
            LANDSCAPER,
            "DataObject",
            "secret",
            json!({"data": canary("data-object")}),
        ),
    ];
    for object in basis.iter().chain(&hooks::all(&server)) {
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
    let plurals: Vec<String> = hooks::KINDS
        .iter()
        .map(|(kind, _)| format!("{}s.example.com", kind.to_lowercase()))
        .collect();
    let kinds = [
        "installations",
        "executions",
        "deployitems",
        "projects",
        "dataobjects",
        "targets",
        "secrets",
        "reconcilers",
        "events",
    ];
    for kind in kinds.into_iter().chain(plurals.iter().map(String::as_str)) {
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
            // These show what the process has printed, to those who may read its log.
            if ["logs", "why"].contains(&verb) && *name == "deployitem/process" {
                continue;
            }
            let finished = crate::landform_on(&server, &[verb, name]);
            places.push((
                format!("{verb} {name}"),
                format!("{}{}", finished.stdout, finished.stderr),
            ));
        }
    }
    places.extend(plans(&server, &basis, &failures));
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
    search(&places);
}

/// Whether a place must not even hold what authors show on purpose.
fn is_for_all(place: &str) -> bool {
    ["the log", "a file", "/metrics", "cmdline", "environ"].contains(&place)
}

/// Fails when a place holds what must not be there.
#[track_caller]
fn search(places: &[(String, String)]) {
    let leaks: Vec<String> = places
        .iter()
        .filter(|(place, text)| {
            text.contains(CANARY)
                || text.contains(ENCODED)
                || (is_for_all(place) && text.contains(TOLD))
        })
        .map(|(place, text)| {
            let at = [CANARY, ENCODED, TOLD]
                .iter()
                .filter_map(|word| text.find(word));
            let begin = at.min().unwrap_or(0).saturating_sub(400);
            let shown: String = text.chars().skip(begin).take(900).collect();
            format!("--- {place}\n{shown}")
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
