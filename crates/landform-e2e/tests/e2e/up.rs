//! `landform up` and `down` on a directory: started, edited, broken, fixed, renamed, stopped, killed, taken down.
//!
//! The same project with and without a terminal: its installations are of the mock deployer, so nothing but
//! Landform itself runs.

use std::path::Path;
use std::process::{Command, Stdio};

use landform_e2e::{Lines, landform, run};

use crate::assert_contains;
use crate::project::{Installation, Project};

/// A directory with two installations: `web` imports what `db` exports.
fn pair() -> Project {
    let project = Project::empty();
    let links = "apiVersion: landform.dev/v1alpha1\nkind: Project\nmetadata: {name: pair}\n\
                 spec:\n  links: [{name: Front page, url: 'http://127.0.0.1:9/'}]\n";
    project.write("landform.yaml", links);
    let db = Installation {
        exports: &["address"],
        value: "one",
        ..Installation::default()
    };
    project.write("db.yaml", &db.named("db"));
    let web = Installation {
        imports: &["address"],
        ..Installation::default()
    };
    project.write("web.yaml", &web.named("web"));
    project
}

fn kill_9(lines: &Lines) {
    let killed = Command::new("kill")
        .args(["-9", &lines.id().to_string()])
        .stdout(Stdio::null())
        .status();
    assert!(killed.unwrap().success());
}

#[test]
fn without_a_terminal_every_change_of_phase_is_a_line() {
    let project = pair();
    let mut up = project.up(&[]);
    up.expect(&[
        "landform ready: https://127.0.0.1:",
        "/.landform/kubeconfig",
    ]);
    up.expect(&["Installation/db  ", " → Succeeded  "]);
    up.expect(&["Installation/web  ", " → Succeeded  "]);
    up.expect(&["Everything is ready after "]);
    up.expect(&["Front page: http://127.0.0.1:9/"]);
    up.expect(&["Watching the files"]);
    assert_eq!(project.get("dataobject/address")["data"], "one");
    let projects = project.landform(&["get", "projects"]);
    assert_contains(&projects, &["pair", "Synced"]);

    // An edit.
    project.edit("db.yaml", "address: one", "address: two");
    up.expect(&["Installation/db  Succeeded → "]);
    up.expect(&["Everything is ready after "]);
    assert_eq!(project.get("dataobject/address")["data"], "two");

    // A broken file is told with its place, and leaves all else alone.
    let fine = std::fs::read_to_string(project.directory().join("web.yaml")).unwrap();
    project.write("web.yaml", &format!("{fine}  broken: [\n"));
    let told = up.expect(&["error: web.yaml:"]);
    assert!(told.starts_with("error: web.yaml:"), "{told}");
    up.expect(&[" | "]);
    assert_eq!(
        project.get("installation/web")["status"]["phase"],
        "Succeeded"
    );
    project.write("web.yaml", &fine);
    up.expect(&["All files can be read again."]);

    // Another name for the same installation.
    let before = project.get("installation/web")["metadata"]["uid"].clone();
    let item = project.get("deployitem")["items"].as_array().unwrap().len();
    project.edit("web.yaml", "name: web", "name: shop");
    up.expect(&["Installation/shop  "]);
    up.expect(&["Everything is ready after "]);
    let renamed = project.get("installation/shop");
    assert_eq!(renamed["metadata"]["uid"], before);
    assert_eq!(renamed["status"]["phase"], "Succeeded");
    let items = project.get("deployitem")["items"].as_array().unwrap().len();
    assert_eq!(items, item);

    // A removed file.
    std::fs::remove_file(project.directory().join("web.yaml")).unwrap();
    up.expect(&["Installation default/shop", "landform approve project/pair"]);
    project.landform(&["approve", "project/pair"]);
    up.expect(&["Installation/shop  ", " → gone  "]);

    up.interrupt();
    let ended = up.finish();
    assert!(ended.status.success(), "{}", ended.report());
    assert_contains(&ended.stdout, &["Stopped. What was deployed goes on"]);
}

