//! Which kinds there are: discovery, and where objects of a kind are in the API.

use std::collections::BTreeMap;

use kube::Client;
use kube::core::ApiResource;
use kube::core::gvk::{GroupVersion, GroupVersionKind};
use kube::discovery::{Discovery, Scope, verbs};

use super::client::{self, Address, CustomKind, Partial, RequestError};

/// A kind, for as long as the collector runs; numbers are not used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct KindId(pub(crate) u16);

/// A kind in the version that it is followed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) resource: ApiResource,
    pub(crate) namespaced: bool,
}

impl Kind {
    fn of(custom: &CustomKind) -> Self {
        let gvk = GroupVersionKind::gvk(&custom.group, &custom.version, &custom.kind);
        Self {
            resource: ApiResource::from_gvk_with_plural(&gvk, &custom.plural),
            namespaced: custom.namespaced,
        }
    }

    /// Where an object is.
    pub(crate) fn address(&self, namespace: &str, name: &str) -> Address {
        let ApiResource {
            group,
            version,
            plural,
            ..
        } = &self.resource;
        let root = if group.is_empty() {
            format!("/api/{version}")
        } else {
            format!("/apis/{group}/{version}")
        };
        let path = if self.namespaced {
            format!("{root}/namespaces/{namespace}/{plural}/{name}")
        } else {
            format!("{root}/{plural}/{name}")
        };
        Address { path }
    }

    /// `ConfigMap`, `Widget.example.com`.
    pub(crate) fn title(&self) -> String {
        if self.resource.group.is_empty() {
            self.resource.kind.clone()
        } else {
            format!("{}.{}", self.resource.kind, self.resource.group)
        }
    }

    /// `configmaps`, `widgets.example.com`.
    pub(crate) fn resource_name(&self) -> String {
        if self.resource.group.is_empty() {
            self.resource.plural.clone()
        } else {
            format!("{}.{}", self.resource.plural, self.resource.group)
        }
    }

    /// Group and kind, by which references and paths name it.
    pub(crate) fn key(&self) -> (String, String) {
        (self.resource.group.clone(), self.resource.kind.clone())
    }
}

/// All kinds at one moment.
pub(crate) struct Known {
    /// Those whose objects can be listed, watched and deleted.
    pub(crate) served: Vec<Kind>,
    /// Those that aren't served, with what is stored of them.
    pub(crate) hidden: Vec<(Kind, Vec<Partial>)>,
}

/// Why it isn't known which kinds there are.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UnknownKinds {
    #[error("{0}")]
    Discovery(#[from] kube::Error),
    #[error("custom kinds can't be read: {0}")]
    Custom(#[from] RequestError),
    #[error("{0} changes at the moment")]
    Changing(String),
}

/// Finds out which kinds there are.
///
/// # Errors
/// When that can't be known now; what was known before is then still the best that is known.
pub(crate) async fn discover(client: &Client) -> Result<Known, UnknownKinds> {
    let served = served(client).await?;
    let mut hidden = Vec::new();
    for custom in client::custom_kinds(client).await? {
        let kind = Kind::of(&custom);
        // Of a kind that is in neither list nothing would be known.
        if custom.served != served.contains_key(&kind.key()) {
            return Err(UnknownKinds::Changing(kind.title()));
        }
        if !custom.served {
            hidden.push((kind, custom.unserved));
        }
    }
    Ok(Known {
        served: served.into_values().collect(),
        hidden,
    })
}

/// All kinds whose objects can be listed, watched and deleted, by group and kind.
async fn served(client: &Client) -> Result<BTreeMap<(String, String), Kind>, kube::Error> {
    // Everything at one moment in two requests, where the server has it in this form.
    let discovery = match Discovery::new(client.clone()).run_aggregated().await {
        Ok(discovery) => discovery,
        Err(_) => Discovery::new(client.clone()).run().await?,
    };
    let mut kinds = BTreeMap::new();
    for group in discovery.groups() {
        // Each kind in its own best version: the best of the group may not have it.
        for (resource, capabilities) in group.resources_by_stability() {
            let can = |verb| capabilities.supports_operation(verb);
            let usable = can(verbs::LIST) && can(verbs::WATCH) && can(verbs::DELETE);
            if usable && !is_event(&resource.api_version, &resource.kind) {
                let kind = Kind {
                    resource,
                    namespaced: capabilities.scope == Scope::Namespaced,
                };
                kinds.insert(kind.key(), kind);
            }
        }
    }
    Ok(kinds)
}

/// Events own nothing, are owned by nothing, and come in numbers: they aren't followed. Kubernetes leaves them out, too.
pub(crate) fn is_event(api_version: &str, kind: &str) -> bool {
    kind == "Event" && matches!(api_version, "v1" | "events.k8s.io/v1")
}

/// The group of an apiVersion.
pub(crate) fn group_of(api_version: &str) -> Option<String> {
    let version: GroupVersion = api_version.parse().ok()?;
    Some(version.group)
}
