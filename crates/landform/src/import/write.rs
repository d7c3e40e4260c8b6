//! The files of a project that does what a Compose file says.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use landform_api::landscaper::API_VERSION;
use landform_yaml::write;
use serde_json::{Map, Value, json};

use super::report;
use super::service::{Found, Restart, Service};
use super::source::Source;
use crate::scaffold::Scaffold;

/// The page that says what is left to do.
pub(crate) const REPORT: &str = "IMPORTED.md";
/// The file with the Secrets.
pub(crate) const SECRETS: &str = "secrets.yaml";

/// What stands in for a command that is not known.
const UNKNOWN: &str = "write-the-command-here";

/// Where the directory of a volume is.
pub(crate) fn volume(project: &Path, name: &str) -> PathBuf {
    project.join("volumes").join(name)
}

/// All files of the project.
pub(crate) fn project(found: &Found, project: &Path, source: &Source) -> Scaffold {
    let mut scaffold = Scaffold::default();
    scaffold.add("landform.yaml", settings(found));
    for service in &found.services {
        let name = &service.name;
        let (ending, text) = installation(service, project);
        scaffold.add(format!("{name}{ending}"), text);
        scaffold.add(format!("{name}/blueprint.yaml"), blueprint(service));
        for config in &service.configs {
            let content = found.configs.get(&config.source);
            let content = content.cloned().unwrap_or_default();
            scaffold.add(format!("{name}/{}", config.file), content);
        }
    }
    if !found.secrets.is_empty() {
        scaffold.add(SECRETS, secrets(found));
    }
    scaffold.add(REPORT, report::page(source));
    scaffold
}

/// A document with its fields in this order: the one in which people write them.
fn ordered(fields: &[(&str, Value)]) -> String {
    let fields = fields.iter();
    fields
        .map(|(name, value)| write(&json!({*name: value})))
        .collect()
}

/// A text as a part of another one.
fn indented(text: &str, by: usize) -> String {
    let lines = text.lines();
    lines.map(|line| format!("{:by$}{line}\n", "")).collect()
}

fn settings(found: &Found) -> String {
    let mut spec = Map::new();
    if !found.volumes.is_empty() {
        spec.insert("ignore".into(), json!(["volumes"]));
    }
    if !found.profiles.is_empty() {
        let profiles = found.profiles.iter();
        let profiles: Map<_, _> = profiles.map(|name| (name.clone(), json!(false))).collect();
        spec.insert("values".into(), json!({"profiles": profiles}));
    }
    let settings = ordered(&[
        ("apiVersion", "landform.dev/v1alpha1".into()),
        ("kind", "Project".into()),
        ("metadata", json!({"name": found.name})),
        ("spec", spec.into()),
    ]);
    format!("# yaml-language-server: $schema=.schemas/project.json\n{settings}")
}

fn secrets(found: &Found) -> String {
    let objects = found.secrets.iter().map(|(name, content)| {
        // Imports are YAML: in quotes it stays the text that it is.
        let content = Value::String(content.clone()).to_string();
        ordered(&[
            ("apiVersion", "v1".into()),
            ("kind", "Secret".into()),
            ("metadata", json!({"name": secret_name(name)})),
            ("stringData", json!({"content": content})),
        ])
    });
    let objects: Vec<_> = objects.collect();
    format!(
        "# Keep this file out of version control.\n{}",
        objects.join("---\n")
    )
}

fn secret_name(name: &str) -> String {
    let letters = name.to_lowercase();
    let letters = letters
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' });
    letters.collect()
}

