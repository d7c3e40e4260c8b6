//! The named types of the built-in kinds.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::{Dialect, LIST_META, OBJECT_META};
use crate::builtin::table::{Attributes, FieldDef, Form, Role, TypeDef, TypeRef};
use crate::builtin::tables;

/// All named types, with the lists of the kinds.
pub(super) fn types(dialect: Dialect) -> BTreeMap<String, Value> {
    let mut types = BTreeMap::new();
    for def in &tables().types {
        types.insert(def.name.clone(), named(def, dialect));
        if matches!(def.role, Role::Kind(_)) {
            types.insert(format!("{}List", def.name), list(def, dialect));
        }
    }
    types
}

/// The types that a group and version is about; for every one the options of its requests.
pub(super) fn roots(group: &str, version: &str) -> Vec<&'static str> {
    let mut roots = vec![OBJECT_META, LIST_META];
    for def in &tables().types {
        match def.role {
            Role::Kind(_) if def.group == group && def.version == version => {
                roots.push(&def.name);
                let list = format!("{}List", def.name);
                roots.extend(
                    super::V3
                        .get_key_value(&list)
                        .map(|(name, _)| name.as_str()),
                );
            }
            Role::Request if def.group == group && def.version == version => roots.push(&def.name),
            Role::RequestEverywhere => roots.push(&def.name),
            Role::Kind(_) | Role::Request | Role::Part => {}
        }
    }
    roots.extend(tables().get(STATUS).map(|def| def.name.as_str()));
    roots
}

/// What every request may be answered with.
const STATUS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Status";

fn named(def: &TypeDef, dialect: Dialect) -> Value {
    let mut schema = Map::new();
    schema.insert("description".into(), def.description.into());
    match (def.form, dialect) {
        (Form::Fields, _) => fields(def, dialect, &mut schema),
        (Form::DateTime, _) => {
            schema.insert("type".into(), "string".into());
            schema.insert("format".into(), "date-time".into());
        }
        (Form::Quantity, Dialect::V2) => {
            schema.insert("type".into(), "string".into());
        }
        (Form::Quantity, Dialect::V3) => {
            schema.insert(
                "oneOf".into(),
                json!([{"type": "string"}, {"type": "number"}]),
            );
        }
        (Form::IntOrString, Dialect::V2) => {
            schema.insert("type".into(), "string".into());
            schema.insert("format".into(), "int-or-string".into());
        }
        (Form::IntOrString, Dialect::V3) => {
            schema.insert("format".into(), "int-or-string".into());
            schema.insert(
                "oneOf".into(),
                json!([{"type": "integer"}, {"type": "string"}]),
            );
        }
        (Form::FreeObject, _) => {
            schema.insert("type".into(), "object".into());
        }
        (Form::Json | Form::Schemas, _) => {}
    }
    if def.atomic_map {
        schema.insert("x-kubernetes-map-type".into(), "atomic".into());
    }
    if let Some(kinds) = group_version_kinds(def, "") {
        schema.insert("x-kubernetes-group-version-kind".into(), kinds);
    }
    Value::Object(schema)
}

fn fields(def: &TypeDef, dialect: Dialect, schema: &mut Map<String, Value>) {
    schema.insert("type".into(), "object".into());
    let properties: Map<String, Value> = def
        .fields
        .iter()
        .map(|field| (field.name.to_owned(), property(field, dialect)))
        .collect();
    if !properties.is_empty() {
        schema.insert("properties".into(), Value::Object(properties));
    }
    let required: Vec<&str> = def
        .fields
        .iter()
        .filter(|field| field.published_required)
        .map(|field| field.name)
        .collect();
    if !required.is_empty() {
        schema.insert("required".into(), json!(required));
    }
}

