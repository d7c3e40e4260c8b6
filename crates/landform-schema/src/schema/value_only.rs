//! Schemas inside `allOf`, `anyOf`, `oneOf` and `not`: they restrict values and declare nothing.

use landform_api::{FieldError, FieldReason};
use serde_json::{Map, Value};

use super::checks;
use super::node::{Additional, Node, NodeId, Property, Type};
use super::parse::{DEEPEST, Parser};

impl Parser {
    /// A schema inside `allOf` and the like: it may restrict values but not declare structure.
    ///
    /// `int_or_string` allows the two types whose choice such a schema expresses.
    pub(crate) fn value_only(&mut self, schema: &Value, int_or_string: bool) -> NodeId {
        let Some(map) = schema.as_object() else {
            let path = self.path.clone();
            let detail = "must be a schema, which is an object";
            self.errors.push(FieldError::with_value(
                &path,
                FieldReason::TypeInvalid,
                schema,
                detail,
            ));
            return self.arena.add(Node::default());
        };
        if self.depth >= DEEPEST {
            let detail = format!("must not be nested more than {DEEPEST} levels deep");
            let path = self.path.clone();
            self.errors
                .push(FieldError::new(&path, FieldReason::TooMany, detail));
            return self.arena.add(Node::default());
        }
        self.depth += 1;
        self.refuse_unsupported(map);
        self.refuse_structure(map, int_or_string);
        let mut node = Node {
            nullable: true,
            ty: match map.get("type").and_then(Value::as_str) {
                Some("integer") => Type::Integer,
                Some("string") => Type::String,
                _ => Type::Any,
            },
            required: self.required(map),
            ..Node::default()
        };
        let properties = self.value_only_properties(map);
        node.set_properties(properties);
        if let Some(items) = map.get("items") {
            let mark = self.path.push_field("items");
            node.items = Some(self.value_only(items, false));
            self.path.pop(mark);
        }
        if let Some(values) = map
            .get("additionalProperties")
            .filter(|values| values.is_object())
        {
            let mark = self.path.push_field("additionalProperties");
            node.additional = Additional::Schema(self.value_only(values, false));
            self.path.pop(mark);
        }
        node.checks = checks::parse(self, map, node.ty, int_or_string);
        self.depth -= 1;
        self.arena.add(node)
    }

    fn value_only_properties(&mut self, map: &Map<String, Value>) -> Vec<Property> {
        let mut properties = Vec::new();
        let mark = self.path.push_field("properties");
        for (name, schema) in map
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let inner = self.path.push_key(name);
            let node = self.value_only(schema, false);
            self.path.pop(inner);
            properties.push(Property::plain(name, node));
        }
        self.path.pop(mark);
        properties
    }

    fn refuse_structure(&mut self, map: &Map<String, Value>, int_or_string: bool) {
        let forbidden = [
            "default",
            "nullable",
            "title",
            "description",
            "x-kubernetes-preserve-unknown-fields",
            "x-kubernetes-embedded-resource",
            "x-kubernetes-int-or-string",
            "x-kubernetes-list-type",
            "x-kubernetes-list-map-keys",
            "x-kubernetes-map-type",
            "x-kubernetes-validations",
        ];
        for keyword in forbidden {
            let set = map.get(keyword);
            if set.is_some_and(|value| !matches!(value, Value::Null | Value::Bool(false))) {
                self.report(
                    keyword,
                    FieldReason::Forbidden,
                    "must be empty to be structural",
                );
            }
        }
        let ty = map.get("type").and_then(Value::as_str).unwrap_or("");
        if !(ty.is_empty() || int_or_string && matches!(ty, "integer" | "string")) {
            self.report(
                "type",
                FieldReason::Forbidden,
                "must be empty to be structural",
            );
        }
        if map
            .get("additionalProperties")
            .is_some_and(Value::is_boolean)
        {
            let detail = "must be empty to be structural";
            self.report("additionalProperties", FieldReason::Forbidden, detail);
        }
    }
}