#[test]
fn after_ctrl_c_and_kill_9_the_next_up_goes_on() {
    let project = pair();
    let mut first = project.up(&[]);
    first.expect(&["Watching the files"]);
    let uid = project.get("installation/db")["metadata"]["uid"].clone();
    let second = run(&mut project.command(&["up", "."]));
    assert_eq!(second.status.code(), Some(1));
    assert_contains(&second.stderr, &["is up already", "landform get"]);
    kill_9(&first);
    drop(first);

    // What was saved meanwhile is found.
    project.edit("db.yaml", "address: one", "address: three");
    let ended = run(&mut project.command(&["up", ".", "--wait", "--timeout", "50s"]));
    assert!(ended.status.success(), "{}", ended.report());
    assert_contains(&ended.stdout, &["Everything is ready after "]);

    let mut third = project.up(&[]);
    third.expect(&["Watching the files"]);
    let db = project.get("installation/db");
    assert_eq!(db["metadata"]["uid"], uid);
    assert_eq!(project.get("dataobject/address")["data"], "three");

    // Taken down by another one, it has nothing left to do.
    project.landform(&["down", ".", "--yes"]);
    third.expect(&["The project was taken down"]);
    assert!(third.finish().status.success());
}

#[test]
fn wait_tells_the_root_causes_and_down_takes_everything_down() {
    let project = pair();
    project.edit(
        "web.yaml",
        "name: address, dataRef: address",
        "name: address, dataRef: adress",
    );
    let ended = run(&mut project.command(&[
        "up",
        ".",
        "--listen",
        "127.0.0.1:0",
        "--wait",
        "--timeout",
        "5s",
    ]));
    assert_eq!(ended.status.code(), Some(1), "{}", ended.report());
    assert_contains(&ended.stdout, &["Installation/web", "adress", "→ "]);

    // A problem of the last time that is mended is not told again.
    project.write("wrong.yaml", "a: [\n");
    let arguments = [
        "up",
        ".",
        "--listen",
        "127.0.0.1:0",
        "--wait",
        "--timeout",
        "2s",
    ];
    let wrong = run(&mut project.command(&arguments));
    assert_contains(&wrong.stdout, &["error: wrong.yaml:"]);
    std::fs::remove_file(project.directory().join("wrong.yaml")).unwrap();
    let mended = run(&mut project.command(&arguments));
    assert!(!mended.stdout.contains("wrong.yaml"), "{}", mended.report());

    let preview = run(&mut project.command(&["down", ".", "--dry-run"]));
    assert_contains(
        &preview.stdout,
        &[
            "Project pair: 2 objects",
            "2 Installation: db, web",
            "dry run",
        ],
    );
    let asked = run(&mut project.command(&["down", "."]));
    assert_eq!(asked.status.code(), Some(1));
    assert_contains(&asked.stderr, &["--yes"]);
    let down = run(&mut project.command(&["down", ".", "--yes"]));
    assert!(down.status.success(), "{}", down.report());
    assert_contains(
        &down.stdout,
        &[
            "Installation/db",
            "→ gone",
            "Everything of pair is gone after",
        ],
    );
    let again = run(&mut project.command(&["down", ".", "--yes"]));
    assert_contains(&again.stdout, &["There is no project pair here"]);
    let elsewhere = run(&mut project.command(&["up", "nowhere"]));
    assert_contains(&elsewhere.stderr, &["there is no project in nowhere"]);
}

