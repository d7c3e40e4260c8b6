//! Namespaces: active from their creation, held by a finalizer of their own until they are empty.

use landform_api::keys::{FINALIZER_NAMESPACE, LABEL_NAMESPACE_NAME};
use serde_json::json;

use super::KindRules;
use crate::object::{Object, meta};

pub(super) struct NamespaceRules;

impl KindRules for NamespaceRules {
    fn prepare_create(&self, object: &mut Object) {
        let spec = object.entry("spec").or_insert_with(|| json!({}));
        // What is no map is refused by the schema afterwards.
        if let Some(spec) = spec.as_object_mut() {
            let finalizers = spec.entry("finalizers").or_insert_with(|| json!([]));
            if let Some(list) = finalizers.as_array_mut()
                && !list.contains(&json!(FINALIZER_NAMESPACE))
            {
                list.push(json!(FINALIZER_NAMESPACE));
            }
        }
        object.insert("status".into(), json!({"phase": "Active"}));
        label_with_name(object);
    }

    fn prepare_update(&self, object: &mut Object, old: &Object) {
        // Only the subresource `finalize` changes the spec's finalizers.
        match old.get("spec") {
            Some(spec) => object.insert("spec".into(), spec.clone()),
            None => object.remove("spec"),
        };
        label_with_name(object);
    }
}

/// Every namespace carries its own name as a label, so that selectors can name it.
fn label_with_name(object: &mut Object) {
    let name = meta::name(object).to_owned();
    if name.is_empty() {
        return;
    }
    let labels = meta::metadata_mut(object)
        .entry("labels")
        .or_insert_with(|| json!({}));
    if labels.is_null() {
        *labels = json!({});
    }
    if let Some(labels) = labels.as_object_mut() {
        labels.insert(LABEL_NAMESPACE_NAME.into(), json!(name));
    }
}
