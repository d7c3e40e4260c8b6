//! What a schema is made of: nodes in an arena, so that types may refer to themselves.
//!
//! A custom resource's schema is a tree, but a built-in one is a graph (the schema of a
//! `CustomResourceDefinition` contains schemas of schemas). Nodes therefore name their children by
//! index into one arena instead of owning them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::cel::RuleSet;
use super::enumeration::Enumeration;
use super::formats::Format;
use super::pattern::Pattern;
use crate::builtin::table::When;

/// The place of a node in its arena.
pub(crate) type NodeId = u32;

/// The JSON type that a node asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Type {
    /// Any JSON value.
    #[default]
    Any,
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
    /// An integer or a string, as ports and percentages are.
    IntOrString,
    /// A string or a number: an amount such as `500m` or `2`.
    Quantity,
}

impl Type {
    /// The name that messages use.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::IntOrString => "integer or string",
            Self::Quantity => "quantity (a string or a number)",
        }
    }
}

/// How the entries of a list are told apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum ListType {
    /// Not declared; behaves like `Atomic`.
    #[default]
    Unset,
    Atomic,
    Set,
    /// Entries are objects, identified by these fields.
    Map(Vec<Box<str>>),
}

/// How strategic merge patch treats a field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MergeStrategy {
    /// Lists are merged instead of replaced.
    pub(crate) merge: bool,
    /// The field that identifies an entry of a merged list of objects.
    pub(crate) key: Option<Box<str>>,
    /// Fields that the patch doesn't name in `$retainKeys` are dropped.
    pub(crate) retain_keys: bool,
}

/// A named field of an object.
#[derive(Clone, Debug)]
pub(crate) struct Property {
    pub(crate) name: Box<str>,
    pub(crate) node: NodeId,
    pub(crate) default: Option<Arc<Value>>,
    /// What the default depends on.
    pub(crate) default_when: Option<When>,
    pub(crate) merge: MergeStrategy,
    /// An empty string counts as missing, as it does for Go's strings.
    pub(crate) empty_is_missing: bool,
}

/// What stands for fields that `properties` doesn't name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Additional {
    /// They are unknown and pruned.
    #[default]
    No,
    /// They are known and may be anything.
    Any,
    /// They follow this schema.
    Schema(NodeId),
}

/// Limits on a value beyond its type. Boxed away, since most nodes have none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checks {
    pub(crate) enumeration: Enumeration,
    pub(crate) format: Option<Format>,
    pub(crate) pattern: Option<Pattern>,
    pub(crate) minimum: Option<Bound>,
    pub(crate) maximum: Option<Bound>,
    pub(crate) multiple_of: Option<f64>,
    pub(crate) min_length: Option<u64>,
    pub(crate) max_length: Option<u64>,
    pub(crate) min_items: Option<u64>,
    pub(crate) max_items: Option<u64>,
    pub(crate) min_properties: Option<u64>,
    pub(crate) max_properties: Option<u64>,
    pub(crate) all_of: Vec<NodeId>,
    pub(crate) any_of: Vec<NodeId>,
    pub(crate) one_of: Vec<NodeId>,
    pub(crate) not: Option<NodeId>,
}

/// A numeric limit and whether it is itself outside.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    pub(crate) value: serde_json::Number,
    pub(crate) exclusive: bool,
}

/// One node of a compiled schema.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    pub(crate) ty: Type,
    pub(crate) nullable: bool,
    /// Sorted by name.
    pub(crate) properties: Vec<Property>,
    /// Which properties have a default, in the order in which they are filled in.
    pub(crate) defaulted: Vec<usize>,
    pub(crate) additional: Additional,
    pub(crate) items: Option<NodeId>,
    /// Stands in for `null` in a list or map; a missing field takes its property's default.
    pub(crate) default: Option<Arc<Value>>,
    pub(crate) required: Vec<Box<str>>,
    pub(crate) preserve_unknown: bool,
    pub(crate) embedded: bool,
    pub(crate) list: ListType,
    /// Entries of a set or map-like list must differ.
    pub(crate) unique: bool,
    pub(crate) atomic_map: bool,
    pub(crate) checks: Option<Box<Checks>>,
    pub(crate) rules: Option<Arc<RuleSet>>,
    /// Whether a node below this one has rules.
    pub(crate) rules_below: bool,
}

impl Node {
    /// Whether it says nothing but the type of a scalar.
    fn is_plain(&self) -> bool {
        let Self {
            ty,
            nullable: _,
            properties,
            defaulted: _,
            additional,
            items,
            default,
            required,
            preserve_unknown,
            embedded,
            list,
            // A scalar has no entries.
            unique: _,
            atomic_map,
            checks,
            rules,
            rules_below: _,
        } = self;
        let is_scalar = !matches!(ty, Type::Any | Type::Object | Type::Array);
        let is_unlimited = checks.is_none() && rules.is_none() && required.is_empty();
        let has_none_below =
            properties.is_empty() && *additional == Additional::No && items.is_none();
        let is_unmarked = !preserve_unknown && !embedded && !atomic_map;
        is_scalar
            && is_unlimited
            && has_none_below
            && is_unmarked
            && default.is_none()
            && *list == ListType::Unset
    }

