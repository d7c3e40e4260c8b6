//! What the reconcilers of operators share: the index, the catalogs, and a way to the engine.

use std::collections::BTreeSet;
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
    /// Kinds of resources that lead to operator versions already.
    followed: Mutex<BTreeSet<(String, String)>>,
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
        }
        self.ask_app_types(names);
        if everybody || !packages.is_empty() {
            self.ask_versions(self.index.stuck());
        }
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

    /// From now on changes of resources of this kind lead to the versions that own them, and to those that
    /// wait because a definition would break them.
    pub(crate) async fn follow(self: &Arc<Self>, kind: &GroupVersionKind) -> Result<(), Failure> {
        let place = (kind.group.clone(), kind.kind.clone());
        let Some(engine) = self.engine.get() else {
            return Ok(());
        };
        if !self.followed.lock().insert(place) {
            return Ok(());
        }
        let shared = self.clone();
        let group_kind: GroupKind = kind.clone().into();
        let related = Related::new(kind.clone(), move |resource| {
            let namespace = resource.namespace();
            let owners = resource.metadata.owner_references.iter().flatten();
            let owners = owners.filter(|owner| {
                owner.kind == "OperatorVersion" && owner.api_version == catalog::API_VERSION
            });
            let mut names: Vec<_> = owners
                .map(|owner| (namespace.clone(), owner.name.clone()))
                .collect();
            let waiting = shared.index.of_kind(&group_kind).into_iter();
            let waiting = waiting.filter(|(namespace, name)| {
                let facts = shared.index.version(namespace, name);
                facts.is_some_and(|facts| facts.member.phase == Some(catalog::Phase::Failed))
            });
            names.extend(waiting.map(|(namespace, name)| (Some(namespace), name)));
            names
        });
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
        let kind = (*key_kind("OperatorVersion")).clone();
        let relating = engine.relate(kind, related).await;
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
