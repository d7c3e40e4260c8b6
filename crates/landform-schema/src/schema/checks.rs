//! The keywords that limit values: bounds, lengths, patterns, enums and the logical junctors.

use landform_api::FieldReason;
use serde_json::{Map, Value};

use super::enumeration::Enumeration;
use super::formats::Format;
use super::node::{Bound, Checks, NodeId, Type};
use super::parse::{Parser, flag};

/// An enum that takes more steps is costly.
const ENUMERATION_STEPS_MAX: usize = 20;

/// Reads the value validations of a schema; `None` when it has none.
pub(crate) fn parse(
    parser: &mut Parser,
    map: &Map<String, Value>,
    ty: Type,
    int_or_string: bool,
) -> Option<Box<Checks>> {
    if flag(map, "uniqueItems") {
        parser.report(
            "uniqueItems",
            FieldReason::Forbidden,
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
        );
    }
    let int_or_string = int_or_string || ty == Type::IntOrString;
    let pattern = map
        .get("pattern")
        .and_then(Value::as_str)
        .filter(|text| !text.is_empty());
    let checks = Checks {
        enumeration: Enumeration::new(
            map.get("enum")
                .and_then(Value::as_array)
                .cloned()
                .unwrap_or_default(),
        ),
        format: map
            .get("format")
            .and_then(Value::as_str)
            .and_then(Format::of_custom_resource),
        pattern: pattern.and_then(|text| parser.pattern(text)),
        minimum: bound(parser, map, "minimum", "exclusiveMinimum"),
        maximum: bound(parser, map, "maximum", "exclusiveMaximum"),
        multiple_of: multiple_of(parser, map),
        min_length: count(parser, map, "minLength"),
        max_length: count(parser, map, "maxLength"),
        min_items: count(parser, map, "minItems"),
        max_items: count(parser, map, "maxItems"),
        min_properties: count(parser, map, "minProperties"),
        max_properties: count(parser, map, "maxProperties"),
        all_of: branches(parser, map, "allOf", int_or_string),
        any_of: branches(parser, map, "anyOf", int_or_string),
        one_of: branches(parser, map, "oneOf", int_or_string),
        not: not(parser, map, int_or_string),
    };
    checks.limits_anything().then(|| Box::new(checks))
}

impl Checks {
    /// Whether any keyword is set.
    pub(crate) fn limits_anything(&self) -> bool {
        !self.enumeration.is_empty()
            || self.format.is_some()
            || self.pattern.is_some()
            || self.minimum.is_some()
            || self.maximum.is_some()
            || self.multiple_of.is_some()
            || self.min_length.is_some()
            || self.max_length.is_some()
            || self.min_items.is_some()
            || self.max_items.is_some()
            || self.min_properties.is_some()
            || self.max_properties.is_some()
            || self.has_junctors()
    }

    /// Whether checking a value may take much more than its size says.
    pub(crate) fn is_costly(&self) -> bool {
        self.pattern.is_some()
            || self.has_junctors()
            || self.enumeration.steps() > ENUMERATION_STEPS_MAX
    }

    /// Whether `allOf`, `anyOf`, `oneOf` or `not` is set.
    pub(crate) fn has_junctors(&self) -> bool {
        self.not.is_some()
            || !(self.all_of.is_empty() && self.any_of.is_empty() && self.one_of.is_empty())
    }
}

fn bound(
    parser: &mut Parser,
    map: &Map<String, Value>,
    keyword: &str,
    exclusive: &str,
) -> Option<Bound> {
    match map.get(keyword) {
        Some(Value::Number(value)) => Some(Bound {
            value: value.clone(),
            exclusive: flag(map, exclusive),
        }),
        None | Some(Value::Null) => None,
        Some(other) => {
            parser.invalid(keyword, other, "must be a number");
            None
        }
    }
}

fn multiple_of(parser: &mut Parser, map: &Map<String, Value>) -> Option<f64> {
    match map.get("multipleOf") {
        None | Some(Value::Null) => None,
        Some(value) => match value.as_f64() {
            Some(factor) if factor > 0.0 => Some(factor),
            _ => {
                parser.invalid("multipleOf", value, "must be a number greater than 0");
                None
            }
        },
    }
}

fn count(parser: &mut Parser, map: &Map<String, Value>, keyword: &str) -> Option<u64> {
    match map.get(keyword) {
        None | Some(Value::Null) => None,
        Some(value) => {
            if value.as_u64().is_none() {
                parser.invalid(
                    keyword,
                    value,
                    "must be an integer greater than or equal to 0",
                );
            }
            value.as_u64()
        }
    }
}

fn branches(
    parser: &mut Parser,
    map: &Map<String, Value>,
    keyword: &str,
    int_or_string: bool,
) -> Vec<NodeId> {
    let schemas = map.get(keyword).and_then(Value::as_array);
    let mut nodes = Vec::new();
    let mark = parser.path.push_field(keyword);
    for (index, schema) in schemas.into_iter().flatten().enumerate() {
        let inner = parser.path.push_index(index);
        refuse_undeclared(parser, map, schema);
        nodes.push(parser.value_only(schema, int_or_string));
        parser.path.pop(inner);
    }
    parser.path.pop(mark);
    nodes
}

fn not(parser: &mut Parser, map: &Map<String, Value>, int_or_string: bool) -> Option<NodeId> {
    let schema = map.get("not").filter(|schema| !schema.is_null())?;
    let mark = parser.path.push_field("not");
    refuse_undeclared(parser, map, schema);
    let node = parser.value_only(schema, int_or_string);
    parser.path.pop(mark);
    Some(node)
}

/// A field that a junctor restricts must be declared by the structure beside the junctor.
///
/// Only the first level is checked here: deeper ones and junctors in junctors have no structure of
/// their own at hand, and an undeclared field is pruned before it could be validated anyway.
fn refuse_undeclared(parser: &mut Parser, outer: &Map<String, Value>, schema: &Value) {
    let structural = outer.contains_key("type") || outer.contains_key("properties");
    let open = flag(outer, "x-kubernetes-preserve-unknown-fields");
    let Some(fields) = schema.get("properties").and_then(Value::as_object) else {
        return;
    };
    if !structural || open {
        return;
    }
    let declared = outer.get("properties").and_then(Value::as_object);
    let implied = |name: &str| matches!(name, "apiVersion" | "kind" | "metadata");
    for name in fields.keys() {
        if !implied(name) && declared.is_none_or(|declared| !declared.contains_key(name)) {
            let path = parser.path.field("properties").key(name);
            parser.errors.push(landform_api::FieldError::new(
                &path,
                FieldReason::Required,
                "must also be specified outside of the value validation, \
                 with its type",
            ));
        }
    }
}
