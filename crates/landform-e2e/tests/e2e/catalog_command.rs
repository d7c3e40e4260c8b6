//! `landform catalog` without a server, on the facts of a real catalog.

use std::path::Path;
use std::process::Command;

use landform_e2e::{landform, run};
use serde_json::Value;

fn facts() -> String {
    let data = "../landform-catalog/tests/data/community-catalog.jsonl.gz";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(data);
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_way_is_printed_as_json_from_the_first_version_to_the_last() {
    let mut command = Command::new(landform());
    command.args([
        "catalog",
        "path",
        "ack-acm-controller",
        "--channel",
        "alpha",
    ]);
    command.args(["--from", "0.0.1", "--to", "0.0.5", "--output", "json"]);
    let done = run(command.args(["--catalog", &facts()]));
    assert!(done.status.success(), "{}", done.report());
    let answer: Value = serde_json::from_str(&done.stdout).unwrap();
    let path = answer["path"].as_array().unwrap().iter();
    let versions: Vec<_> = path.map(|stop| stop["version"].as_str().unwrap()).collect();
    assert_eq!(versions, ["0.0.1", "0.0.2", "0.0.4", "0.0.5"]);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let script = r#""$1" catalog list --catalog "$2" | head -n 2"#;
    let mut shell = Command::new("sh");
    let binary = landform();
    let done = run(shell.args(["-c", script, "sh"]).arg(binary).arg(facts()));
    assert!(done.status.success(), "{}", done.report());
    assert!(
        done.stdout.contains("accuknox-operator"),
        "{}",
        done.report()
    );
    assert!(!done.stderr.contains("panicked"), "{}", done.report());
}
