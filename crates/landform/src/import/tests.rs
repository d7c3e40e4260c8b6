//! Compose files of several shapes: what becomes of them, and that nothing is dropped without a word.

use std::path::Path;

use landform_blueprint::{Blueprint, FileLimits, Files};

use super::read::read;
use super::source::{Source, Weight};
use super::{ComposeArgs, compose, report};

/// A directory with a Compose file and others.
fn directory(files: &[(&str, &str)]) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let file = home.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    home
}

/// The notes of a Compose file, as `LINE WEIGHT TEXT`.
fn notes(files: &[(&str, &str)]) -> Vec<String> {
    let home = directory(files);
    let source = Source::load(&home.path().join("compose.yaml")).unwrap();
    let _ = read(&source);
    assert_eq!(source.problems(), None);
    let notes = source.notes().into_iter();
    notes
        .map(|note| format!("{} {:?} {}", note.place.0, note.weight, note.text))
        .collect()
}

fn problem(text: &str) -> String {
    let home = directory(&[("compose.yaml", text)]);
    match Source::load(&home.path().join("compose.yaml")) {
        Err(error) => error.to_string(),
        Ok(source) => {
            let _ = read(&source);
            source.problems().expect("it is refused")
        }
    }
}

#[test]
fn what_is_no_compose_file_is_refused_with_its_place() {
    for (text, expected) in [
        ("a: 1\n", "compose.yaml:1:1: there are no `services`"),
        ("services:\n  a: [", "compose.yaml:2:"),
        (
            "services:\n  a: 1\n",
            "compose.yaml:2:6: this must be a map",
        ),
        (
            "services:\n  a: {command: x, depends_on: [b]}\n",
            "compose.yaml:2:32: there is no service b",
        ),
        (
            "services:\n  a: {command: x, depends_on: [b]}\n  b: {command: x, depends_on: [a]}\n",
            "services wait for each other: a, b",
        ),
        (
            "services:\n  a: {command: x, restart: maybe}\n",
            "compose.yaml:2:28: this must be no, always, on-failure or unless-stopped",
        ),
        (
            "services:\n  a: {command: \"x 'y\"}\n",
            "a quote is not closed",
        ),
        (
            "services:\n  a_b: {command: x}\n  a-b: {command: x}\n",
            "two services would be called a-b",
        ),
        (
            "services:\n  a: {command: x, env_file: no.env}\n",
            "no.env can't be read",
        ),
        (
            "services:\n  a: {command: x, volumes: ['data:/data']}\n",
            "there is no volume data",
        ),
        ("services:\n  a: {command: '${X'}\n", "`${` has no `}`"),
    ] {
        let found = problem(text);
        assert!(found.contains(expected), "{text}\n{found}");
    }
}

#[test]
fn every_field_is_taken_over_or_named() {
    // Fields that the importer takes over in silence, because they mean the same here.
    let silent = [
        "command",
        "entrypoint",
        "environment",
        "healthcheck",
        "restart",
        "depends_on",
    ];
    let fields = [
        ("image", "nginx"),
        ("build", "."),
        ("environment", "{A: b}"),
        ("ports", "['8080:80']"),
        ("healthcheck", "{test: 'true'}"),
        ("restart", "always"),
        ("container_name", "x"),
        ("networks", "[x]"),
        ("labels", "{a: b}"),
        ("deploy", "{replicas: 3}"),
        ("user", "nobody"),
        ("profiles", "[debug]"),
        ("volumes", "['./x:/x']"),
        ("working_dir", "/x"),
        ("extends", "{service: b}"),
        ("gpus", "all"),
        ("something_new", "1"),
        ("stop_signal", "SIGWINCH"),
    ];
    for (name, value) in fields {
        let text = format!("services:\n  web:\n    command: sleep 1\n    {name}: {value}\n");
        let notes = notes(&[("compose.yaml", &text)]);
        let named = notes.iter().any(|note| note.starts_with("4 "));
        assert!(named || silent.contains(&name), "{name}: {notes:?}");
    }
    let top = notes(&[(
        "compose.yaml",
        "version: '3'\nservices: {}\nnetworks: {}\nx-a: {}\ninclude: [b.yaml]\nmodels: {}\n",
    )]);
    let lines: Vec<_> = top.iter().map(|note| &note[..1]).collect();
    assert_eq!(lines, ["5", "6", "1", "3", "4"], "{top:?}");
}

