//! Which kinds the server has: the built-in ones, and one for each CustomResourceDefinition.
//!
//! Readers take a snapshot; a change of definitions publishes a new one. Nothing else in the server
//! knows whether a kind is built in.

mod builtin;
mod custom;
mod resource;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arc_swap::ArcSwap;

pub use custom::{Definition, DefinitionNames, from_definition, stored_definition};
pub use resource::{Origin, Presentation, Resource, SECRETS, Scale};

/// The kinds of the server.
pub struct Registry {
    state: ArcSwap<Kinds>,
}

/// Groups with their versions in order of preference, each with its resources.
pub type Groups = BTreeMap<String, Vec<(String, Vec<Arc<Resource>>)>>;

/// One consistent set of kinds.
pub struct Kinds {
    by_path: HashMap<String, Arc<Resource>>,
    /// Group → its versions in order of preference → resources by plural.
    groups: Groups,
    definitions: BTreeMap<String, Arc<Definition>>,
}

impl Registry {
    /// Only the built-in kinds.
    #[must_use]
    pub fn builtin() -> Self {
        Self {
            state: ArcSwap::from_pointee(Kinds::new(BTreeMap::new())),
        }
    }

    /// The present kinds.
    #[must_use]
    pub fn kinds(&self) -> Arc<Kinds> {
        self.state.load_full()
    }

    /// The kind that a path names.
    #[must_use]
    pub fn find(&self, group: &str, version: &str, plural: &str) -> Option<Arc<Resource>> {
        self.state.load().find(group, version, plural)
    }

    /// Adds or replaces the kinds of one definition.
    pub fn put(&self, definition: Definition) {
        let mut definitions = self.state.load().definitions.clone();
        definitions.insert(definition.name.clone(), Arc::new(definition));
        self.state.store(Arc::new(Kinds::new(definitions)));
    }

    /// Takes the kinds of one definition away.
    pub fn remove(&self, name: &str) {
        let mut definitions = self.state.load().definitions.clone();
        definitions.remove(name);
        self.state.store(Arc::new(Kinds::new(definitions)));
    }

    /// Replaces the kinds of all definitions.
    pub fn replace(&self, definitions: impl IntoIterator<Item = Definition>) {
        let definitions = definitions
            .into_iter()
            .map(|definition| (definition.name.clone(), Arc::new(definition)))
            .collect();
        self.state.store(Arc::new(Kinds::new(definitions)));
    }
}

impl Kinds {
    fn new(definitions: BTreeMap<String, Arc<Definition>>) -> Self {
        let mut resources: Vec<Arc<Resource>> = builtin::resources().to_vec();
        for definition in definitions
            .values()
            .filter(|definition| definition.established)
        {
            resources.extend(definition.resources.iter().cloned());
        }
        let mut groups: BTreeMap<String, BTreeMap<String, Vec<Arc<Resource>>>> = BTreeMap::new();
        for resource in &resources {
            groups
                .entry(resource.group.clone())
                .or_default()
                .entry(resource.version.clone())
                .or_default()
                .push(resource.clone());
        }
        let groups = groups
            .into_iter()
            .map(|(group, versions)| {
                let mut versions: Vec<_> = versions.into_iter().collect();
                versions.sort_by_cached_key(|(version, _)| {
                    std::cmp::Reverse(version_priority(version))
                });
                for (_, resources) in &mut versions {
                    resources.sort_by(|a, b| a.plural.cmp(&b.plural));
                }
                (group, versions)
            })
            .collect();
        let by_path = resources
            .into_iter()
            .map(|resource| {
                (
                    path_key(&resource.group, &resource.version, &resource.plural),
                    resource,
                )
            })
            .collect();
        Self {
            by_path,
            groups,
            definitions,
        }
    }

    /// The kind that a path names.
    #[must_use]
    pub fn find(&self, group: &str, version: &str, plural: &str) -> Option<Arc<Resource>> {
        self.by_path.get(&path_key(group, version, plural)).cloned()
    }

    /// Every group with its versions, the preferred one first. The core group's name is empty.
    #[must_use]
    pub fn groups(&self) -> &Groups {
        &self.groups
    }

    /// The resources of one version of a group.
    #[must_use]
    pub fn resources(&self, group: &str, version: &str) -> Option<&[Arc<Resource>]> {
        let versions = self.groups.get(group)?;
        versions
            .iter()
            .find(|(found, _)| found == version)
            .map(|(_, resources)| resources.as_slice())
    }

    /// Every resource once, in its preferred version.
    pub fn preferred(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.groups.values().flat_map(|versions| {
            let mut seen = std::collections::BTreeSet::new();
            versions
                .iter()
                .flat_map(|(_, resources)| resources)
                .filter(move |resource| seen.insert(resource.plural.clone()))
        })
    }

    /// Every kind whose objects are stored, once: in its preferred version, or as it is stored when none is served.
    pub fn stored(&self) -> impl Iterator<Item = &Arc<Resource>> {
        let unserved = self.definitions.values().filter(|found| !found.is_served());
        let mut seen = std::collections::BTreeSet::new();
        self.preferred()
            .chain(unserved.map(|definition| &definition.stored))
            .filter(move |resource| seen.insert(resource.bucket.clone()))
    }

    /// The definitions of custom kinds.
    #[must_use]
    pub fn definitions(&self) -> &BTreeMap<String, Arc<Definition>> {
        &self.definitions
    }
}

fn path_key(group: &str, version: &str, plural: &str) -> String {
    format!("{group}/{version}/{plural}")
}

/// Orders versions as Kubernetes does: `v2` before `v1` before `v1beta2` before `v1alpha1` before
/// anything else in alphabetical order. The greater is the more preferred.
fn version_priority(version: &str) -> (u8, u64, u64, std::cmp::Reverse<String>) {
    let last = (0, 0, 0, std::cmp::Reverse(version.to_owned()));
    let Some(rest) = version.strip_prefix('v') else {
        return last;
    };
    let digits = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    let Ok(major) = rest[..digits].parse::<u64>() else {
        return last;
    };
    let (stability, minor) = match &rest[digits..] {
        "" => (3, Some(0)),
        suffix => match (suffix.strip_prefix("beta"), suffix.strip_prefix("alpha")) {
            (Some(minor), _) => (2, minor.parse().ok()),
            (_, Some(minor)) => (1, minor.parse().ok()),
            _ => return last,
        },
    };
    match minor {
        Some(minor) => (stability, major, minor, std::cmp::Reverse(String::new())),
        None => last,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_by_stability_then_number() {
        let mut versions = [
            "foo1",
            "v1alpha1",
            "v2",
            "v1beta1",
            "v10",
            "v1beta2",
            "v11alpha2",
            "v1",
            "bar",
        ];
        versions.sort_by_key(|version| std::cmp::Reverse(version_priority(version)));
        assert_eq!(
            versions,
            [
                "v10",
                "v2",
                "v1",
                "v1beta2",
                "v1beta1",
                "v11alpha2",
                "v1alpha1",
                "bar",
                "foo1"
            ]
        );
    }

    #[test]
    fn built_in_kinds_are_found_by_their_path() {
        let registry = Registry::builtin();
        assert_eq!(
            registry.find("", "v1", "configmaps").unwrap().kind,
            "ConfigMap"
        );
        assert!(registry.find("", "v2", "configmaps").is_none());
        assert!(registry.find("x.io", "v1", "configmaps").is_none());
    }
}