    /// The property of this name.
    pub(crate) fn property(&self, name: &str) -> Option<&Property> {
        let found = self
            .properties
            .binary_search_by(|property| property.name.as_ref().cmp(name));
        found.ok().and_then(|index| self.properties.get(index))
    }

    /// Sets the properties, in any order.
    pub(crate) fn set_properties(&mut self, mut properties: Vec<Property>) {
        properties.sort_by(|a, b| a.name.cmp(&b.name));
        self.properties = properties;
        let with_default = self.properties.iter().enumerate();
        let with_default = with_default.filter(|(_, property)| property.default.is_some());
        self.defaulted = with_default.map(|(index, _)| index).collect();
        // A condition looks either at what the author gave or at the result.
        self.defaulted.sort_by_key(|index| {
            match self
                .properties
                .get(*index)
                .and_then(|property| property.default_when.as_ref())
            {
                Some(When::Absent(_)) => 0,
                None => 1,
                Some(When::Is(..)) => 2,
            }
        });
    }

    /// Adds a property unless there is one of this name.
    pub(crate) fn add_property(&mut self, name: &str, node: NodeId) {
        if self.property(name).is_none() {
            let mut properties = std::mem::take(&mut self.properties);
            properties.push(Property::plain(name, node));
            self.set_properties(properties);
        }
    }

    /// The node that describes the field of this name, declared or additional.
    pub(crate) fn field(&self, name: &str) -> Option<NodeId> {
        match (self.property(name), self.additional) {
            (Some(property), _) => Some(property.node),
            (None, Additional::Schema(node)) => Some(node),
            (None, Additional::Any | Additional::No) => None,
        }
    }
}

impl Property {
    /// A property without default or merge strategy.
    pub(crate) fn plain(name: &str, node: NodeId) -> Self {
        Self {
            name: name.into(),
            node,
            default: None,
            default_when: None,
            merge: MergeStrategy::default(),
            empty_is_missing: false,
        }
    }
}

/// The nodes of one or more schemas.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arena {
    nodes: Vec<Node>,
    /// Nodes that say nothing but a type are there once for each type: most nodes are such.
    plain: BTreeMap<(Type, bool), NodeId>,
    /// Whether a node takes more to check than its value is large.
    is_costly: bool,
}

/// What an unknown index reads as: a value about which nothing is known.
static ANYTHING: Node = Node {
    ty: Type::Any,
    nullable: true,
    properties: Vec::new(),
    defaulted: Vec::new(),
    additional: Additional::Any,
    items: None,
    default: None,
    required: Vec::new(),
    preserve_unknown: true,
    embedded: false,
    list: ListType::Unset,
    unique: false,
    atomic_map: false,
    checks: None,
    rules: None,
    rules_below: false,
};

impl Arena {
    /// The node at this place.
    pub(crate) fn get(&self, id: NodeId) -> &Node {
        self.nodes.get(id as usize).unwrap_or(&ANYTHING)
    }

    /// The node at this place, to change it.
    pub(crate) fn get_mut(&mut self, id: NodeId) -> Option<&mut Node> {
        self.nodes.get_mut(id as usize)
    }

    /// Adds a node and returns its place, which scalars without limits share with others of their type.
    pub(crate) fn add(&mut self, node: Node) -> NodeId {
        if !node.is_plain() {
            return self.push(node);
        }
        let kind = (node.ty, node.nullable);
        if let Some(id) = self.plain.get(&kind) {
            return *id;
        }
        let id = self.push(node);
        self.plain.insert(kind, id);
        id
    }

    /// Whether checking a value may take much more than its size says: there are rules, patterns, junctors or large enums.
    pub(crate) fn is_costly(&self) -> bool {
        self.is_costly
    }

    /// Says that no more nodes are added, and gives back the memory that was kept for more.
    pub(crate) fn complete(&mut self) {
        self.is_costly = self.nodes.iter().any(|node| {
            let checks = node.checks.as_deref();
            node.rules.is_some() || checks.is_some_and(Checks::is_costly)
        });
        self.nodes.shrink_to_fit();
    }

    fn push(&mut self, node: Node) -> NodeId {
        let id = NodeId::try_from(self.nodes.len()).unwrap_or(NodeId::MAX);
        self.nodes.push(node);
        id
    }

    /// Copies a node of another arena with everything it refers to.
    pub(crate) fn import(&mut self, from: &Arena, id: NodeId) -> NodeId {
        let mut copied = BTreeMap::new();
        self.import_node(from, id, &mut copied)
    }

    fn import_node(
        &mut self,
        from: &Arena,
        id: NodeId,
        copied: &mut BTreeMap<NodeId, NodeId>,
    ) -> NodeId {
        if let Some(here) = copied.get(&id) {
            return *here;
        }
        let mut node = from.get(id).clone();
        let here = self.push(Node::default());
        copied.insert(id, here);
        for property in &mut node.properties {
            property.node = self.import_node(from, property.node, copied);
        }
        if let Additional::Schema(child) = node.additional {
            node.additional = Additional::Schema(self.import_node(from, child, copied));
        }
        node.items = node
            .items
            .map(|child| self.import_node(from, child, copied));
        if let Some(slot) = self.get_mut(here) {
            *slot = node;
        }
        here
    }
}