#[test]
fn an_object_whose_hook_fails_is_not_ready() {
    let project = Project::empty();
    project.write(
        "toys.yaml",
        &crate::why::TOYS.replace("[sleep, \"600\"]", "[sh, -c, 'echo no paint >&2; exit 1']"),
    );
    let arguments = [
        "up",
        ".",
        "--listen",
        "127.0.0.1:0",
        "--wait",
        "--timeout",
        "50s",
    ];
    let ended = run(&mut project.command(&arguments));
    assert_eq!(ended.status.code(), Some(1), "{}", ended.report());
    let told = [
        "✗ Toy/car: ",
        "exit status: 1",
        "`landform logs reconciler/toys`",
    ];
    assert_contains(&ended.stdout, &told);
    let log = project.directory().join(".landform/hooks/toys.log");
    assert_contains(&std::fs::read_to_string(log).unwrap(), &["no paint"]);
}

/// `landform up` in a terminal of 100 columns and 30 lines: `script` makes one, and passes on what is typed.
fn in_terminal(project: &Project, arguments: &str) -> std::process::Child {
    let line = format!(
        "stty rows 30 cols 100; exec {} {arguments}",
        landform().display()
    );
    let mut command = Command::new("script");
    command
        .args(["-qefc", &line, "/dev/null"])
        .current_dir(project.directory())
        .env("HOME", project.home.path())
        .env("TERM", "xterm")
        .env_remove("KUBECONFIG")
        .env_remove("NO_COLOR")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    command.spawn().unwrap()
}

/// Reads a terminal until it shows all pieces; returns everything up to there.
fn until(terminal: &mut std::process::Child, seen: &mut String, pieces: &[&str]) {
    use std::io::Read as _;
    let from = seen.len();
    let out = terminal.stdout.as_mut().unwrap();
    let mut buffer = [0; 4096];
    while !pieces.iter().all(|piece| seen[from..].contains(piece)) {
        let length = out.read(&mut buffer).unwrap();
        assert!(length > 0, "it ended without {pieces:?}: {seen}");
        seen.push_str(&String::from_utf8_lossy(&buffer[..length]));
    }
}

#[test]
fn in_a_terminal_a_tree_lives_and_ctrl_c_is_typed() {
    use std::io::Write as _;
    let project = pair();
    let mut terminal = in_terminal(&project, "up . --listen 127.0.0.1:0");
    let mut seen = String::new();
    until(
        &mut terminal,
        &mut seen,
        &["Everything is ready after", "Watching the files"],
    );
    // It was drawn in place, in colours, below lines that stay.
    assert_contains(
        &seen,
        &[
            "landform ready: https://127.0.0.1:",
            "\u{1b}[J",
            "\u{1b}[32m✓\u{1b}[0m Installation/db",
            "DeployItem/item",
        ],
    );
    project.edit("db.yaml", "address: one", "address: two");
    until(&mut terminal, &mut seen, &["Everything is ready after"]);
    project.write("db.yaml", "a: [\n");
    until(&mut terminal, &mut seen, &["error: db.yaml:"]);
    let stdin = terminal.stdin.as_mut().unwrap();
    stdin.write_all(b"\x03").unwrap();
    stdin.flush().unwrap();
    until(
        &mut terminal,
        &mut seen,
        &["Stopped. What was deployed goes on"],
    );
    assert!(terminal.wait().unwrap().success());

    // Down asks in a terminal, and takes a yes.
    let mut terminal = in_terminal(&project, "down .");
    let mut seen = String::new();
    until(&mut terminal, &mut seen, &["Take all of this down? [y/N]"]);
    terminal.stdin.as_mut().unwrap().write_all(b"y\n").unwrap();
    until(
        &mut terminal,
        &mut seen,
        &["Everything of pair is gone after"],
    );
    assert!(terminal.wait().unwrap().success());
    assert!(!has_colours_without_terminal(&project.directory()));
}

/// Whether colours get into a pipe.
fn has_colours_without_terminal(directory: &Path) -> bool {
    let mut command = Command::new(landform());
    let command = command.args(["up", ".", "--listen", "127.0.0.1:0", "--wait"]);
    let done = run(command.current_dir(directory).env_remove("KUBECONFIG"));
    done.stdout.contains('\u{1b}')
}
