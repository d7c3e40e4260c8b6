//! The compiled schema of one version of a kind, and what can be done with it.
//!
//! Reading order: [`node`] (what a schema is made of), [`parse`] with [`checks`] and
//! [`rules_of_lists`], [`object_fields`] and [`value_only`] (from `openAPIV3Schema`), [`enumeration`] (what enums allow), then the walks over objects: [`prune`],
//! [`default`], [`validate`] with [`unique`] and [`correlate`], and [`cel`].

pub(crate) mod cel;
mod checks;
mod correlate;
mod cut;
pub(crate) mod default;
pub(crate) mod enumeration;
pub(crate) mod formats;
pub(crate) mod node;
mod object_fields;
pub(crate) mod parse;
pub(crate) mod pattern;
mod place;
mod prune;
mod rules_of_lists;
mod unique;
mod validate;
mod value_only;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use landform_api::budget::Exceeded;
use landform_api::{FieldError, FieldReason};
use serde_json::Value;

use node::{Arena, NodeId};
use parse::{Parser, PendingDefault};

/// The compiled schema of one version of a kind; its root describes whole objects.
///
/// Cheap to clone. One engine serves custom resources and built-in kinds alike.
#[derive(Clone, Debug)]
pub struct Schema {
    pub(crate) arena: Arc<Arena>,
    pub(crate) root: NodeId,
    pub(crate) source: Source,
}

/// Where a schema came from, which is what it is published as.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// The `openAPIV3Schema` of a custom resource definition, as text: as a value it takes twenty times as much.
    Custom(Arc<str>),
    /// A type of the built-in tables.
    Builtin(&'static str),
}

impl Schema {
    /// Compiles the `openAPIV3Schema` of a version of a custom resource definition.
    ///
    /// # Errors
    /// Everything in it that a structural schema may not say; paths start at the schema.
    pub fn from_crd(open_api_v3_schema: &Value) -> Result<Self, Vec<FieldError>> {
        let mut parser = Parser::new();
        let root = parser.root(open_api_v3_schema);
        let Parser {
            mut arena,
            mut errors,
            defaults,
            ..
        } = parser;
        if errors.is_empty() {
            let mut added = default::Added::default();
            errors.extend(
                defaults
                    .iter()
                    .flat_map(|default| check_default(&arena, default, &mut added)),
            );
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        arena.complete();
        let source = Source::Custom(open_api_v3_schema.to_string().into());
        Ok(Self {
            arena: Arc::new(arena),
            root,
            source,
        })
    }

    /// Removes the fields that the schema doesn't know and returns the paths (`spec.a[0].b`) of the first hundred.
    pub fn prune(&self, object: &mut Value) -> Vec<String> {
        prune::prune(&self.arena, self.root, object)
    }

    /// Fills in defaults; a null where the schema doesn't allow one counts as missing.
    ///
    /// # Errors
    /// What the defaults add too much of: more than an object may have.
    pub fn apply_defaults(&self, object: &mut Value) -> Result<(), Exceeded> {
        default::apply(&self.arena, self.root, object)
    }

    /// What is wrong with an object: the first hundred problems.
    ///
    /// With `old`, the object as it was before an update, transition rules are checked and parts
    /// that didn't change are left alone.
    #[must_use]
    pub fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let errors = validate::validate(&self.arena, self.root, object, old, "");
        cel::check_rules(&self.arena, self.root, object, old, errors)
    }

    /// Whether checking an object may take much more than its size says: the schema has rules, patterns, junctors or large
    /// enums.
    #[must_use]
    pub fn is_costly(&self) -> bool {
        self.arena.is_costly()
    }

    /// Whether fields that the schema doesn't name are kept at the top of an object.
    #[must_use]
    pub fn preserves_unknown_fields_at_root(&self) -> bool {
        self.arena.get(self.root).preserve_unknown
    }
}

/// A default must be a value that an author could have written.
fn check_default(
    arena: &Arena,
    default: &PendingDefault,
    added: &mut default::Added,
) -> Vec<FieldError> {
    let mut value = Value::clone(&default.value);
    let unknown = prune::prune(arena, default.node, &mut value);
    let mut errors: Vec<FieldError> = unknown
        .iter()
        .map(|field| {
            let detail = format!("must not have unknown fields, but has {field}");
            FieldError::with_value(&default.path, FieldReason::Invalid, &default.value, detail)
        })
        .collect();
    if let Err(exceeded) = default::fill(arena, default.node, &mut value, added) {
        let detail = format!(
            "is too large together with the defaults below it and those of the fields before: {exceeded}"
        );
        errors.push(FieldError::new(&default.path, FieldReason::Invalid, detail));
        return errors;
    }
    errors.extend(validate::validate(
        arena,
        default.node,
        &value,
        None,
        default.path.as_str(),
    ));
    errors
}
