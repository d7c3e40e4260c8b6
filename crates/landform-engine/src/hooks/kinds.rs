//! What the API knows of the kinds that a Reconciler names: where they are served, and how.

use std::collections::BTreeMap;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::Client;
use kube::core::ApiResource;
use landform_api::GroupVersionKind;

use super::spec::ReconcilerSpec;

/// A kind that the API serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Served {
    pub(crate) resource: ApiResource,
    pub(crate) namespaced: bool,
    pub(crate) has_status: bool,
}

/// The kinds of a Reconciler, as far as the API serves them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kinds(BTreeMap<GroupVersionKind, Served>);

impl Kinds {
    /// Asks the API for all kinds that a Reconciler names.
    ///
    /// # Errors
    /// What the API answers; a kind or group that it doesn't know is no error.
    pub(crate) async fn discover(
        client: &Client,
        spec: &ReconcilerSpec,
    ) -> Result<Self, kube::Error> {
        let names = named(spec);
        let mut api_versions: Vec<_> = names.iter().map(GroupVersionKind::api_version).collect();
        api_versions.sort();
        api_versions.dedup();
        let lists = stream::iter(api_versions)
            .map(|api_version| async move { served(client, &api_version).await })
            .buffered(8)
            .try_collect::<Vec<_>>();
        let mut found: BTreeMap<_, _> = lists.await?.into_iter().flatten().collect();
        found.retain(|name, _| names.contains(name));
        Ok(Self(found))
    }

    pub(crate) fn get(&self, name: &GroupVersionKind) -> Option<&Served> {
        self.0.get(name)
    }

    /// The kinds of a Reconciler that the API doesn't serve.
    pub(crate) fn missing(&self, spec: &ReconcilerSpec) -> Vec<GroupVersionKind> {
        let mut names = named(spec);
        names.retain(|name| !self.0.contains_key(name));
        names
    }
}

/// All kinds that a Reconciler names, each once.
pub(crate) fn named(spec: &ReconcilerSpec) -> Vec<GroupVersionKind> {
    let mut names = vec![spec.of.name()];
    let others = spec.owns.iter().map(super::spec::KindName::name);
    for name in others.chain(spec.refs.iter().map(|entry| entry.target(&spec.of))) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// All kinds of a group in one version.
async fn served(
    client: &Client,
    api_version: &str,
) -> Result<Vec<(GroupVersionKind, Served)>, kube::Error> {
    let answer = match api_version.split_once('/') {
        Some(_) => client.list_api_group_resources(api_version).await,
        None => client.list_core_api_resources(api_version).await,
    };
    let resources = match answer {
        Ok(list) => list.resources,
        Err(kube::Error::Api(status)) if status.code == 404 => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let has = |name: &str| resources.iter().any(|resource| resource.name == name);
    let whole = resources
        .iter()
        .filter(|resource| !resource.name.contains('/'));
    let kinds = whole.map(|found| {
        let served = Served {
            resource: ApiResource {
                group: group.to_owned(),
                version: version.to_owned(),
                api_version: api_version.to_owned(),
                kind: found.kind.clone(),
                plural: found.name.clone(),
            },
            namespaced: found.namespaced,
            has_status: has(&format!("{}/status", found.name)),
        };
        (GroupVersionKind::new(group, version, &found.kind), served)
    });
    Ok(kinds.collect())
}
