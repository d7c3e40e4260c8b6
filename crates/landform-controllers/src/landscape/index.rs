//! Finds installations and deploy items without a list: by parent, by what they export, by what they
//! import, by execution. Fed by the engine in the order of changes.

use std::collections::{BTreeMap, BTreeSet};

use kube::ResourceExt as _;
use kube::core::DynamicObject;
use landform_api::landscaper::keys;
use landform_api::landscaper::report::ObjectName;
use landform_decide::execution::Item;
use landform_decide::installation::{Child, ChildKind, Dependency};
use parking_lot::RwLock;

use super::belonging;
use super::blueprints::Sums;
use super::facts::{self, Facts, Generations, Given, GivenKind, TargetList};
use super::family::{self, Family};
use super::objects::labelled;
use super::objects::{owning_execution, owning_installation};

/// A namespace and a name in it.
type Name = (String, String);

/// An import is followed through at most this many installations, each nested in the next.
const NESTED_MAX: usize = 64;

/// The index. Reads are short; the engine alone writes.
#[derive(Default)]
pub(super) struct Index(RwLock<Maps>);

#[derive(Default)]
struct Maps {
    installations: BTreeMap<Name, Facts>,
    children: BTreeMap<Name, BTreeSet<String>>,
    exporters: BTreeMap<(String, Given), BTreeSet<String>>,
    importers: BTreeMap<(String, Given), BTreeSet<String>>,
    items: BTreeMap<Name, BTreeMap<String, Item>>,
    executions_of_items: BTreeMap<Name, String>,
    executions: BTreeMap<Name, Child>,
    /// Executions with another spec than their installations have written.
    edited: BTreeSet<Name>,
    given: BTreeMap<(String, Given), Seen>,
    contexts: BTreeSet<Name>,
    /// Installations and executions by uid.
    uids: BTreeMap<String, (ChildKind, Name)>,
    /// Whether the API server notes makers: some object has such a note.
    makers_noted: bool,
}

/// A DataObject or a Target as it was last seen.
struct Seen {
    generation: String,
    /// Whether its content is what an installation has written.
    intact: bool,
    /// Whether it has neither an owner nor the label of what installations write.
    unclaimed: bool,
    /// Whether Landform has written it, and others have removed its owner.
    ownerless: bool,
    /// Whether Landform has written it, and the API server has noted no maker.
    unnoted: bool,
    /// The uid of what it was made for, as the API server noted it.
    maker: Option<String>,
}

impl Index {
    pub(super) fn installation_seen(&self, object: &DynamicObject) {
        let name = name_of(object);
        let maker = self.maker_of(object);
        let parent = facts::parent_of(object).or_else(|| maker.clone());
        let mut facts = Facts::nested_in(parent, object);
        facts.owner = facts.owner.or(maker);
        let mut maps = self.0.write();
        maps.note_uid(ChildKind::Installation, object);
        if maps.installations.get(&name) == Some(&facts) {
            return;
        }
        maps.forget_installation(&name);
        let (namespace, own) = &name;
        if let Some(parent) = &facts.parent {
            let children = maps.children.entry((namespace.clone(), parent.clone()));
            children.or_default().insert(own.clone());
        }
        for given in facts.exports.keys() {
            let exporters = maps.exporters.entry((namespace.clone(), given.clone()));
            exporters.or_default().insert(own.clone());
        }
        for given in &facts.imports {
            let importers = maps.importers.entry((namespace.clone(), given.clone()));
            importers.or_default().insert(own.clone());
        }
        maps.installations.insert(name, facts);
    }

    pub(super) fn installation_gone(&self, namespace: &str, name: &str, uid: &str) {
        let name = (namespace.to_owned(), name.to_owned());
        let mut maps = self.0.write();
        maps.forget_uid(ChildKind::Installation, uid, &name);
        maps.forget_installation(&name);
    }

    pub(super) fn item_seen(&self, object: &DynamicObject) {
        let name = name_of(object);
        let mut maps = self.0.write();
        let execution = maps.execution_of(object);
        if maps.executions_of_items.get(&name) != execution.as_ref() {
            maps.forget_item(&name);
        }
        if let Some(execution) = execution {
            let items = maps.items.entry((name.0.clone(), execution.clone()));
            items
                .or_default()
                .insert(name.1.clone(), facts::item(object));
            maps.executions_of_items.insert(name, execution);
        }
    }

