//! Exit codes, errors that say what to do next, shell completion and manual pages.

use std::process::Command;

use landform_e2e::{Server, landform, run};

use crate::{assert_contains, landform_on};

const VERBS: [&str; 20] = [
    "serve",
    "apply",
    "diff",
    "get",
    "describe",
    "wait",
    "events",
    "logs",
    "edit",
    "delete",
    "reconcile",
    "retry",
    "abort",
    "trace",
    "top",
    "approve",
    "rollback",
    "catalog",
    "completion",
    "man",
];

fn offline(arguments: &[&str]) -> landform_e2e::Finished {
    run(Command::new(landform()).args(arguments))
}

#[test]
fn every_verb_is_completed_in_three_shells() {
    for shell in ["bash", "zsh", "fish"] {
        let done = offline(&["completion", shell]);
        assert!(done.status.success(), "{}", done.report());
        assert_contains(&done.stdout, &VERBS);
        assert_contains(&done.stdout, &["kubeconfig"]);
    }
    let script = offline(&["completion", "bash"]).stdout;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("completion");
    std::fs::write(&file, script).unwrap();
    let checked = run(Command::new("bash").arg("-n").arg(&file));
    assert!(checked.status.success(), "{}", checked.report());
}

#[test]
fn the_manual_names_every_verb_and_has_a_page_for_each() {
    let done = offline(&["man"]);
    assert!(done.status.success(), "{}", done.report());
    assert_contains(&done.stdout, &[".TH landform", "Exit codes"]);
    assert_contains(&done.stdout, &VERBS);
    let directory = tempfile::tempdir().unwrap();
    let done = offline(&["man", "--dir", directory.path().to_str().unwrap()]);
    assert!(done.status.success(), "{}", done.report());
    for verb in VERBS {
        let page = directory.path().join(format!("landform-{verb}.1"));
        let text = std::fs::read_to_string(&page).unwrap();
        assert_contains(&text, &[verb]);
    }
}

#[test]
fn help_ends_with_the_exit_codes_and_every_verb_has_its_own() {
    let help = offline(&["--help"]);
    assert_eq!(help.status.code(), Some(0));
    assert_contains(
        &help.stdout,
        &["Exit codes:", "2  `diff` and `plan`: there are changes"],
    );
    for verb in VERBS {
        let help = offline(&[verb, "--help"]);
        assert!(help.status.success(), "{}", help.report());
        assert_contains(&help.stdout, &["Usage: landform"]);
    }
}

#[test]
fn a_command_line_that_makes_no_sense_exits_with_3() {
    for arguments in [
        &["frobnicate"][..],
        &["get", "--frobnicate"],
        &["wait", "cm/a", "--timeout=soon"],
    ] {
        let done = offline(arguments);
        assert_eq!(done.status.code(), Some(3), "{}", done.report());
        assert!(done.stdout.is_empty(), "{}", done.report());
    }
    let server = Server::start();
    for arguments in [
        &["get"][..],
        &["get", "cm/a", "b"],
        &["describe", "cm"],
        &["wait", "cm/a"],
        &["wait", "cm/a", "--for=something"],
        &["get", "cm/a", "-A"],
    ] {
        let done = landform_on(&server, arguments);
        assert_eq!(done.status.code(), Some(3), "{}", done.report());
        assert_contains(&done.stderr, &["error: "]);
    }
}

#[test]
fn a_server_that_is_away_is_named_with_what_to_do() {
    let mut server = Server::start();
    server.terminate();
    let done = landform_on(&server, &["get", "cm"]);
    assert_eq!(done.status.code(), Some(1));
    assert_contains(
        &done.stderr,
        &[
            server.url(),
            "can't be reached",
            "landform up DIR",
            "--kubeconfig",
        ],
    );
    let nowhere = offline(&["get", "cm", "--kubeconfig", "/nowhere/kubeconfig"]);
    assert_contains(
        &nowhere.stderr,
        &[
            "there is no kubeconfig /nowhere/kubeconfig",
            "landform serve",
        ],
    );
}
