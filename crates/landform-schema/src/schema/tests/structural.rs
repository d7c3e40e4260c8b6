//! What a schema may not say.

use serde_json::{Value, json};

use crate::Schema;

/// What a structural schema may not say, with the path and the words of the refusal.
#[test]
fn what_is_not_structural_is_refused() {
    let object = |more: Value| {
        let mut schema = json!({"type": "object"});
        crate::merge::json_merge(&mut schema, &more);
        schema
    };
    let spec = |schema: Value| object(json!({"properties": {"spec": schema}}));
    let table: Vec<(Value, &str)> = vec![
        (
            json!({}),
            "type: Required value: must not be empty at the root",
        ),
        (
            json!({"type": "array", "items": {"type": "string"}}),
            r#"type: Invalid value: "array": must be object at the root"#,
        ),
        (json!("x"), "<root>: Invalid value: \"x\": must be a schema"),
        (
            spec(json!({})),
            "properties[spec].type: Required value: must not be empty for specified object fields",
        ),
        (
            spec(json!({"type": "text"})),
            r#"properties[spec].type: Unsupported value: "text": supported values"#,
        ),
        (
            spec(json!({"type": "array"})),
            "properties[spec].items: Required value: must be specified",
        ),
        (
            spec(json!({"type": "array", "items": {}})),
            "properties[spec].items.type: Required value: must not be empty for specified array items",
        ),
        (
            spec(json!({"type": "array", "items": [{"type": "string"}]})),
            "items must be a schema object and not an array",
        ),
        (
            spec(
                json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}}),
            ),
            "properties[spec].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
        ),
        (
            spec(json!({"type": "object", "additionalProperties": false})),
            "additionalProperties cannot be set to false",
        ),
        (
            spec(json!({"type": "object", "additionalProperties": {}})),
            "properties[spec].additionalProperties.type: Required value",
        ),
        (
            spec(json!({"type": "array", "uniqueItems": true, "items": {"type": "string"}})),
            "uniqueItems cannot be set to true",
        ),
        (
            spec(json!({"type": "object", "$ref": "#/x"})),
            "properties[spec].$ref: Forbidden: $ref is not supported",
        ),
        (
            spec(json!({"type": "object", "definitions": {}})),
            "properties[spec].definitions: Forbidden",
        ),
        (
            spec(json!({"type": "object", "dependencies": {}})),
            "properties[spec].dependencies: Forbidden",
        ),
        (
            spec(json!({"type": "object", "id": "x"})),
            "properties[spec].id: Forbidden",
        ),
        (
            spec(json!({"type": "object", "patternProperties": {}})),
            "properties[spec].patternProperties: Forbidden",
        ),
        (
            spec(json!({"type": "string", "pattern": "("})),
            "properties[spec].pattern: Invalid value: \"(\": must be a valid regular expression",
        ),
        (
            spec(json!({"type": "string", "maxLength": -1})),
            "properties[spec].maxLength: Invalid value: -1",
        ),
        (
            spec(json!({"type": "number", "multipleOf": 0})),
            "must be a number greater than 0",
        ),
        (
            spec(json!({"type": "string", "minimum": "x"})),
            "properties[spec].minimum: Invalid value: \"x\": must be a number",
        ),
        (
            spec(json!({"type": "string", "default": 1})),
            "properties[spec].default: Invalid value: \"integer\"",
        ),
        (
            spec(json!({"type": "integer", "maximum": 3, "default": 4})),
            "should be less than or equal to 3",
        ),
        (
            spec(
                json!({"type": "object", "default": {"typo": 1}, "properties": {"a": {"type": "string"}}}),
            ),
            "must not have unknown fields, but has typo",
        ),
        (
            spec(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": false})),
            "must be true or undefined",
        ),
        (
            spec(json!({"type": "string", "x-kubernetes-int-or-string": true})),
            "must be empty if x-kubernetes-int-or-string is true",
        ),
        (
            spec(
                json!({"type": "array", "x-kubernetes-list-type": "bag", "items": {"type": "string"}}),
            ),
            r#"properties[spec].x-kubernetes-list-type: Unsupported value: "bag": supported values: "atomic", "map", "set""#,
        ),
        (
            spec(json!({"type": "string", "x-kubernetes-list-type": "set"})),
            "must be array if x-kubernetes-list-type is specified",
        ),
        (
            spec(
                json!({"type": "array", "x-kubernetes-list-type": "map", "items": {"type": "object"}}),
            ),
            "properties[spec].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
        ),
        (
            spec(
                json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {"type": "string"}}),
            ),
            "must be object if parent array's x-kubernetes-list-type is map",
        ),
        (
            spec(
                json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {"type": "object"}}),
            ),
            "entries must all be names of item properties",
        ),
        (
            spec(
                json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
                     "items": {"type": "object", "properties": {"k": {"type": "string"}}}}),
            ),
            "properties[spec].items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys",
        ),
        (
            spec(
                json!({"type": "array", "x-kubernetes-list-map-keys": ["k"], "items": {"type": "string"}}),
            ),
            "must be map if x-kubernetes-list-map-keys is non-empty",
        ),
        (
            spec(
                json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object"}}),
            ),
            "entries of a set must be scalars",
        ),
        (
            spec(json!({"type": "object", "x-kubernetes-map-type": "odd"})),
            "x-kubernetes-map-type: Unsupported value",
        ),
        (
            spec(json!({"type": "object", "x-kubernetes-embedded-resource": true})),
            "must not be empty if x-kubernetes-embedded-resource is true",
        ),
        (
            spec(json!({"type": "integer", "allOf": [{"type": "integer"}]})),
            "properties[spec].allOf[0].type: Forbidden: must be empty to be structural",
        ),
        (
            spec(json!({"type": "integer", "anyOf": [{"default": 1}]})),
            "properties[spec].anyOf[0].default: Forbidden: must be empty to be structural",
        ),
        (
            spec(json!({"type": "integer", "not": {"nullable": true}})),
            "properties[spec].not.nullable: Forbidden",
        ),
        (
            spec(json!({"type": "object", "oneOf": [{"properties": {"a": {"minimum": 1}}}]})),
            "properties[spec].oneOf[0].properties[a]: Required value",
        ),
        (
            object(
                json!({"properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}}}),
            ),
            "properties[metadata]: Forbidden: must not specify anything other than name and generateName",
        ),
        (
            object(json!({"properties": {"metadata": {"type": "string"}}})),
            "properties[metadata].type: Invalid value",
        ),
        (
            object(json!({"properties": {"kind": {"type": "integer"}}})),
            "properties[kind].type: Invalid value: \"integer\": must be string",
        ),
    ];
    for (schema, expected) in table {
        let errors = Schema::from_crd(&schema).expect_err(expected);
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert!(
            errors.iter().any(|error| error.contains(expected)),
            "{expected}\n{errors:?}"
        );
    }
}

#[test]
fn a_schema_that_is_too_deep_is_refused() {
    let mut schema = json!({"type": "string"});
    for _ in 0..100 {
        schema = json!({"type": "object", "properties": {"a": schema}});
    }
    let errors = Schema::from_crd(&schema).expect_err("too deep");
    assert!(
        errors
            .iter()
            .any(|error| error.to_string().contains("more than 64 levels deep"))
    );
}