    /// The execution of a deploy item.
    pub(super) fn execution_of(&self, item: &DynamicObject) -> Option<String> {
        self.0.read().execution_of(item)
    }

    /// Whether what an installation deployed is to stay when it goes: it says so, or one above it (I36).
    pub(super) fn is_bare(&self, namespace: &str, installation: &str) -> bool {
        let maps = self.0.read();
        let mut next = Some(installation.to_owned());
        // Labels say who the parent is, and they can say anything.
        for _ in 0..NESTED_MAX {
            let Some(name) = next else {
                return false;
            };
            let Some(facts) = maps.installations.get(&(namespace.to_owned(), name)) else {
                return false;
            };
            if facts.bare {
                return true;
            }
            next = facts.parent.clone();
        }
        false
    }

    /// An installation and all that are nested in it, however deep.
    pub(super) fn with_nested(&self, namespace: &str, installation: &str) -> BTreeSet<String> {
        let (mut found, mut queue) = (BTreeSet::new(), vec![installation.to_owned()]);
        while let Some(name) = queue.pop() {
            if found.insert(name.clone()) {
                queue.extend(self.children(namespace, &name));
            }
        }
        found
    }

    pub(super) fn item_gone(&self, namespace: &str, name: &str) {
        let name = (namespace.to_owned(), name.to_owned());
        self.0.write().forget_item(&name);
    }

    pub(super) fn execution_seen(&self, object: &DynamicObject) {
        let child = facts::execution(object);
        let as_written = facts::is_as_written("Execution", object)
            && owning_installation(&object.metadata).is_some();
        let name = name_of(object);
        let mut maps = self.0.write();
        maps.note_uid(ChildKind::Execution, object);
        if as_written {
            maps.edited.remove(&name);
        } else {
            maps.edited.insert(name.clone());
        }
        maps.executions.insert(name, child);
    }

    pub(super) fn execution_gone(&self, namespace: &str, name: &str, uid: &str) {
        let name = (namespace.to_owned(), name.to_owned());
        let mut maps = self.0.write();
        maps.forget_uid(ChildKind::Execution, uid, &name);
        maps.edited.remove(&name);
        maps.executions.remove(&name);
    }

    pub(super) fn given_seen(&self, kind: GivenKind, object: &DynamicObject) {
        let (namespace, name) = name_of(object);
        let seen = Seen {
            generation: facts::generation(kind, object),
            intact: facts::is_intact(kind, object),
            unclaimed: owning_installation(&object.metadata).is_none()
                && !object.labels().contains_key(keys::DATA_SOURCE_TYPE),
            ownerless: belonging::is_ownerless(object),
            unnoted: belonging::is_unnoted(object),
            maker: belonging::maker(object),
        };
        let key = (namespace, Given { kind, name });
        let mut maps = self.0.write();
        maps.makers_noted |= seen.maker.is_some();
        maps.given.insert(key, seen);
    }

    pub(super) fn given_gone(&self, kind: GivenKind, namespace: &str, name: &str) {
        let given = Given {
            kind,
            name: name.to_owned(),
        };
        self.0.write().given.remove(&(namespace.to_owned(), given));
    }

    pub(super) fn context_seen(&self, object: &DynamicObject) {
        self.0.write().contexts.insert(name_of(object));
    }

    pub(super) fn context_gone(&self, namespace: &str, name: &str) {
        let name = (namespace.to_owned(), name.to_owned());
        self.0.write().contexts.remove(&name);
    }

    pub(super) fn has_context(&self, namespace: &str, name: &str) -> bool {
        let maps = self.0.read();
        maps.contexts
            .contains(&(namespace.to_owned(), name.to_owned()))
    }

    /// The generation of a DataObject or a Target, if it exists.
    pub(super) fn generation(&self, namespace: &str, given: &Given) -> Option<String> {
        self.0.read().generation(namespace, given)
    }