#[test]
fn variables_come_from_the_file_beside_it_and_defaults() {
    let home = directory(&[
        (
            "compose.yaml",
            "services:\n  a:\n    command: [echo, '$A', '${B:-b$A}', '${C-c}', '$$x', '${D:+d}', '${A:+e}', '${NONE}']\n",
        ),
        (".env", "A=1\nB=\n# no\nexport C='c c'\n"),
    ]);
    let source = Source::load(&home.path().join("compose.yaml")).unwrap();
    let found = read(&source);
    assert_eq!(
        found.services[0].command,
        ["echo", "1", "b1", "c c", "$x", "", "e", ""]
    );
    let notes = source.notes();
    assert_eq!(notes.len(), 1);
    assert_eq!((notes[0].weight, notes[0].place.0), (Weight::ToDo, 3));
    assert!(notes[0].text.contains("NONE"), "{}", notes[0].text);
}

/// A stack with everything that is taken over.
const STACK: &[(&str, &str)] = &[
    (
        "compose.yaml",
        r#"name: Shop
x-common: &common
  restart: unless-stopped
  environment: &env {LEVEL: debug}
services:
  db:
    <<: *common
    image: postgres:16
    volumes: ["data:/var/lib/postgresql/data"]
  migrate:
    command: ["sh", "-c", "echo {{ migrated }}"]
    depends_on: {db: {condition: service_healthy}}
  web_app:
    <<: *common
    command: python3 -m http.server 8080
    working_dir: /app/site
    env_file: [web.env]
    environment:
      <<: *env
      DATABASE_URL: postgres://db:5432/shop
    ports: ["8080:8080"]
    volumes: ["./app:/app:ro"]
    depends_on: {migrate: {condition: service_completed_successfully}}
    healthcheck: {test: [CMD, curl, -f, "http://localhost:8080"], interval: 2s, retries: 5}
    configs: [{source: settings, target: /etc/settings.ini}]
    secrets: [password]
    stop_grace_period: 30s
  admin:
    command: sleep 100
    profiles: [debug]
volumes: {data: {}}
configs: {settings: {content: "a = 1\n"}}
secrets: {password: {file: password.txt}}
"#,
    ),
    ("web.env", "LEVEL=info\nTOKEN=\"t t\"\n"),
    ("password.txt", "0815"),
    ("app/site/index.html", "hello"),
];

#[test]
fn a_stack_becomes_a_project() {
    let home = directory(STACK);
    let file = home.path().join("compose.yaml");
    let made = home.path().join("shop");
    let arguments = ComposeArgs {
        file: file.clone(),
        dir: Some(made.clone()),
    };
    compose(&arguments).unwrap();
    let text = |path: &str| std::fs::read_to_string(made.join(path)).unwrap();
    for (path, pieces) in [
        (
            "landform.yaml",
            &["name: shop", "debug: false", "- volumes"][..],
        ),
        ("db.yaml.todo", &["name: db", "VOLUME_DATA: "]),
        ("migrate.yaml", &["dataRef: db-service"]),
        (
            "migrate/blueprint.yaml",
            &["landform.dev/command", "OPERATION"],
        ),
        (
            "web-app.yaml",
            &[
                "LEVEL: debug",
                "TOKEN: t t",
                "postgres://127.0.0.1:5432/shop",
                "dataRef: migrate-service",
                "name: password",
            ],
        ),
        (
            "web-app/blueprint.yaml",
            &[
                "landform.dev/process",
                "policy: Always",
                "readFile \"configs/settings.ini\"",
                "index .imports \"secret-password\"",
                "app/site",
                "grace: 30s",
                "interval: 2s",
            ],
        ),
        ("web-app/configs/settings.ini", &["a = 1"]),
        ("secrets.yaml", &[r#"content: "\"0815\"""#]),
        (
            "admin.yaml.gotmpl",
            &["if or false (index .Values.profiles \"debug\")"],
        ),
        (
            "IMPORTED.md",
            &[
                "db: there is no `command`",
                "compose.yaml:22:",
                "the host db became 127.0.0.1",
            ],
        ),
    ] {
        let found = text(path);
        for piece in pieces {
            assert!(
                found.contains(piece),
                "{path}: {piece} is missing in\n{found}"
            );
        }
    }
    assert!(made.join("volumes/data").is_dir());
    for service in ["db", "migrate", "web-app", "admin"] {
        let blueprint = Files::from_path(&made.join(service), &FileLimits::default()).unwrap();
        let blueprint = Blueprint::from_files(blueprint).unwrap();
        assert_eq!(blueprint.warnings, [], "{service}");
    }
    // Nothing is written over what is there.
    let again = compose(&arguments).unwrap_err().to_string();
    assert!(
        again.contains("in the project") || again.contains("nothing was written"),
        "{again}"
    );
    let source = Source::load(&file).unwrap();
    let _ = read(&source);
    let told = report::summary(&source, Path::new("shop"));
    assert!(
        told.contains("Left to do:") && told.contains("landform up shop"),
        "{told}"
    );
}
