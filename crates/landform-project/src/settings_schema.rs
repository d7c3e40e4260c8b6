//! The JSON schema of `landform.yaml`, for editors: that of the kind Project without what the file itself stands for.

use landform_api::json_schema;
use landform_api::project::{SETTINGS_FILE, definition};
use serde_json::{Value, json};

/// The schema.
#[must_use]
pub fn schema() -> Value {
    let definition = definition::definitions().into_iter().next();
    let mut schema = json_schema::of_definition(&definition.unwrap_or_default());
    schema["title"] = format!("{SETTINGS_FILE}: the settings of a project").into();
    schema["description"] =
        "A project is a directory of files that Landform keeps in step with objects.".into();
    // Nothing but the kind is needed: the directory has a name and defaults.
    schema["required"] = json!(["apiVersion", "kind"]);
    let metadata = &mut schema["properties"]["metadata"];
    if let Some(fields) = metadata["properties"].as_object_mut() {
        fields.retain(|name, _| ["name", "labels", "annotations"].contains(&name.as_str()));
    }
    metadata["additionalProperties"] = false.into();
    let spec = &mut schema["properties"]["spec"];
    if let Some(fields) = spec["properties"].as_object_mut() {
        fields.remove("directory");
    }
    let link = &mut spec["properties"]["links"]["items"];
    link["required"] = json!(["name", "url"]);
    schema
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::Settings;

    const HEAD: &str = "apiVersion: landform.dev/v1alpha1\nkind: Project\n";

    fn problems(text: &str) -> Vec<String> {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join(SETTINGS_FILE), text).unwrap();
        let problems = Settings::load(directory.path()).err().into_iter().flatten();
        problems.map(|problem| problem.message).collect()
    }

    /// The names of the fields that the schema has at a place.
    fn in_schema(pointer: &str) -> BTreeSet<String> {
        let schema = schema();
        let place = schema.pointer(pointer).unwrap();
        assert_eq!(place["additionalProperties"], false, "{pointer}");
        place["properties"]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect()
    }

    /// The names that the parser says there are, when it is given another one.
    fn in_parser(text: &str) -> BTreeSet<String> {
        let told = problems(&format!("{HEAD}{text}"));
        let names = told.iter().find_map(|told| told.split_once("there are "));
        let (_, names) = names.unwrap_or_else(|| panic!("{told:?}"));
        names.split(", ").map(ToOwned::to_owned).collect()
    }

    #[test]
    fn r15_the_schema_and_the_parser_take_the_same_fields() {
        for (pointer, text) in [
            ("", "zzzzzzzz: 1\n"),
            ("/properties/metadata", "metadata: {zzzzzzzz: 1}\n"),
            ("/properties/spec", "spec: {zzzzzzzz: 1}\n"),
            (
                "/properties/spec/properties/links/items",
                "spec: {links: [{name: a, url: b, zzzzzzzz: 1}]}\n",
            ),
        ] {
            assert_eq!(in_schema(pointer), in_parser(text), "{pointer:?}");
        }
    }

    #[test]
    fn r15_types_of_the_schema_are_those_of_the_parser() {
        let schema = schema();
        let fields = schema["properties"]["spec"]["properties"]
            .as_object()
            .unwrap();
        for (name, field) in fields {
            // A value that can't be of the type that the schema names.
            let wrong = if field["type"] == "array" {
                "word"
            } else {
                "[1]"
            };
            let told = problems(&format!("{HEAD}spec: {{{name}: {wrong}}}\n"));
            let own = format!("spec.{name}");
            assert!(
                told.iter().any(|told| told.contains(&own)),
                "{name}: {told:?}"
            );
        }
    }
}