/// The installation of a service with its environment, and how its file ends.
fn installation(service: &Service, project: &Path) -> (&'static str, String) {
    let name = &service.name;
    let mut imports = vec![json!({
        "name": "environment",
        "dataRef": format!("{name}-environment"),
    })];
    for need in &service.needs {
        imports
            .push(json!({"name": format!("service-{need}"), "dataRef": format!("{need}-service")}));
    }
    for secret in &service.secrets {
        let reference = json!({"name": secret_name(&secret.source), "key": "content"});
        imports.push(json!({
            "name": format!("secret-{}", secret_name(&secret.source)),
            "secretRef": reference,
        }));
    }
    let mut variables = service.environment.clone();
    for (variable, name) in &service.volumes {
        variables.insert(
            variable.clone(),
            volume(project, name).display().to_string(),
        );
    }
    let environment = ordered(&[
        ("apiVersion", API_VERSION.into()),
        ("kind", "DataObject".into()),
        ("metadata", json!({"name": format!("{name}-environment")})),
        ("data", json!(variables)),
    ]);
    let exports = json!({"data": [{"name": "service", "dataRef": format!("{name}-service")}]});
    let spec = ordered(&[
        ("blueprint", json!({"path": name})),
        ("imports", json!({"data": imports})),
        ("exports", exports),
    ]);
    let installation = ordered(&[
        ("apiVersion", API_VERSION.into()),
        ("kind", "Installation".into()),
        ("metadata", json!({"name": name})),
    ]);
    let objects = format!(
        "{environment}---\n{installation}spec:\n{}",
        indented(&spec, 2)
    );
    let (ending, text) = if service.profiles.is_empty() {
        (".yaml", objects)
    } else {
        let any = service.profiles.iter();
        let any: Vec<_> = any
            .map(|name| format!("(index .Values.profiles {name:?})"))
            .collect();
        let text = literal(&objects);
        (
            ".yaml.gotmpl",
            format!(
                "{{{{- if or false {} }}}}\n{text}{{{{- end }}}}\n",
                any.join(" ")
            ),
        )
    };
    match (service.command.is_empty(), ending) {
        (false, ending) => (ending, text),
        (true, ".yaml") => (".yaml.todo", text),
        (true, _) => (".yaml.gotmpl.todo", text),
    }
}

/// A text that a template leaves as it is.
fn literal(text: &str) -> String {
    text.replace("{{", "{{ \"{{\" }}")
}

/// Parts of a configuration that the template fills in, each by a word that stands for it.
#[derive(Default)]
struct Filled(Vec<String>);

impl Filled {
    fn word(&mut self, template: String) -> String {
        self.0.push(template);
        format!("filled-in-{}-by-the-template", self.0.len())
    }

    fn fill(&self, text: &str) -> String {
        let mut text = literal(text);
        for (at, template) in self.0.iter().enumerate() {
            let word = format!("filled-in-{}-by-the-template", at + 1);
            text = text.replace(&word, template);
        }
        text
    }
}

fn blueprint(service: &Service) -> String {
    let mut imports = vec![json!({
        "name": "environment",
        "type": "data",
        "schema": {"type": "object", "additionalProperties": {"type": "string"}},
    })];
    for need in &service.needs {
        imports.push(json!({"name": format!("service-{need}"), "type": "data", "schema": {}}));
    }
    for secret in &service.secrets {
        let name = format!("secret-{}", secret_name(&secret.source));
        imports.push(json!({"name": name, "type": "data", "schema": {"type": "string"}}));
    }
    let mut filled = Filled::default();
    let (kind, config) = if service.ends {
        ("landform.dev/command", command(service, &mut filled))
    } else {
        ("landform.dev/process", process(service, &mut filled))
    };
    let items = format!(
        "deployItems:\n- name: program\n  type: {kind}\n  config:\n{}",
        indented(&write(&config), 4)
    );
    let template = filled.fill(&items);
    let exports = json!({"exports": {"service": {"host": "127.0.0.1", "ports": service.ports}}});
    let exported = json!([{"name": "service", "type": "data", "schema": {"type": "object"}}]);
    let mut text = String::from("# yaml-language-server: $schema=../.schemas/blueprint.json\n");
    text.push_str(&ordered(&[
        ("apiVersion", API_VERSION.into()),
        ("kind", "Blueprint".into()),
        ("imports", imports.into()),
        ("exports", exported),
    ]));
    for (section, template) in [
        ("deployExecutions", template),
        ("exportExecutions", write(&exports)),
    ] {
        let _ = write!(
            text,
            "{section}:\n- name: program\n  type: GoTemplate\n  template: |\n{}",
            indented(&template, 4)
        );
    }
    text
}

