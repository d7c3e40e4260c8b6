//! From `openAPIV3Schema` to nodes, and what a structural schema may not say.
//!
//! The rules are those of Kubernetes: every field has a type, value validations (`allOf` and so on)
//! only restrict what the structure outside them declares, and nothing is left to interpretation.
//! All violations are collected, so that an author sees them at once.

use std::sync::Arc;

use landform_api::{FieldError, FieldPath, FieldReason};
use serde_json::{Map, Value};

use super::cel::{self, RuleSet};
use super::checks;
use super::node::{Additional, Arena, Node, NodeId, Property, Type};
use super::pattern::{self, Pattern};
use super::rules_of_lists;

/// Deeper schemas are refused, so that no walk over one can exhaust the stack.
pub(crate) const DEEPEST: usize = 64;

/// How many entries a list without limit may have in the largest request, when its entries are
/// objects that hold something.
const UNLIMITED: u64 = 3 * 1024 * 1024 / 10;

/// Keywords of JSON Schema that a structural schema may not use.
const UNSUPPORTED: [&str; 8] = [
    "$ref",
    "$schema",
    "additionalItems",
    "definitions",
    "dependencies",
    "discriminator",
    "id",
    "patternProperties",
];

/// Where a schema stands, which decides how a missing type is reported.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Root,
    Field,
    Entry,
    MapValue,
}

impl Place {
    fn missing_type(self) -> &'static str {
        match self {
            Self::Root => "must not be empty at the root",
            Self::Field => "must not be empty for specified object fields",
            Self::Entry => "must not be empty for specified array items",
            Self::MapValue => "must not be empty for specified map values",
        }
    }
}

/// A default that is checked once the whole schema is known.
pub(crate) struct PendingDefault {
    pub(crate) path: FieldPath,
    pub(crate) node: NodeId,
    pub(crate) value: Arc<Value>,
}

/// Collects nodes and violations while it walks a schema.
pub(crate) struct Parser {
    pub(crate) arena: Arena,
    pub(crate) errors: Vec<FieldError>,
    pub(crate) path: FieldPath,
    pub(crate) defaults: Vec<PendingDefault>,
    pub(crate) depth: usize,
    /// What its patterns take when they are compiled.
    pub(crate) patterns: pattern::Room,
    /// What its rules take when they are compiled.
    pub(crate) rules: cel::Room,
    /// How often the node at hand may occur in one object, as far as the schema limits it.
    pub(crate) cardinality: u64,
    /// Whether the old value of the node at hand can be found in an update.
    pub(crate) correlatable: bool,
}

impl Parser {
    pub(crate) fn new() -> Self {
        Self {
            arena: Arena::default(),
            errors: Vec::new(),
            path: FieldPath::root(),
            defaults: Vec::new(),
            depth: 0,
            patterns: pattern::Room::default(),
            rules: cel::Room::default(),
            cardinality: 1,
            correlatable: true,
        }
    }

    /// Parses the schema of a whole object.
    pub(crate) fn root(&mut self, schema: &Value) -> NodeId {
        let id = self.structural(schema, Place::Root);
        let kind = self.arena.get(id).ty;
        if schema.get("type").is_some() && kind != Type::Object {
            let given = schema.get("type").cloned().unwrap_or(Value::Null);
            self.invalid("type", &given, "must be object at the root");
        }
        self.add_object_fields(id, schema);
        id
    }

    /// Records a problem with a keyword of the schema at hand.
    pub(crate) fn report(&mut self, keyword: &str, reason: FieldReason, detail: &str) {
        let path = self.path.field(keyword);
        self.errors.push(FieldError::new(&path, reason, detail));
    }

    pub(crate) fn invalid(&mut self, keyword: &str, value: &Value, detail: &str) {
        let path = self.path.field(keyword);
        self.errors.push(FieldError::with_value(
            &path,
            FieldReason::Invalid,
            value,
            detail,
        ));
    }

    pub(crate) fn structural(&mut self, schema: &Value, place: Place) -> NodeId {
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
        let id = self.node(map, place);
        self.depth -= 1;
        id
    }

