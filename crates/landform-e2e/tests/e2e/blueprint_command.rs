//! `landform blueprint`, without any server (I41).

use std::path::{Path, PathBuf};
use std::process::Command;

use landform_e2e::{Finished, landform, run};

use crate::assert_contains;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/blueprints")
}

fn blueprint(arguments: &[&str]) -> Finished {
    run(Command::new(landform())
        .current_dir(examples())
        .arg("blueprint")
        .args(arguments))
}

#[test]
fn i41_the_example_is_valid() {
    let finished = blueprint(&["validate", "greeter"]);
    assert!(finished.status.success(), "{}", finished.report());
    assert_contains(
        &finished.stdout,
        &["greeter is valid: 4 imports, 1 export, 3 templates"],
    );
    assert_eq!(finished.stderr, "");
}

#[test]
fn i41_the_example_renders() {
    let arguments = [
        "render",
        "greeter",
        "--imports",
        "greeter-imports.yaml",
        "--exports-values",
        "greeter-values.yaml",
        "-o",
        "json",
    ];
    let finished = blueprint(&arguments);
    assert!(finished.status.success(), "{}", finished.report());
    let result: serde_json::Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!(result["imports"]["replicas"], 2);
    assert_eq!(result["deployItems"][0]["target"]["name"], "dev-cluster");
    assert_eq!(result["exports"]["url"], "https://greeter.example.org/");
    assert_eq!(result["state"]["deploy/objects"]["runs"], 1);
    let yaml = blueprint(&arguments[..6]);
    assert_contains(
        &yaml.stdout,
        &[
            "deployItems:\n- config:\n",
            "exports:\n  url: https://greeter",
        ],
    );
}

#[test]
fn i41_what_is_missing_or_wrong_is_said() {
    let finished = blueprint(&["render", "greeter"]);
    assert_eq!(finished.status.code(), Some(1), "{}", finished.report());
    assert_contains(
        &finished.stderr,
        &[
            "error: import \"cluster\": it is required",
            "Give imports with --imports FILE",
        ],
    );
    let directory = tempfile::tempdir().unwrap();
    let definition = "imports:\n- name: a\ndeployExecutions:\n- name: main\n  type: GoTemplate\n  \
                      template: |\n    x: {{ nope }}\nextra: on\n";
    std::fs::write(directory.path().join("blueprint.yaml"), definition).unwrap();
    let finished = blueprint(&["validate", directory.path().to_str().unwrap()]);
    assert_eq!(finished.status.code(), Some(1), "{}", finished.report());
    assert_contains(
        &finished.stderr,
        &[
            "error: blueprint.yaml:2:3: imports[0]: `schema` is missing",
            "error: blueprint.yaml:7:11: there is no function `nope`\n7 | x: {{ nope }}",
            "is not valid.",
        ],
    );
    let finished = blueprint(&["validate", "nowhere"]);
    assert_contains(
        &finished.stderr,
        &["nowhere does not exist: give a directory"],
    );
}