/// What both deployers take: files.
fn files(service: &Service, filled: &mut Filled) -> Map<String, Value> {
    let mut files = Map::new();
    for config in &service.configs {
        let content = filled.word(format!("{{{{ readFile {:?} | toJson }}}}", config.file));
        files.insert(config.file.clone(), content.into());
    }
    for secret in &service.secrets {
        let name = format!("secret-{}", secret_name(&secret.source));
        let content = filled.word(format!("{{{{ index .imports {name:?} | toJson }}}}"));
        let file = json!({"content": content, "mode": "0400"});
        files.insert(secret.file.clone(), file);
    }
    files
}

fn words_of(service: &Service) -> Vec<String> {
    if service.command.is_empty() {
        vec![UNKNOWN.to_owned()]
    } else {
        service.command.clone()
    }
}

fn process(service: &Service, filled: &mut Filled) -> Value {
    let environment = filled.word("{{ .imports.environment | toJson }}".to_owned());
    let mut config = json!({"command": words_of(service), "env": environment});
    let files = files(service, filled);
    if !files.is_empty() {
        config["files"] = files.into();
    }
    if let Some(directory) = &service.directory {
        config["workingDirectory"] = directory.display().to_string().into();
    }
    if let Some(user) = &service.user {
        config["user"] = user.clone().into();
    }
    config["restart"] = match &service.restart {
        Restart::Never => json!({"policy": "Never"}),
        Restart::Always => json!({"policy": "Always"}),
        Restart::OnFailure { most: None } => json!({"policy": "OnFailure"}),
        Restart::OnFailure { most: Some(most) } => {
            json!({"policy": "OnFailure", "maxRestarts": most})
        }
    };
    if let Some(health) = &service.health {
        config["readiness"] = json!({
            "exec": {"command": health.command},
            "timeout": format!("{}s", health.timeout_seconds),
        });
        if let Some(interval) = &health.interval {
            config["readiness"]["interval"] = interval.clone().into();
        }
    } else if let Some(port) = service.ports.first() {
        config["readiness"] = json!({"tcp": {"port": port}});
    }
    let mut stop = Map::new();
    if let Some(signal) = &service.stop_signal {
        stop.insert("signal".into(), signal.clone().into());
    }
    if let Some(grace) = &service.stop_grace {
        stop.insert("grace".into(), grace.clone().into());
    }
    if !stop.is_empty() {
        config["stop"] = stop.into();
    }
    config
}

/// A command that others wait for. It has nothing to do when it is removed.
fn command(service: &Service, filled: &mut Filled) -> Value {
    let environment = filled.word("{{ .imports.environment | toJson }}".to_owned());
    let script = match &service.directory {
        Some(_) => "[ \"$OPERATION\" = DELETE ] || { cd \"$0\" && exec \"$@\"; }",
        None => "[ \"$OPERATION\" = DELETE ] || exec \"$@\"",
    };
    let directory = service.directory.as_ref();
    let directory = directory.map_or_else(|| "sh".to_owned(), |path| path.display().to_string());
    let head = [
        "sh".to_owned(),
        "-c".to_owned(),
        script.to_owned(),
        directory,
    ];
    let words: Vec<_> = head.into_iter().chain(words_of(service)).collect();
    let mut config = json!({"command": words, "env": environment});
    let files = files(service, filled);
    if !files.is_empty() {
        config["files"] = files.into();
    }
    if let Some(user) = &service.user {
        config["user"] = user.clone().into();
    }
    config
}
