//! The types of custom resources, made from the schema in their definition.

use serde_json::{Map, Value, json};

use super::{Dialect, LIST_META, OBJECT_META};
use crate::Schema;

/// How a custom resource is called.
#[derive(Clone, Copy, Debug)]
pub struct CustomResourceNames<'a> {
    /// The API group.
    pub group: &'a str,
    /// The version.
    pub version: &'a str,
    /// The kind.
    pub kind: &'a str,
    /// The kind of its lists.
    pub list_kind: &'a str,
}

impl CustomResourceNames<'_> {
    /// The name of a type of this group: `dev.example.v1.Widget` for group `example.dev`.
    fn type_name(&self, kind: &str) -> String {
        let mut parts: Vec<&str> = self.group.split('.').collect();
        parts.reverse();
        format!("{}.{}.{kind}", parts.join("."), self.version)
    }
}

/// The name of the type of a custom resource.
#[must_use]
pub fn custom_type_name(names: CustomResourceNames<'_>) -> String {
    names.type_name(names.kind)
}

/// The named types of one version of a custom resource for `/openapi/v2`: the kind and its list.
///
/// They refer to `ObjectMeta` and `ListMeta`; see [`super::v2_definitions`].
#[must_use]
pub fn custom_types_v2(schema: &Schema, names: CustomResourceNames<'_>) -> [(String, Value); 2] {
    types(schema.to_open_api_v2(), names, Dialect::V2)
}

/// The same for `/openapi/v3`; see [`super::v3_schemas_of_metadata`].
#[must_use]
pub fn custom_types_v3(schema: &Schema, names: CustomResourceNames<'_>) -> [(String, Value); 2] {
    types(schema.to_open_api_v3(), names, Dialect::V3)
}

fn types(
    mut object: Value,
    names: CustomResourceNames<'_>,
    dialect: Dialect,
) -> [(String, Value); 2] {
    if let Some(map) = object.as_object_mut() {
        map.insert(
            "x-kubernetes-group-version-kind".into(),
            served_as(names, names.kind),
        );
    }
    let name = custom_type_name(names);
    let list = list(names, &name, dialect);
    [(name, object), (names.type_name(names.list_kind), list)]
}

fn served_as(names: CustomResourceNames<'_>, kind: &str) -> Value {
    json!([{"group": names.group, "version": names.version, "kind": kind}])
}

fn list(names: CustomResourceNames<'_>, name: &str, dialect: Dialect) -> Value {
    json!({
        "description": format!("A list of objects of kind {}.", names.kind),
        "type": "object",
        "properties": {
            "apiVersion": {"type": "string", "description": "Group and version of the list"},
            "kind": {"type": "string", "description": "Kind of the list"},
            "metadata": dialect.described_reference(LIST_META, "Revision of the list and where it continues"),
            "items": {"type": "array", "description": "The objects", "items": dialect.reference(name)},
        },
        "required": ["items"],
        "x-kubernetes-group-version-kind": served_as(names, names.list_kind),
    })
}

/// A definition's schema, given as text, as published.
pub(super) fn published(text: &str, dialect: Dialect) -> Value {
    // It was a value that became this text, and was no deeper than an object may be.
    let mut schema = serde_json::from_str(text).unwrap_or_else(|_| json!({}));
    adapt(&mut schema, dialect);
    if let Some(map) = schema.as_object_mut() {
        add_object_fields(map, dialect);
    }
    schema
}

/// Apiversion, kind and metadata, which the author needn't write down.
fn add_object_fields(map: &mut Map<String, Value>, dialect: Dialect) {
    let properties = map.entry("properties").or_insert_with(|| json!({}));
    let Some(properties) = properties.as_object_mut() else {
        return;
    };
    let described = [
        (
            "apiVersion",
            "Group and version of the schema that the object follows",
        ),
        ("kind", "Name of the kind of the object"),
    ];
    for (name, description) in described {
        let field = properties
            .entry(name)
            .or_insert_with(|| json!({"type": "string"}));
        if let Some(field) = field.as_object_mut() {
            field
                .entry("description")
                .or_insert_with(|| description.into());
        }
    }
    let metadata = dialect.described_reference(
        OBJECT_META,
        "Name, labels and all else that every object has",
    );
    properties.insert("metadata".into(), metadata);
}

/// Adapts a schema and everything in it. Depth is limited by the parser of schemas.
fn adapt(schema: &mut Value, dialect: Dialect) {
    let Some(map) = schema.as_object_mut() else {
        return;
    };
    if dialect == Dialect::V2 {
        leave_out_what_v2_cannot_say(map);
    }
    if map.get("x-kubernetes-embedded-resource") == Some(&Value::Bool(true)) {
        add_object_fields(map, dialect);
    }
    for keyword in ["items", "additionalProperties", "not"] {
        if let Some(inner) = map.get_mut(keyword) {
            adapt(inner, dialect);
        }
    }
    for keyword in ["allOf", "anyOf", "oneOf"] {
        for inner in map
            .get_mut(keyword)
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            adapt(inner, dialect);
        }
    }
    let properties = map.get_mut("properties").and_then(Value::as_object_mut);
    for (_, inner) in properties.into_iter().flatten() {
        adapt(inner, dialect);
    }
}

/// Version 2 has no unions, no null and no defaults that clients would understand; a type that
/// needs them is published without its structure rather than with a wrong one.
fn leave_out_what_v2_cannot_say(map: &mut Map<String, Value>) {
    for keyword in [
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "default",
        "x-kubernetes-validations",
    ] {
        map.remove(keyword);
    }
    let nullable = map.remove("nullable") == Some(Value::Bool(true));
    let open = map.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true));
    let embedded = map.get("x-kubernetes-embedded-resource") == Some(&Value::Bool(true));
    if nullable {
        map.remove("type");
    }
    if nullable || open && !embedded {
        for keyword in ["items", "properties", "additionalProperties", "required"] {
            map.remove(keyword);
        }
    }
}
