//! The example of a reconciler in Python, as its README tells it: kubectl, the hook and the binary.

use std::path::{Path, PathBuf};
use std::process::Command;

use landform_e2e::{Lines, Server, run};

use crate::example::Example;
use crate::{assert_contains, readme};

fn example(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/python-reconciler");
    folder.join(name)
}

fn read(name: &str) -> String {
    std::fs::read_to_string(example(name)).unwrap()
}

/// Starts the hook on a port, and returns its URL. It needs the standard library only.
fn hook(port: &str) -> (Lines, String) {
    let mut command = Command::new("python3");
    let mut hook = Lines::of(command.arg(example("hook/hook.py")).args(["--port", port]));
    let line = hook.expect(&["listening on "]);
    let url = line.trim_start_matches("listening on ").to_owned();
    (hook, url)
}

/// A server with the example's kind and Reconciler, whose hook is at this URL.
fn with_recipes(url: &str) -> Server {
    let server = Server::start();
    server.apply(&read("definition.yaml"));
    let reconciler = read("reconciler.yaml");
    assert_contains(&reconciler, &["http://127.0.0.1:8765/"]);
    server.apply(&reconciler.replace("http://127.0.0.1:8765/", url));
    server
}

fn wait(server: &Server, object: &str, jsonpath: &str, value: &str) {
    let condition = format!("--for=jsonpath={{{jsonpath}}}={value}");
    server.kubectl(&["wait", &condition, object, "--timeout=55s"]);
}

#[test]
fn recipes_are_a_project_as_the_readme_tells_it() {
    let example = Example::new("python-reconciler", &["8765"]);
    let up = example.up("Up");
    assert_contains(
        &example.follow("Up"),
        &["recipes", "Registered", "pizza", "1400"],
    );
    example.follow("Change a file");
    up.interrupt();
    assert!(up.finish().status.success());
    example.follow("Down");
}

#[test]
fn recipes_are_reconciled_by_kubectl_as_the_readme_tells_it() {
    let (_hook, url) = hook("0");
    let server = Server::start();
    if !server.kubectl_is_at_least(23) {
        return;
    }
    let page = read("README.md");
    let copy = server.home().join("recipes");
    std::fs::create_dir_all(copy.join("hook")).unwrap();
    for name in [
        "definition.yaml",
        "reconciler.yaml",
        "recipes.yaml",
        "hook/hook.py",
    ] {
        let text = read(name).replace("http://127.0.0.1:8765/", &url);
        std::fs::write(copy.join(name), text).unwrap();
    }
    let follow = |section: &str| {
        let script = readme::script(&page, section);
        // The hook runs already.
        let script = script.replace("python3 hook/hook.py\n", "");
        let mut shell = server.client("sh");
        let done = run(shell.current_dir(&copy).args(["-exc", &script]));
        assert!(done.status.success(), "{section}: {}", done.report());
        done.stdout
    };
    assert_contains(
        &follow("With kubectl"),
        &["recipes", "pizza", "1400", r#""flour":"500 g""#],
    );
    follow("Change what others use");
    follow("Meddle");
    let left = follow("Clean up");
    let listed = left
        .lines()
        .any(|line| line.starts_with("shopping-list-pizza"));
    assert!(!listed, "{left}");
    assert_contains(&follow("Without a server"), &[r#""grams": 200"#]);
}

const LIST: &str = "shopping-list-pizza";

#[test]
fn r2_r14_a_kind_is_reconciled_by_a_python_program() {
    let (mut hook, url) = hook("0");
    let server = with_recipes(&url);
    server.kubectl(&[
        "wait",
        "--for=condition=Ready",
        "rec/recipes",
        "--timeout=55s",
    ]);
    server.apply(&read("recipes.yaml"));
    wait(&server, "recipe/pizza", ".status.grams", "1400");
    let row = server.kubectl(&["get", "recipe", "pizza", "--no-headers"]);
    assert_contains(&row, &["pizza", "1400", "true"]);
    let list = server.kubectl_json(&["get", "configmap", LIST]);
    assert_eq!(list["data"]["flour"], "500 g");
    assert_eq!(list["metadata"]["ownerReferences"][0]["name"], "pizza");

    // What a recipe uses has changed: first that one is called, then the recipe.
    let salt = r#"{"spec":{"ingredients":{"salt":10}}}"#;
    server.kubectl(&["patch", "recipe", "dough", "--type=merge", "-p", salt]);
    hook.expect(&["dough: changed"]);
    hook.expect(&["pizza: ref"]);
    wait(&server, "recipe/pizza", ".status.grams", "1410");

    // A child that somebody deletes or changes is put right.
    let watched = ["get", "configmap", LIST, "--watch", "--output-watch-events"];
    let mut events = server.kubectl_lines(&watched);
    events.expect(&["ADDED", LIST]);
    server.kubectl(&["delete", "configmap", LIST]);
    events.expect(&["DELETED", LIST]);
    events.expect(&["ADDED", LIST]);
    let none = r#"{"data":{"cheese":"none"}}"#;
    server.kubectl(&["patch", "configmap", LIST, "--type=merge", "-p", none]);
    wait(
        &server,
        &format!("configmap/{LIST}"),
        ".data.cheese",
        "200 g",
    );

    // The child goes with its owner.
    server.kubectl(&["delete", "recipe", "pizza", "--timeout=55s"]);
    server.kubectl(&[
        "wait",
        "--for=delete",
        &format!("configmap/{LIST}"),
        "--timeout=55s",
    ]);
}

#[test]
fn r2_everything_is_called_once_after_a_restart_and_nothing_changes() {
    let (mut hook, url) = hook("0");
    let server = with_recipes(&url);
    server.apply(&read("recipes.yaml"));
    wait(&server, "recipe/pizza", ".status.grams", "1400");
    let version = "jsonpath={.metadata.resourceVersion}";
    let version = ["get", "configmap", "shopping-list-sauce", "-o", version];
    let before = server.kubectl(&version);
    let server = server.restart(|_| {});
    hook.expect(&["sauce: appeared"]);
    // What uses the sauce is called after it: when that is done, so is the sauce.
    let more = r#"{"spec":{"uses":["sauce"]}}"#;
    server.kubectl(&["patch", "recipe", "pizza", "--type=merge", "-p", more]);
    wait(&server, "recipe/pizza", ".status.grams", "600");
    assert_eq!(server.kubectl(&version), before);
}

#[test]
fn a_hook_that_is_away_is_told_of_and_called_when_it_is_back() {
    let (first, url) = hook("0");
    drop(first);
    let server = with_recipes(&url);
    server.apply(&read("recipes.yaml"));
    let unready = [
        "wait",
        "--for=condition=Ready=false",
        "rec/recipes",
        "--timeout=55s",
    ];
    server.kubectl(&unready);
    let row = server.kubectl(&["get", "rec", "recipes", "-o", "wide"]);
    assert_contains(&row, &["HookUnreachable", "Connection refused"]);
    let port = url.trim_end_matches('/').rsplit(':').next().unwrap();
    let (_hook, _) = hook(port);
    server.kubectl(&[
        "wait",
        "--for=condition=Ready",
        "rec/recipes",
        "--timeout=55s",
    ]);
    wait(&server, "recipe/pizza", ".status.grams", "1400");
}