    /// The first of some objects that an installation has written and that others have deleted or changed (I5b).
    pub(super) fn drift<'a>(
        &self,
        namespace: &str,
        objects: impl IntoIterator<Item = &'a ObjectName>,
    ) -> Option<&'a ObjectName> {
        let maps = self.0.read();
        objects.into_iter().find(|object| {
            let given = facts::given_of(object);
            let seen = given.and_then(|given| maps.given.get(&(namespace.to_owned(), given)));
            seen.is_none_or(|seen| !seen.intact || seen.ownerless)
        })
    }

    /// Those of some objects that Landform has written and that don't say whose they are: others have removed the owner (I5b), or an
    /// earlier version of Landform made them, which had no makers noted.
    pub(super) fn unclear<'a>(
        &self,
        namespace: &str,
        objects: impl IntoIterator<Item = &'a ObjectName>,
    ) -> Vec<&'a ObjectName> {
        let maps = self.0.read();
        let objects = objects.into_iter();
        let unclear = objects.filter(|object| {
            let given = facts::given_of(object);
            let seen = given.and_then(|given| maps.given.get(&(namespace.to_owned(), given)));
            seen.is_some_and(|seen| seen.ownerless || (seen.unnoted && maps.makers_noted))
        });
        unclear.collect()
    }

    /// The installation that an object was made for, as the API server noted it.
    pub(super) fn maker_of(&self, object: &DynamicObject) -> Option<String> {
        self.made_for(ChildKind::Installation, object)
    }

    /// The installation or execution that an object was made for, as the API server noted it.
    pub(super) fn made_for(&self, kind: ChildKind, object: &DynamicObject) -> Option<String> {
        let maker = belonging::maker(object)?;
        let maps = self.0.read();
        let (found, (namespace, name)) = maps.uids.get(&maker)?;
        let here = Some(namespace) == object.metadata.namespace.as_ref();
        (*found == kind && here).then(|| name.clone())
    }

    /// The execution of an installation, as it was last seen.
    pub(super) fn execution(&self, namespace: &str, name: &str) -> Option<Child> {
        let maps = self.0.read();
        let name = (namespace.to_owned(), name.to_owned());
        maps.executions.get(&name).cloned()
    }

    /// Whether others have changed what an installation has written below it (I5b).
    pub(super) fn is_edited(&self, namespace: &str, name: &str) -> bool {
        let maps = self.0.read();
        let name = (namespace.to_owned(), name.to_owned());
        let mut nested = maps.children.get(&name).into_iter().flatten();
        maps.edited.contains(&name)
            || nested.any(|child| {
                let child = (namespace.to_owned(), child.clone());
                let facts = maps.installations.get(&child);
                facts.is_some_and(|facts| {
                    !facts.as_written || !facts.says_whose_it_is || facts.owner.is_none()
                })
            })
    }

    /// Whether an object that installations may name as their export is a person's: none of them can export it.
    pub(super) fn is_a_persons(&self, namespace: &str, given: &Given) -> bool {
        self.0.read().is_a_persons(namespace, given)
    }

    /// The deploy items of an execution, as they were last seen.
    pub(super) fn items_seen(&self, namespace: &str, execution: &str) -> Vec<Item> {
        let maps = self.0.read();
        let name = (namespace.to_owned(), execution.to_owned());
        let items = maps.items.get(&name).into_iter().flatten();
        items.map(|(_, item)| item.clone()).collect()
    }

    pub(super) fn facts(&self, namespace: &str, name: &str) -> Option<Facts> {
        let maps = self.0.read();
        let name = (namespace.to_owned(), name.to_owned());
        maps.installations.get(&name).cloned()
    }

    /// The nested installations of an installation.
    pub(super) fn children(&self, namespace: &str, parent: &str) -> BTreeSet<String> {
        let maps = self.0.read();
        let name = (namespace.to_owned(), parent.to_owned());
        maps.children.get(&name).cloned().unwrap_or_default()
    }

    /// The installations that export something.
    pub(super) fn exporters(&self, namespace: &str, given: &Given) -> BTreeSet<String> {
        let maps = self.0.read();
        let key = (namespace.to_owned(), given.clone());
        maps.exporters.get(&key).cloned().unwrap_or_default()
    }

    /// The installation from which another one imports something.
    pub(super) fn exporter(&self, namespace: &str, of: &str, given: &Given) -> Option<Facts> {
        self.0.read().exporter(namespace, of, given).cloned()
    }

    /// Whether an installation imports from another one, directly or not.
    pub(super) fn depends(&self, namespace: &str, own: &str, on: &str) -> bool {
        let maps = self.0.read();
        let (mut found, mut queue) = (BTreeSet::new(), vec![own.to_owned()]);
        while let Some(name) = queue.pop() {
            let key = (namespace.to_owned(), name);
            let Some(facts) = maps.installations.get(&key) else {
                continue;
            };
            for given in &facts.imports {
                let exporter = maps.exporter(namespace, &facts.name, given);
                if let Some(exporter) = exporter.map(|facts| facts.name.clone()) {
                    if exporter == on {
                        return true;
                    }
                    if found.insert(exporter.clone()) {
                        queue.push(exporter);
                    }
                }
            }
        }
        false
    }

    /// The installations that import something.
    pub(super) fn importers(&self, namespace: &str, given: &Given) -> BTreeSet<String> {
        let maps = self.0.read();
        let key = (namespace.to_owned(), given.clone());
        maps.importers.get(&key).cloned().unwrap_or_default()
    }

    /// The targets of a list that an installation imports, however far up it comes from. None when
    /// no installation on the way imports such a list.
    pub(super) fn target_list(
        &self,
        namespace: &str,
        installation: &str,
        import: &str,
    ) -> Option<Vec<String>> {
        self.0.read().target_list(namespace, installation, import)
    }

    /// Whether the phase of an installation is about its present spec and its present imports (I10b).
    pub(super) fn is_current(&self, namespace: &str, facts: &Facts) -> bool {
        let maps = self.0.read();
        facts.is_current(&maps.present(namespace, facts, &BTreeMap::new()))
    }

    /// Whether the files of an installation's blueprint, or of one that is nested in it, are others than at the last
    /// update. What is nested is as the index knows it.
    pub(super) fn is_outdated(&self, namespace: &str, facts: &Facts, sums: &Sums<'_>) -> bool {
        let (mut seen, mut queue) = (BTreeSet::new(), vec![facts.clone()]);
        while let Some(facts) = queue.pop() {
            if !seen.insert(facts.name.clone()) || facts.marked {
                continue;
            }
            if sums.are_others(facts.blueprint.as_ref()) {
                return true;
            }
            let children = self.children(namespace, &facts.name).into_iter();
            queue.extend(children.filter_map(|child| self.facts(namespace, &child)));
        }
        false
    }

    /// The outermost installations of which that is so.
    pub(super) fn outdated(&self, sums: &Sums<'_>) -> BTreeSet<Name> {
        let of_paths: Vec<_> = {
            let maps = self.0.read();
            let all = maps.installations.iter();
            let all = all.filter(|(_, facts)| facts.blueprint.is_some() && !facts.marked);
            all.map(|(name, facts)| (name.clone(), facts.blueprint.clone()))
                .collect()
        };
        let outdated = of_paths
            .into_iter()
            .filter(|(_, blueprint)| sums.are_others(blueprint.as_ref()));
        let maps = self.0.read();
        outdated.map(|(name, _)| maps.outermost(name)).collect()
    }

    /// The nested installations of one, as it sees them. None when one of them is not known.
    pub(super) fn family(&self, namespace: &str, parent: &str) -> Option<Vec<Child>> {
        let members = self.children(namespace, parent).into_iter();
        let members: Option<Vec<_>> = members.map(|name| self.facts(namespace, &name)).collect();
        let members = members?;
        let maps = self.0.read();
        let context = Known {
            maps: &maps,
            namespace,
            parent,
        };
        Some(Family::new(&members, parent, &context).children())
    }

    /// The keys of a map of targets that an installation has imported.
    pub(super) fn target_map(
        &self,
        namespace: &str,
        installation: &str,
        import: &str,
    ) -> Option<Vec<String>> {
        self.0.read().target_map(namespace, installation, import)
    }

    /// The deploy items of an execution.
    pub(super) fn items(&self, namespace: &str, execution: &str) -> BTreeSet<String> {
        let maps = self.0.read();
        let name = (namespace.to_owned(), execution.to_owned());
        let items = maps.items.get(&name).into_iter().flatten();
        items.map(|(object, _)| object.clone()).collect()
    }

    /// The installations from which these imports come, directly or not, but `own`. What the run has `read` itself counts
    /// as it was read, whatever the index has heard of it: else an import could be newer, or older, than what a sibling
    /// has made of it. What is behind one that isn't
    /// ready is left out: that one waits for it itself. So if all of these are ready, all that there are are.
    pub(super) fn dependencies(
        &self,
        namespace: &str,
        own: &str,
        imports: &[Given],
        read: &BTreeMap<Given, String>,
    ) -> Vec<Dependency> {
        let maps = self.0.read();
        let mut found = BTreeMap::new();
        let mut queue: Vec<Given> = imports.to_vec();
        while let Some(given) = queue.pop() {
            let Some(facts) = maps.exporter(namespace, own, &given) else {
                continue;
            };
            if found.contains_key(&facts.name) {
                continue;
            }
            let current = facts.is_current(&maps.present(namespace, facts, read));
            if facts.is_ready() && current {
                queue.extend(facts.imports.iter().cloned());
            }
            let dependency = Dependency {
                name: facts.name.clone(),
                phase: facts.phase,
                up_to_date: facts.up_to_date,
                current,
                queued: facts.is_queued(),
            };
            found.insert(facts.name.clone(), dependency);
        }
        found.into_values().collect()
    }
}

