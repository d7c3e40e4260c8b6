//! The facts of a public catalog, as lines of JSON: what tests and the benchmark walk and resolve.
//!
//! One file has a line for each bundle, the other a line for each package, which says how the package's
//! graph is made: as written, or from the order of versions.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher as _};
use std::sync::Arc;

use landform_api::GroupVersionKind;
use landform_api::catalog::source::CatalogProblem;
use semver::Version;
use serde::Deserialize;

use crate::edges::{Edges, Replaces};
use crate::model::{Bundle, Channel, Content, Entry, Package, Payload, RequiredPackage};
use crate::range::Range;

/// Why the facts can't be read at all.
#[derive(Debug, thiserror::Error)]
#[error("line {line} of the {file}")]
pub struct FactsError {
    file: &'static str,
    line: usize,
    source: serde_json::Error,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BundleFacts<'a> {
    #[serde(borrow)]
    package: Cow<'a, str>,
    #[serde(borrow)]
    dir: Cow<'a, str>,
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    version: Cow<'a, str>,
    #[serde(borrow)]
    channels: Vec<Cow<'a, str>>,
    #[serde(borrow, default)]
    default_channel: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    replaces: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    skips: Vec<Cow<'a, str>>,
    #[serde(borrow, default)]
    skip_range: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "ownedCRDs")]
    owned: Vec<Cow<'a, str>>,
    #[serde(borrow, default, rename = "requiredCRDs")]
    required: Vec<Cow<'a, str>>,
    #[serde(borrow, default)]
    dependencies: Vec<Dependency<'a>>,
    #[serde(borrow, default)]
    min_kube_version: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Dependency<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    value: DependencyValue<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DependencyValue<'a> {
    #[serde(borrow, default)]
    package_name: Cow<'a, str>,
    #[serde(borrow, default)]
    version: Cow<'a, str>,
    #[serde(borrow, default)]
    group: Cow<'a, str>,
    #[serde(borrow, default)]
    kind: Cow<'a, str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PackageFacts {
    package: String,
    #[serde(default)]
    update_graph: Option<String>,
}

/// How a package's graph is made. In each of them a bundle's range counts as written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// As the bundles say.
    Written,
    /// Each version replaces the next lower one of its channel.
    Versions,
    /// Only the highest patch of each minor version is in the chain, and it skips the lower ones.
    Minors,
}

/// A bundle with what only channels keep.
struct Read {
    bundle: Bundle,
    channels: Vec<Arc<str>>,
    default_channel: Option<Arc<str>>,
    edges: Edges,
}

/// Reads both files. A bundle that makes no sense is left out and is one of the problems.
///
/// # Errors
/// When a line is no JSON object of the expected form.
pub fn content(bundles: &str, packages: &str) -> Result<Content, FactsError> {
    let mut modes = BTreeMap::new();
    for (number, line) in (1..).zip(packages.lines()) {
        let facts: PackageFacts = serde_json::from_str(line).map_err(|source| FactsError {
            file: "packages",
            line: number,
            source,
        })?;
        let mode = match facts.update_graph.as_deref() {
            Some("semver-mode" | "semver") => Mode::Versions,
            Some("semver-skippatch") => Mode::Minors,
            Some(_) | None => Mode::Written,
        };
        modes.insert(facts.package, mode);
    }
    let mut content = Content::default();
    let mut names = Names::default();
    let mut all: BTreeMap<Arc<str>, (Vec<Read>, DefaultHasher)> = BTreeMap::new();
    for (number, line) in (1..).zip(bundles.lines()) {
        let facts: BundleFacts<'_> = serde_json::from_str(line).map_err(|source| FactsError {
            file: "bundles",
            line: number,
            source,
        })?;
        let package = names.get(&facts.package);
        let (reads, hasher) = all.entry(package).or_default();
        hasher.write(line.as_bytes());
        match read(&facts, &mut names) {
            Ok(read) => reads.push(read),
            Err(reason) => content.problems.push(CatalogProblem {
                file: facts.dir.into_owned(),
                package: facts.package.into_owned(),
                reason,
                warning: false,
            }),
        }
    }
    for (name, (reads, hasher)) in all {
        let mode = modes.get(&*name).copied().unwrap_or(Mode::Written);
        let package = package(&name, reads, mode, hasher.finish());
        content.packages.insert(name, Arc::new(package));
    }
    content.problems.sort();
    Ok(content)
}

/// Names that many bundles share, each kept once.
#[derive(Default)]
struct Names {
    known: std::collections::BTreeSet<Arc<str>>,
}

impl Names {
    fn get(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.known.get(text) {
            return known.clone();
        }
        let name: Arc<str> = text.into();
        self.known.insert(name.clone());
        name
    }
}

