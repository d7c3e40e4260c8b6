//! Where the objects of a kind are, as the API says.

use std::collections::{BTreeMap, BTreeSet};

use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::Client;
use kube::discovery::{Discovery, Scope, verbs};
use landform_api::kind::split_api_version;
use landform_api::{GroupKind, GroupVersionKind};
use parking_lot::RwLock;

use super::ApplyError;

/// At most this many questions are asked at once.
const AT_ONCE: usize = 8;

/// A kind that an API serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// The kind in one version.
    pub kind: GroupVersionKind,
    /// As URLs have it.
    pub plural: String,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
    /// Whether its objects can be listed and deleted.
    pub listed: bool,
}

impl Served {
    /// The path of its objects, or of one of them.
    #[must_use]
    pub fn path(&self, namespace: Option<&str>, name: Option<&str>) -> String {
        let root = if self.kind.group.is_empty() {
            "/api"
        } else {
            "/apis"
        };
        let mut path = format!("{root}/{}", self.kind.api_version());
        if let Some(namespace) = namespace.filter(|_| self.namespaced) {
            path = format!("{path}/namespaces/{namespace}");
        }
        path = format!("{path}/{}", self.plural);
        if let Some(name) = name {
            path = format!("{path}/{name}");
        }
        path
    }
}

/// The kinds that an API serves, as far as they were asked for. Known ones are remembered, unknown ones are asked for
/// again.
#[derive(Debug, Default)]
pub struct Kinds {
    known: RwLock<BTreeMap<GroupVersionKind, Served>>,
    /// Each kind in the version that the API prefers, if all were asked for.
    preferred: RwLock<BTreeMap<GroupKind, Served>>,
}

impl Kinds {
    /// Finds kinds; those that the API doesn't serve are not in the answer.
    ///
    /// # Errors
    /// When the API can't be asked.
    pub async fn find(
        &self,
        client: &Client,
        kinds: impl IntoIterator<Item = GroupVersionKind>,
    ) -> Result<BTreeMap<GroupVersionKind, Served>, ApplyError> {
        let kinds: BTreeSet<_> = kinds.into_iter().collect();
        let mut found: BTreeMap<_, _> = {
            let known = self.known.read();
            let known = kinds.iter().map(|kind| (kind, known.get(kind)));
            let known = known.filter_map(|(kind, served)| Some((kind.clone(), served?.clone())));
            known.collect()
        };
        let unknown = kinds.iter().filter(|kind| !found.contains_key(*kind));
        let unknown: BTreeSet<_> = unknown.map(GroupVersionKind::api_version).collect();
        // What is remembered may be forgotten while the API is asked: the answer counts.
        let answer = self.ask(client, unknown.into_iter().collect()).await?;
        let answer = answer.into_iter();
        let answer = answer.filter(|served| kinds.contains(&served.kind));
        found.extend(answer.map(|served| (served.kind.clone(), served)));
        Ok(found)
    }

    /// All kinds that the API serves, each in the version that it prefers.
    ///
    /// # Errors
    /// When the API can't be asked.
    pub async fn all(&self, client: &Client) -> Result<Vec<Served>, ApplyError> {
        let mut found = match aggregated(client).await? {
            Some(found) => {
                self.remember(&found);
                found
            }
            None => self.one_by_one(client).await?,
        };
        let mut preferred = BTreeMap::new();
        found.retain(|served| {
            let kind = GroupKind::from(served.kind.clone());
            let is_first = !preferred.contains_key(&kind);
            if is_first {
                preferred.insert(kind, served.clone());
            }
            is_first
        });
        *self.preferred.write() = preferred;
        Ok(found)
    }

    /// These kinds, each in the version that the API prefers, as far as it serves them.
    ///
    /// # Errors
    /// When the API can't be asked.
    pub(crate) async fn preferred(
        &self,
        client: &Client,
        kinds: &BTreeSet<GroupKind>,
    ) -> Result<BTreeMap<GroupKind, Served>, ApplyError> {
        let known = {
            let preferred = self.preferred.read();
            let known = kinds.iter();
            known
                .map(|kind| Some((kind.clone(), preferred.get(kind)?.clone())))
                .collect()
        };
        if let Some(known) = known {
            return Ok(known);
        }
        let all = self.all(client).await?.into_iter();
        let all = all.map(|served| (GroupKind::from(served.kind.clone()), served));
        Ok(all.filter(|(kind, _)| kinds.contains(kind)).collect())
    }