fn property(field: &FieldDef, dialect: Dialect) -> Value {
    let mut schema = match &field.ty {
        TypeRef::Named(name) => dialect.described_reference(name, field.description),
        other => {
            let mut schema = type_ref(other, dialect);
            if let Some(map) = schema.as_object_mut() {
                map.insert("description".into(), field.description.into());
            }
            schema
        }
    };
    if let Some(map) = schema.as_object_mut() {
        attributes(&field.attributes, map);
    }
    schema
}

fn attributes(attributes: &Attributes, map: &mut Map<String, Value>) {
    if !attributes.enumeration.is_empty() {
        map.insert("enum".into(), json!(attributes.enumeration));
    }
    if let Some(list_type) = attributes.list_type {
        map.insert("x-kubernetes-list-type".into(), list_type.into());
    }
    if !attributes.list_keys.is_empty() {
        map.insert(
            "x-kubernetes-list-map-keys".into(),
            json!(attributes.list_keys),
        );
    }
    if let Some(map_type) = attributes.map_type {
        map.insert("x-kubernetes-map-type".into(), map_type.into());
    }
    let strategy = match (attributes.merge, attributes.retain_keys) {
        (true, true) => "merge,retainKeys",
        (true, false) => "merge",
        (false, true) => "retainKeys",
        (false, false) => "",
    };
    if !strategy.is_empty() {
        map.insert("x-kubernetes-patch-strategy".into(), strategy.into());
    }
    if let Some(key) = attributes.merge_key {
        map.insert("x-kubernetes-patch-merge-key".into(), key.into());
    }
}

fn type_ref(ty: &TypeRef, dialect: Dialect) -> Value {
    match ty {
        TypeRef::String => json!({"type": "string"}),
        TypeRef::Bool => json!({"type": "boolean"}),
        TypeRef::Int32 => json!({"type": "integer", "format": "int32"}),
        TypeRef::Int64 => json!({"type": "integer", "format": "int64"}),
        TypeRef::Double => json!({"type": "number", "format": "double"}),
        TypeRef::Bytes => json!({"type": "string", "format": "byte"}),
        TypeRef::Object => json!({"type": "object"}),
        TypeRef::Named(name) => dialect.reference(name),
        TypeRef::List(inner) => json!({"type": "array", "items": type_ref(inner, dialect)}),
        TypeRef::Map(inner) => {
            json!({"type": "object", "additionalProperties": type_ref(inner, dialect)})
        }
    }
}

/// The list of a kind's objects.
fn list(def: &TypeDef, dialect: Dialect) -> Value {
    let kind = def.name.rsplit('.').next().unwrap_or_default();
    json!({
        "description": format!("A list of objects of kind {kind}."),
        "type": "object",
        "properties": {
            "apiVersion": {"type": "string", "description": "Group and version of the list"},
            "kind": {"type": "string", "description": "Kind of the list"},
            "metadata": dialect.described_reference(LIST_META, "Revision of the list and where it continues"),
            "items": {"type": "array", "description": "The objects", "items": dialect.reference(&def.name)},
        },
        "required": ["items"],
        "x-kubernetes-group-version-kind": group_version_kinds(def, "List"),
    })
}

/// Which requests a type is for.
fn group_version_kinds(def: &TypeDef, suffix: &str) -> Option<Value> {
    let name = format!(
        "{}{suffix}",
        def.name.rsplit('.').next().unwrap_or_default()
    );
    let entry =
        |group: &str, version: &str| json!({"group": group, "version": version, "kind": name});
    match def.role {
        Role::Part => None,
        Role::Kind(_) | Role::Request => Some(json!([entry(def.group, def.version)])),
        Role::RequestEverywhere => {
            let kinds = tables()
                .types
                .iter()
                .filter(|def| matches!(def.role, Role::Kind(_)));
            let groups: BTreeSet<_> = kinds.map(|def| (def.group, def.version)).collect();
            Some(
                groups
                    .into_iter()
                    .map(|(group, version)| entry(group, version))
                    .collect(),
            )
        }
    }
}
