//! The JSON schema of `blueprint.yaml`, for editors.
//!
//! What it shares with installations is taken from their definition. The rest stands here once; a test holds it against what the
//! reader asks for, field by field.

use landform_api::json_schema::{DIALECT, closed};
use landform_api::landscaper;
use serde_json::{Value, json};

/// A map of whatever the name says.
fn map_of(schema: Value, description: &str) -> Value {
    json!({"type": "object", "additionalProperties": schema, "description": description})
}

fn list_of(schema: Value, description: &str) -> Value {
    json!({"type": "array", "items": schema, "description": description})
}

fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

/// An object with these fields and no others.
fn object(required: &[&str], fields: Value) -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": required,
        "properties": fields,
    })
}

/// The schema.
#[must_use]
pub fn json_schema() -> Value {
    let mut schema = object(
        &[],
        json!({
            "apiVersion": {"const": landscaper::API_VERSION},
            "kind": {"const": "Blueprint"},
            "metadata": {"type": "object", "description": "Has no effect."},
            "annotations": {"type": "object", "description": "Have no effect."},
            "jsonSchema": {"description": "Has no effect: schemas are of draft 7."},
            "jsonSchemaVersion": text("Has no effect: schemas are of draft 7."),
            "localTypes": map_of(any_schema(), "Schemas by name, for `$ref: local://name`."),
            "imports": list_of(json!({"$ref": "#/definitions/import"}), "What the blueprint is given."),
            "exports": list_of(export(), "What it gives."),
            "importExecutions": executors("Templates that give `bindings`, added to the imports, and `errors`, which refuse them."),
            "deployExecutions": executors("Templates that give `deployItems`."),
            "exportExecutions": executors("Templates that give `exports`, a map; later ones win."),
            "subinstallations": list_of(subinstallation(), "Nested installations, written here or in files of the blueprint."),
            "subinstallationExecutions": executors("Templates that give `subinstallations`."),
        }),
    );
    schema["$schema"] = DIALECT.into();
    schema["title"] = format!("{}: the definition of a blueprint", crate::DEFINITION).into();
    schema["definitions"] = json!({"import": import()});
    schema
}

fn any_schema() -> Value {
    json!({
        "type": ["object", "boolean"],
        "description": "A JSON schema of draft 7; `$ref` may be `local://name` or `blueprint://path`.",
    })
}

fn import() -> Value {
    object(
        &["name"],
        json!({
            "name": text("What templates call it: `.imports.NAME`."),
            "type": {
                "enum": ["data", "target", "targetList", "targetMap"],
                "description": "`target` when there is a `targetType`, else `data`, unless it is given.",
            },
            "schema": any_schema(),
            "targetType": text("For instance `landscaper.gardener.cloud/kubernetes-cluster`."),
            "required": {
                "enum": [true, false, "yes", "no", "y", "n", "on", "off"],
                "description": "Whether it has to be given; true unless it says otherwise.",
            },
            "default": object(&["value"], json!({
                "value": {"description": "What stands in for an import that is not given."},
            })),
            "imports": list_of(json!({"$ref": "#/definitions/import"}), "Imports that count only when this one is given."),
        }),
    )
}

fn export() -> Value {
    object(
        &["name"],
        json!({
            "name": text("Its name."),
            "type": {
                "enum": ["data", "target"],
                "description": "`target` when there is a `targetType`, else `data`, unless it is given.",
            },
            "schema": any_schema(),
            "secret": {"type": "boolean", "description": "Whether all of it is secret, wherever it comes from."},
            "targetType": text("For instance `landscaper.gardener.cloud/kubernetes-cluster`."),
        }),
    )
}

fn executors(description: &str) -> Value {
    let executor = object(
        &["type"],
        json!({
            "name": text("Its name within the list; state and messages use it."),
            "type": {"enum": ["GoTemplate", "Spiff"], "description": "What evaluates it."},
            "file": text("A file of the blueprint with the template."),
            "template": {
                "type": ["string", "object", "array"],
                "description": "The template itself: a text, or YAML for Spiff.",
            },
        }),
    );
    list_of(executor, description)
}

