//! The fields that every object has: what a schema needn't say, and may hardly restrict.

use landform_api::{FieldError, FieldReason};
use serde_json::Value;

use super::node::{Node, NodeId, Type};
use super::parse::{Parser, Place};
use crate::builtin;

impl Parser {
    /// Gives a whole object the fields that every object has: apiVersion, kind and metadata.
    pub(crate) fn add_object_fields(&mut self, id: NodeId, schema: &Value) {
        let metadata = schema.pointer("/properties/metadata");
        let metadata = self.metadata(metadata);
        let text = self.arena.add(Node {
            ty: Type::String,
            ..Node::default()
        });
        for name in ["apiVersion", "kind"] {
            let declared = self
                .arena
                .get(id)
                .property(name)
                .map(|property| property.node);
            if declared.is_some_and(|node| self.arena.get(node).ty != Type::String) {
                let mark = self.path.push_field("properties");
                let inner = self.path.push_key(name);
                let value = schema.pointer(&format!("/properties/{name}/type")).cloned();
                self.invalid("type", &value.unwrap_or(Value::Null), "must be string");
                self.path.pop(inner);
                self.path.pop(mark);
            }
        }
        if let Some(node) = self.arena.get_mut(id) {
            node.add_property("apiVersion", text);
            node.add_property("kind", text);
            node.add_property("metadata", metadata);
        }
    }

    /// `ObjectMeta`, with what the author's schema says about name and generateName.
    fn metadata(&mut self, schema: Option<&Value>) -> NodeId {
        let (arena, id) = builtin::object_meta();
        let metadata = self.arena.import(arena, id);
        let Some(map) = schema.and_then(Value::as_object) else {
            return metadata;
        };
        let mark = self.path.push_field("properties");
        let inner = self.path.push_key("metadata");
        if map.get("type").and_then(Value::as_str) != Some("object") {
            let given = map.get("type").cloned().unwrap_or(Value::Null);
            self.invalid("type", &given, "must be object");
        }
        let foreign = map
            .keys()
            .any(|key| !matches!(key.as_str(), "type" | "properties" | "description"));
        let fields = map.get("properties").and_then(Value::as_object);
        let strange = fields.is_some_and(|fields| {
            fields
                .keys()
                .any(|name| !matches!(name.as_str(), "name" | "generateName"))
        });
        if foreign || strange {
            let path = self.path.clone();
            self.errors.push(FieldError::new(
                &path,
                FieldReason::Forbidden,
                "must not specify anything other than name and generateName, \
                 but metadata is implicitly specified",
            ));
        }
        for (name, schema) in fields.into_iter().flatten() {
            let outer = self.path.push_field("properties");
            let key = self.path.push_key(name);
            let restricted = self.structural(schema, Place::Field);
            self.path.pop(key);
            self.path.pop(outer);
            let node = self.arena.get_mut(metadata);
            let property = node.and_then(|node| {
                node.properties
                    .iter_mut()
                    .find(|property| property.name.as_ref() == name)
            });
            if let Some(property) = property {
                property.node = restricted;
            }
        }
        self.path.pop(inner);
        self.path.pop(mark);
        metadata
    }
}
