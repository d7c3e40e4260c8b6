//! Workloads: plain objects here, with the few rules that keep a manifest honest.

use landform_api::{FieldError, FieldPath, FieldReason};
use serde_json::{Value, json};

use super::KindRules;
use crate::object::Object;

pub(super) struct PodRules;
pub(super) struct SelectorRules;

impl KindRules for PodRules {
    fn prepare_create(&self, object: &mut Object) {
        if let Some(spec) = object.get_mut("spec") {
            default_pull_policies(spec);
        }
        object.insert("status".into(), json!({"phase": "Pending"}));
    }
}

impl KindRules for SelectorRules {
    fn prepare_create(&self, object: &mut Object) {
        default_template(object);
    }

    fn prepare_update(&self, object: &mut Object, _old: &Object) {
        default_template(object);
    }

    fn validate(&self, object: &Object, old: Option<&Object>) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let Some(spec) = object.get("spec") else {
            return errors;
        };
        let selector = &spec["selector"];
        let labels = &spec["template"]["metadata"]["labels"];
        for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
            if labels.get(key) != Some(value) {
                errors.push(FieldError::with_value(
                    &FieldPath::of("spec.template.metadata.labels"),
                    FieldReason::Invalid,
                    labels,
                    format!("`selector` does not match template `labels`: it wants {key}={value}"),
                ));
            }
        }
        if let Some(old) = old
            && old
                .get("spec")
                .is_some_and(|old| old["selector"] != *selector)
        {
            errors.push(FieldError::with_value(
                &FieldPath::of("spec.selector"),
                FieldReason::Invalid,
                selector,
                "field is immutable",
            ));
        }
        errors
    }
}

fn default_template(object: &mut Object) {
    if let Some(spec) = object
        .get_mut("spec")
        .and_then(|spec| spec.get_mut("template"))
        .and_then(|template| template.get_mut("spec"))
    {
        default_pull_policies(spec);
    }
}

/// A container without a pull policy gets the one that its image's tag calls for.
fn default_pull_policies(pod_spec: &mut Value) {
    for field in ["containers", "initContainers"] {
        for container in pod_spec
            .get_mut(field)
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            let Some(container) = container.as_object_mut() else {
                continue;
            };
            let image = container
                .get("image")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let policy = if follows_latest(image) {
                "Always"
            } else {
                "IfNotPresent"
            };
            container
                .entry("imagePullPolicy")
                .or_insert_with(|| json!(policy));
        }
    }
}

/// Whether an image reference has no tag (or `latest`) and no digest.
fn follows_latest(image: &str) -> bool {
    if image.contains('@') {
        return false;
    }
    let last = image.rsplit('/').next().unwrap_or(image);
    last.split_once(':').is_none_or(|(_, tag)| tag == "latest")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pull_policy_follows_the_tag() {
        for (image, expected) in [
            ("nginx", true),
            ("nginx:latest", true),
            ("nginx:1.27", false),
            ("host:5000/nginx", true),
            ("host:5000/nginx:1", false),
            ("nginx@sha256:abc", false),
        ] {
            assert_eq!(follows_latest(image), expected, "{image}");
        }
    }

    #[test]
    fn a_selector_must_match_its_template_and_stay() {
        let deployment = |selector: &str, label: &str| {
            json!({"spec": {
                "selector": {"matchLabels": {"app": selector}},
                "template": {"metadata": {"labels": {"app": label}}},
            }})
            .as_object()
            .unwrap()
            .clone()
        };
        let fine = deployment("a", "a");
        assert_eq!(SelectorRules.validate(&fine, Some(&fine)), []);
        assert_eq!(SelectorRules.validate(&deployment("a", "b"), None).len(), 1);
        assert_eq!(
            SelectorRules
                .validate(&deployment("b", "b"), Some(&fine))
                .len(),
            1
        );
    }
}