/// What is known of the objects that nested installations of one parent import.
struct Known<'a> {
    maps: &'a Maps,
    namespace: &'a str,
    parent: &'a str,
}

impl family::Context for Known<'_> {
    fn generation(&self, given: &Given) -> Option<String> {
        self.maps.generation(self.namespace, given)
    }

    fn list(&self, import: &str) -> Option<Vec<String>> {
        self.maps.target_list(self.namespace, self.parent, import)
    }

    fn map(&self, import: &str) -> Option<Vec<String>> {
        self.maps.elements(self.namespace, self.parent, import)
    }
}

impl Maps {
    fn generation(&self, namespace: &str, given: &Given) -> Option<String> {
        let key = (namespace.to_owned(), given.clone());
        self.given.get(&key).map(|seen| seen.generation.clone())
    }

    fn target_list(
        &self,
        namespace: &str,
        installation: &str,
        import: &str,
    ) -> Option<Vec<String>> {
        let (mut installation, mut import) = (installation.to_owned(), import.to_owned());
        // Labels say who the parent is, and they can say anything.
        for _ in 0..NESTED_MAX {
            let name = (namespace.to_owned(), installation);
            let facts = self.installations.get(&name)?;
            match facts.lists.get(&import)? {
                TargetList::Names(names) => return Some(names.clone()),
                TargetList::OfParent(name) => {
                    import = name.clone();
                    installation = facts.parent.clone()?;
                }
            }
        }
        None
    }

