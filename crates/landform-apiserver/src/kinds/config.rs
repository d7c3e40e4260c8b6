//! ConfigMaps and Secrets: their keys, `stringData`, and `immutable`.

use base64::Engine as _;
use landform_api::{FieldError, FieldPath, FieldReason};
use serde_json::{Value, json};

use super::KindRules;
use crate::object::Object;

/// All values of a ConfigMap or Secret together may have so many bytes.
const DATA_BYTES: usize = 1024 * 1024;
const KEY_HELP: &str = "a key has letters, digits, '-', '_' and '.' only, at most 253 of them";

pub(super) struct ConfigMapRules;
pub(super) struct SecretRules;

impl KindRules for ConfigMapRules {
    fn validate(&self, object: &Object, old: Option<&Object>) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let text = check_keys(object, "data", &mut errors);
        let binary = check_keys(object, "binaryData", &mut errors);
        check_size(text + binary, &mut errors);
        if let (Some(data), Some(binary)) = (map(object, "data"), map(object, "binaryData")) {
            for key in data.keys().filter(|key| binary.contains_key(*key)) {
                errors.push(FieldError::new(
                    &FieldPath::of("data").key(key),
                    FieldReason::Invalid,
                    "the same key stands in binaryData",
                ));
            }
        }
        if let Some(old) = old {
            check_immutable(object, old, &["data", "binaryData"], &mut errors);
        }
        errors
    }
}

impl KindRules for SecretRules {
    fn prepare_create(&self, object: &mut Object) {
        merge_string_data(object);
    }

    fn prepare_update(&self, object: &mut Object, _old: &Object) {
        merge_string_data(object);
    }

    fn validate(&self, object: &Object, old: Option<&Object>) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let bytes = check_keys(object, "data", &mut errors);
        check_size(bytes, &mut errors);
        if let Some(old) = old {
            check_immutable(object, old, &["data"], &mut errors);
            if object.get("type") != old.get("type") {
                errors.push(FieldError::with_value(
                    &FieldPath::of("type"),
                    FieldReason::Invalid,
                    object.get("type").unwrap_or(&Value::Null),
                    "field is immutable",
                ));
            }
        }
        errors
    }
}

/// Moves `stringData` into `data`, encoded; it is never stored. What is no map of texts stays where it is, and the
/// schema refuses it.
fn merge_string_data(object: &mut Object) {
    let Some(plain) = object.get("stringData").and_then(texts) else {
        return;
    };
    let data = object.entry("data").or_insert_with(|| json!({}));
    if data.is_null() {
        *data = json!({});
    }
    if let Some(data) = data.as_object_mut() {
        data.extend(plain);
        object.remove("stringData");
    }
}

/// The texts of a map, encoded; `None` when something else is in it.
fn texts(value: &Value) -> Option<Object> {
    let encoded = |(key, value): (&String, &Value)| {
        let text = match value {
            Value::Null => "",
            value => value.as_str()?,
        };
        let text = base64::engine::general_purpose::STANDARD.encode(text);
        Some((key.clone(), json!(text)))
    };
    match value {
        Value::Null => Some(Object::new()),
        value => value.as_object()?.iter().map(encoded).collect(),
    }
}

fn map<'a>(object: &'a Object, field: &str) -> Option<&'a Object> {
    object.get(field).and_then(Value::as_object)
}

/// Checks the keys of a data map and says how many bytes its values have.
fn check_keys(object: &Object, field: &str, errors: &mut Vec<FieldError>) -> usize {
    let path = FieldPath::of(field);
    let mut bytes = 0;
    for (key, value) in map(object, field).into_iter().flatten() {
        let fine = !key.is_empty()
            && key.len() <= 253
            && key != "."
            && !key.starts_with("..")
            && key
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
        if !fine {
            errors.push(FieldError::with_value(
                &path.key(key),
                FieldReason::Invalid,
                &json!(key),
                KEY_HELP,
            ));
        }
        bytes += value.as_str().map_or(0, str::len);
    }
    bytes
}

fn check_size(bytes: usize, errors: &mut Vec<FieldError>) {
    if bytes > DATA_BYTES {
        errors.push(FieldError::new(
            &FieldPath::of("data"),
            FieldReason::TooLong,
            format!("may not be more than {DATA_BYTES} bytes; it has {bytes}"),
        ));
    }
}

fn check_immutable(object: &Object, old: &Object, fields: &[&str], errors: &mut Vec<FieldError>) {
    if old.get("immutable") != Some(&json!(true)) {
        return;
    }
    let detail = "field is immutable when `immutable` is set";
    if object.get("immutable") != Some(&json!(true)) {
        errors.push(FieldError::new(
            &FieldPath::of("immutable"),
            FieldReason::Forbidden,
            detail,
        ));
    }
    let content = |object: &Object, field: &str| object.get(field).cloned().unwrap_or(json!({}));
    for field in fields
        .iter()
        .filter(|field| content(object, field) != content(old, field))
    {
        errors.push(FieldError::new(
            &FieldPath::of(field),
            FieldReason::Forbidden,
            detail,
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: Value) -> Object {
        value.as_object().unwrap().clone()
    }

    fn problems(rules: &dyn KindRules, new: Value, old: Option<Value>) -> Vec<String> {
        let old = old.map(object);
        rules
            .validate(&object(new), old.as_ref())
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn string_data_ends_up_encoded_in_data() {
        let mut secret = object(json!({"stringData": {"a": "hi"}, "data": {"b": "eA=="}}));
        SecretRules.prepare_create(&mut secret);
        assert_eq!(
            Value::Object(secret),
            json!({"data": {"a": "aGk=", "b": "eA=="}})
        );
    }

    #[test]
    fn keys_are_checked_and_may_not_stand_in_both_maps() {
        let found = problems(
            &ConfigMapRules,
            json!({"data": {"a b": "", "x": ""}, "binaryData": {"x": ""}}),
            None,
        );
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(
            problems(&ConfigMapRules, json!({"data": {"a.b_c-D": "x"}}), None),
            [""; 0]
        );
    }

    #[test]
    fn an_immutable_map_keeps_its_data() {
        let old = json!({"data": {"a": "1"}, "immutable": true});
        let changed = json!({"data": {"a": "2"}, "immutable": true});
        assert_eq!(
            problems(&ConfigMapRules, changed.clone(), Some(old.clone())).len(),
            1
        );
        assert_eq!(
            problems(
                &ConfigMapRules,
                json!({"data": {"a": "1"}}),
                Some(old.clone())
            )
            .len(),
            1
        );
        assert_eq!(problems(&ConfigMapRules, old.clone(), Some(old)).len(), 0);
        assert_eq!(
            problems(&ConfigMapRules, changed, Some(json!({"data": {}}))).len(),
            0
        );
    }
}
