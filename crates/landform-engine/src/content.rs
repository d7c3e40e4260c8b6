//! What of an object counts as a change: one number that moves with it.

use std::hash::{DefaultHasher, Hash, Hasher};

use kube::core::DynamicObject;
use landform_api::keys::ANNOTATION_SERVICE_ACCOUNT;
use serde_json::Value;

/// Moves when the spec changes: with the generation, or, for kinds that have none, with everything but
/// metadata and status; and with the service account that acts for the object.
#[must_use]
pub fn content_of_spec(object: &DynamicObject) -> u64 {
    let mut hasher = DefaultHasher::new();
    object.metadata.uid.hash(&mut hasher);
    let annotations = object.metadata.annotations.as_ref();
    let account = annotations.and_then(|all| all.get(ANNOTATION_SERVICE_ACCOUNT));
    account.hash(&mut hasher);
    match object.metadata.generation {
        Some(generation) if generation > 0 => generation.hash(&mut hasher),
        _ => hash_fields(&object.data, &["status"], &mut hasher),
    }
    hasher.finish()
}

/// Moves when anything changes that somebody wrote, status, labels and annotations included.
#[must_use]
pub fn content_of_all(object: &DynamicObject) -> u64 {
    let mut hasher = DefaultHasher::new();
    let metadata = &object.metadata;
    metadata.uid.hash(&mut hasher);
    metadata.labels.hash(&mut hasher);
    metadata.annotations.hash(&mut hasher);
    metadata.deletion_timestamp.is_some().hash(&mut hasher);
    hash_fields(&object.data, &[], &mut hasher);
    hasher.finish()
}

fn hash_fields(value: &Value, without: &[&str], hasher: &mut impl Hasher) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if !without.contains(&name.as_str()) {
                    name.hash(hasher);
                    value.hash(hasher);
                }
            }
        }
        other => other.hash(hasher),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(value: Value) -> DynamicObject {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn r2_the_spec_moves_the_content_and_the_status_does_not() {
        let base =
            json!({"metadata": {"name": "a", "uid": "1", "generation": 1}, "status": {"x": 1}});
        let mut status = base.clone();
        status["status"]["x"] = json!(2);
        let mut spec = base.clone();
        spec["metadata"]["generation"] = json!(2);
        let mut recreated = base.clone();
        recreated["metadata"]["uid"] = json!("2");
        let [base, status, spec, recreated] = [base, status, spec, recreated].map(object);
        assert_eq!(content_of_spec(&base), content_of_spec(&status));
        assert_ne!(content_of_spec(&base), content_of_spec(&spec));
        assert_ne!(content_of_spec(&base), content_of_spec(&recreated));
        let mut account = base.clone();
        account.metadata.annotations =
            Some([(ANNOTATION_SERVICE_ACCOUNT.to_owned(), "web".to_owned())].into());
        assert_ne!(content_of_spec(&base), content_of_spec(&account));
        assert_ne!(content_of_all(&base), content_of_all(&status));
    }

    #[test]
    fn r2_a_kind_without_generations_is_compared_by_its_data() {
        let with = |data: &str, version: &str| {
            object(
                json!({"metadata": {"name": "a", "uid": "1", "resourceVersion": version}, "data": {"k": data}}),
            )
        };
        assert_eq!(
            content_of_spec(&with("v", "1")),
            content_of_spec(&with("v", "2"))
        );
        assert_ne!(
            content_of_spec(&with("v", "1")),
            content_of_spec(&with("w", "1"))
        );
    }
}
