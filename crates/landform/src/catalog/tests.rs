//! The commands as people give them, on fixtures and on the facts of a public catalog.

use std::path::PathBuf;

use clap::Parser as _;
use serde_json::{Value, json};

use super::write;
use crate::{Cli, Command};

fn data(name: &str) -> String {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../landform-catalog/tests/data");
    data.join(name).display().to_string()
}

/// What a command prints, and whether it succeeds; an error is printed too.
fn run(arguments: &[&str], catalogs: &[&str]) -> (String, bool) {
    let mut line = vec!["landform".to_owned(), "catalog".to_owned()];
    line.extend(arguments.iter().map(|word| (*word).to_owned()));
    for catalog in catalogs {
        line.extend(["--catalog".to_owned(), data(catalog)]);
    }
    let Command::Catalog(command) = Cli::try_parse_from(line).unwrap().command else {
        panic!("another command");
    };
    match write(command) {
        Ok(written) => (written.text, written.success),
        Err(error) => (format!("error: {error}"), false),
    }
}

const ALL: [&str; 3] = ["fbc", "bundles", "own"];

fn json_of(arguments: &[&str], catalogs: &[&str]) -> (Value, bool) {
    let (text, success) = run(&[arguments, &["--output", "json"]].concat(), catalogs);
    (serde_json::from_str(&text).unwrap(), success)
}

#[test]
fn packages_are_listed() {
    let (text, success) = run(&["list"], &ALL);
    assert!(success);
    let lines: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(
        lines[0],
        ["PACKAGE", "CHANNEL", "HEAD", "VERSIONS", "CATALOG"]
    );
    assert_eq!(lines[4][..4], ["tidewater", "stable", "1.2.0", "6"]);
    assert_eq!(lines.len(), 5);
    let (text, _) = run(&["list", "lamp"], &ALL);
    assert_eq!(text.lines().count(), 2);
    assert_eq!(
        run(&["list", "none"], &ALL).0,
        "There are no such packages.\n"
    );
    let (found, _) = json_of(&["list"], &["own"]);
    assert_eq!(found["packages"][0]["name"], "beacon");
    let (text, _) = run(&["list", "-o", "yaml"], &["own"]);
    assert!(text.contains("name: beacon"), "{text}");
}

#[test]
fn the_first_catalog_that_has_a_package_counts() {
    let (found, _) = json_of(&["show", "lantern"], &["bundles/lantern/0.1.0", "bundles"]);
    assert_eq!(found["versions"].as_array().map(Vec::len), Some(1));
    let (found, _) = json_of(&["show", "lantern"], &["bundles", "bundles/lantern/0.1.0"]);
    assert_eq!(found["versions"].as_array().map(Vec::len), Some(3));
}

#[test]
fn a_package_is_shown() {
    let (text, success) = run(&["show", "tidewater"], &ALL);
    assert!(success);
    for expected in [
        "tidewater (from ",
        "deprecated: The alpha channel gets no more versions. Go to stable.",
        "needs the packages: anchor >=1.1.0 <2.0.0",
        "brings: Tide.water.example.org/v1",
        "can't be installed: its objects are in the image",
    ] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    let (text, success) = run(&["show", "tidewatr"], &ALL);
    assert!(
        !success && text.contains("Did you mean tidewater?"),
        "{text}"
    );
    let (found, success) = json_of(&["show", "tidewatr"], &ALL);
    assert!(!success);
    assert_eq!(found["exists"], json!(["tidewater"]));
}

#[test]
fn ways_are_exactly_as_promised() {
    let asked = [
        "path",
        "tidewater",
        "--channel",
        "stable",
        "--from",
        "1.0.0",
        "--to",
        "1.2.0",
    ];
    let (found, success) = json_of(&asked, &ALL);
    assert!(success);
    let versions: Vec<&Value> = found["path"]
        .as_array()
        .unwrap()
        .iter()
        .map(|stop| &stop["version"])
        .collect();
    assert_eq!(versions, ["1.0.0", "1.1.0", "1.2.0"]);
    assert_eq!(found.as_object().map(serde_json::Map::len), Some(1));
    let (text, _) = run(&asked, &ALL);
    assert_eq!(
        text,
        "  1.0.0 (tidewater.v1.0.0)\n→ 1.1.0 (tidewater.v1.1.0)\n→ 1.2.0 (tidewater.v1.2.0)\n2 steps.\n"
    );
    let none = [
        "path",
        "tidewater",
        "--channel",
        "candidate",
        "--from",
        "1.0.0",
        "--to",
        "2.0.0",
    ];
    let (text, success) = run(&none, &ALL);
    assert!(
        !success && text.starts_with("error: there is no way from 1.0.0 to 2.0.0"),
        "{text}"
    );
    let (found, success) = json_of(&none, &ALL);
    assert!(
        !success && found["error"].as_str().unwrap().contains("no way"),
        "{found}"
    );
}

