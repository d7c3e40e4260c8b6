//! Whether a schema itself is right: references lead somewhere, patterns are patterns.

use serde_json::Value;

use super::{Schemas, text};

/// Words whose value is a schema, a list of schemas, or a map of schemas.
const SCHEMA: &[&str] = &[
    "additionalProperties",
    "additionalItems",
    "items",
    "contains",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
    "unevaluatedProperties",
    "unevaluatedItems",
];
const SCHEMAS: &[&str] = &["allOf", "anyOf", "oneOf", "prefixItems", "items"];
const SCHEMA_MAP: &[&str] = &[
    "properties",
    "patternProperties",
    "definitions",
    "$defs",
    "dependentSchemas",
    "dependencies",
];
const TYPES: &[&str] = &[
    "string", "number", "integer", "boolean", "object", "array", "null",
];

/// What is wrong with a schema: the pointer inside of it, and the message.
pub(crate) fn check(schemas: &Schemas, root: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    walk(schemas, root, root, "", &mut found);
    found
}

fn walk(
    schemas: &Schemas,
    document: &Value,
    schema: &Value,
    pointer: &str,
    found: &mut Vec<(String, String)>,
) {
    let fields = match schema {
        Value::Object(fields) => fields,
        Value::Bool(_) => return,
        _ => {
            found.push((
                pointer.to_owned(),
                "a schema is a map, or true or false".to_owned(),
            ));
            return;
        }
    };
    match fields.get("$ref") {
        Some(Value::String(reference)) => {
            if let Err(message) = schemas.resolve(document, reference) {
                found.push((format!("{pointer}/$ref"), message));
            }
        }
        Some(_) => found.push((
            format!("{pointer}/$ref"),
            "this has to be a string".to_owned(),
        )),
        None => {}
    }
    let types = match fields.get("type") {
        Some(Value::Array(types)) => types.iter().collect(),
        Some(single) => vec![single],
        None => Vec::new(),
    };
    if types
        .iter()
        .any(|name| name.as_str().is_none_or(|name| !TYPES.contains(&name)))
    {
        let message = format!("this has to be one of {}", TYPES.join(", "));
        found.push((format!("{pointer}/type"), message));
    }
    if let Some(Value::String(pattern)) = fields.get("pattern")
        && !text::is_pattern(pattern)
    {
        let message = "this is no pattern that is known here (no look-around, no back-references)";
        found.push((format!("{pointer}/pattern"), message.to_owned()));
    }
    for word in SCHEMA {
        if let Some(inner) = fields.get(*word)
            && !(inner.is_array() && *word == "items")
        {
            walk(
                schemas,
                document,
                inner,
                &format!("{pointer}/{word}"),
                found,
            );
        }
    }
    for word in SCHEMAS {
        if let Some(Value::Array(inner)) = fields.get(*word) {
            for (at, inner) in inner.iter().enumerate() {
                walk(
                    schemas,
                    document,
                    inner,
                    &format!("{pointer}/{word}/{at}"),
                    found,
                );
            }
        }
    }
    for word in SCHEMA_MAP {
        if let Some(Value::Object(inner)) = fields.get(*word) {
            for (name, inner) in inner {
                if *word == "patternProperties" && !text::is_pattern(name) {
                    found.push((
                        format!("{pointer}/{word}"),
                        format!("{name:?} is no pattern"),
                    ));
                }
                if inner.is_array() && *word == "dependencies" {
                    continue;
                }
                let name = name.replace('~', "~0").replace('/', "~1");
                walk(
                    schemas,
                    document,
                    inner,
                    &format!("{pointer}/{word}/{name}"),
                    found,
                );
            }
        }
    }
}
