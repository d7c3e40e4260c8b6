//! Blueprints as users write them.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail by panicking"
)]

mod component;
mod definition;
mod example;
mod files;
mod properties;
mod render;
mod rendered_yaml;
mod secrets;
mod spiff;
mod values;

use std::collections::BTreeMap;

use landform_blueprint::{Blueprint, BlueprintError, FileLimits, Files, Input};
use serde_json::{Value, json};

/// A blueprint of files.
fn files(entries: &[(&str, &str)]) -> Files {
    let map: serde_json::Map<String, Value> = entries
        .iter()
        .map(|(path, text)| ((*path).to_owned(), json!(text)))
        .collect();
    Files::from_inline(&Value::Object(map), &FileLimits::default()).expect("files")
}

/// A blueprint of a definition alone.
fn read(definition: &str) -> Result<Blueprint, BlueprintError> {
    Blueprint::from_files(files(&[("blueprint.yaml", definition)]))
}

fn blueprint(definition: &str) -> Blueprint {
    read(definition).expect("a blueprint")
}

fn given(value: Value) -> BTreeMap<String, Value> {
    serde_json::from_value(value).expect("a map")
}

fn input(imports: Value) -> Input {
    Input {
        imports: given(imports),
        ..Input::default()
    }
}

/// The problems as texts.
fn problems(result: Result<Blueprint, BlueprintError>) -> Vec<String> {
    let error = result.expect_err("an error");
    error.problems.iter().map(ToString::to_string).collect()
}

fn target(name: &str) -> Value {
    json!({
        "apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Target",
        "metadata": {"name": name, "namespace": "places"},
        "spec": {"type": "cluster", "config": {"kubeconfig": "canary"}},
    })
}
