//! What `x-kubernetes-list-type` demands of a list and its entries.

use landform_api::{FieldError, FieldReason};
use serde_json::{Map, Value};

use super::node::{ListType, Node, Type};
use super::parse::Parser;

/// Reads the type of a list and refuses what can't be told apart by it.
pub(crate) fn list_type(parser: &mut Parser, map: &Map<String, Value>, node: &Node) -> ListType {
    let keys: Vec<Box<str>> = map
        .get("x-kubernetes-list-map-keys")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(Into::into)
        .collect();
    let Some(kind) = map.get("x-kubernetes-list-type").and_then(Value::as_str) else {
        if !keys.is_empty() {
            let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
            parser.report("x-kubernetes-list-type", FieldReason::Required, detail);
        }
        return ListType::Unset;
    };
    if node.ty != Type::Array {
        let given = map.get("type").cloned().unwrap_or(Value::Null);
        parser.invalid(
            "type",
            &given,
            "must be array if x-kubernetes-list-type is specified",
        );
    }
    if kind != "map" && !keys.is_empty() {
        let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
        parser.invalid("x-kubernetes-list-type", &Value::from(kind), detail);
    }
    match kind {
        "atomic" => ListType::Atomic,
        "set" => {
            check_set(parser, node);
            ListType::Set
        }
        "map" => {
            check_map(parser, node, &keys);
            ListType::Map(keys)
        }
        other => {
            unsupported(
                parser,
                "x-kubernetes-list-type",
                other,
                r#""atomic", "map", "set""#,
            );
            ListType::Unset
        }
    }
}

/// Records a value that isn't one of those supported.
pub(crate) fn unsupported(parser: &mut Parser, keyword: &str, value: &str, supported: &str) {
    let path = parser.path.field(keyword);
    parser.errors.push(FieldError::with_value(
        &path,
        FieldReason::NotSupported,
        &Value::from(value),
        format!("supported values: {supported}"),
    ));
}

fn check_set(parser: &mut Parser, node: &Node) {
    let Some(items) = node.items else { return };
    let items = parser.arena.get(items);
    let comparable = match items.ty {
        Type::Object => items.atomic_map,
        Type::Array => matches!(items.list, ListType::Unset | ListType::Atomic),
        Type::Any
        | Type::String
        | Type::Integer
        | Type::Number
        | Type::Boolean
        | Type::IntOrString
        | Type::Quantity => true,
    };
    if items.nullable {
        let detail = "cannot be nullable when x-kubernetes-list-type is set";
        parser.report("items.nullable", FieldReason::Forbidden, detail);
    }
    if !comparable {
        let detail = "entries of a set must be scalars, atomic lists or atomic maps";
        parser.report("items", FieldReason::Invalid, detail);
    }
}

fn check_map(parser: &mut Parser, node: &Node, keys: &[Box<str>]) {
    if keys.is_empty() {
        let detail = "must not be empty if x-kubernetes-list-type is map";
        parser.report("x-kubernetes-list-map-keys", FieldReason::Required, detail);
    }
    let Some(items) = node.items else { return };
    let items = parser.arena.get(items).clone();
    if items.ty != Type::Object {
        let detail = "must be object if parent array's x-kubernetes-list-type is map";
        parser.invalid("items.type", &Value::from(items.ty.name()), detail);
        return;
    }
    let mut seen = std::collections::BTreeSet::new();
    for key in keys {
        let value = Value::from(key.as_ref());
        if !seen.insert(key) {
            let path = parser.path.field("x-kubernetes-list-map-keys");
            parser.errors.push(FieldError::with_value(
                &path,
                FieldReason::Duplicate,
                &value,
                "",
            ));
        }
        let Some(property) = items.property(key) else {
            let detail = "entries must all be names of item properties";
            parser.invalid("x-kubernetes-list-map-keys", &value, detail);
            continue;
        };
        if matches!(
            parser.arena.get(property.node).ty,
            Type::Object | Type::Array | Type::Any
        ) {
            let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
            parser.invalid("x-kubernetes-list-map-keys", &value, detail);
        }
        if property.default.is_none() && !items.required.iter().any(|name| name == key) {
            let path = parser
                .path
                .field("items")
                .field("properties")
                .key(key)
                .field("default");
            parser.errors.push(FieldError::new(
                &path,
                FieldReason::Required,
                "this property is in x-kubernetes-list-map-keys, so it must have a default \
                 or be a required property",
            ));
        }
    }
}
