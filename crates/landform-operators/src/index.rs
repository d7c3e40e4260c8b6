//! Who is there: app types, operator versions and definitions, by what others ask for.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use kube::ResourceExt as _;
use kube::core::DynamicObject;
use landform_api::{GroupKind, GroupVersionKind};
use parking_lot::RwLock;

use crate::facts::{AppTypeFacts, DefinitionFacts, SpecFacts, VersionFacts};

/// A namespace and a name.
pub(crate) type Name = (String, String);

/// Everything that is followed.
#[derive(Default)]
pub(crate) struct Index {
    state: RwLock<State>,
}

#[derive(Default)]
struct State {
    /// By namespace and name.
    versions: BTreeMap<Name, VersionFacts>,
    /// Names by namespace and package.
    families: BTreeMap<Name, BTreeSet<String>>,
    /// Who brings or needs a kind: by group and kind.
    by_kind: BTreeMap<(String, String), BTreeSet<Name>>,
    /// Who needs a package in a namespace.
    by_required: BTreeMap<Name, BTreeSet<String>>,
    /// Equal facts are kept once: the same version is in many namespaces.
    specs: HashSet<Arc<SpecFacts>>,
    app_types: BTreeMap<Name, AppTypeFacts>,
    /// Namespaces and names by package.
    by_package: BTreeMap<String, BTreeSet<Name>>,
    definitions: BTreeMap<(String, String), DefinitionFacts>,
    /// All kinds that are served, as long as no definition changes.
    kinds: Option<Arc<BTreeSet<GroupVersionKind>>>,
}

fn name_of(object: &DynamicObject) -> Name {
    (object.namespace().unwrap_or_default(), object.name_any())
}

impl Index {
    pub(crate) fn version_seen(&self, object: &DynamicObject) {
        let name = name_of(object);
        let mut facts = VersionFacts::of(object);
        let mut state = self.state.write();
        state.forget_version(&name);
        facts.spec = match state.specs.get(&facts.spec) {
            Some(known) => known.clone(),
            None => {
                state.specs.insert(facts.spec.clone());
                facts.spec
            }
        };
        let family = (name.0.clone(), facts.spec.package.clone());
        state
            .families
            .entry(family)
            .or_default()
            .insert(name.1.clone());
        for kind in &facts.spec.kinds {
            let all = state.by_kind.entry(kind.clone()).or_default();
            all.insert(name.clone());
        }
        for package in &facts.spec.packages {
            let place = (name.0.clone(), package.clone());
            state
                .by_required
                .entry(place)
                .or_default()
                .insert(name.1.clone());
        }
        state.versions.insert(name, facts);
    }

    pub(crate) fn version_gone(&self, namespace: &str, name: &str) {
        let name = (namespace.to_owned(), name.to_owned());
        self.state.write().forget_version(&name);
    }

    pub(crate) fn app_type_seen(&self, object: &DynamicObject) {
        let name = name_of(object);
        let facts = AppTypeFacts::of(object);
        let mut state = self.state.write();
        state.forget_app_type(&name);
        let all = state.by_package.entry(facts.package.clone()).or_default();
        all.insert(name.clone());
        state.app_types.insert(name, facts);
    }

    pub(crate) fn app_type_gone(&self, namespace: &str, name: &str) {
        let name = (namespace.to_owned(), name.to_owned());
        self.state.write().forget_app_type(&name);
    }

    pub(crate) fn definition_seen(&self, object: &DynamicObject) {
        let facts = DefinitionFacts::of(object);
        let key = (facts.group.clone(), facts.kind.clone());
        let mut state = self.state.write();
        state.kinds = None;
        state.definitions.insert(key, facts);
    }

    pub(crate) fn definition_gone(&self, name: &str) {
        let mut state = self.state.write();
        state.kinds = None;
        state.definitions.retain(|_, facts| facts.name != name);
    }

    /// The names of a version and of all others of its family; its own when it isn't known.
    pub(crate) fn relatives(&self, namespace: &str, name: &str) -> BTreeSet<String> {
        let state = self.state.read();
        let known = state.versions.get(&(namespace.to_owned(), name.to_owned()));
        let family = known.and_then(|facts| {
            let place = (namespace.to_owned(), facts.spec.package.clone());
            state.families.get(&place)
        });
        let family = family.cloned();
        family.unwrap_or_else(|| BTreeSet::from([name.to_owned()]))
    }

    /// The versions of a package in a namespace, by name.
    pub(crate) fn family(&self, namespace: &str, package: &str) -> Vec<VersionFacts> {
        let state = self.state.read();
        let names = state
            .families
            .get(&(namespace.to_owned(), package.to_owned()));
        let names = names.into_iter().flatten();
        names
            .filter_map(|name| state.versions.get(&(namespace.to_owned(), name.clone())))
            .cloned()
            .collect()
    }

    /// Those in a namespace that need a package.
    pub(crate) fn requiring(&self, namespace: &str, package: &str) -> Vec<String> {
        let state = self.state.read();
        let names = state
            .by_required
            .get(&(namespace.to_owned(), package.to_owned()));
        names.into_iter().flatten().cloned().collect()
    }

