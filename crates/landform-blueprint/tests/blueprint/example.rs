//! The example of the manual.

use std::path::Path;

use landform_blueprint::{Blueprint, ExportValues, FileLimits, Files, Input};
use landform_yaml::{Budget, parse_one};
use serde_json::{Value, json};

use crate::given;

fn examples() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/blueprints")
}

fn yaml(name: &str) -> Value {
    let text = std::fs::read_to_string(examples().join(name)).unwrap();
    parse_one(&text, &Budget::FILE).unwrap()
}

#[test]
fn i41_the_example_renders() {
    let files = Files::from_directory(&examples().join("greeter"), &FileLimits::default()).unwrap();
    let blueprint = Blueprint::from_files(files).unwrap();
    assert_eq!(blueprint.warnings, []);
    let imports = blueprint
        .complete_imports(&given(yaml("greeter-imports.yaml")))
        .unwrap();
    let mut input = Input {
        imports,
        ..Input::default()
    };
    input.imports = blueprint.run_import_executions(&input).unwrap().value;
    let items = blueprint.render_deploy_items(&input).unwrap();
    assert_eq!(json!(items.state), json!({"deploy/objects": {"runs": 1}}));
    let items = json!(items.value);
    assert_eq!(
        items[0]["target"],
        json!({"name": "dev-cluster", "namespace": "default"})
    );
    let manifest = &items[0]["config"]["manifests"][0]["manifest"];
    assert_eq!(
        manifest["metadata"],
        json!({"name": "ada-greeter", "labels": {"app": "ada-greeter"}})
    );
    assert_eq!(
        manifest["data"],
        json!({"greeting": "Good morning", "banner": "Hello\nfrom Landform\n"})
    );
    assert_eq!(items[1]["config"], json!({"replicas": 2}));
    let values = ExportValues {
        deploy_items: given(yaml("greeter-values.yaml")["deployitems"].clone()),
        ..ExportValues::default()
    };
    let exports = blueprint.render_exports(&input, &values).unwrap().value;
    assert_eq!(
        json!(exports),
        json!({"url": "https://greeter.example.org/"})
    );
    assert_eq!(blueprint.check_exports(&exports), []);
    input.state = given(json!({"deploy/objects": {"runs": 41}}));
    let again = blueprint.render_deploy_items(&input).unwrap();
    assert_eq!(json!(again.state), json!({"deploy/objects": {"runs": 42}}));
}

#[test]
fn the_manual_shows_the_example() {
    let manual = include_str!("../../../../docs/blueprints.md");
    for file in ["greeter/blueprint.yaml", "greeter/templates/deploy.yaml"] {
        let text = std::fs::read_to_string(examples().join(file)).unwrap();
        assert!(
            manual.contains(&text),
            "{file} differs from what the manual shows"
        );
    }
}
