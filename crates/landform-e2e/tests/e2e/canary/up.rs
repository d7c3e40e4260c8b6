//! The same for `landform up` of a project: its terminal, its log and the files beside the store.

use serde_json::json;

use super::failures::{canary, failures};
use super::{LANDSCAPER, files, object, search};
use crate::project::Project;

#[test]
fn no_secret_value_is_in_what_up_prints_or_keeps() {
    let project = Project::empty();
    let mut all = vec![
        object(
            LANDSCAPER,
            "DataObject",
            "secret",
            json!({"data": canary("data-object")}),
        ),
        object(
            "v1",
            "Secret",
            "bad",
            json!({"data": {"a": canary("no-base64")}}),
        ),
        object(
            "v1",
            "Secret",
            "worse",
            json!({"stringData": {"a": [canary("list")]}}),
        ),
        object(
            LANDSCAPER,
            "Target",
            "config",
            json!({"spec": {"type": "x", "config": {"a": canary("target")}}}),
        ),
        object(
            LANDSCAPER,
            "Target",
            "wrong",
            json!({"spec": {"type": "x", "config": canary("target"), "wrong": canary("target")}}),
        ),
    ];
    let failing = failures().into_iter().map(|(_, object)| object);
    all.extend(failing.filter(|object| {
        ["Installation", "DeployItem"].contains(&object["kind"].as_str().unwrap_or_default())
    }));
    for (number, object) in all.iter().enumerate() {
        project.write(&format!("object{number}.yaml"), &object.to_string());
    }
    // A file that is no YAML, with a value in it.
    project.write("broken.yaml", &format!("a: [{}\nb: }}", canary("yaml")));
    let mut up = project.up(&[]);
    up.expect(&["landform ready: https://127.0.0.1:"]);
    up.expect(&["Installation/field", "Failed"]);
    let mut places = Vec::new();
    for arguments in [
        &["get", "events"][..],
        &["get", "projects", "-o", "json"],
        &["why"],
        &["why", "installation/field"],
        &["plan", "."],
    ] {
        let finished = landform_e2e::run(&mut project.command(arguments));
        places.push((
            arguments.join(" "),
            format!("{}{}", finished.stdout, finished.stderr),
        ));
    }
    up.interrupt();
    let finished = up.finish();
    places.push((
        "the terminal".to_owned(),
        format!("{}{}", finished.stdout, finished.stderr),
    ));
    let mut found = Vec::new();
    files(&project.directory().join(".landform"), &mut found);
    assert!(!found.is_empty());
    places.extend(found.into_iter().map(|text| ("a file".to_owned(), text)));
    search(&places);
}