    /// The objects of a map of targets that an installation has imported.
    fn elements(&self, namespace: &str, installation: &str, import: &str) -> Option<Vec<String>> {
        let keys = self.target_map(namespace, installation, import)?;
        Some(family::elements(installation, import, keys))
    }

    fn target_map(&self, namespace: &str, installation: &str, import: &str) -> Option<Vec<String>> {
        let name = (namespace.to_owned(), installation.to_owned());
        self.installations.get(&name)?.maps.get(import).cloned()
    }

    /// The generations of an installation's imports, as they were read or as they are now.
    fn present(
        &self,
        namespace: &str,
        facts: &Facts,
        read: &BTreeMap<Given, String>,
    ) -> Generations {
        let generation = |given: &Given| match self.exporter(namespace, &facts.name, given) {
            Some(exporter) => exporter.config_generation.clone(),
            None => {
                let read = read.get(given).cloned();
                let known = read.or_else(|| self.generation(namespace, given));
                known.unwrap_or_default()
            }
        };
        let list = |import: &str| {
            let parent = facts.parent.as_deref()?;
            self.target_list(namespace, parent, import)
        };
        let map = |import: &str| {
            let parent = facts.parent.as_deref()?;
            self.elements(namespace, parent, import)
        };
        family::present(&facts.sources, generation, list, map)
    }

