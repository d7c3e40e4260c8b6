//! `landform new` and `landform import`: what they make is brought up, changed and taken down with the real binary; and a
//! project's directory as kubectl sees it.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use landform_e2e::{Lines, Server, landform, run};
use tempfile::TempDir;

use crate::assert_contains;
use crate::project::Project;
use crate::shop::Leftovers;

/// A home in which something is made.
struct Home {
    _leftovers: Leftovers,
    directory: TempDir,
}

impl Home {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self {
            _leftovers: Leftovers(directory.path().to_path_buf()),
            directory,
        }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(landform());
        command
            .args(arguments)
            .current_dir(self.path())
            .env("HOME", self.path())
            .env_remove("KUBECONFIG");
        command
    }

    #[track_caller]
    fn landform(&self, arguments: &[&str]) -> String {
        let done = run(&mut self.command(arguments));
        assert!(done.status.success(), "{}", done.report());
        done.stdout
    }

    fn up(&self, directory: &str) -> Lines {
        let mut up = Lines::of(&mut self.command(&["up", directory, "--listen", "127.0.0.1:0"]));
        up.expect(&["Watching the files"]);
        up
    }

    /// Asks until the answer has a text; each question has a deadline, and so has the test.
    #[track_caller]
    fn until(&self, directory: &str, question: &[&str], text: &str) {
        let landform = landform().display();
        let question = question.join(" ");
        let script = format!(
            "cd {directory} && until {landform} {question} | grep -q '{text}'; do sleep 0.2; done"
        );
        let done = run(Command::new("sh")
            .args(["-c", &script])
            .current_dir(self.path())
            .env("HOME", self.path())
            .env_remove("KUBECONFIG"));
        assert!(done.status.success(), "{}", done.report());
    }

    fn edit(&self, file: &str, from: &str, to: &str) {
        let path = self.path().join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{text}");
        std::fs::write(path, text.replace(from, to)).unwrap();
    }
}

/// Makes something on its own, brings it up, changes it and takes it down.
fn lives(what: &str, question: &[&str], change: (&str, &str, &str), before: &str, after: &str) {
    let home = Home::new();
    let told = home.landform(&["new", what, "note"]);
    assert_contains(
        &told,
        &["wrote note/landform.yaml", "Next: landform up note"],
    );
    let up = home.up("note");
    home.until("note", question, before);
    let (file, from, to) = change;
    home.edit(&format!("note/{file}"), from, to);
    home.until("note", question, after);
    up.interrupt();
    assert!(up.finish().status.success());
    let down = home.landform(&["down", "note", "--yes"]);
    assert!(!down.contains("rror"), "{down}");
    // Nothing runs any more.
    let left = std::fs::read_dir("/proc").unwrap().flatten();
    let left = left.filter(|entry| {
        let directory = std::fs::read_link(entry.path().join("cwd"));
        directory.is_ok_and(|directory| directory.starts_with(home.path()))
    });
    assert_eq!(left.count(), 0, "{what} has left processes behind");
}

#[test]
fn a_new_project_is_brought_up_changed_and_taken_down() {
    let question = ["get", "dobj", "note-message", "-o", "yaml"];
    let change = ("note.yaml", "data: Hello", "data: Bye");
    lives(
        "project",
        &question,
        change,
        "Hello from note",
        "Bye from note",
    );
}

#[test]
fn a_new_blueprint_is_brought_up_changed_and_taken_down() {
    let question = ["logs", "inst/note"];
    let change = ("note.yaml", "data: Hello", "data: Bye");
    lives("blueprint", &question, change, "Hello", "Bye");
}

#[test]
fn a_new_reconciler_is_brought_up_changed_and_taken_down() {
    let question = ["get", "configmap", "note-first", "-o", "yaml"];
    let change = ("first.yaml", "[Hello, world]", "[Bye, world]");
    lives("reconciler", &question, change, "Hello world", "Bye world");
}

#[test]
fn a_new_deployer_is_brought_up_changed_and_taken_down() {
    // The file that was deployed, wherever the deployer has put it.
    let question = ["get", "dobj", "note-path", "-o", "yaml"];
    let question = [
        &question[..],
        &["|", "sed", "-n", "'s/^data: //p'", "|", "xargs", "cat"],
    ]
    .concat();
    let change = ("first.yaml", "data: Hello", "data: Bye");
    lives("deployer", &question, change, "Hello", "Bye");
}

#[test]
fn a_new_operator_is_brought_up_changed_and_taken_down() {
    let question = ["get", "configmap", "note-first", "-o", "yaml"];
    let change = ("first.yaml", "text: Hello", "text: Bye");
    lives("operator", &question, change, "text: Hello", "text: Bye");
}

#[test]
fn nothing_new_is_written_over_something_old() {
    let home = Home::new();
    home.landform(&["new", "project", "shop"]);
    home.edit("shop/shop.yaml", "Hello", "Mine");
    let again = run(&mut home.command(&["new", "blueprint", "shop"]));
    assert_eq!(again.status.code(), Some(1));
    assert_contains(&again.stderr, &["nothing was written", "shop/shop.yaml"]);
    let inside = run(&mut home.command(&["new", "project", "x", "--dir", "shop/x"]));
    assert_contains(&inside.stderr, &["can't be part of another one"]);
    let name = run(&mut home.command(&["new", "project", "My Shop"]));
    assert_eq!(name.status.code(), Some(3));
    assert_contains(&name.stderr, &["\"My Shop\" can't be a name"]);
}

