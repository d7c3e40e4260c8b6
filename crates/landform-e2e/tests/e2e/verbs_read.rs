//! `landform get`, `describe` and `events` with the real binary.

use std::sync::atomic::{AtomicBool, Ordering};

use landform_e2e::{Lines, Server, landform, run};
use serde_json::Value;

use crate::{assert_contains, config_map, landform_ok, landform_on, namespace};

fn with_maps() -> Server {
    let server = Server::start();
    let team = config_map("c", "a", &[]).replace("metadata:\n", "metadata:\n  namespace: team\n");
    let all = [
        config_map("a", "a", &[("k", "v")]),
        config_map("b", "b", &[]),
        namespace("team"),
        team,
    ];
    server.apply(&all.concat());
    server
}

#[test]
fn get_shows_the_table_that_kubectl_shows() {
    let server = with_maps();
    let ours = landform_ok(&server, &["get", "cm", "-l", "app"]);
    let theirs = server.kubectl(&["get", "cm", "-l", "app"]);
    let words = |text: &str| {
        let lines = text.lines();
        let lines = lines.map(|line| line.split_whitespace().take(2).map(str::to_owned));
        lines.map(Iterator::collect).collect::<Vec<Vec<String>>>()
    };
    assert_eq!(words(&ours), words(&theirs));
    let everywhere = landform_ok(&server, &["get", "cm", "-A", "-l", "app=a"]);
    assert_contains(&everywhere, &["NAMESPACE", "team", "default"]);
    let there = landform_ok(&server, &["get", "configmaps", "-n", "team", "-l", "app=a"]);
    assert!(there.contains("\nc ") && !there.contains("\na "), "{there}");
    let several = landform_ok(
        &server,
        &["get", "cm,ns", "--field-selector=metadata.name=team"],
    );
    assert_contains(&several, &["namespace/team"]);
}

#[test]
fn get_has_the_forms_json_yaml_wide_and_name() {
    let server = with_maps();
    let json: Value =
        serde_json::from_str(&landform_ok(&server, &["get", "cm/a", "-o", "json"])).unwrap();
    assert_eq!(json["kind"], "ConfigMap");
    assert_eq!(json["data"]["k"], "v");
    assert!(json["metadata"]["managedFields"].is_null());
    let list: Value = serde_json::from_str(&landform_ok(
        &server,
        &["get", "cm", "a", "b", "-o", "json"],
    ))
    .unwrap();
    assert_eq!(list["items"].as_array().unwrap().len(), 2);
    let yaml = landform_ok(&server, &["get", "cm", "a", "--output=yaml"]);
    assert_contains(
        &yaml,
        &["apiVersion: v1\n", "kind: ConfigMap\n", "  k: v\n"],
    );
    let names = landform_ok(&server, &["get", "cm,ns", "-l", "app=b", "-o", "name"]);
    assert_eq!(names, "configmap/b\n");
    let wide = landform_ok(&server, &["get", "cm/a", "-o", "wide"]);
    assert_contains(&wide, &["NAME", "\na "]);
    // What was read is what can be applied.
    let file = server.file("again.yaml", &yaml);
    assert_eq!(
        landform_ok(&server, &["get", "-f", &file, "-o", "name"]),
        "configmap/a\n"
    );
}

#[test]
fn get_of_what_is_not_there_shows_the_rest_and_exits_with_1() {
    let server = with_maps();
    let finished = landform_on(&server, &["get", "cm/a", "cm/none"]);
    assert_eq!(finished.status.code(), Some(1), "{}", finished.report());
    assert_contains(&finished.stdout, &["\na "]);
    assert_contains(
        &finished.stderr,
        &[
            "there is no ConfigMap none in namespace default",
            "landform get configmap",
        ],
    );
    let empty = landform_on(&server, &["get", "secrets", "-l", "no=body"]);
    assert_eq!(empty.status.code(), Some(0), "{}", empty.report());
    assert_contains(&empty.stderr, &["Nothing found in namespace default"]);
    let slip = landform_on(&server, &["get", "configmpas"]);
    assert_eq!(slip.status.code(), Some(1));
    assert_contains(&slip.stderr, &["did you mean configmap?"]);
}

#[test]
fn get_watches_until_nobody_reads() {
    let server = with_maps();
    let mut command = server.client(landform());
    let mut lines = Lines::of(command.args(["get", "cm", "-l", "app", "-w"]));
    lines.expect(&["NAME", "DATA", "AGE"]);
    lines.expect(&["b"]);
    server.apply(&config_map("later", "a", &[]));
    lines.expect(&["later"]);
    let mut command = server.client(landform());
    let mut lines = Lines::of(command.args(["get", "cm/a", "-w", "-o", "name"]));
    lines.expect(&["configmap/a"]);
    server.kubectl(&["label", "cm", "a", "more=yes"]);
    lines.expect(&["configmap/a"]);
}

