//! What the reconcilers of operators share: the index, the catalogs, and a way to the engine.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use kube::core::{ApiResource, GroupVersionKind as KubeKind};
use kube::discovery::Scope;
use kube::{Client, ResourceExt as _};
use landform_api::{GroupKind, GroupVersionKind, catalog};
use landform_engine::{Engine, Failure, Key, Related};
use parking_lot::Mutex;
use semver::Version;

use crate::catalogs::Catalogs;
use crate::facts::hash_of;
use crate::index::{Index, Name};

/// Shared by all reconcilers of operators.
#[derive(Default)]
pub(crate) struct Shared {
    pub(crate) index: Index,
    pub(crate) catalogs: Catalogs,
    engine: OnceLock<Engine>,
    /// App types that wait until all catalogs have been read once.
    waiting: Mutex<BTreeSet<Name>>,
    /// Kinds of resources that lead to those who look at them already: by the latter's kind, group and kind.
    followed: Mutex<BTreeSet<(&'static str, String, String)>>,
    /// App types and operator versions that look at all objects of a kind, because a definition may break them.
    judging: Mutex<BTreeMap<GroupKind, BTreeSet<(&'static str, Name)>>>,
    server_version: OnceLock<Version>,
}

fn key_kind(kind: &str) -> Arc<GroupKind> {
    Arc::new(catalog::kind(kind).into())
}

impl Shared {
    pub(crate) fn connect(&self, engine: &Engine) {
        // A second engine would be a mistake of the caller; the first one stays.
        let _ = self.engine.set(engine.clone());
    }

    /// Catalogs have changed: those whose package it is look again, and everybody who waited for catalogs.
    pub(crate) fn ask_about(&self, packages: &BTreeSet<Arc<str>>, everybody: bool) {
        let of_packages = packages.iter().flat_map(|package| {
            let app_types = self.index.app_types_of(package).into_iter();
            app_types.filter_map(|(name, facts)| {
                let decided = facts.catalog_digest.as_deref();
                let digest = self.catalogs.package(package, facts.catalogs.as_ref());
                let digest = digest.map(|package| package.digest.to_string());
                // After a restart most find what they had found before.
                let same = decided.and_then(|text| text.rsplit(' ').next()) == digest.as_deref();
                (!same || decided.is_none()).then_some(name)
            })
        });
        let mut names: BTreeSet<Name> = of_packages.collect();
        if everybody {
            names.extend(self.index.undecided());
            names.extend(std::mem::take(&mut *self.waiting.lock()));
        }
        if everybody || !packages.is_empty() {
            names.extend(self.index.held_up());
        }
        self.ask_app_types(names);
        if everybody || !packages.is_empty() {
            self.ask_versions(self.index.stuck());
        }
    }

    /// An app type waits until all catalogs have been read once.
    pub(crate) fn wait_for_catalogs(&self, name: Name) {
        self.waiting.lock().insert(name);
    }

    /// It needn't any more.
    pub(crate) fn has_catalogs(&self, name: &Name) {
        self.waiting.lock().remove(name);
    }

    /// Asks for runs of app types.
    pub(crate) fn ask_app_types(&self, names: impl IntoIterator<Item = Name>) {
        self.ask("AppType", names);
    }

    /// Asks for runs of operator versions.
    pub(crate) fn ask_versions(&self, names: impl IntoIterator<Item = Name>) {
        self.ask("OperatorVersion", names);
    }

    fn ask(&self, kind: &str, names: impl IntoIterator<Item = Name>) {
        let Some(engine) = self.engine.get() else {
            return;
        };
        let kind = key_kind(kind);
        for (namespace, name) in names {
            engine.ask(Key::new(kind.clone(), &namespace, &name));
        }
    }

    /// From now on changes of resources of this kind lead to the versions that own them, and to the others of
    /// their families: the heir of one waits for what becomes of its resources.
    pub(crate) async fn follow(self: &Arc<Self>, kind: &GroupVersionKind) -> Result<(), Failure> {
        let shared = self.clone();
        let related = Related::new(kind.clone(), move |resource| {
            let namespace = resource.namespace().unwrap_or_default();
            let owners = resource.metadata.owner_references.iter().flatten();
            let owners = owners.filter(|owner| {
                owner.kind == "OperatorVersion" && owner.api_version == catalog::API_VERSION
            });
            let names: BTreeSet<_> = owners
                .flat_map(|owner| shared.index.relatives(&namespace, &owner.name))
                .collect();
            names
                .into_iter()
                .map(|name| (Some(namespace.clone()), name))
                .collect()
        });
        self.relate("OperatorVersion", "owners", kind, related)
            .await
    }

    /// Somebody is about to look whether a definition breaks objects of this kind: from now on changes of
    /// these lead to it, until it [has found](Shared::judged) that none would.
    pub(crate) async fn judge(
        self: &Arc<Self>,
        kind: &GroupVersionKind,
        who: &'static str,
        name: Name,
    ) -> Result<(), Failure> {
        let group_kind: GroupKind = kind.clone().into();
        let noted = (who, name);
        self.judging
            .lock()
            .entry(group_kind.clone())
            .or_default()
            .insert(noted);
        let shared = self.clone();
        let related = Related::new(kind.clone(), move |_| {
            let judging = shared.judging.lock();
            let all = judging.get(&group_kind).into_iter().flatten();
            let all = all.filter(|(found, _)| *found == who);
            all.map(|(_, (namespace, name))| (Some(namespace.clone()), name.clone()))
                .collect()
        });
        self.relate(who, "objects", kind, related).await
    }

    /// Nothing would break any more.
    pub(crate) fn judged(&self, kind: &GroupKind, who: &'static str, name: &Name) {
        let mut judging = self.judging.lock();
        if let Some(all) = judging.get_mut(kind) {
            all.remove(&(who, name.clone()));
            if all.is_empty() {
                judging.remove(kind);
            }
        }
    }

    async fn relate(
        &self,
        whose: &'static str,
        how: &'static str,
        kind: &GroupVersionKind,
        related: Related,
    ) -> Result<(), Failure> {
        let Some(engine) = self.engine.get() else {
            return Ok(());
        };
        let place = (whose, format!("{how} {}", kind.group), kind.kind.clone());
        if !self.followed.lock().insert(place) {
            return Ok(());
        }
        let related = related.when_moved(|resource| {
            let metadata = &resource.metadata;
            let owners = metadata.owner_references.iter().flatten();
            let owners = owners.map(|owner| (owner.uid.clone(), owner.controller));
            let owners: Vec<_> = owners.collect();
            hash_of(&(
                owners,
                &metadata.labels,
                metadata.deletion_timestamp.is_some(),
                metadata.generation,
            ))
        });
        let relating = engine.relate((*key_kind(whose)).clone(), related).await;
        relating.map_err(|error| Failure::Transient(error.to_string()))
    }

    /// Where the resources of a kind are; none when the API doesn't serve it, or not in namespaces.
    pub(crate) async fn place(
        &self,
        client: &Client,
        kind: &GroupVersionKind,
    ) -> Result<Option<ApiResource>, Failure> {
        if let Some(facts) = self.index.definition(&kind.group, &kind.kind) {
            let version = facts
                .served
                .iter()
                .find(|version| **version == kind.version);
            let Some(version) = version
                .or(facts.served.first())
                .filter(|_| facts.namespaced)
            else {
                return Ok(None);
            };
            let name = KubeKind::gvk(&kind.group, version, &kind.kind);
            return Ok(Some(ApiResource::from_gvk_with_plural(
                &name,
                &facts.plural,
            )));
        }
        let name = KubeKind::gvk(&kind.group, &kind.version, &kind.kind);
        match kube::discovery::pinned_kind(client, &name).await {
            Ok((resource, capabilities)) => {
                Ok((capabilities.scope == Scope::Namespaced).then_some(resource))
            }
            Err(kube::Error::Discovery(_)) => Ok(None),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The version of the server.
    pub(crate) async fn server_version(&self, client: &Client) -> Result<Version, Failure> {
        if let Some(known) = self.server_version.get() {
            return Ok(known.clone());
        }
        let info = client.apiserver_version().await?;
        let text = info.git_version.trim_start_matches('v');
        let text = text.split(['-', '+']).next().unwrap_or_default();
        let version = Version::parse(text).map_err(|error| {
            Failure::Transient(format!(
                "the server's version {text:?} can't be read: {error}"
            ))
        })?;
        Ok(self.server_version.get_or_init(|| version).clone())
    }
}