fn read(facts: &BundleFacts<'_>, names: &mut Names) -> Result<Read, String> {
    let version = parse_version(&facts.version)?;
    let range = |text: &str| Range::parse(text).map_err(|error| error.to_string());
    let mut required = Vec::new();
    for text in &facts.required {
        required.push(kind(text)?);
    }
    let mut packages = Vec::new();
    for dependency in &facts.dependencies {
        let value = &dependency.value;
        if dependency.kind == "olm.package" {
            packages.push(RequiredPackage {
                package: names.get(&value.package_name),
                range: range(&value.version)?,
            });
        } else if dependency.kind == "olm.gvk" {
            let kind = GroupVersionKind {
                group: value.group.to_string(),
                version: value.version.to_string(),
                kind: value.kind.to_string(),
            };
            if !required.contains(&kind) {
                required.push(kind);
            }
        }
    }
    let owned = facts.owned.iter().map(|text| kind(text));
    let min_server_version = facts.min_kube_version.as_deref().map(parse_version);
    Ok(Read {
        bundle: Bundle {
            name: facts.name.as_ref().into(),
            version,
            owned: owned.collect::<Result<_, _>>()?,
            required,
            packages,
            min_server_version: min_server_version.transpose()?,
            deprecation: None,
            file: facts.dir.as_ref().into(),
            payload: Payload::Facts,
        },
        channels: facts.channels.iter().map(|name| names.get(name)).collect(),
        default_channel: facts.default_channel.as_ref().map(|name| names.get(name)),
        edges: Edges {
            replaces: facts
                .replaces
                .as_deref()
                .map(|name| Replaces::Name(name.into())),
            skips: facts
                .skips
                .iter()
                .map(|name| name.as_ref().into())
                .collect(),
            skip_range: facts.skip_range.as_deref().map(range).transpose()?,
        },
    })
}

fn parse_version(text: &str) -> Result<Version, String> {
    let bare = text.strip_prefix('v').unwrap_or(text);
    Version::parse(bare).map_err(|error| format!("{text:?} is no version: {error}"))
}

fn kind(text: &str) -> Result<GroupVersionKind, String> {
    let mut parts = text.split('/').map(str::to_owned);
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(group), Some(kind), Some(version), None) => Ok(GroupVersionKind {
            group,
            version,
            kind,
        }),
        _ => Err(format!("{text:?} isn't a group, a kind and a version")),
    }
}

fn package(name: &Arc<str>, mut reads: Vec<Read>, mode: Mode, digest: u64) -> Package {
    reads.sort_by(|one, other| {
        let versions = one.bundle.version.cmp_precedence(&other.bundle.version);
        versions.then_with(|| one.bundle.name.cmp(&other.bundle.name))
    });
    let mut highest_first = reads.iter().rev();
    let default_channel = highest_first.find_map(|read| read.default_channel.clone());
    let mut members: BTreeMap<Arc<str>, Vec<usize>> = BTreeMap::new();
    for (place, read) in reads.iter().enumerate() {
        for channel in &read.channels {
            let places = members.entry(channel.clone()).or_default();
            if places.last() != Some(&place) {
                places.push(place);
            }
        }
    }
    let channels = members.into_iter().map(|(name, places)| {
        let entry = |(rank, place): (usize, &usize)| Entry {
            name: reads[*place].bundle.name.clone(),
            bundle: Some(*place),
            edges: match mode {
                Mode::Written => reads[*place].edges.clone(),
                Mode::Versions => by_versions(&reads, *place, &places[..rank]),
                Mode::Minors => by_minors(&reads, &places, rank),
            },
        };
        let channel = Channel {
            name: name.clone(),
            entries: places.iter().enumerate().map(entry).collect(),
            deprecation: None,
        };
        (name, channel)
    });
    Package {
        name: name.clone(),
        default_channel,
        channels: channels.collect(),
        bundles: reads.into_iter().map(|read| read.bundle).collect(),
        deprecation: None,
        digest,
    }
}

fn by_versions(reads: &[Read], own: usize, lower: &[usize]) -> Edges {
    let next = lower.last().map(|place| &reads[*place].bundle.name);
    Edges {
        replaces: next.map(|name| Replaces::Name(name.clone())),
        ..reads[own].edges.clone()
    }
}

fn by_minors(reads: &[Read], places: &[usize], rank: usize) -> Edges {
    let minor = |rank: usize| {
        let version = &reads[places[rank]].bundle.version;
        (version.major, version.minor)
    };
    let is_last = rank + 1 == places.len() || minor(rank + 1) != minor(rank);
    if !is_last {
        return Edges {
            replaces: None,
            ..reads[places[rank]].edges.clone()
        };
    }
    let first = (0..rank)
        .rev()
        .take_while(|lower| minor(*lower) == minor(rank))
        .last();
    let first = first.unwrap_or(rank);
    let skipped = places[first..rank].iter();
    Edges {
        skips: skipped
            .map(|place| reads[*place].bundle.name.clone())
            .collect(),
        ..by_versions(reads, places[rank], &places[..first])
    }
}