    /// The installation in which another one is nested, however deep.
    fn outermost(&self, mut name: Name) -> Name {
        // Labels say who the parent is, and they can say anything.
        for _ in 0..NESTED_MAX {
            let facts = self.installations.get(&name);
            match facts.and_then(|facts| facts.parent.clone()) {
                Some(parent) => name = (name.0, parent),
                None => break,
            }
        }
        name
    }

    fn is_a_persons(&self, namespace: &str, given: &Given) -> bool {
        let seen = self.given.get(&(namespace.to_owned(), given.clone()));
        seen.is_some_and(|seen| {
            let maker = seen.maker.as_ref().and_then(|uid| self.uids.get(uid));
            seen.unclaimed && maker.is_none()
        })
    }

    /// The installation from which another one imports something. What a person has made comes from none, whichever would
    /// like to export it (I40b).
    fn exporter(&self, namespace: &str, of: &str, given: &Given) -> Option<&Facts> {
        if self.is_a_persons(namespace, given) {
            return None;
        }
        let exporters = self.exporters.get(&(namespace.to_owned(), given.clone()))?;
        let others = exporters.iter().filter(|name| **name != of);
        let others = others.filter_map(|name| {
            let name = (namespace.to_owned(), name.clone());
            self.installations.get(&name)
        });
        // What was nested in one that had this name before is on its way to another context.
        let importer = self
            .installations
            .get(&(namespace.to_owned(), of.to_owned()));
        let others = others.filter(|facts| importer.is_none_or(|own| own.owner == facts.owner));
        others.min_by_key(|facts| facts.claim(given))
    }

    fn note_uid(&mut self, kind: ChildKind, object: &DynamicObject) {
        self.makers_noted |= belonging::maker(object).is_some();
        if let Some(uid) = object.uid() {
            self.uids.insert(uid, (kind, name_of(object)));
        }
    }

    fn forget_uid(&mut self, kind: ChildKind, uid: &str, name: &Name) {
        // One that was renamed has been seen under its new name already.
        let is_it = |(found, at): &(ChildKind, Name)| *found == kind && at == name;
        if self.uids.get(uid).is_some_and(is_it) {
            self.uids.remove(uid);
        }
    }

    fn forget_installation(&mut self, name: &Name) {
        let Some(facts) = self.installations.remove(name) else {
            return;
        };
        let (namespace, own) = name;
        if let Some(parent) = facts.parent {
            take(&mut self.children, (namespace.clone(), parent), own);
        }
        for given in facts.exports.into_keys() {
            take(&mut self.exporters, (namespace.clone(), given), own);
        }
        for given in facts.imports {
            take(&mut self.importers, (namespace.clone(), given), own);
        }
    }

    /// Others may have taken away what an item says of it: then it is as it was.
    fn execution_of(&self, item: &DynamicObject) -> Option<String> {
        let said = labelled(item, keys::MANAGED_BY).or_else(|| owning_execution(&item.metadata));
        let known = || self.executions_of_items.get(&name_of(item)).cloned();
        said.map(str::to_owned).or_else(known)
    }

    fn forget_item(&mut self, name: &Name) {
        if let Some(execution) = self.executions_of_items.remove(name) {
            let key = (name.0.clone(), execution);
            if let Some(items) = self.items.get_mut(&key) {
                items.remove(&name.1);
                if items.is_empty() {
                    self.items.remove(&key);
                }
            }
        }
    }
}

fn take<K: Ord>(map: &mut BTreeMap<K, BTreeSet<String>>, key: K, name: &str) {
    if let Some(names) = map.get_mut(&key) {
        names.remove(name);
        if names.is_empty() {
            map.remove(&key);
        }
    }
}

fn name_of(object: &DynamicObject) -> Name {
    (object.namespace().unwrap_or_default(), object.name_any())
}
