//! Values as installations see them: what is in a Secret, a ConfigMap, a DataObject or a Target.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::ResourceExt as _;
use kube::core::DynamicObject;
use landform_api::landscaper::execution::ExecutionSpec;
use landform_api::landscaper::installation::InstallationSpec;
use landform_blueprint::MASK;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use sha1::{Digest as _, Sha1};

/// The value under a key of a Secret or ConfigMap, or the whole of it as a map. None when there is no such
/// key.
pub(super) fn of_key(object: &DynamicObject, key: &str) -> Option<Value> {
    let all = values(object);
    if key.is_empty() {
        return Some(Value::Object(all));
    }
    all.get(key).cloned()
}

fn values(object: &DynamicObject) -> Map<String, Value> {
    let is_secret = object
        .types
        .as_ref()
        .is_some_and(|types| types.kind == "Secret");
    let mut values = Map::new();
    for (field, encoded) in [("data", is_secret), ("binaryData", true)] {
        for (key, value) in object.data[field].as_object().into_iter().flatten() {
            let text = value.as_str().unwrap_or_default();
            let text = if encoded {
                let bytes = STANDARD.decode(text).unwrap_or_default();
                String::from_utf8_lossy(&bytes).into_owned()
            } else {
                text.to_owned()
            };
            values.insert(key.clone(), parse(&text));
        }
    }
    values
}

/// A text as YAML; one that is no YAML is itself.
fn parse(text: &str) -> Value {
    let parsed = landform_yaml::parse_one(text, &landform_yaml::Budget::OBJECT);
    parsed.unwrap_or_else(|_| Value::String(text.to_owned()))
}

/// A target as templates see it.
pub(super) fn of_target(target: &DynamicObject) -> Value {
    json!({
        "metadata": {"name": target.name_any(), "namespace": target.namespace()},
        "spec": target.data["spec"],
    })
}

/// A target as templates see it, with what may be shown of it: the configuration that its exporter gave it is in it, also if it
/// is secret and so in a Secret.
pub(super) fn of_guarded_target(
    target: &DynamicObject,
    configuration: Option<&Value>,
) -> (Value, Value) {
    let mut value = of_target(target);
    let mut shown = value.clone();
    if let Some(configuration) = configuration {
        for (value, configuration) in [
            (&mut value, configuration.clone()),
            (&mut shown, Value::from(MASK)),
        ] {
            if let Some(spec) = value["spec"].as_object_mut() {
                spec.remove("secretRef");
                spec.insert("config".to_owned(), configuration);
            }
        }
    }
    (value, shown)
}

/// A hash of the spec of an execution or an installation, whatever an API server fills in or leaves out.
pub(super) fn hash_of_spec(kind: &str, spec: &Value) -> String {
    fn plain<T: Serialize + DeserializeOwned + Default>(spec: &Value) -> Value {
        let read = T::deserialize(spec).unwrap_or_default();
        serde_json::to_value(read).unwrap_or_default()
    }
    hash(&match kind {
        "Execution" => plain::<ExecutionSpec>(spec),
        _ => plain::<InstallationSpec>(spec),
    })
}

/// A hash of a value.
pub(super) fn hash(value: &Value) -> String {
    let digest = Sha1::digest(value.to_string());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
