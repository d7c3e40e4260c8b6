//! The kinds that are there from the start, as tables of our own.
//!
//! The types are written down in `*.schema` files (see `table.rs`), which list every field of the
//! published API of version 1.34 with its type, list keys, defaults and a short description. They
//! are read once, when a built-in kind is first asked for. A test compares them with the published
//! types, so that a field can't be missing.

mod compile;
pub(crate) mod table;
#[cfg(test)]
mod tests;

use std::sync::{Arc, LazyLock};

use serde_json::Value;

use compile::Compiled;
use table::{Role, Tables};

pub use table::TableError;

use crate::openapi;
use crate::schema::node::{Arena, NodeId};
use crate::schema::{Schema, Source};

/// The files, by name.
static FILES: &[(&str, &str)] = &[
    ("meta.schema", include_str!("meta.schema")),
    ("core_pod.schema", include_str!("core_pod.schema")),
    ("core_volume.schema", include_str!("core_volume.schema")),
    ("core_cluster.schema", include_str!("core_cluster.schema")),
    ("apps.schema", include_str!("apps.schema")),
    ("batch.schema", include_str!("batch.schema")),
    ("access.schema", include_str!("access.schema")),
    ("apiextensions.schema", include_str!("apiextensions.schema")),
    ("network.schema", include_str!("network.schema")),
    ("small.schema", include_str!("small.schema")),
];

static TABLES: LazyLock<Result<Tables, TableError>> = LazyLock::new(|| Tables::parse(FILES));
static NO_TABLES: LazyLock<Tables> = LazyLock::new(Tables::default);
static COMPILED: LazyLock<Compiled> = LazyLock::new(|| compile::compile(tables()));
static KINDS: LazyLock<Vec<BuiltinKind>> = LazyLock::new(all_kinds);

/// Where the scale subresource finds its numbers, as paths like `.spec.replicas`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScalePaths {
    /// The number that is wanted.
    pub spec_replicas: &'static str,
    /// The number that is there.
    pub status_replicas: &'static str,
}

/// A kind that is there from the start.
#[derive(Clone, Debug)]
pub struct BuiltinKind {
    /// The API group; empty for the core group.
    pub group: &'static str,
    /// The version.
    pub version: &'static str,
    /// The kind, `Deployment`.
    pub kind: &'static str,
    /// The kind of its lists, `DeploymentList`.
    pub list_kind: String,
    /// The resource, `deployments`.
    pub plural: &'static str,
    /// The resource in the singular, `deployment`.
    pub singular: &'static str,
    /// What people type instead of the resource.
    pub short_names: &'static [&'static str],
    /// Groups of resources, such as `all`.
    pub categories: &'static [&'static str],
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Whether it has a status subresource.
    pub status: bool,
    /// Where its scale subresource finds its numbers, if it has one.
    pub scale: Option<ScalePaths>,
    /// The schema of its objects.
    pub schema: Arc<Schema>,
    /// The name of its type in the OpenAPI documents, `io.k8s.api.apps.v1.Deployment`.
    pub definition: &'static str,
}

/// All built-in kinds, in no particular order.
#[must_use]
pub fn kinds() -> &'static [BuiltinKind] {
    &KINDS
}

/// The built-in kind of this name.
#[must_use]
pub fn find(group: &str, version: &str, kind: &str) -> Option<&'static BuiltinKind> {
    kinds()
        .iter()
        .find(|one| one.kind == kind && one.group == group && one.version == version)
}

/// A named type as the OpenAPI documents publish it.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// For `/openapi/v2`; refers to others as `#/definitions/NAME`.
    pub v2: &'static Value,
    /// For `/openapi/v3`; refers to others as `#/components/schemas/NAME`.
    pub v3: &'static Value,
}

/// The named types of the OpenAPI documents, by name.
pub fn definitions() -> impl Iterator<Item = (&'static str, Definition)> {
    let v3 = openapi::v3_schemas();
    let both = move |(name, v2): (&'static String, &'static Value)| {
        v3.get(name)
            .map(|v3| (name.as_str(), Definition { v2, v3 }))
    };
    openapi::v2_definitions().iter().filter_map(both)
}

/// Whether the embedded tables could be read; a build in which they can't serves no built-in kinds.
///
/// # Errors
/// The first line that couldn't be read.
pub fn check_tables() -> Result<(), TableError> {
    TABLES.as_ref().map(|_| ()).map_err(Clone::clone)
}

/// The schema of a built-in type that isn't a stored kind, such as `DeleteOptions`.
#[must_use]
pub fn schema_of(definition: &str) -> Option<Schema> {
    let def = tables().get(definition)?;
    let root = COMPILED.roots.get(definition).copied()?;
    Some(Schema {
        arena: COMPILED.arena.clone(),
        root,
        source: Source::Builtin(&def.name),
    })
}

/// The parsed tables; empty when they couldn't be read, see [`check_tables`].
pub(crate) fn tables() -> &'static Tables {
    TABLES
        .as_ref()
        .unwrap_or_else(|_| LazyLock::force(&NO_TABLES))
}

/// The nodes of `ObjectMeta`, which every object has.
pub(crate) fn object_meta() -> (&'static Arena, NodeId) {
    let name = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
    (
        &COMPILED.arena,
        COMPILED.roots.get(name).copied().unwrap_or(NodeId::MAX),
    )
}

fn all_kinds() -> Vec<BuiltinKind> {
    let kind = |def: &'static table::TypeDef| {
        let Role::Kind(kind) = &def.role else {
            return None;
        };
        let name = def.name.rsplit('.').next()?;
        Some(BuiltinKind {
            group: def.group,
            version: def.version,
            kind: name,
            list_kind: format!("{name}List"),
            plural: kind.plural,
            singular: &kind.singular,
            short_names: &kind.short_names,
            categories: &kind.categories,
            namespaced: kind.namespaced,
            status: kind.status,
            scale: kind
                .scale
                .map(|(spec_replicas, status_replicas)| ScalePaths {
                    spec_replicas,
                    status_replicas,
                }),
            schema: Arc::new(schema_of(&def.name)?),
            definition: &def.name,
        })
    };
    tables().types.iter().filter_map(kind).collect()
}
