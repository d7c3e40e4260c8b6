//! From the tables of built-in types to the nodes that the engine walks.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::table::{Attributes, FieldDef, Form, Tables, TypeDef, TypeRef};
use crate::schema::enumeration::Enumeration;
use crate::schema::formats::Format;
use crate::schema::node::{
    Additional, Arena, Bound, Checks, ListType, MergeStrategy, Node, NodeId, Property, Type,
};

/// The nodes of all built-in types.
#[derive(Debug, Default)]
pub(crate) struct Compiled {
    pub(crate) arena: Arc<Arena>,
    pub(crate) roots: BTreeMap<String, NodeId>,
}

/// Compiles all types into one arena; each type is one node that all its users share.
pub(crate) fn compile(tables: &Tables) -> Compiled {
    let mut compiler = Compiler::default();
    for def in &tables.types {
        let id = compiler.arena.add(Node::default());
        compiler.roots.insert(def.name.clone(), id);
    }
    for def in &tables.types {
        let node = compiler.type_node(def);
        let id = compiler.root(&def.name);
        if let Some(slot) = compiler.arena.get_mut(id) {
            *slot = node;
        }
    }
    compiler.schemas_of_schemas(tables);
    Compiled {
        arena: Arc::new(compiler.arena),
        roots: compiler.roots,
    }
}

#[derive(Default)]
struct Compiler {
    arena: Arena,
    roots: BTreeMap<String, NodeId>,
    /// Nodes of plain types, shared by all fields that say nothing more.
    plain: BTreeMap<TypeRef, NodeId>,
}

impl Compiler {
    fn root(&self, name: &str) -> NodeId {
        self.roots.get(name).copied().unwrap_or(NodeId::MAX)
    }

    fn type_node(&mut self, def: &TypeDef) -> Node {
        let mut node = match def.form {
            Form::Fields => Node {
                ty: Type::Object,
                ..Node::default()
            },
            Form::DateTime => formatted(Type::String, Format::DateTime),
            Form::Quantity => formatted(Type::Quantity, Format::Quantity),
            Form::IntOrString => Node {
                ty: Type::IntOrString,
                ..Node::default()
            },
            Form::FreeObject => Node {
                ty: Type::Object,
                preserve_unknown: true,
                ..Node::default()
            },
            Form::Json | Form::Schemas => Node {
                ty: Type::Any,
                nullable: true,
                preserve_unknown: true,
                ..Node::default()
            },
        };
        node.atomic_map = def.atomic_map;
        let enforced = def.fields.iter().filter(|field| field.enforced_required);
        node.required = enforced.map(|field| field.name.into()).collect();
        node.set_properties(
            def.fields
                .iter()
                .map(|field| self.property(field))
                .collect(),
        );
        node
    }

    fn property(&mut self, field: &FieldDef) -> Property {
        let attributes = &field.attributes;
        let default = attributes.default.as_ref().and_then(Value::as_str);
        let has_text = default.is_some_and(|text| !text.is_empty());
        let plain = attributes.list_type.is_none()
            && attributes.map_type.is_none()
            && attributes.enumeration.is_empty()
            && attributes.minimum.is_none()
            && attributes.maximum.is_none();
        let node = if plain {
            self.plain(&field.ty)
        } else {
            self.limited(&field.ty, attributes)
        };
        Property {
            name: field.name.into(),
            node,
            default: attributes.default.clone().map(Arc::new),
            default_when: attributes.when.clone(),
            merge: MergeStrategy {
                merge: attributes.merge,
                key: attributes.merge_key.map(Into::into),
                retain_keys: attributes.retain_keys,
            },
            empty_is_missing: field.ty == TypeRef::String
                && (!attributes.enumeration.is_empty() || has_text),
        }
    }

    fn plain(&mut self, ty: &TypeRef) -> NodeId {
        if let TypeRef::Named(name) = ty {
            return self.root(name);
        }
        if let Some(id) = self.plain.get(ty) {
            return *id;
        }
        let node = self.node(ty);
        let id = self.arena.add(node);
        self.plain.insert(ty.clone(), id);
        id
    }

    fn limited(&mut self, ty: &TypeRef, attributes: &Attributes) -> NodeId {
        let mut node = self.node(ty);
        let keys = || {
            attributes
                .list_keys
                .iter()
                .map(|key| (*key).into())
                .collect()
        };
        node.list = match attributes.list_type {
            Some("atomic") => ListType::Atomic,
            Some("set") => ListType::Set,
            Some("map") => ListType::Map(keys()),
            _ => ListType::Unset,
        };
        node.unique = attributes.unique;
        node.atomic_map = attributes.map_type == Some("atomic");
        let bound = |limit: i64| Bound {
            value: limit.into(),
            exclusive: false,
        };
        let mut checks = node.checks.take().unwrap_or_default();
        let values = attributes.enumeration.iter();
        checks.enumeration = Enumeration::new(values.map(|one| Value::from(*one)).collect());
        checks.minimum = attributes.minimum.map(bound);
        checks.maximum = attributes.maximum.map(bound);
        node.checks = checks.limits_anything().then_some(checks);
        self.arena.add(node)
    }

    fn node(&mut self, ty: &TypeRef) -> Node {
        match ty {
            TypeRef::String => Node {
                ty: Type::String,
                ..Node::default()
            },
            TypeRef::Bool => Node {
                ty: Type::Boolean,
                ..Node::default()
            },
            TypeRef::Int32 => formatted(Type::Integer, Format::Int32),
            TypeRef::Int64 => formatted(Type::Integer, Format::Int64),
            TypeRef::Double => Node {
                ty: Type::Number,
                ..Node::default()
            },
            TypeRef::Bytes => formatted(Type::String, Format::Byte),
            TypeRef::Object => Node {
                ty: Type::Object,
                preserve_unknown: true,
                ..Node::default()
            },
            TypeRef::Named(name) => self.arena.get(self.root(name)).clone(),
            TypeRef::List(inner) => Node {
                ty: Type::Array,
                items: Some(self.plain(inner)),
                ..Node::default()
            },
            TypeRef::Map(inner) => Node {
                ty: Type::Object,
                additional: Additional::Schema(self.plain(inner)),
                ..Node::default()
            },
        }
    }

    /// A place that takes one schema or a list of them knows the fields of a schema, so that
    /// unknown ones are pruned there too.
    fn schemas_of_schemas(&mut self, tables: &Tables) {
        let is_schema = |def: &&TypeDef| def.name.ends_with(".JSONSchemaProps");
        let Some(name) = tables.types.iter().find(is_schema).map(|def| &def.name) else {
            return;
        };
        let id = self.root(name);
        let properties = self.arena.get(id).properties.clone();
        for def in tables.types.iter().filter(|def| def.form == Form::Schemas) {
            let place = self.root(&def.name);
            if let Some(node) = self.arena.get_mut(place) {
                node.items = Some(id);
                node.properties.clone_from(&properties);
                node.preserve_unknown = false;
            }
        }
    }
}

fn formatted(ty: Type, format: Format) -> Node {
    let checks = Checks {
        format: Some(format),
        ..Checks::default()
    };
    Node {
        ty,
        checks: Some(Box::new(checks)),
        ..Node::default()
    }
}
