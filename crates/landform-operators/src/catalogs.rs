//! What all catalogs offer, in memory. It is read anew when Landform starts; nothing here must survive.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use landform_api::catalog::CatalogSelector;
use landform_api::{GroupKind, GroupVersionKind};
use landform_catalog::index::CatalogInput;
use landform_catalog::model::Manifest;
use landform_catalog::{Index, Package, Payload, graph};
use parking_lot::RwLock;
use semver::Version;
use serde_json::Value;

/// All catalogs.
#[derive(Default)]
pub(crate) struct Catalogs {
    state: RwLock<State>,
}

#[derive(Default)]
struct State {
    index: Index,
    /// Catalogs that exist, and whether an attempt to read them has come to an end.
    known: BTreeMap<String, Known>,
}

#[derive(Default)]
struct Known {
    read: bool,
    labels: BTreeMap<String, String>,
}

impl Catalogs {
    /// A catalog exists.
    pub(crate) fn seen(&self, name: &str, labels: BTreeMap<String, String>) {
        let mut state = self.state.write();
        state.known.entry(name.to_owned()).or_default().labels = labels;
    }

    /// A catalog is gone. Returns the packages that this may change something for.
    pub(crate) fn gone(&self, name: &str) -> BTreeSet<Arc<str>> {
        let mut state = self.state.write();
        state.known.remove(name);
        state.index.remove(name)
    }

    /// A catalog was read. Returns the packages that this may change something for, and whether it is the
    /// first time.
    pub(crate) fn read(&self, catalog: CatalogInput) -> (BTreeSet<Arc<str>>, bool) {
        let mut state = self.state.write();
        let known = state.known.entry(catalog.name.to_string()).or_default();
        let first = !std::mem::replace(&mut known.read, true);
        (state.index.insert(catalog), first)
    }

    /// A catalog can't be read. Returns whether this was the first attempt: others waited for it.
    pub(crate) fn failed(&self, name: &str) -> bool {
        let mut state = self.state.write();
        let known = state.known.entry(name.to_owned()).or_default();
        !std::mem::replace(&mut known.read, true)
    }

    /// Catalogs that count and were never read, by name.
    pub(crate) fn unread(&self, selector: Option<&CatalogSelector>) -> Vec<String> {
        let state = self.state.read();
        let counts = |name: &String, known: &Known| {
            let Some(selector) = selector else {
                return true;
            };
            let named = selector.names.is_empty() || selector.names.contains(name);
            let mut labels = selector.match_labels.iter();
            named && labels.all(|(key, value)| known.labels.get(key) == Some(value))
        };
        let unread = state.known.iter().filter(|(_, known)| !known.read);
        unread
            .filter(|(name, known)| counts(name, known))
            .map(|(name, _)| name.clone())
            .collect()
    }

    /// Looks something up. Must be quick: readers of catalogs wait meanwhile.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&Index) -> T) -> T {
        look(&self.state.read().index)
    }

    /// The package as it is for somebody for whom these catalogs count.
    pub(crate) fn package(
        &self,
        name: &str,
        selector: Option<&CatalogSelector>,
    ) -> Option<Arc<Package>> {
        self.look(|index| Some(index.offering(name, selector).ok()?.package.clone()))
    }

    /// The manifest of a version.
    pub(crate) fn manifest(&self, package: &str, version: &Version) -> Option<Arc<Manifest>> {
        let package = self.package(package, None)?;
        match &graph::find(&package, version)?.payload {
            Payload::Manifest(manifest) => Some(manifest.clone()),
            Payload::Facts | Payload::Image(_) => None,
        }
    }

    /// The name of the definition that a package brings for a kind, if the catalog holds it.
    pub(crate) fn definition_name(&self, package: &str, kind: &GroupVersionKind) -> Option<String> {
        let offered = self.package(package, None)?;
        let mut bundles = offered.bundles.iter().rev();
        let bundle = bundles.find(|bundle| bundle.owned.contains(kind))?;
        let Payload::Manifest(manifest) = &bundle.payload else {
            return None;
        };
        let definition = definition_of(manifest, &kind.clone().into())?;
        definition["metadata"]["name"]
            .as_str()
            .map(ToOwned::to_owned)
    }

    /// The package that brings a kind, if one does: of several the one whose catalog has the highest priority,
    /// then the first by name.
    pub(crate) fn owner(&self, kind: &GroupVersionKind) -> Option<String> {
        self.look(|index| {
            let owners = index.owners(kind, None);
            let owner = owners.min_by_key(|found| -i64::from(found.offering.priority));
            owner.map(|found| found.offering.package.name.to_string())
        })
    }
}

/// The definition of a kind among those of a manifest.
pub(crate) fn definition_of(manifest: &Manifest, kind: &GroupKind) -> Option<Value> {
    let definitions = manifest.definitions.iter();
    let mut parsed = definitions.filter_map(|text| serde_json::from_str::<Value>(text).ok());
    parsed.find(|found| {
        found["spec"]["group"] == kind.group.as_str()
            && found["spec"]["names"]["kind"] == kind.kind.as_str()
    })
}