    /// All kinds of all versions, those of preferred ones first, asked for version by version.
    async fn one_by_one(&self, client: &Client) -> Result<Vec<Served>, ApplyError> {
        let groups = client.list_api_groups().await?;
        let versions = groups.groups.into_iter().flat_map(|group| {
            let preferred = group.preferred_version.into_iter();
            preferred
                .chain(group.versions)
                .map(|found| found.group_version)
        });
        // A kind may be in another version than the one that its group prefers.
        let mut asked = BTreeSet::new();
        let versions = ["v1".to_owned()].into_iter().chain(versions);
        let versions = versions
            .filter(|version| asked.insert(version.clone()))
            .collect();
        self.ask(client, versions).await
    }

    /// A kind in a version that was asked for before.
    pub(crate) fn known(&self, group: &str, kind: &str) -> Option<GroupVersionKind> {
        let known = self.known.read();
        let mut known = known.keys();
        known
            .find(|known| known.group == group && known.kind == kind)
            .cloned()
    }

    /// Kinds of a group may have come or gone.
    pub fn forget(&self) {
        self.known.write().clear();
        self.preferred.write().clear();
    }

    async fn ask(&self, client: &Client, versions: Vec<String>) -> Result<Vec<Served>, ApplyError> {
        // Collected first: the compiler can't see that a closure in a stream fits all lifetimes.
        let asked: Vec<_> = versions
            .into_iter()
            .map(|api_version| served(client, api_version))
            .collect();
        let lists = stream::iter(asked)
            .buffered(AT_ONCE)
            .try_collect::<Vec<_>>();
        let found: Vec<Served> = lists.await?.into_iter().flatten().collect();
        self.remember(&found);
        Ok(found)
    }

    fn remember(&self, found: &[Served]) {
        let found = found.iter();
        let found = found.map(|served| (served.kind.clone(), served.clone()));
        self.known.write().extend(found);
    }
}

/// All kinds in two requests, those of preferred versions first; none when the API doesn't have that form.
async fn aggregated(client: &Client) -> Result<Option<Vec<Served>>, ApplyError> {
    let discovery = match Discovery::new(client.clone()).run_aggregated().await {
        Ok(discovery) => discovery,
        Err(kube::Error::Api(status)) if status.code < 500 => return Ok(None),
        Err(kube::Error::SerdeError(_)) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let mut found = Vec::new();
    for group in discovery.groups_alphabetical() {
        let preferred = group.preferred_version_or_latest();
        let others = group.versions().filter(|version| *version != preferred);
        for version in std::iter::once(preferred).chain(others) {
            for (resource, can) in group.versioned_resources(version) {
                found.push(Served {
                    kind: GroupVersionKind::new(&resource.group, version, &resource.kind),
                    plural: resource.plural,
                    namespaced: can.scope == Scope::Namespaced,
                    listed: can.supports_operation(verbs::LIST)
                        && can.supports_operation(verbs::DELETE),
                });
            }
        }
    }
    Ok(Some(found))
}

/// All kinds of a group in one version; none when the API doesn't know it.
async fn served(client: &Client, api_version: String) -> Result<Vec<Served>, ApplyError> {
    let answer = if api_version.contains('/') {
        client.list_api_group_resources(&api_version).await
    } else {
        client.list_core_api_resources(&api_version).await
    };
    let resources = match answer {
        Ok(list) => list.resources,
        Err(kube::Error::Api(status)) if status.code == 404 => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let (group, version) = split_api_version(&api_version).unwrap_or(("", &api_version));
    let whole = resources
        .into_iter()
        .filter(|found| !found.name.contains('/'));
    let kinds = whole.map(|found| {
        let can = |verb: &str| found.verbs.iter().any(|known| known == verb);
        Served {
            kind: GroupVersionKind::new(group, version, &found.kind),
            namespaced: found.namespaced,
            listed: can("list") && can("delete"),
            plural: found.name.clone(),
        }
    });
    Ok(kinds.collect())
}
