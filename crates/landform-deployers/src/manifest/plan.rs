//! From manifests to objects with a place at the target, in the order in which they are applied.

use kube::core::{ApiResource, GroupVersionKind};
use serde_json::Value;

use super::change::{self, Item};
use super::cluster::{Cluster, Place};
use super::configuration::{Manifest, Policy};
use super::fields::invalid;
use super::object::{ObjectName, Rank};
use super::ownership::ANNOTATION_FAMILY;
use crate::DeployError;

/// An object as it should be.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) name: ObjectName,
    pub(super) policy: Policy,
    pub(super) adopt: bool,
    /// Whose objects are taken over.
    pub(super) family: Option<String>,
    pub(super) place: Place,
    pub(super) value: Value,
}

/// All objects that the manifests want, those with the policy `ignore` too.
pub(super) async fn plan(
    cluster: &Cluster<'_>,
    manifests: &[Manifest],
    item: Item<'_>,
) -> Result<Vec<Wanted>, DeployError> {
    for manifest in manifests {
        learn_kinds(cluster, manifest).await?;
    }
    let mut all: Vec<Wanted> = Vec::new();
    for manifest in manifests {
        let Some(wanted) = wanted(cluster, manifest, item).await? else {
            continue;
        };
        if all.iter().any(|other| other.name.same_object(&wanted.name)) {
            let problem = format!("is a second manifest of {}", wanted.name);
            return Err(invalid(&manifest.path, &problem));
        }
        all.push(wanted);
    }
    sort(&mut all, |wanted| wanted.name.rank());
    Ok(all)
}

/// Within a rank the order stays.
fn sort<T>(all: &mut [T], rank: impl Fn(&T) -> Rank) {
    all.sort_by_key(|wanted| rank(wanted));
}

async fn wanted(
    cluster: &Cluster<'_>,
    manifest: &Manifest,
    item: Item<'_>,
) -> Result<Option<Wanted>, DeployError> {
    let text = |path: &str, field: &str, value: &Value| {
        let text = value[field].as_str().filter(|text| !text.is_empty());
        let path = format!("{path}.{field}");
        text.map(str::to_owned)
            .ok_or_else(|| invalid(&path, "is missing"))
    };
    let value = &manifest.value;
    let api_version = text(&manifest.path, "apiVersion", value)?;
    let kind = text(&manifest.path, "kind", value)?;
    let metadata_path = format!("{}.metadata", manifest.path);
    let name = text(&metadata_path, "name", &value["metadata"])?;
    let Some(place) = cluster.place(&api_version, &kind).await? else {
        if manifest.policy == Policy::Ignore {
            return Ok(None);
        }
        let message = format!(
            "target {}: {}: it doesn't serve the kind {kind} of {api_version}; \
             its definition must be installed first",
            cluster.target, manifest.path
        );
        // Not fatal: the definition may be on its way.
        return Err(DeployError::transient("Plan", "UnknownKind", message));
    };
    let namespace = place.namespaced.then(|| {
        let given = value["metadata"]["namespace"].as_str();
        let given = given.filter(|namespace| !namespace.is_empty());
        given.unwrap_or(&cluster.namespace).to_owned()
    });
    Ok(Some(Wanted {
        policy: manifest.policy,
        adopt: change::adopts(value),
        family: value["metadata"]["annotations"][ANNOTATION_FAMILY]
            .as_str()
            .map(ToOwned::to_owned),
        value: change::wanted(value, namespace.as_deref(), item),
        place,
        name: ObjectName {
            api_version,
            kind,
            namespace,
            name,
        },
    }))
}

/// The kinds that a definition among the manifests will bring, unless the target has them already.
async fn learn_kinds(cluster: &Cluster<'_>, manifest: &Manifest) -> Result<(), DeployError> {
    let value = &manifest.value;
    let is_definition = value["kind"] == "CustomResourceDefinition";
    if !is_definition || manifest.policy == Policy::Ignore {
        return Ok(());
    }
    let spec = &value["spec"];
    let texts = (
        spec["group"].as_str(),
        spec["names"]["kind"].as_str(),
        spec["names"]["plural"].as_str(),
    );
    // Without them the target refuses the definition, and says why.
    let (Some(group), Some(kind), Some(plural)) = texts else {
        return Ok(());
    };
    let versions = spec["versions"].as_array().into_iter().flatten();
    for version in versions.filter_map(|version| version["name"].as_str()) {
        let name = GroupVersionKind::gvk(group, version, kind);
        let api_version = name.api_version();
        if cluster.place(&api_version, kind).await?.is_none() {
            let place = Place {
                resource: ApiResource::from_gvk_with_plural(&name, plural),
                namespaced: spec["scope"] == "Namespaced",
            };
            cluster.learn(&api_version, kind, place);
        }
    }
    Ok(())
}
