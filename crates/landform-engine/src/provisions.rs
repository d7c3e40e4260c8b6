//! Names under which objects give something to others.
//!
//! Whoever refers to such a name refers to all that provide it, whether an object of that name exists or
//! not. For the machine the name is an object that nobody reconciles and that refers to its providers; it
//! moves when the object itself or a provision moves.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use landform_schedule::{Order, Role, Sight, Version};

use crate::key::Key;

/// All provisions, by name and by provider.
#[derive(Default)]
pub(crate) struct Provisions {
    named: BTreeMap<Key, Named>,
    by_provider: BTreeMap<Key, Vec<(Key, u64)>>,
    moved: BTreeSet<Key>,
}

struct Named {
    providers: BTreeMap<Key, u64>,
    /// The newest version of anything that had to do with it: a sight must never look older.
    version: Version,
}

impl Provisions {
    /// What an object provides from now on.
    pub(crate) fn set(&mut self, provider: &Key, mut provided: Vec<(Key, u64)>, version: Version) {
        provided.sort();
        provided.dedup_by(|a, b| a.0 == b.0);
        let before = self.by_provider.get(provider);
        if before.map_or(&[][..], Vec::as_slice) == provided {
            return;
        }
        let before = self.by_provider.remove(provider).unwrap_or_default();
        let kept: BTreeSet<_> = provided.iter().map(|(name, _)| name.clone()).collect();
        for (name, _) in before {
            if !kept.contains(&name) {
                self.take_back(provider, &name, version);
            }
        }
        for (name, content) in &provided {
            let named = self.named.entry(name.clone()).or_insert_with(|| Named {
                providers: BTreeMap::new(),
                version,
            });
            if named.providers.insert(provider.clone(), *content) != Some(*content) {
                named.version = named.version.max(version);
                self.moved.insert(name.clone());
            }
        }
        if !provided.is_empty() {
            self.by_provider.insert(provider.clone(), provided);
        }
    }

    fn take_back(&mut self, provider: &Key, name: &Key, version: Version) {
        if let Some(named) = self.named.get_mut(name) {
            named.providers.remove(provider);
            named.version = named.version.max(version);
            self.moved.insert(name.clone());
        }
    }

    /// Something of an object that has a provided name moved.
    pub(crate) fn touch(&mut self, name: &Key, version: Version) {
        if let Some(named) = self.named.get_mut(name) {
            named.version = named.version.max(version);
            self.moved.insert(name.clone());
        }
    }

    /// The names that moved since this was last asked.
    pub(crate) fn take_moved(&mut self) -> Vec<Key> {
        std::mem::take(&mut self.moved).into_iter().collect()
    }

    /// Forgets a name that nobody provides any more.
    pub(crate) fn tidy(&mut self, name: &Key) {
        if self
            .named
            .get(name)
            .is_some_and(|named| named.providers.is_empty())
        {
            self.named.remove(name);
        }
    }

    /// The names that an object provides.
    pub(crate) fn names(&self, provider: &Key) -> Vec<Key> {
        let provided = self.by_provider.get(provider).into_iter().flatten();
        provided.map(|(name, _)| name.clone()).collect()
    }

    /// The objects that provide a name.
    pub(crate) fn refs(&self, name: &Key) -> Vec<Key> {
        let named = self.named.get(name);
        named
            .into_iter()
            .flat_map(|named| named.providers.keys().cloned())
            .collect()
    }

    /// What the machine sees of a name; `exists` is the version of the object that has it. None when
    /// there is neither an object nor a provider.
    pub(crate) fn sight(&self, name: &Key, exists: Option<Version>) -> Option<Sight<Key>> {
        let Some(named) = self.named.get(name) else {
            return exists.map(|version| passive(name, version, exists, Vec::new()));
        };
        let version = named.version.max(exists.unwrap_or(Version(0)));
        if named.providers.is_empty() {
            return exists.map(|_| passive(name, version, exists, Vec::new()));
        }
        let providers = named.providers.iter();
        let providers = providers.map(|(key, content)| (key.clone(), *content));
        Some(passive(name, version, exists, providers.collect()))
    }
}

fn passive(
    name: &Key,
    version: Version,
    exists: Option<Version>,
    providers: Vec<(Key, u64)>,
) -> Sight<Key> {
    let mut hasher = DefaultHasher::new();
    exists.hash(&mut hasher);
    for (_, content) in &providers {
        content.hash(&mut hasher);
    }
    Sight {
        key: name.clone(),
        version,
        content: hasher.finish(),
        refs: providers.into_iter().map(|(key, _)| key).collect(),
        marked: false,
        role: Role::Passive,
        order: Order::Free,
    }
}
