//! Catalog: where versions of operators come from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Where versions come from. Exactly one of `inline`, `directory`, `configMap` and `http` is given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CatalogSpec {
    /// What people see.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// A package that several catalogs offer comes from the one with the highest priority.
    pub priority: i32,
    /// Documents in any of the formats.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inline: Vec<Value>,
    /// A directory or a file below the server's directory of catalogs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<Directory>,
    /// Each key of a ConfigMap is a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map: Option<ConfigMapSource>,
    /// One file from a web server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpSource>,
    /// How often a source that doesn't tell of changes is read again, for instance `30s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<String>,
}

/// Files on the server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Directory {
    /// Relative to the directory that `landform serve --catalogs` names.
    pub path: String,
}

/// A ConfigMap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ConfigMapSource {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// A file of a web server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct HttpSource {
    /// `http://…` or `https://…`.
    pub url: String,
    /// What the content must be: `sha256:` and 64 hexadecimal digits.
    pub digest: String,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CatalogStatus {
    /// The generation that this is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Where it stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<CatalogPhase>,
    /// Why it can't be read, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Of what was read: moves when the content does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// When the present content was first read (RFC 3339).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_change_time: Option<String>,
    /// How many packages there are.
    pub packages: i64,
    /// How many versions there are.
    pub versions: i64,
    /// How many problems were found.
    pub problem_count: i64,
    /// What is wrong with the content; the first hundred.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<CatalogProblem>,
}

/// Where a catalog stands.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum CatalogPhase {
    /// Its content is known.
    Ready,
    /// Its content is what was read last; it can't be read at present.
    Stale,
    /// It was never read.
    Failed,
}

/// Something that is wrong with a part of the content.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase", default)]
pub struct CatalogProblem {
    /// Where: a file, with a line or document as far as one is known.
    pub file: String,
    /// The package, as far as one is known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub package: String,
    /// What is wrong, and what follows from it.
    pub reason: String,
    /// Nothing was left out: only something that Landform doesn't do, or that is better said otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub warning: bool,
}

/// A catalog: spec and status without the metadata.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Catalog {
    /// Where versions come from.
    pub spec: CatalogSpec,
    /// What was found.
    pub status: CatalogStatus,
}