    fn node(&mut self, map: &Map<String, Value>, place: Place) -> NodeId {
        self.refuse_unsupported(map);
        let mut node = Node {
            ty: self.node_type(map, place),
            nullable: flag(map, "nullable"),
            preserve_unknown: flag(map, "x-kubernetes-preserve-unknown-fields"),
            embedded: flag(map, "x-kubernetes-embedded-resource"),
            required: self.required(map),
            ..Node::default()
        };
        self.preserve_unknown(map);
        let properties = self.properties(map, node.embedded || place == Place::Root);
        node.set_properties(properties);
        node.additional = self.additional(map);
        node.items = self.items(map, node.ty);
        self.list_and_map_types(map, &mut node);
        if node.embedded {
            self.embedded(map, &node);
        }
        node.checks = checks::parse(self, map, node.ty, false);
        node.default = map.get("default").map(|value| Arc::new(value.clone()));
        node.rules_below = self.rules_below(&node);
        node.rules = RuleSet::compile(self, map, &node);
        let (default, embedded) = (node.default.clone(), node.embedded);
        let id = self.arena.add(node);
        if let Some(value) = default {
            self.defaults.push(PendingDefault {
                path: self.path.field("default"),
                node: id,
                value,
            });
        }
        if embedded {
            self.add_object_fields(id, &Value::Object(map.clone()));
        }
        id
    }

    fn rules_below(&self, node: &Node) -> bool {
        let additional = match node.additional {
            Additional::Schema(child) => Some(child),
            Additional::Any | Additional::No => None,
        };
        let children = node.properties.iter().map(|property| property.node);
        children.chain(additional).chain(node.items).any(|child| {
            let child = self.arena.get(child);
            child.rules.is_some() || child.rules_below
        })
    }

    pub(crate) fn refuse_unsupported(&mut self, map: &Map<String, Value>) {
        for keyword in UNSUPPORTED {
            if map.get(keyword).is_some_and(|value| !value.is_null()) {
                self.report(
                    keyword,
                    FieldReason::Forbidden,
                    &format!("{keyword} is not supported"),
                );
            }
        }
    }

    fn node_type(&mut self, map: &Map<String, Value>, place: Place) -> Type {
        let int_or_string = flag(map, "x-kubernetes-int-or-string");
        let preserve = flag(map, "x-kubernetes-preserve-unknown-fields");
        let name = map.get("type").and_then(Value::as_str).unwrap_or("");
        let ty = match name {
            "object" => Type::Object,
            "array" => Type::Array,
            "string" => Type::String,
            "integer" => Type::Integer,
            "number" => Type::Number,
            "boolean" => Type::Boolean,
            "" if int_or_string => Type::IntOrString,
            "" if preserve && place != Place::Root => Type::Any,
            "" => {
                self.report("type", FieldReason::Required, place.missing_type());
                Type::Any
            }
            other => {
                let path = self.path.field("type");
                let detail = r#"supported values: "array", "boolean", "integer", "number", "object", "string""#;
                let value = Value::from(other);
                self.errors.push(FieldError::with_value(
                    &path,
                    FieldReason::NotSupported,
                    &value,
                    detail,
                ));
                Type::Any
            }
        };
        if int_or_string && !name.is_empty() {
            self.invalid(
                "type",
                &Value::from(name),
                "must be empty if x-kubernetes-int-or-string is true",
            );
        }
        ty
    }

    fn preserve_unknown(&mut self, map: &Map<String, Value>) {
        match map.get("x-kubernetes-preserve-unknown-fields") {
            Some(Value::Bool(false)) => self.invalid(
                "x-kubernetes-preserve-unknown-fields",
                &Value::Bool(false),
                "must be true or undefined",
            ),
            Some(Value::Bool(true)) if flag(map, "x-kubernetes-int-or-string") => self.invalid(
                "x-kubernetes-preserve-unknown-fields",
                &Value::Bool(true),
                "must be false if x-kubernetes-int-or-string is true",
            ),
            _ => {}
        }
    }

    pub(crate) fn required(&mut self, map: &Map<String, Value>) -> Vec<Box<str>> {
        let names = map.get("required").and_then(Value::as_array);
        names
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(Into::into)
            .collect()
    }

    fn properties(&mut self, map: &Map<String, Value>, is_object: bool) -> Vec<Property> {
        let Some(fields) = map.get("properties").and_then(Value::as_object) else {
            return Vec::new();
        };
        let mut properties = Vec::with_capacity(fields.len());
        let mark = self.path.push_field("properties");
        for (name, schema) in fields {
            // The schema of metadata isn't the author's: see `add_object_fields`.
            if is_object && name == "metadata" {
                continue;
            }
            let inner = self.path.push_key(name);
            let node = self.structural(schema, Place::Field);
            self.path.pop(inner);
            let default = self.arena.get(node).default.clone();
            properties.push(Property {
                default,
                ..Property::plain(name, node)
            });
        }
        self.path.pop(mark);
        properties
    }