/// Programs that are on every machine, in the shapes that Compose files have.
const COMPOSE: &str = r#"name: pages
x-common: &common
  restart: unless-stopped
  environment: &environment {GREETING: "hello ${WHO:-world}"}
services:
  seed:
    command: ["sh", "-c", "echo \"$$GREETING\" > \"$$VOLUME_PAGES/index.html\""]
    environment: *environment
    volumes: [pages:/pages]
  web:
    <<: *common
    image: python:3.12
    command: sh -c 'cd "$$VOLUME_PAGES" && exec python3 -m http.server --bind 127.0.0.1 7541'
    volumes: [pages:/pages]
    ports: ["7541:7541"]
    depends_on: {seed: {condition: service_completed_successfully}}
    healthcheck: {test: [CMD, python3, -c, "import urllib.request; urllib.request.urlopen('http://127.0.0.1:7541/')"], interval: 1s}
  reader:
    <<: *common
    command: [sh, -c, "cat secrets/password configs/settings; while :; do sleep 60; done"]
    env_file: reader.env
    secrets: [password]
    configs: [settings]
    depends_on: [web]
  debug:
    command: [sh, -c, "echo debugging; while :; do sleep 60; done"]
    restart: always
    profiles: [debug]
  database:
    image: postgres:16
volumes: {pages: {}}
secrets: {password: {file: ./password.txt}}
configs: {settings: {content: "{{ size }} = 3\n"}}
"#;

#[test]
fn a_compose_file_is_imported_and_does_what_it_did() {
    let home = Home::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    drop(listener);
    let write = |file: &str, text: &str| std::fs::write(home.path().join(file), text).unwrap();
    write("compose.yaml", &COMPOSE.replace("7541", &port));
    write("reader.env", "LEVEL=info\n");
    write("password.txt", "0815\n");
    write(".env", "WHO=everyone\n");
    let told = home.landform(&["import", "compose", "compose.yaml"]);
    let to_do = "compose.yaml:30:5: database: there is no `command`";
    assert_contains(&told, &["Left to do", to_do, "Next: landform up pages"]);
    let up = home.up("pages");
    home.until("pages", &["get", "inst", "reader"], "Succeeded");
    let page = run(Command::new("curl").args(["-s", &format!("http://127.0.0.1:{port}/")]));
    assert_eq!(page.stdout, "hello everyone\n");
    home.until("pages", &["logs", "inst/reader"], "0815");
    home.until("pages", &["logs", "inst/reader"], "{{ size }} = 3");
    // Not before its profile is wanted.
    let installations = home.landform(&["get", "inst", "--data-dir", "pages/.landform"]);
    assert!(!installations.contains("debug"), "{installations}");
    home.edit("pages/landform.yaml", "debug: false", "debug: true");
    home.until("pages", &["logs", "inst/debug"], "debugging");
    up.interrupt();
    assert!(up.finish().status.success());
    home.landform(&["down", "pages", "--yes"]);
}

#[test]
fn kubectl_applies_a_projects_directory_with_its_settings() {
    let server = Server::start();
    let directory = server.home().join("shop");
    std::fs::create_dir(&directory).unwrap();
    let settings = "apiVersion: landform.dev/v1alpha1\nkind: Project\nmetadata: {name: shop}\nspec: {values: {size: 3}}\n";
    std::fs::write(directory.join("landform.yaml"), settings).unwrap();
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: map}\ndata: {a: b}\n";
    std::fs::write(directory.join("map.yaml"), map).unwrap();
    let applied = server.kubectl(&["apply", "-f", "shop"]);
    assert_contains(
        &applied,
        &["project.landform.dev/shop created", "configmap/map created"],
    );
    let phase = "--for=jsonpath={.status.phase}=Synced";
    server.kubectl(&["wait", phase, "project/shop", "--timeout=55s"]);
    let again = server.kubectl(&["apply", "-f", "shop"]);
    assert_contains(&again, &["project.landform.dev/shop unchanged"]);
    server.kubectl(&["delete", "-f", "shop", "--timeout=55s"]);
}

#[test]
fn r15_settings_that_were_applied_do_not_hide_the_file() {
    let project = Project::empty();
    let settings = "apiVersion: landform.dev/v1alpha1\nkind: Project\nmetadata: {name: pair}\nspec: {values: {size: one}}\n";
    project.write("landform.yaml", settings);
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: map}\ndata: {size: {{ .Values.size }}}\n";
    project.write("map.yaml.gotmpl", map);
    let mut up = project.up(&[]);
    up.expect(&["Watching the files"]);
    let kubectl = std::env::var_os("LANDFORM_TEST_KUBECTL").unwrap_or_else(|| "kubectl".into());
    let done = run(Command::new(kubectl)
        .args(["apply", "-f", "landform.yaml"])
        .current_dir(project.directory())
        .env("HOME", project.home.path())
        .env(
            "KUBECONFIG",
            project.directory().join(".landform/kubeconfig"),
        ));
    assert!(done.status.success(), "{}", done.report());
    assert_eq!(project.get("project/pair")["spec"]["values"]["size"], "one");
    project.edit("landform.yaml", "size: one", "size: two");
    let changed = "--for=jsonpath={.data.size}=two";
    project.landform(&["wait", "configmap/map", changed, "--timeout=55s"]);
}
