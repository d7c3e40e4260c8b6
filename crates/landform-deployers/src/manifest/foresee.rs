//! What the manifests of an item tell before they are applied.

use std::collections::BTreeMap;

use serde_json::Value;

use super::configuration::{Configuration, Export, Manifest, Policy};
use super::object::ObjectName;
use crate::DeployError;
use crate::foresee::{Foreseen, Foresight};

/// Reads `spec.config` for a plan.
///
/// # Errors
/// Which field of the configuration is wrong.
pub(crate) fn foresee(config: Option<&Value>) -> Result<Foreseen, DeployError> {
    let configuration = Configuration::read(config)?;
    let manifests = configuration.manifests.iter();
    let manifests: Vec<_> = manifests
        .filter(|manifest| manifest.policy != Policy::Ignore)
        .filter_map(|manifest| Some((name_of(manifest)?, &manifest.value)))
        .collect();
    let exports: BTreeMap<_, _> = configuration
        .exports
        .iter()
        .map(|export| (export.key.clone(), of_export(export, &manifests)))
        .collect();
    Ok(Foreseen {
        exports: Some(exports),
        objects: manifests.iter().map(|(name, _)| name.to_string()).collect(),
    })
}

fn name_of(manifest: &Manifest) -> Option<ObjectName> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let metadata = &manifest.value["metadata"];
    Some(ObjectName {
        api_version: text(&manifest.value["apiVersion"])?,
        kind: text(&manifest.value["kind"])?,
        namespace: text(&metadata["namespace"]),
        name: text(&metadata["name"])?,
    })
}

/// A plain value that stands in a manifest is the value that will be read. Keys with dots become maps, so
/// they are left to whoever deploys.
fn of_export(export: &Export, manifests: &[(ObjectName, &Value)]) -> Foresight {
    let later = || Foresight::Later(format!("{} of what is deployed", export.path_text));
    let manifest = match (&export.from, manifests) {
        (Some(from), _) => manifests.iter().find(|(name, _)| {
            let anywhere = name.namespace.is_none() || from.namespace.is_none();
            name.same_object(&ObjectName {
                namespace: if anywhere {
                    name.namespace.clone()
                } else {
                    from.namespace.clone()
                },
                ..from.clone()
            })
        }),
        (None, [only]) => Some(only),
        (None, _) => None,
    };
    let Some((name, value)) = manifest else {
        return later();
    };
    if name.is_secret() || export.reference.is_some() || export.key.contains('.') {
        return later();
    }
    match export.path.find(value)[..] {
        [found @ (Value::String(_) | Value::Number(_) | Value::Bool(_))] => {
            Foresight::Value(found.clone())
        }
        _ => later(),
    }
}
