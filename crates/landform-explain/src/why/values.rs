//! Which values the error of an installation is about, and in which file of a project they stand. Pure.

use landform_api::landscaper::{keys, labels, names};
use landform_api::project::ANNOTATION_FILE;
use serde_json::Value;

use crate::object::ObjectRef;

/// The objects with the imports that the error names: as `import "NAME"`, the way in which imports are refused.
pub(super) fn named(object: &Value) -> Vec<ObjectRef> {
    if object["kind"] != "Installation" {
        return Vec::new();
    }
    let error = object["status"]["lastError"]["message"].as_str();
    let metadata = &object["metadata"];
    let namespace = metadata["namespace"].as_str().unwrap_or_default();
    let parent = labels::in_metadata(metadata, keys::ENCOMPASSED_BY);
    let context = parent.map(names::installation_context);
    let imports = object["spec"]["imports"]["data"].as_array();
    let imports = imports.into_iter().flatten().filter(|import| {
        let name = import["name"].as_str().unwrap_or_default();
        error.is_some_and(|error| error.contains(&format!("import {name:?}")))
    });
    let objects = imports.filter_map(|import| {
        let (kind, name) = match (
            &import["configMapRef"]["name"],
            &import["secretRef"]["name"],
        ) {
            (Value::String(name), _) => ("ConfigMap", name.clone()),
            (_, Value::String(name)) => ("Secret", name.clone()),
            _ => {
                let key = import["dataRef"].as_str()?;
                ("DataObject", names::data_name(context.as_deref(), key))
            }
        };
        ObjectRef::known(kind, namespace, &name)
    });
    objects.collect()
}

/// `DataObject/config in the file config.yaml`, of an object that a project made.
pub(super) fn place(object: &Value) -> Option<String> {
    let file = object["metadata"]["annotations"][ANNOTATION_FILE].as_str()?;
    Some(format!("{} in the file {file}", ObjectRef::of(object)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_imports_that_the_error_names_are_meant() {
        let object = json!({
            "kind": "Installation", "metadata": {"name": "a", "namespace": "team"},
            "spec": {"imports": {"data": [
                {"name": "port", "dataRef": "config"},
                {"name": "other", "dataRef": "else"},
                {"name": "map", "configMapRef": {"name": "m", "key": "k"}},
            ]}},
            "status": {"lastError": {"message": "import \"port\" at .x: has to be an integer; import \"map\": bad"}},
        });
        let found: Vec<String> = named(&object).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["DataObject/config", "ConfigMap/m"]);
        let made = json!({"kind": "DataObject", "metadata": {"name": "config", "annotations": {ANNOTATION_FILE: "c.yaml"}}});
        assert_eq!(
            place(&made).as_deref(),
            Some("DataObject/config in the file c.yaml")
        );
        assert_eq!(
            place(&json!({"kind": "DataObject", "metadata": {"name": "x"}})),
            None
        );
    }
}
