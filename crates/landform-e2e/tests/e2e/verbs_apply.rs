//! `landform apply`, `diff`, `edit` and `delete` of several, with the real binary and beside kubectl.

use landform_e2e::{Finished, Server, landform, run, run_with_input};

use crate::{assert_contains, config_map, landform_ok, landform_on, namespace};

fn apply(server: &Server, text: &str) -> Finished {
    let mut command = server.client(landform());
    run_with_input(command.args(["apply", "-f", "-"]), text)
}

fn applied(server: &Server, text: &str) -> String {
    let finished = apply(server, text);
    assert!(finished.status.success(), "{}", finished.report());
    finished.stdout
}

fn data(server: &Server, name: &str) -> String {
    server.kubectl(&["get", "cm", name, "-o", "jsonpath={.data}"])
}

#[test]
fn apply_creates_configures_and_leaves_alone() {
    let server = Server::start();
    let text = config_map("a", "x", &[("one", "1"), ("two", "2")]);
    assert_eq!(applied(&server, &text), "configmap/a created\n");
    assert_eq!(applied(&server, &text), "configmap/a unchanged\n");
    // What others set stays; what is wanted no more goes.
    server.kubectl(&["patch", "cm", "a", "-p", r#"{"data": {"others": "3"}}"#]);
    let text = config_map("a", "x", &[("one", "9")]);
    assert_eq!(applied(&server, &text), "configmap/a configured\n");
    assert_eq!(data(&server, "a"), r#"{"one":"9","others":"3"}"#);
}

#[test]
fn apply_goes_on_from_what_kubectl_applied() {
    let server = Server::start();
    server.apply(&config_map("a", "x", &[("one", "1"), ("old", "2")]));
    let text = config_map("a", "x", &[("one", "1")]);
    assert_eq!(applied(&server, &text), "configmap/a configured\n");
    assert_eq!(data(&server, "a"), r#"{"one":"1"}"#);
    assert_eq!(applied(&server, &text), "configmap/a unchanged\n");
}

#[test]
fn apply_takes_namespaces_and_definitions_first_and_reads_directories() {
    let server = Server::start();
    let directory = server.home().join("all");
    std::fs::create_dir_all(directory.join("below")).unwrap();
    let inside = config_map("a", "x", &[]).replace("metadata:\n", "metadata:\n  namespace: team\n");
    let definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n\
        metadata: {name: toys.example.com}\nspec:\n  group: example.com\n  scope: Namespaced\n  \
        names: {kind: Toy, plural: toys, singular: toy}\n  versions:\n  - {name: v1, served: true, storage: true,\n     \
        schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}\n";
    let toy = "apiVersion: example.com/v1\nkind: Toy\nmetadata: {name: ball}\n";
    std::fs::write(directory.join("1.yaml"), inside + "---\n" + toy).unwrap();
    std::fs::write(
        directory.join("2.yml"),
        namespace("team") + "---\n" + definition,
    )
    .unwrap();
    std::fs::write(directory.join("README.md"), "no manifest").unwrap();
    std::fs::write(directory.join("below/3.yaml"), config_map("deep", "x", &[])).unwrap();
    let path = directory.to_str().unwrap();
    let diff = landform_on(&server, &["diff", "-f", path]);
    assert_eq!(diff.status.code(), Some(2), "{}", diff.report());
    assert_contains(&diff.stdout, &["+kind: Toy", "+kind: Namespace"]);
    let told = landform_ok(&server, &["apply", "-f", path]);
    assert_eq!(
        told,
        "namespace/team created\ncustomresourcedefinition.apiextensions.k8s.io/toys.example.com created\n\
         configmap/a created\ntoy.example.com/ball created\n"
    );
    let told = landform_ok(&server, &["apply", "-f", path, "-R"]);
    assert_contains(
        &told,
        &["configmap/deep created", "toy.example.com/ball unchanged"],
    );
    let diff = landform_on(&server, &["diff", "-f", path, "-R"]);
    assert_eq!(diff.status.code(), Some(0), "{}", diff.report());
}

#[test]
fn apply_that_is_refused_names_the_place_and_the_rest_is_applied() {
    let server = Server::start();
    let text =
        config_map("a", "x", &[]) + "---\napiVersion: v1\nkind: Secret\nmetadata: {name: B_D}\n";
    let finished = apply(&server, &text);
    assert_eq!(finished.status.code(), Some(1), "{}", finished.report());
    assert_contains(&finished.stdout, &["configmap/a created"]);
    assert_contains(
        &finished.stderr,
        &["stdin:10: Secret/B_D", "1 of 2 objects were not applied"],
    );
    let unknown = apply(
        &server,
        "apiVersion: no.example.com/v1\nkind: Toy\nmetadata: {name: a}\n",
    );
    assert_contains(
        &unknown.stderr,
        &["stdin:1", "apply its CustomResourceDefinition first"],
    );
    let broken = apply(&server, "a: [\n");
    assert_eq!(broken.status.code(), Some(1));
    assert_contains(&broken.stderr, &["stdin: "]);
    let nothing = landform_on(&server, &["apply"]);
    assert_eq!(nothing.status.code(), Some(3), "{}", nothing.report());
}

#[test]
fn a_dry_run_keeps_nothing() {
    let server = Server::start();
    let file = server.file("a.yaml", &config_map("a", "x", &[]));
    let told = landform_ok(&server, &["apply", "-f", &file, "--dry-run=server"]);
    assert_eq!(told, "configmap/a created (server dry run)\n");
    server.kubectl_fails(&["get", "cm", "a"]);
}

#[test]
fn diff_shows_what_would_change_without_secrets_and_exits_with_2() {
    let server = Server::start();
    let secret = |value: &str| {
        format!(
            "---\napiVersion: v1\nkind: Secret\nmetadata: {{name: s}}\nstringData: {{p: {value}}}\n"
        )
    };
    let file = server.file(
        "a.yaml",
        &(config_map("a", "x", &[("k", "old")]) + &secret("hunter2")),
    );
    landform_ok(&server, &["apply", "-f", &file]);
    let same = landform_on(&server, &["diff", "-f", &file]);
    assert_eq!(
        (same.status.code(), same.stdout.as_str()),
        (Some(0), ""),
        "{}",
        same.report()
    );
    let file = server.file(
        "a.yaml",
        &(config_map("a", "x", &[("k", "new")]) + &secret("hunter3")),
    );
    let diff = landform_on(&server, &["diff", "-f", &file]);
    assert_eq!(diff.status.code(), Some(2), "{}", diff.report());
    assert_contains(
        &diff.stdout,
        &[
            "--- live/configmap/default/a",
            "-  k: old\n+  k: new\n",
            "*** (before)",
            "*** (after)",
        ],
    );
    for secret in ["hunter", "aHVudGVy"] {
        assert!(!diff.stdout.contains(secret), "{}", diff.stdout);
    }
    assert_eq!(data(&server, "a"), r#"{"k":"old"}"#);
}

fn edit(server: &Server, script: &str) -> Finished {
    let editor = server.file("editor.sh", &format!("#!/bin/sh\n{script}\n"));
    let mut command = server.client(landform());
    command.args(["edit", "cm/a"]).env_remove("VISUAL");
    run(command.env("EDITOR", format!("sh {editor}")))
}

#[test]
fn edit_writes_the_difference_and_nothing_without_one() {
    let server = Server::start();
    server.apply(&config_map("a", "x", &[("k", "old")]));
    let done = edit(&server, "true");
    assert_eq!(done.stdout, "ConfigMap/a unchanged\n", "{}", done.report());
    let done = edit(&server, r#"sed -i 's/k: old/k: new/' "$1""#);
    assert_eq!(done.stdout, "ConfigMap/a edited\n", "{}", done.report());
    assert_eq!(data(&server, "a"), r#"{"k":"new"}"#);
    let failed = edit(&server, "exit 7");
    assert_eq!(failed.status.code(), Some(1));
    assert_contains(&failed.stderr, &["the editor", "nothing was changed"]);
}

#[test]
fn edit_opens_again_what_was_refused_with_the_reason() {
    let server = Server::start();
    server.apply(&config_map("a", "x", &[("k", "old")]));
    // First a syntax error, then a value that the server refuses, then one that it takes.
    let script = r#"
count=$(cat count 2>/dev/null || echo 0); count=$((count + 1)); echo $count > count
case $count in
1) sed -i 's/k: old/k: [/' "$1" ;;
2) grep '^# refused' "$1" >> reasons; sed -i 's/k: \[/k: [1]/' "$1" ;;
3) grep '^# refused' "$1" >> reasons; sed -i 's/k: \[1\]/k: good/' "$1" ;;
esac"#;
    let done = edit(&server, script);
    assert!(done.status.success(), "{}", done.report());
    assert_eq!(data(&server, "a"), r#"{"k":"good"}"#);
    let reasons = std::fs::read_to_string(server.home().join("reasons")).unwrap();
    assert!(reasons.lines().count() >= 2, "{reasons}");
}

#[test]
fn edit_merges_with_what_others_did_meanwhile_and_asks_about_the_same_field() {
    let server = Server::start();
    server.apply(&config_map("a", "x", &[("k", "old"), ("other", "1")]));
    let kubectl = "kubectl patch cm a --type=merge -p";
    let script = format!(
        r#"{kubectl} '{{"data": {{"other": "2"}}}}' >/dev/null && sed -i 's/k: old/k: new/' "$1""#
    );
    let done = edit(&server, &script);
    assert!(done.status.success(), "{}", done.report());
    assert_eq!(data(&server, "a"), r#"{"k":"new","other":"2"}"#);
    let script = format!(
        r#"if grep -q 'somebody else' "$1"; then sed -i 's/k: mine/k: both/' "$1"
else {kubectl} '{{"data": {{"k": "theirs"}}}}' >/dev/null && sed -i 's/k: new/k: mine/' "$1"; fi"#
    );
    let done = edit(&server, &script);
    assert!(done.status.success(), "{}", done.report());
    assert_eq!(data(&server, "a"), r#"{"k":"both","other":"2"}"#);
}

#[test]
fn g14_several_objects_are_deleted_after_one_preview() {
    let server = Server::start();
    let file = server.file(
        "all.yaml",
        &(config_map("a", "x", &[]) + &config_map("b", "x", &[])),
    );
    landform_ok(&server, &["apply", "-f", &file]);
    let told = landform_ok(&server, &["delete", "-f", &file, "--dry-run"]);
    assert_contains(
        &told,
        &["ConfigMap default/a", "ConfigMap default/b", "dry run"],
    );
    let told = landform_ok(&server, &["delete", "cm/a", "cm/b", "--yes"]);
    assert_contains(&told, &["ConfigMap/a is gone.", "ConfigMap/b is gone."]);
    let told = landform_ok(&server, &["delete", "-f", &file, "--yes"]);
    assert_contains(
        &told,
        &["ConfigMap/a is not there", "Nothing is left to delete."],
    );
    let missing = landform_on(&server, &["delete", "cm/a", "--yes"]);
    assert_eq!(missing.status.code(), Some(1), "{}", missing.report());
}