#[test]
fn a_reader_who_has_seen_enough_is_no_error() {
    let server = with_maps();
    let many: String = (0..100)
        .map(|n| config_map(&format!("more-{n}"), "a", &[]))
        .collect();
    let file = server.file("many.yaml", &many);
    landform_ok(&server, &["apply", "-f", &file]);
    let script = r#""$1" get cm -o json | head -n 1; "$1" get cm -w | head -n 1"#;
    let mut shell = server.client("bash");
    shell.args(["-e", "-o", "pipefail", "-c", script, "sh"]);
    shell.arg(landform());
    // The watch sees that its reader has gone when it has something to write.
    let done = AtomicBool::new(false);
    let finished = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut count = 0;
            while !done.load(Ordering::SeqCst) {
                server.kubectl(&["label", "cm", "a", "--overwrite", &format!("n=v{count}")]);
                count += 1;
            }
        });
        let finished = run(&mut shell);
        done.store(true, Ordering::SeqCst);
        finished
    });
    assert!(finished.status.success(), "{}", finished.report());
    assert!(
        !finished.stderr.contains("panicked"),
        "{}",
        finished.report()
    );
}

#[test]
fn describe_tells_an_object_and_keeps_secrets() {
    let server = with_maps();
    server.apply("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {p: hunter2}\n");
    let secret = landform_ok(&server, &["describe", "secret/s"]);
    assert_contains(&secret, &["Secret default/s", "p: \"***\"", "Type: Opaque"]);
    assert!(
        !secret.contains("hunter2") && !secret.contains("aHVudGVyMg"),
        "{secret}"
    );
    let map = landform_ok(&server, &["describe", "cm", "a"]);
    assert_contains(
        &map,
        &["Labels:        app=a", "Data:\n  k: v\n", "Events: none"],
    );
    let missing = landform_on(&server, &["describe", "cm/none"]);
    assert_eq!(missing.status.code(), Some(1));
}

#[test]
fn events_are_those_of_the_object_newest_last() {
    let server = with_maps();
    let event = |name: &str, about: &str, seconds: u32| {
        format!(
            "---\napiVersion: v1\nkind: Event\nmetadata: {{name: {name}}}\ntype: Warning\nreason: Tested\n\
             message: about {about} at {seconds}\nlastTimestamp: \"2026-01-01T00:00:{seconds:02}Z\"\n\
             involvedObject: {{apiVersion: v1, kind: ConfigMap, name: {about}, namespace: default}}\n"
        )
    };
    let all = [
        event("e1", "a", 30),
        event("e2", "a", 10),
        event("e3", "b", 20),
    ];
    server.apply(&all.concat());
    let of_a = landform_ok(&server, &["events", "cm/a"]);
    let at = |text: &str| {
        of_a.find(text)
            .unwrap_or_else(|| panic!("{text} in {of_a}"))
    };
    assert!(at("about a at 10") < at("about a at 30"));
    assert!(!of_a.contains("about b"), "{of_a}");
    let all = landform_ok(&server, &["events"]);
    assert_contains(&all, &["ConfigMap/b", "about b at 20"]);
    assert_contains(
        &landform_ok(&server, &["describe", "cm/a"]),
        &["Events:\n", "about a at 30"],
    );
    let mut command = server.client(landform());
    let mut lines = Lines::of(command.args(["events", "-A", "-w"]));
    lines.expect(&["about b at 20"]);
    server.apply(&event("e4", "b", 40));
    lines.expect(&["about b at 40"]);
}

#[test]
fn colours_are_only_where_they_are_wanted() {
    let server = with_maps();
    let colours = |arguments: &[&str], no_color: bool| {
        let mut command = server.client(landform());
        command.args(arguments);
        if no_color {
            command.env("NO_COLOR", "1");
        } else {
            command.env_remove("NO_COLOR");
        }
        let finished = run(&mut command);
        assert!(finished.status.success(), "{}", finished.report());
        finished.stdout.contains('\x1b')
    };
    assert!(!colours(&["get", "ns"], false), "stdout is no terminal");
    assert!(colours(&["get", "ns", "--color", "always"], true));
    assert!(!colours(&["get", "ns", "--color=never"], false));
}

#[test]
fn on_a_terminal_phases_have_colours_unless_no_color_is_set() {
    let server = with_maps();
    let on_terminal = |no_color: &str| {
        let mut command = server.client("script");
        let line = format!("{} get ns", landform().display());
        command.args(["-q", "-e", "-c", &line, "/dev/null"]);
        let finished = run(command.env("NO_COLOR", no_color).env("TERM", "xterm"));
        assert!(finished.status.success(), "{}", finished.report());
        finished.stdout
    };
    assert_contains(&on_terminal(""), &["\x1b[32mActive\x1b[0m"]);
    let plain = on_terminal("1");
    assert!(
        plain.contains("Active") && !plain.contains('\x1b'),
        "{plain:?}"
    );
}
