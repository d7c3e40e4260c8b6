//! Where imports come from: which objects, under which names.

use std::collections::BTreeMap;

use landform_api::GroupVersionKind;
use landform_api::landscaper::installation::{
    DataImport, InstallationImports, KeyReference, TargetImport,
};
use landform_api::landscaper::names;

use crate::landscape::facts::GivenKind;
use crate::landscape::index::Index;

/// Where one import comes from.
pub(super) enum Place {
    Data {
        key: String,
        object: String,
    },
    Secret(KeyReference),
    ConfigMap(KeyReference),
    Target {
        key: String,
        object: String,
    },
    /// The targets' names, as written and in the API; none when nobody imports such a list.
    Targets(Option<Vec<(String, String)>>),
    /// The targets' names by their keys, as written and in the API; none when the parent has imported no such map.
    TargetMap(Option<BTreeMap<String, (String, String)>>),
    /// The import says nothing.
    Nowhere,
}

impl Place {
    pub(super) fn objects(&self) -> Vec<(GroupVersionKind, String)> {
        let core = |kind: &str| GroupVersionKind::new("", "v1", kind);
        match self {
            Self::Data { object, .. } => vec![(GivenKind::Data.kind(), object.clone())],
            Self::Secret(reference) => vec![(core("Secret"), reference.name.clone())],
            Self::ConfigMap(reference) => vec![(core("ConfigMap"), reference.name.clone())],
            Self::Target { object, .. } => vec![(GivenKind::Target.kind(), object.clone())],
            Self::Targets(targets) => targets
                .iter()
                .flatten()
                .map(|(_, object)| (GivenKind::Target.kind(), object.clone()))
                .collect(),
            Self::TargetMap(targets) => targets
                .iter()
                .flatten()
                .map(|(_, (_, object))| (GivenKind::Target.kind(), object.clone()))
                .collect(),
            Self::Nowhere => Vec::new(),
        }
    }
}

/// All imports of a spec with where they come from.
pub(super) fn places(
    imports: &InstallationImports,
    namespace: &str,
    parent: Option<&str>,
    index: &Index,
) -> Vec<(String, Place)> {
    let scope = parent.map(names::installation_context);
    let object = |key: &str| names::data_name(scope.as_deref(), key);
    let data = imports.data.iter().map(|import: &DataImport| {
        let place = match (&import.secret_ref, &import.config_map_ref) {
            (Some(secret), _) => Place::Secret(secret.clone()),
            (None, Some(map)) => Place::ConfigMap(map.clone()),
            (None, None) if import.data_ref.is_empty() => Place::Nowhere,
            (None, None) => Place::Data {
                key: import.data_ref.clone(),
                object: object(&import.data_ref),
            },
        };
        (import.name.clone(), place)
    });
    let targets = imports.targets.iter().map(|import: &TargetImport| {
        let place = if let Some(targets) = &import.targets {
            let named = targets.iter().map(|key| (key.clone(), object(key)));
            Place::Targets(Some(named.collect()))
        } else if !import.target_list_ref.is_empty() {
            let list = parent
                .and_then(|parent| index.target_list(namespace, parent, &import.target_list_ref));
            Place::Targets(list.map(|names| {
                let names = names.into_iter();
                names.map(|name| (name.clone(), name)).collect()
            }))
        } else if let Some(targets) = &import.target_map {
            let named = targets.iter();
            let named = named.map(|(id, key)| (id.clone(), (key.clone(), object(key))));
            Place::TargetMap(Some(named.collect()))
        } else if !import.target_map_ref.is_empty() {
            let map = &import.target_map_ref;
            let keys = parent.and_then(|parent| index.target_map(namespace, parent, map));
            Place::TargetMap(keys.map(|keys| {
                // The parent writes each of them where what is nested in it finds it.
                let elements = keys.into_iter().map(|id| {
                    let key = names::element_key(map, &id);
                    let object = object(&key);
                    (id, (key, object))
                });
                elements.collect()
            }))
        } else if import.target.is_empty() {
            Place::Nowhere
        } else {
            Place::Target {
                key: import.target.clone(),
                object: object(&import.target),
            }
        };
        (import.name.clone(), place)
    });
    data.chain(targets).collect()
}