#[test]
fn catalogs_are_validated() {
    let (text, success) = run(&["validate", "--strict"], &ALL);
    assert!(success, "{text}");
    assert_eq!(text, "4 packages, 14 versions: 0 errors, 0 warnings.\n");
    // A bundle that is in no channel is worth a warning.
    let lonely = tempfile::tempdir().unwrap();
    let lines = "{\"schema\":\"olm.package\",\"name\":\"p\",\"defaultChannel\":\"main\"}\n\
        {\"schema\":\"olm.channel\",\"package\":\"p\",\"name\":\"main\",\"entries\":[{\"name\":\"p.v1\"}]}\n";
    let bundle = |number: u32| {
        let property = json!({"type": "olm.package", "value": {"packageName": "p", "version": format!("{number}.0.0")}});
        json!({"schema": "olm.bundle", "package": "p", "name": format!("p.v{number}"), "properties": [property]})
    };
    let file = lonely.path().join("stream.jsonl");
    std::fs::write(&file, format!("{lines}{}\n{}\n", bundle(1), bundle(2))).unwrap();
    let file = file.to_str().unwrap();
    let (text, success) = run(&["validate"], &[file]);
    assert!(success, "{text}");
    assert!(
        text.starts_with("warning: stream.jsonl (p): bundle p.v2 is in no channel"),
        "{text}"
    );
    assert!(
        text.ends_with("1 package, 2 versions: 0 errors, 1 warning.\n"),
        "{text}"
    );
    assert!(!run(&["validate", "--strict"], &[file]).1);
    assert_eq!(run(&["validate", "--quiet"], &[file]).0.lines().count(), 1);
    let damaged = tempfile::tempdir().unwrap();
    std::fs::write(
        damaged.path().join("a.yaml"),
        "schema: olm.bundle\nname: a\n",
    )
    .unwrap();
    let (text, success) = run(&["validate"], &[damaged.path().to_str().unwrap()]);
    assert!(!success);
    assert!(
        text.starts_with("error: a.yaml:1: this olm.bundle has no `package`"),
        "{text}"
    );
    let (text, success) = run(&["validate"], &["nowhere"]);
    assert!(!success && text.contains("nowhere can't be read"), "{text}");
}

#[test]
fn what_would_be_installed_is_explained() {
    let (found, success) = json_of(&["explain", "beacon"], &ALL);
    assert!(success, "{found}");
    let chosen: Vec<String> = found["chosen"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            format!("{} {} {}", one["package"], one["version"], one["because"]).replace('"', "")
        })
        .collect();
    assert_eq!(
        chosen,
        [
            "beacon 1.1.0 wanted",
            "anchor 1.1.0 needed by lantern.v0.3.0",
            "lantern 0.3.0 needed by beacon-1.1.0",
        ]
    );
    let (text, success) = run(
        &[
            "explain",
            "tidewater",
            "--channel",
            "candidate",
            "--from",
            "1.2.0",
        ],
        &ALL,
    );
    assert!(
        success && text.contains("→ 2.0.0 (tidewater.v2.0.0)"),
        "{text}"
    );
    assert!(text.contains("can't be installed by Landform"), "{text}");
}

#[test]
fn a_conflict_is_explained_with_what_would_help() {
    // Without the other catalogs nobody brings what it needs.
    let (text, success) = run(&["explain", "beacon"], &["own"]);
    assert!(!success);
    assert!(text.starts_with("beacon can't be had as asked."), "{text}");
    assert!(
        text.contains("lantern") && text.contains("Any of these would help:"),
        "{text}"
    );
    let (found, success) = json_of(&["explain", "beacon"], &["own"]);
    assert!(!success);
    assert_eq!(found["possible"], false);
    assert!(!found["facts"].as_array().unwrap().is_empty());
}

#[test]
fn the_facts_of_a_public_catalog_are_a_catalog() {
    let community = ["community-catalog.jsonl.gz"];
    let (found, success) = json_of(&["list"], &community);
    assert!(success);
    let packages = found["packages"].as_array().unwrap();
    assert_eq!(packages.len(), 446);
    // One whose graph is made from versions, as the file beside it says.
    let (shown, _) = json_of(&["show", "ack-acm-controller"], &community);
    let versions = shown["versions"].as_array().unwrap();
    let (first, last) = (
        &versions[versions.len() - 1]["version"],
        &versions[0]["version"],
    );
    let asked = [
        "path",
        "ack-acm-controller",
        "--from",
        first.as_str().unwrap(),
    ];
    let (way, success) = json_of(&asked, &community);
    assert!(success, "{way}");
    let way = way["path"].as_array().unwrap();
    assert_eq!(
        (&way[0]["version"], &way[way.len() - 1]["version"]),
        (first, last)
    );
    let (text, success) = run(&["explain", "ack-acm-controller"], &community);
    assert!(success, "{text}");
}
