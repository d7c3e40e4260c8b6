//! `landform down` when something can't be removed: what holds it, the advice, and what following that does.

use std::path::Path;
use std::process::Command;

use landform_e2e::{Lines, run};

use crate::assert_contains;
use crate::project::{Installation, Project};

const UP: [&str; 7] = [
    "up",
    ".",
    "--listen",
    "127.0.0.1:0",
    "--wait",
    "--timeout",
    "50s",
];

/// An installation with a command whose removal does what a script says.
fn project(removal: &str, timeout: &str) -> Project {
    let project = Project::empty();
    let settings =
        "apiVersion: landform.dev/v1alpha1\nkind: Project\nmetadata: {name: held}\nspec: {}\n";
    project.write("landform.yaml", settings);
    let script = format!("if [ $OPERATION = DELETE ]; then {removal}; fi");
    let item = format!(
        "{{name: item, type: landform.dev/command, timeout: {timeout}, config: {{command: [sh, -c, \"{script}\"]}}}}"
    );
    let db = Installation {
        item: &item,
        ..Installation::default()
    };
    project.write("db.yaml", &db.named("db"));
    let up = run(&mut project.command(&UP));
    assert!(up.status.success(), "{}", up.report());
    project
}

/// Runs the command in the advice that begins with `start`.
fn follow(project: &Project, advice: &str, start: &str) {
    let begin = advice
        .find(start)
        .unwrap_or_else(|| panic!("{start} is not in: {advice}"));
    let command = &advice[begin..];
    let end = command.find([';', '\n']).unwrap_or(command.len());
    let landform = landform_e2e::landform();
    let folder = Path::new(&landform).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &command[..end]])
        .current_dir(project.directory())
        .env("HOME", project.home.path())
        .env("PATH", format!("{}:{path}", folder.display()))
        .env(
            "KUBECONFIG",
            project.directory().join(".landform/kubeconfig"),
        );
    let done = run(&mut shell);
    assert!(done.status.success(), "{}", done.report());
}

#[test]
fn i35b_what_fails_and_is_tried_again_is_told_with_the_way_out() {
    let project = project("exit 3", "1m");
    let mut down = Lines::of(&mut project.command(&["down", ".", "--yes"]));
    down.expect(&["✗ DeployItem/", "3"]);
    let advice = down.expect(&[
        "→ ",
        "landform retry DeployItem/",
        "kubectl annotate deployitem",
    ]);
    // The server lives as long as the command, which goes on.
    follow(&project, &advice, "kubectl annotate deployitem");
    down.expect(&["Everything of held is gone after"]);
    assert!(down.finish().status.success());
}

#[test]
fn i35b_what_needs_a_person_ends_at_once_with_a_code() {
    const IGNORE: &str = "landscaper.gardener.cloud/ignore";
    let project = project("true", "1m");
    project.edit(
        "db.yaml",
        "  name: db\n",
        &format!("  name: db\n  annotations: {{{IGNORE}: \"true\"}}\n"),
    );
    let ready = run(&mut project.command(&UP));
    assert!(ready.status.success(), "{}", ready.report());
    let down = run(&mut project.command(&["down", ".", "--yes", "--timeout", "5m"]));
    assert_eq!(down.status.code(), Some(1), "{}", down.report());
    assert_contains(&down.stdout, &["✗ Installation/db", IGNORE, "→ remove"]);
    assert_contains(
        &down.stderr,
        &["doesn't go on before you do", "`landform up"],
    );

    // The advice, followed.
    let mut up = project.up(&[]);
    up.expect(&["landform ready: "]);
    follow(&project, &down.stdout, "kubectl annotate installation");
    up.expect(&["The project was taken down"]);
    assert!(up.finish().status.success());
}
