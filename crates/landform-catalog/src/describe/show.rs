//! One package in full, and what is wrong with catalogs.

use landform_api::GroupVersionKind;
use landform_api::catalog::source::CatalogProblem;
use serde::{Deserialize, Serialize};

use super::{Refusal, find};
use crate::edges::Replaces;
use crate::graph::{self, ProblemKind, Walk};
use crate::index::Index;
use crate::model::{Bundle, Channel, Package, Payload};

/// A package in full.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Shown {
    /// Its name.
    pub name: String,
    /// The catalog that it comes from.
    pub catalog: String,
    /// The channel for those who name none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_channel: Option<String>,
    /// What the catalog says against it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecation: Option<String>,
    /// By name.
    pub channels: Vec<ShownChannel>,
    /// From the highest to the lowest.
    pub versions: Vec<ShownVersion>,
    /// What is wrong with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<CatalogProblem>,
}

/// A channel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ShownChannel {
    /// Its name.
    pub name: String,
    /// What newcomers get.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// Other versions that nothing replaces.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_heads: Vec<String>,
    /// What the catalog says against it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecation: Option<String>,
    /// In the order of the catalog.
    pub entries: Vec<ShownEntry>,
}

/// A bundle's place in a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ShownEntry {
    /// The bundle's name.
    pub name: String,
    /// Its version; none when the catalog doesn't have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// What it replaces: a name, a version or a range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
    /// What it may replace as well, and nobody should go to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skips: Vec<String>,
    /// Versions that it may replace as well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skip_range: Option<String>,
}

/// A version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ShownVersion {
    /// The bundle's name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The channels that it is in.
    pub channels: Vec<String>,
    /// Kinds that it brings, as `KIND.GROUP/VERSION`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub owned: Vec<String>,
    /// Kinds that it needs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub required: Vec<String>,
    /// Packages that it needs, each with a range.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub packages: Vec<String>,
    /// The lowest version of the server that will do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_server_version: Option<String>,
    /// What the catalog says against it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecation: Option<String>,
    /// Whether the catalog has all that is needed to install it.
    pub installable: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_installable: Option<String>,
    /// The file that it is from.
    pub file: String,
}

/// What is wrong with all catalogs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Problems {
    /// How many packages there are.
    pub packages: usize,
    /// How many versions there are.
    pub versions: usize,
    /// How many problems cost something.
    pub errors: usize,
    /// How many don't.
    pub warnings: usize,
    /// All of them; errors first, then by catalog and file.
    pub problems: Vec<CatalogProblem>,
}

/// Shows a package.
///
/// # Errors
/// When there is none, or several catalogs claim it.
pub fn show(index: &Index, name: &str) -> Result<Shown, Refusal> {
    let offering = find::package(index, name)?;
    let package = offering.package;
    let of_catalog = index
        .catalogs()
        .filter(|catalog| catalog.name == *offering.catalog)
        .flat_map(|catalog| &catalog.content.problems)
        .filter(|problem| problem.package == name)
        .cloned();
    let problems = of_catalog.chain(of_graph(package)).collect();
    Ok(Shown {
        name: name.to_owned(),
        catalog: offering.catalog.to_string(),
        default_channel: package
            .channel(None)
            .map(|channel| channel.name.to_string()),
        deprecation: package.deprecation.clone(),
        channels: package
            .channels
            .values()
            .map(|channel| shown(package, channel))
            .collect(),
        versions: package
            .bundles
            .iter()
            .rev()
            .map(|bundle| version(package, bundle))
            .collect(),
        problems,
    })
}

/// What is wrong with all catalogs, and how much they hold.
#[must_use]
pub fn problems(index: &Index) -> Problems {
    let mut found = Problems::default();
    for catalog in index.catalogs() {
        found.packages += catalog.content.packages.len();
        for package in catalog.content.packages.values() {
            found.versions += package.bundles.len();
            found.problems.extend(of_graph(package));
        }
        found
            .problems
            .extend(catalog.content.problems.iter().cloned());
    }
    for tie in index.ties() {
        found.problems.push(CatalogProblem {
            reason: tie.to_string(),
            ..CatalogProblem::default()
        });
    }
    found
        .problems
        .sort_by(|a, b| (a.warning, a).cmp(&(b.warning, b)));
    found.warnings = found
        .problems
        .iter()
        .filter(|problem| problem.warning)
        .count();
    found.errors = found.problems.len() - found.warnings;
    found
}

/// What channels say in vain; entries without a bundle were told when they were read.
fn of_graph(package: &Package) -> impl Iterator<Item = CatalogProblem> + '_ {
    graph::problems(package)
        .into_iter()
        .filter(|problem| problem.kind != ProblemKind::AbsentBundle)
        .map(|problem| problem.in_catalog(package))
}

fn shown(package: &Package, channel: &Channel) -> ShownChannel {
    let heads = Walk::new(package, channel).heads();
    let mut heads = heads.iter().map(|bundle| bundle.version.to_string());
    ShownChannel {
        name: channel.name.to_string(),
        head: heads.next(),
        other_heads: heads.collect(),
        deprecation: channel.deprecation.clone(),
        entries: channel
            .entries
            .iter()
            .map(|entry| ShownEntry {
                name: entry.name.to_string(),
                version: entry
                    .bundle
                    .and_then(|number| package.bundles.get(number))
                    .map(|bundle| bundle.version.to_string()),
                replaces: entry
                    .edges
                    .replaces
                    .as_ref()
                    .map(|replaces| match replaces {
                        Replaces::Name(name) => name.to_string(),
                        Replaces::Version(version) => version.to_string(),
                        Replaces::Range(range) => range.to_string(),
                    }),
                skips: entry.edges.skips.iter().map(ToString::to_string).collect(),
                skip_range: entry.edges.skip_range.as_ref().map(ToString::to_string),
            })
            .collect(),
    }
}

fn version(package: &Package, bundle: &Bundle) -> ShownVersion {
    let channels = package.channels.values().filter(|channel| {
        let mut entries = channel.entries.iter();
        entries.any(|entry| entry.name == bundle.name)
    });
    let not_installable = match &bundle.payload {
        Payload::Manifest(_) => None,
        Payload::Image(image) => Some(format!("its objects are in the image {image}")),
        Payload::Facts => Some("the catalog doesn't have its objects".to_owned()),
    };
    ShownVersion {
        name: bundle.name.to_string(),
        version: bundle.version.to_string(),
        channels: channels.map(|channel| channel.name.to_string()).collect(),
        owned: bundle.owned.iter().map(kind).collect(),
        required: bundle.required.iter().map(kind).collect(),
        packages: bundle
            .packages
            .iter()
            .map(|needed| format!("{} {}", needed.package, needed.range))
            .collect(),
        min_server_version: bundle.min_server_version.as_ref().map(ToString::to_string),
        deprecation: bundle.deprecation.clone(),
        installable: not_installable.is_none(),
        not_installable,
        file: bundle.file.to_string(),
    }
}

fn kind(kind: &GroupVersionKind) -> String {
    format!("{}.{}/{}", kind.kind, kind.group, kind.version)
}
