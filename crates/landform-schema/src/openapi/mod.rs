//! The types as OpenAPI publishes them, so that `kubectl explain`, `apply` and `diff` work.
//!
//! `builtin` writes the named types of our tables, `custom` those of custom resources. Version 2
//! knows neither unions nor null, so a type that uses them is published there as less than it is.

mod builtin;
mod custom;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde_json::{Value, json};

pub use custom::{CustomResourceNames, custom_type_name, custom_types_v2, custom_types_v3};

use crate::Schema;
use crate::schema::Source;

/// The name of the type of all objects' metadata.
const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
/// The name of the type of all lists' metadata.
const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";

static V2: LazyLock<BTreeMap<String, Value>> = LazyLock::new(|| builtin::types(Dialect::V2));
static V3: LazyLock<BTreeMap<String, Value>> = LazyLock::new(|| builtin::types(Dialect::V3));

/// The version of OpenAPI that a type is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    V2,
    V3,
}

impl Dialect {
    /// The address of a named type.
    fn address(self, name: &str) -> String {
        match self {
            Self::V2 => format!("#/definitions/{name}"),
            Self::V3 => format!("#/components/schemas/{name}"),
        }
    }

    /// A reference to a named type, alone.
    fn reference(self, name: &str) -> Value {
        json!({ "$ref": self.address(name) })
    }

    /// A reference that carries a description: version 3 ignores what stands beside a `$ref`.
    fn described_reference(self, name: &str, description: &str) -> Value {
        match self {
            Self::V2 => json!({ "description": description, "$ref": self.address(name) }),
            Self::V3 => json!({ "description": description, "allOf": [self.reference(name)] }),
        }
    }
}

/// The built-in types for `definitions` of `/openapi/v2`, by name.
#[must_use]
pub fn v2_definitions() -> &'static BTreeMap<String, Value> {
    &V2
}

/// The built-in types for `components.schemas` of `/openapi/v3`, by name.
#[must_use]
pub fn v3_schemas() -> &'static BTreeMap<String, Value> {
    &V3
}

/// The built-in types that the document of one group and version needs: its kinds, their lists and
/// everything they refer to.
#[must_use]
pub fn v3_schemas_for(group: &str, version: &str) -> BTreeMap<&'static str, &'static Value> {
    let mut todo: Vec<&'static str> = builtin::roots(group, version);
    let mut found = BTreeSet::new();
    while let Some(name) = todo.pop() {
        if found.insert(name)
            && let Some(schema) = V3.get(name)
        {
            references(schema, &mut todo);
        }
    }
    found
        .into_iter()
        .filter_map(|name| V3.get(name).map(|schema| (name, schema)))
        .collect()
}

/// The types of `ObjectMeta` and `ListMeta` with all they refer to, which the document of a custom
/// resource needs.
#[must_use]
pub fn v3_schemas_of_metadata() -> BTreeMap<&'static str, &'static Value> {
    v3_schemas_for("meta.k8s.io", "v1")
}

/// Collects the names that a schema refers to.
fn references(schema: &'static Value, names: &mut Vec<&'static str>) {
    match schema {
        Value::Object(map) => {
            for (key, value) in map {
                match (key.as_str(), value) {
                    ("$ref", Value::String(address)) => {
                        names.extend(address.rsplit('/').next());
                    }
                    _ => references(value, names),
                }
            }
        }
        Value::Array(entries) => {
            for entry in entries {
                references(entry, names);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

impl Schema {
    /// The schema as published in `/openapi/v3`; metadata is a reference to `ObjectMeta`.
    ///
    /// For a built-in kind this is a reference to its named type.
    #[must_use]
    pub fn to_open_api_v3(&self) -> Value {
        match &self.source {
            Source::Custom(schema) => custom::published(schema, Dialect::V3),
            Source::Builtin(name) => Dialect::V3.reference(name),
        }
    }

    /// The schema as published in `/openapi/v2`; what that version can't say is left out.
    #[must_use]
    pub fn to_open_api_v2(&self) -> Value {
        match &self.source {
            Source::Custom(schema) => custom::published(schema, Dialect::V2),
            Source::Builtin(name) => Dialect::V2.reference(name),
        }
    }
}
