//! Where the objects of a kind are, as the API says.

use std::collections::{BTreeMap, BTreeSet};

use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::Client;
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
        let mut kinds = BTreeSet::new();
        let mut found = self.ask(client, versions).await?;
        found.retain(|served| kinds.insert(GroupKind::from(served.kind.clone())));
        Ok(found)
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
        let mut known = self.known.write();
        known.extend(
            found
                .iter()
                .map(|served| (served.kind.clone(), served.clone())),
        );
        Ok(found)
    }
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