fn subinstallation() -> Value {
    let definitions = landscaper::definition::definitions();
    let installation = &definitions[0]["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    let shared = |field: &str| closed(&installation["properties"]["spec"]["properties"][field]);
    let written = json!({
        "apiVersion": {"type": "string"},
        "kind": {"enum": ["InstallationTemplate"]},
        "name": text("Its name within the parent."),
        "blueprint": object(&[], json!({
            "path": text("A directory of the server or the project with a blueprint.yaml."),
            "filesystem": {"type": "object", "description": "The files of the blueprint, written here."},
        })),
        "imports": shared("imports"),
        "importDataMappings": shared("importDataMappings"),
        "exports": shared("exports"),
        "exportDataMappings": shared("exportDataMappings"),
    });
    let file = json!({"file": text("A file of the blueprint with the nested installation.")});
    json!({"anyOf": [object(&["name", "blueprint"], written), object(&["file"], file)]})
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{Blueprint, FileLimits, Files, reader};

    /// One of everything that a blueprint may hold.
    const EVERYTHING: &str = "
imports:
- name: size
  schema: {}
  required: false
  default: {value: 1}
  imports:
  - {name: more, schema: {}}
exports:
- {name: url, schema: {}}
deployExecutions:
- {name: items, type: GoTemplate, template: ''}
importExecutions:
- {name: bindings, type: GoTemplate, template: ''}
exportExecutions:
- {name: exports, type: GoTemplate, template: ''}
subinstallationExecutions:
- {name: nested, type: GoTemplate, template: ''}
subinstallations:
- name: inner
  blueprint: {path: inner}
";

    /// The fields that a schema has, as `imports.*.name`, down to what has no fields of its own.
    fn fields(
        schema: &Value,
        root: &Value,
        path: &str,
        depth: usize,
        found: &mut BTreeSet<String>,
    ) {
        if depth > 6 {
            return;
        }
        if let Some(target) = schema["$ref"].as_str() {
            let target = root.pointer(target.trim_start_matches('#')).unwrap();
            return fields(target, root, path, depth, found);
        }
        for part in schema["anyOf"].as_array().into_iter().flatten() {
            fields(part, root, path, depth, found);
        }
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{name}");
            found.insert(path.clone());
            fields(field, root, &path, depth + 1, found);
        }
        if let Some(items) = schema.get("items") {
            fields(items, root, &format!("{path}.*"), depth, found);
        }
    }

    #[test]
    fn the_schema_and_the_reader_take_the_same_fields() {
        reader::ASKED.with_borrow_mut(BTreeSet::clear);
        let files = json!({crate::DEFINITION: EVERYTHING});
        let files = Files::from_inline(&files, &FileLimits::default()).unwrap();
        let blueprint = Blueprint::from_files(files).unwrap();
        assert_eq!(blueprint.warnings, [], "the example is as it should be");
        let mut asked = reader::ASKED.with_borrow(Clone::clone);
        // Read by serde, as the same fields of an Installation are: the schema is made from those types.
        let shared = |path: &String| {
            let below = path.strip_prefix(".subinstallations.*.");
            below.is_some_and(|below| {
                (below.starts_with("imports.") || below.starts_with("exports."))
                    || below.starts_with("blueprint.ref")
            })
        };
        let schema = json_schema();
        let mut in_schema = BTreeSet::new();
        fields(&schema, &schema, "", 0, &mut in_schema);
        in_schema.retain(|path| !shared(path) && !path.contains("imports.*.imports.*.imports"));
        // Looked at before the reader knows which of the two an entry is.
        in_schema.remove(".subinstallations.*.file");
        asked.retain(|path| !shared(path) && !path.contains("imports.*.imports.*.imports"));
        let missing: Vec<_> = asked.difference(&in_schema).collect();
        assert!(missing.is_empty(), "not in the schema: {missing:?}");
        // The default of an import in an import was not given, so that nothing looked into it.
        let unread: Vec<_> = in_schema
            .difference(&asked)
            .filter(|path| !path.contains("imports.*.imports.*.default."))
            .collect();
        assert!(unread.is_empty(), "not read: {unread:?}");
    }
}
