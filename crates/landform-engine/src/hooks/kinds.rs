//! What the API knows of the kinds that a Reconciler names: where they are served, and how.

use std::collections::BTreeMap;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::Client;
use kube::core::ApiResource;
use landform_api::{GroupKind, GroupVersionKind};

use super::spec::ReconcilerSpec;
use crate::context::api_of;
use crate::driver::Driver;
use crate::errors::ErrorPlace;

/// A kind that the API serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Served {
    pub(crate) resource: ApiResource,
    pub(crate) namespaced: bool,
    pub(crate) has_status: bool,
}

/// The kinds of a Reconciler, as far as the API serves them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kinds {
    served: BTreeMap<GroupVersionKind, Served>,
    /// Where objects of the reconciled kind tell their error.
    error_place: ErrorPlace,
}

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
        let error_place = match found.get(&spec.of.name()) {
            Some(served) if served.has_status => error_place(client, &served.resource).await?,
            _ => ErrorPlace::Annotation,
        };
        Ok(Self {
            served: found,
            error_place,
        })
    }

    /// Where objects of the reconciled kind tell their error.
    pub(crate) fn error_place(&self) -> &ErrorPlace {
        &self.error_place
    }

    pub(crate) fn get(&self, name: &GroupVersionKind) -> Option<&Served> {
        self.served.get(name)
    }

    /// The kinds of a Reconciler that the API doesn't serve.
    pub(crate) fn missing(&self, spec: &ReconcilerSpec) -> Vec<GroupVersionKind> {
        let mut names = named(spec);
        names.retain(|name| !self.served.contains_key(name));
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

/// Where objects of a kind tell their error, by the schema of its definition. Built-in kinds have none; and whoever
/// may not read definitions uses what all kinds have.
async fn error_place(client: &Client, resource: &ApiResource) -> Result<ErrorPlace, kube::Error> {
    let definitions = Driver::definitions();
    let definitions = ApiResource::from_gvk_with_plural(
        &kube::core::GroupVersionKind::gvk(
            &definitions.group,
            &definitions.version,
            &definitions.kind,
        ),
        "customresourcedefinitions",
    );
    let name = format!("{}.{}", resource.plural, resource.group);
    let definition = match api_of(client.clone(), &definitions, None)
        .get_opt(&name)
        .await
    {
        Err(kube::Error::Api(status)) if status.code == 403 => None,
        other => other?,
    };
    let Some(definition) = definition else {
        return Ok(ErrorPlace::Annotation);
    };
    let versions = definition.data["spec"]["versions"].as_array();
    let version = versions
        .into_iter()
        .flatten()
        .find(|version| version["name"] == resource.version.as_str());
    Ok(version.map_or(ErrorPlace::Annotation, |version| {
        ErrorPlace::in_schema(&version["schema"]["openAPIV3Schema"])
    }))
}

/// Where the objects of a kind can be written, in whatever version.
pub(crate) async fn any_version(
    client: &Client,
    kind: &GroupKind,
) -> Result<Option<ApiResource>, kube::Error> {
    let versions = if kind.group.is_empty() {
        vec!["v1".to_owned()]
    } else {
        let groups = client.list_api_groups().await?.groups;
        let group = groups.into_iter().find(|found| found.name == kind.group);
        let versions = group.into_iter().flat_map(|group| group.versions);
        versions.map(|version| version.group_version).collect()
    };
    for version in versions {
        let found = served(client, &version).await?;
        let found = found.into_iter().find(|(name, _)| name.kind == kind.kind);
        if let Some((_, served)) = found {
            return Ok(Some(served.resource));
        }
    }
    Ok(None)
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