    fn additional(&mut self, map: &Map<String, Value>) -> Additional {
        let Some(schema) = map.get("additionalProperties") else {
            return Additional::No;
        };
        let has_properties = map
            .get("properties")
            .and_then(Value::as_object)
            .is_some_and(|fields| !fields.is_empty());
        if has_properties && schema != &Value::Bool(false) {
            self.report(
                "additionalProperties",
                FieldReason::Forbidden,
                "additionalProperties and properties are mutual exclusive",
            );
        }
        match schema {
            Value::Bool(true) => Additional::Any,
            Value::Bool(false) => {
                self.report(
                    "additionalProperties",
                    FieldReason::Forbidden,
                    "additionalProperties cannot be set to false",
                );
                Additional::No
            }
            schema => {
                let mark = self.path.push_field("additionalProperties");
                let before = self.cardinality;
                self.cardinality = before.saturating_mul(limit_of(map, "maxProperties"));
                let node = self.structural(schema, Place::MapValue);
                self.cardinality = before;
                self.path.pop(mark);
                Additional::Schema(node)
            }
        }
    }

    fn items(&mut self, map: &Map<String, Value>, ty: Type) -> Option<NodeId> {
        let Some(schema) = map.get("items") else {
            if ty == Type::Array {
                self.report("items", FieldReason::Required, "must be specified");
            }
            return None;
        };
        if schema.is_array() {
            self.report(
                "items",
                FieldReason::Forbidden,
                "items must be a schema object and not an array",
            );
            return None;
        }
        let mark = self.path.push_field("items");
        let before = (self.cardinality, self.correlatable);
        self.cardinality = before.0.saturating_mul(limit_of(map, "maxItems"));
        self.correlatable &=
            map.get("x-kubernetes-list-type").and_then(Value::as_str) == Some("map");
        let node = self.structural(schema, Place::Entry);
        (self.cardinality, self.correlatable) = before;
        self.path.pop(mark);
        Some(node)
    }

    fn list_and_map_types(&mut self, map: &Map<String, Value>, node: &mut Node) {
        node.list = rules_of_lists::list_type(self, map, node);
        node.unique = true;
        if let Some(kind) = map.get("x-kubernetes-map-type").and_then(Value::as_str) {
            match kind {
                "atomic" => node.atomic_map = true,
                "granular" => {}
                other => rules_of_lists::unsupported(
                    self,
                    "x-kubernetes-map-type",
                    other,
                    r#""atomic", "granular""#,
                ),
            }
            if node.ty != Type::Object {
                let detail = "must be object if x-kubernetes-map-type is specified";
                self.invalid("type", &Value::from(node.ty.name()), detail);
            }
        }
    }

    fn embedded(&mut self, map: &Map<String, Value>, node: &Node) {
        if node.ty != Type::Object {
            let given = map.get("type").cloned().unwrap_or(Value::Null);
            self.invalid(
                "type",
                &given,
                "must be object if x-kubernetes-embedded-resource is true",
            );
        }
        if !node.preserve_unknown && node.properties.is_empty() && !map.contains_key("properties") {
            self.report(
                "properties",
                FieldReason::Required,
                "must not be empty if x-kubernetes-embedded-resource is true without \
                 x-kubernetes-preserve-unknown-fields",
            );
        }
    }

    /// A regular expression of the schema, compiled once.
    pub(crate) fn pattern(&mut self, text: &str) -> Option<Pattern> {
        match self.patterns.compile(text) {
            Ok(pattern) => Some(pattern),
            Err(reason) => {
                let detail = format!("must be a valid regular expression, but isn't: {reason}");
                self.invalid("pattern", &Value::from(text), &detail);
                None
            }
        }
    }
}

/// A keyword that is a boolean, false when it is missing.
pub(crate) fn flag(map: &Map<String, Value>, keyword: &str) -> bool {
    map.get(keyword).and_then(Value::as_bool).unwrap_or(false)
}

/// How many entries a list or map may have as far as cost estimates are concerned.
fn limit_of(map: &Map<String, Value>, keyword: &str) -> u64 {
    map.get(keyword)
        .and_then(Value::as_u64)
        .unwrap_or(UNLIMITED)
}