    /// Those that bring or need a kind.
    pub(crate) fn of_kind(&self, kind: &GroupKind) -> Vec<Name> {
        let state = self.state.read();
        let names = state.by_kind.get(&(kind.group.clone(), kind.kind.clone()));
        names.into_iter().flatten().cloned().collect()
    }

    /// Those that wait for requirements.
    pub(crate) fn stuck(&self) -> Vec<Name> {
        let state = self.state.read();
        let stuck = state.versions.iter();
        let stuck = stuck.filter(|(_, facts)| facts.member.stuck);
        stuck.map(|(name, _)| name.clone()).collect()
    }

    /// App types for which no catalog has counted yet.
    pub(crate) fn undecided(&self) -> Vec<Name> {
        let state = self.state.read();
        let undecided = state.app_types.iter();
        let undecided = undecided.filter(|(_, facts)| facts.catalog_digest.is_none());
        undecided.map(|(name, _)| name.clone()).collect()
    }

    /// App types that wait for other packages, for kinds or for objects.
    pub(crate) fn held_up(&self) -> Vec<Name> {
        let state = self.state.read();
        let held_up = state.app_types.iter();
        let held_up = held_up.filter(|(_, facts)| facts.held_up);
        held_up.map(|(name, _)| name.clone()).collect()
    }

    pub(crate) fn app_type(&self, namespace: &str, name: &str) -> Option<AppTypeFacts> {
        let state = self.state.read();
        let name = (namespace.to_owned(), name.to_owned());
        state.app_types.get(&name).cloned()
    }

    /// The app types of a package.
    pub(crate) fn app_types_of(&self, package: &str) -> Vec<(Name, AppTypeFacts)> {
        let state = self.state.read();
        let names = state.by_package.get(package).into_iter().flatten();
        names
            .filter_map(|name| Some((name.clone(), state.app_types.get(name)?.clone())))
            .collect()
    }

    /// Some app type of a package that isn't about to go, other than the one with this uid. There may be
    /// thousands: the first that will do is taken.
    pub(crate) fn other_app_type(&self, package: &str, uid: &str) -> Option<Name> {
        let state = self.state.read();
        let mut names = state.by_package.get(package)?.iter();
        let will_do = |facts: &AppTypeFacts| !facts.marked && facts.uid != uid;
        let found = names.find(|name| state.app_types.get(*name).is_some_and(will_do));
        found.cloned()
    }

    /// The app types of a package in a namespace, the oldest first.
    pub(crate) fn app_types_in(
        &self,
        namespace: &str,
        package: &str,
    ) -> Vec<(String, AppTypeFacts)> {
        let state = self.state.read();
        let names = state.by_package.get(package);
        let first = (namespace.to_owned(), String::new());
        let names = names
            .into_iter()
            .flat_map(|names| names.range(first.clone()..));
        let mut found: Vec<_> = names
            .take_while(|(found, _)| found == namespace)
            .filter_map(|name| Some((name.1.clone(), state.app_types.get(name)?.clone())))
            .collect();
        found.sort_by(|(a, left), (b, right)| (&left.created, a).cmp(&(&right.created, b)));
        found
    }

    pub(crate) fn definition(&self, group: &str, kind: &str) -> Option<DefinitionFacts> {
        let state = self.state.read();
        let key = (group.to_owned(), kind.to_owned());
        state.definitions.get(&key).cloned()
    }

    /// All kinds that definitions serve.
    pub(crate) fn kinds(&self) -> Arc<BTreeSet<GroupVersionKind>> {
        let mut state = self.state.write();
        if let Some(known) = &state.kinds {
            return known.clone();
        }
        let served = state.definitions.values().flat_map(|facts| {
            let versions = facts.served.iter();
            versions.map(|version| GroupVersionKind::new(&facts.group, version, &facts.kind))
        });
        let kinds: Arc<BTreeSet<_>> = Arc::new(served.collect());
        state.kinds = Some(kinds.clone());
        kinds
    }

    /// The definitions that a package owns.
    pub(crate) fn definitions_of(&self, package: &str) -> Vec<DefinitionFacts> {
        let state = self.state.read();
        let all = state.definitions.values();
        all.filter(|facts| facts.package.as_deref() == Some(package))
            .cloned()
            .collect()
    }
}

impl State {
    fn forget_version(&mut self, name: &Name) {
        let Some(facts) = self.versions.remove(name) else {
            return;
        };
        let family = (name.0.clone(), facts.spec.package.clone());
        remove(&mut self.families, &family, &name.1);
        for kind in &facts.spec.kinds {
            remove(&mut self.by_kind, kind, name);
        }
        for package in &facts.spec.packages {
            let place = (name.0.clone(), package.clone());
            remove(&mut self.by_required, &place, &name.1);
        }
        // The set itself and this one.
        if Arc::strong_count(&facts.spec) <= 2 {
            self.specs.remove(&facts.spec);
        }
    }

    fn forget_app_type(&mut self, name: &Name) {
        if let Some(facts) = self.app_types.remove(name) {
            remove(&mut self.by_package, &facts.package, name);
        }
    }
}

fn remove<K: Ord, V: Ord>(map: &mut BTreeMap<K, BTreeSet<V>>, key: &K, value: &V) {
    if let Some(values) = map.get_mut(key) {
        values.remove(value);
        if values.is_empty() {
            map.remove(key);
        }
    }
}
