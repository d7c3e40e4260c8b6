//! A catalog's content after it was read.
//!
//! A package has bundles, each one version, and channels, which say in which order bundles may follow each
//! other. A channel's entry may name a bundle that the catalog doesn't have: it still counts as a step that
//! can be replaced, but nothing can be installed from it.

use std::collections::BTreeMap;
use std::sync::Arc;

use landform_api::GroupVersionKind;
use landform_api::catalog::source::CatalogProblem;
use semver::Version;

use crate::edges::Edges;
use crate::range::Range;

/// All that one catalog offers. Problems are of packages or files that were left out, or of parts of them;
/// everything else can be used.
#[derive(Clone, Debug, Default)]
pub struct Content {
    /// By name.
    pub packages: BTreeMap<Arc<str>, Arc<Package>>,
    /// What is wrong, sorted by file.
    pub problems: Vec<CatalogProblem>,
}

/// An operator.
#[derive(Clone, Debug)]
pub struct Package {
    /// Its name.
    pub name: Arc<str>,
    /// The channel for those who name none.
    pub default_channel: Option<Arc<str>>,
    /// By name.
    pub channels: BTreeMap<Arc<str>, Channel>,
    /// From the lowest version to the highest; equal versions by name.
    pub bundles: Vec<Bundle>,
    /// What the catalog says against the whole package.
    pub deprecation: Option<String>,
    /// Moves when anything here does.
    pub digest: u64,
}

/// A line of versions of a package.
#[derive(Clone, Debug)]
pub struct Channel {
    /// Its name.
    pub name: Arc<str>,
    /// In the order of the catalog.
    pub entries: Vec<Entry>,
    /// What the catalog says against it.
    pub deprecation: Option<String>,
}

/// A bundle's place in a channel.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The bundle's name.
    pub name: Arc<str>,
    /// Where it is in [`Package::bundles`]; none when the catalog doesn't have it.
    pub bundle: Option<usize>,
    /// What it may replace.
    pub edges: Edges,
}

/// One version of an operator.
#[derive(Clone, Debug)]
pub struct Bundle {
    /// Its name, unique in its package.
    pub name: Arc<str>,
    /// Its version.
    pub version: Version,
    /// Kinds that it brings.
    pub owned: Vec<GroupVersionKind>,
    /// Kinds that it needs.
    pub required: Vec<GroupVersionKind>,
    /// Packages that it needs.
    pub packages: Vec<RequiredPackage>,
    /// The lowest version of the server that it works with.
    pub min_server_version: Option<Version>,
    /// What the catalog says against it.
    pub deprecation: Option<String>,
    /// The file that it is from.
    pub file: Arc<str>,
    /// What is installed.
    pub payload: Payload,
}

/// A package that a bundle needs.
#[derive(Clone, Debug, PartialEq)]
pub struct RequiredPackage {
    /// Its name.
    pub package: Arc<str>,
    /// The versions that will do.
    pub range: Range,
}

/// What is installed when a bundle is chosen.
#[derive(Clone, Debug, Default)]
pub enum Payload {
    /// The catalog has only facts: it can be resolved, not installed.
    #[default]
    Facts,
    /// It is in an image, which Landform doesn't read.
    Image(Arc<str>),
    /// All that is needed.
    Manifest(Arc<Manifest>),
}

/// What makes an OperatorVersion. Kept as text: most of a catalog is never installed.
#[derive(Clone, Debug, Default)]
pub struct Manifest {
    /// An OperatorVersionSpec without definitions, as JSON.
    pub spec: Box<str>,
    /// The CustomResourceDefinitions that it owns, as JSON.
    pub definitions: Vec<Box<str>>,
}

impl Package {
    /// A bundle by its name.
    #[must_use]
    pub fn bundle(&self, name: &str) -> Option<&Bundle> {
        self.bundles.iter().find(|bundle| &*bundle.name == name)
    }

    /// The channel that somebody means who names this one, or none.
    #[must_use]
    pub fn channel(&self, name: Option<&str>) -> Option<&Channel> {
        match name.or(self.default_channel.as_deref()) {
            Some(name) => self.channels.get(name),
            // Without a default there may be only one.
            None => {
                let mut channels = self.channels.values();
                channels.next().filter(|_| channels.next().is_none())
            }
        }
    }
}
