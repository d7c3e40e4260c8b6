//! Which names, labels and annotations are allowed: the rules that Kubernetes documents.

use landform_api::budget::PROBLEMS_LISTED_MAX;
use landform_api::{FieldError, FieldPath, FieldReason};
use serde_json::{Value, json};

/// How names of a kind are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRule {
    /// Lower-case letters, digits, `-` and `.`, up to 253 characters: most kinds.
    Subdomain,
    /// Lower-case letters, digits and `-`, up to 63 characters: namespaces.
    Label,
    /// As `Label`, beginning with a letter: services.
    Label1035,
    /// Anything that can stand in a path: roles and bindings.
    PathSegment,
}

impl NameRule {
    /// What is wrong with a name; `None` when nothing is.
    #[must_use]
    pub fn check(self, name: &str) -> Option<&'static str> {
        match self {
            Self::Subdomain => (!is_subdomain(name)).then_some(SUBDOMAIN_HELP),
            Self::Label => (!is_label(name)).then_some(LABEL_HELP),
            Self::Label1035 => {
                let starts_with_letter = name.starts_with(|c: char| c.is_ascii_lowercase());
                (!is_label(name) || !starts_with_letter).then_some(LABEL_1035_HELP)
            }
            Self::PathSegment => match name {
                "." | ".." => Some("may not be '.' or '..'"),
                _ if name.contains(['/', '%']) => Some("may not contain '/' or '%'"),
                _ if name.is_empty() || name.len() > 253 => Some("must have 1 to 253 characters"),
                _ => None,
            },
        }
    }
}

const SUBDOMAIN_HELP: &str = "use lower case letters, digits, '-' and '.' only, begin and end with a letter or digit, at most 253 characters (an RFC 1123 subdomain, such as 'web.example.com')";
const LABEL_HELP: &str = "use lower case letters, digits and '-' only, begin and end with a letter or digit, at most 63 characters (an RFC 1123 label, such as 'team-a')";
const LABEL_1035_HELP: &str = "use lower case letters, digits and '-' only, begin with a letter and end with a letter or digit, at most 63 characters (an RFC 1035 label, such as 'web-1')";

/// RFC 1123 subdomain.
#[must_use]
pub fn is_subdomain(name: &str) -> bool {
    name.len() <= 253 && !name.is_empty() && name.split('.').all(is_dns_part)
}

/// RFC 1123 label.
#[must_use]
pub fn is_label(name: &str) -> bool {
    name.len() <= 63 && is_dns_part(name)
}

fn is_dns_part(part: &str) -> bool {
    let bytes = part.as_bytes();
    let alphanumeric = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    match (bytes.first(), bytes.last()) {
        (Some(first), Some(last)) => {
            alphanumeric(first)
                && alphanumeric(last)
                && bytes.iter().all(|b| alphanumeric(b) || *b == b'-')
        }
        _ => false,
    }
}

/// `[prefix/]name` as label and annotation keys and finalizers are written.
#[must_use]
pub fn is_qualified_name(name: &str) -> bool {
    match name.split_once('/') {
        None => is_qualified_part(name),
        Some((prefix, part)) => is_subdomain(prefix) && is_qualified_part(part),
    }
}

fn is_qualified_part(part: &str) -> bool {
    let bytes = part.as_bytes();
    match (bytes.first(), bytes.last()) {
        (Some(first), Some(last)) => {
            part.len() <= 63
                && first.is_ascii_alphanumeric()
                && last.is_ascii_alphanumeric()
                && bytes
                    .iter()
                    .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(b))
        }
        _ => false,
    }
}

/// What a label may be set to: empty, or as the name part of a key.
#[must_use]
pub fn is_label_value(value: &str) -> bool {
    value.is_empty() || is_qualified_part(value)
}

const KEY_HELP: &str = "a key is a name of at most 63 letters, digits, '-', '_' and '.' that begins and ends with a letter or digit, after an optional DNS domain and '/' (such as 'tier' or 'example.com/tier')";
const VALUE_HELP: &str = "a label's value is empty, or at most 63 letters, digits, '-', '_' and '.' that begin and end with a letter or digit";
/// All annotations of an object together may have so many bytes.
const ANNOTATIONS_BYTES: usize = 256 * 1024;
/// An object may have this many owners. Objects of real clusters have one or two; the collector asks for each one.
const OWNERS_MAX: usize = 1_000;

/// Checks everything in the metadata but the name (whose rule depends on the kind).
#[must_use]
pub fn check_metadata(metadata: &serde_json::Map<String, Value>) -> Vec<FieldError> {
    let root = FieldPath::of("metadata");
    let mut errors = Vec::new();
    check_labels(metadata.get("labels"), &root.field("labels"), &mut errors);
    check_annotations(
        metadata.get("annotations"),
        &root.field("annotations"),
        &mut errors,
    );
    check_finalizers(
        metadata.get("finalizers"),
        &root.field("finalizers"),
        &mut errors,
    );
    check_owners(
        metadata.get("ownerReferences"),
        &root.field("ownerReferences"),
        &mut errors,
    );
    errors
}

/// Checks a map of labels, wherever it stands.
pub fn check_labels(labels: Option<&Value>, path: &FieldPath, errors: &mut Vec<FieldError>) {
    for (key, value) in strings(labels, path, errors) {
        if errors.len() >= PROBLEMS_LISTED_MAX {
            return;
        }
        if !is_qualified_name(key) {
            errors.push(FieldError::with_value(
                &path.key(key),
                FieldReason::Invalid,
                &json!(key),
                KEY_HELP,
            ));
        }
        if !is_label_value(value) {
            errors.push(FieldError::with_value(
                &path.key(key),
                FieldReason::Invalid,
                &json!(value),
                VALUE_HELP,
            ));
        }
    }
}

fn check_annotations(annotations: Option<&Value>, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let mut bytes = 0;
    for (key, value) in strings(annotations, path, errors) {
        if errors.len() >= PROBLEMS_LISTED_MAX {
            return;
        }
        // Annotation keys may be written in any case, label keys may not have upper-case prefixes.
        if !is_qualified_name(&key.to_ascii_lowercase()) {
            errors.push(FieldError::with_value(
                &path.key(key),
                FieldReason::Invalid,
                &json!(key),
                KEY_HELP,
            ));
        }
        bytes += key.len() + value.len();
    }
    if bytes > ANNOTATIONS_BYTES {
        errors.push(FieldError::new(
            path,
            FieldReason::TooLong,
            format!("may not be more than {ANNOTATIONS_BYTES} bytes together; these have {bytes}"),
        ));
    }
}

fn strings<'a>(
    map: Option<&'a Value>,
    path: &FieldPath,
    errors: &mut Vec<FieldError>,
) -> Vec<(&'a String, &'a str)> {
    match map {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Object(map)) => map
            .iter()
            .filter_map(|(key, value)| match value {
                Value::String(text) => Some((key, text.as_str())),
                other => {
                    if errors.len() < PROBLEMS_LISTED_MAX {
                        errors.push(FieldError::with_value(
                            &path.key(key),
                            FieldReason::TypeInvalid,
                            other,
                            "must be a string: put it in quotes",
                        ));
                    }
                    None
                }
            })
            .collect(),
        Some(other) => {
            let detail = "must be a map of strings";
            errors.push(FieldError::with_value(
                path,
                FieldReason::TypeInvalid,
                other,
                detail,
            ));
            Vec::new()
        }
    }
}

fn check_finalizers(finalizers: Option<&Value>, path: &FieldPath, errors: &mut Vec<FieldError>) {
    for (index, entry) in list(finalizers, path, errors).iter().enumerate() {
        if errors.len() >= PROBLEMS_LISTED_MAX {
            return;
        }
        match entry.as_str() {
            Some(text) if is_qualified_name(text) => {}
            _ => errors.push(FieldError::with_value(
                &path.index(index),
                FieldReason::Invalid,
                entry,
                KEY_HELP,
            )),
        }
    }
}

/// An object has at most [`OWNERS_MAX`] owners, or as many as it had before there was a limit.
#[must_use]
pub fn check_owner_count(
    metadata: &serde_json::Map<String, Value>,
    old: Option<&serde_json::Map<String, Value>>,
) -> Option<FieldError> {
    let count = |metadata: &serde_json::Map<String, Value>| {
        let owners = metadata.get("ownerReferences");
        owners.and_then(Value::as_array).map_or(0, Vec::len)
    };
    let (owners, before) = (count(metadata), old.map_or(0, count));
    (owners > OWNERS_MAX.max(before)).then(|| {
        FieldError::new(
            &FieldPath::of("metadata").field("ownerReferences"),
            FieldReason::TooMany,
            format!("an object has at most {OWNERS_MAX} owners; these are {owners}"),
        )
    })
}

fn check_owners(owners: Option<&Value>, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let mut controllers = Vec::new();
    for (index, owner) in list(owners, path, errors).iter().enumerate() {
        if errors.len() >= PROBLEMS_LISTED_MAX {
            return;
        }
        let path = path.index(index);
        for field in ["apiVersion", "kind", "name", "uid"] {
            match owner.get(field) {
                Some(Value::String(text)) if !text.is_empty() => {}
                Some(Value::String(_) | Value::Null) | None => errors.push(FieldError::new(
                    &path.field(field),
                    FieldReason::Required,
                    "an owner reference needs apiVersion, kind, name and uid",
                )),
                Some(other) => errors.push(FieldError::with_value(
                    &path.field(field),
                    FieldReason::TypeInvalid,
                    other,
                    "must be a string",
                )),
            }
        }
        let api_version = owner
            .get("apiVersion")
            .and_then(Value::as_str)
            .unwrap_or("v1");
        if landform_api::kind::split_api_version(api_version).is_none() {
            errors.push(FieldError::with_value(
                &path.field("apiVersion"),
                FieldReason::Invalid,
                &json!(api_version),
                "must be VERSION or GROUP/VERSION",
            ));
        }
        if api_version == "v1" && owner.get("kind").and_then(Value::as_str) == Some("Event") {
            errors.push(FieldError::new(
                &path,
                FieldReason::Forbidden,
                "an Event can't own other objects",
            ));
        }
        if owner.get("controller").and_then(Value::as_bool) == Some(true) {
            controllers.push(
                owner
                    .get("name")
                    .and_then(Value::as_str)
                    .unwrap_or_default(),
            );
        }
    }
    if controllers.len() > 1 {
        errors.push(FieldError::new(
            path,
            FieldReason::Invalid,
            format!(
                "only one reference can have controller set to true, and {} do: {}",
                controllers.len(),
                controllers.join(", ")
            ),
        ));
    }
}

fn list<'a>(
    value: Option<&'a Value>,
    path: &FieldPath,
    errors: &mut Vec<FieldError>,
) -> &'a [Value] {
    match value {
        None | Some(Value::Null) => &[],
        Some(Value::Array(list)) => list,
        Some(other) => {
            let detail = "must be a list";
            errors.push(FieldError::with_value(
                path,
                FieldReason::TypeInvalid,
                other,
                detail,
            ));
            &[]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(metadata: Value) -> Vec<String> {
        check_metadata(metadata.as_object().unwrap())
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn names_follow_the_rule_of_their_kind() {
        for (rule, good, bad) in [
            (
                NameRule::Subdomain,
                vec!["a", "a-b.c", "0"],
                vec!["", "A", "a_b", "-a", "a..b", "a."],
            ),
            (NameRule::Label, vec!["a-b"], vec!["a.b", "", "A"]),
            (NameRule::Label1035, vec!["a1"], vec!["1a", "a.b"]),
            (
                NameRule::PathSegment,
                vec!["system:node", "A_B"],
                vec!["a/b", "..", "a%b", ""],
            ),
        ] {
            for name in good {
                assert_eq!(rule.check(name), None, "{rule:?} {name}");
            }
            for name in bad {
                assert!(rule.check(name).is_some(), "{rule:?} {name}");
            }
        }
        assert!(NameRule::Subdomain.check(&"a".repeat(254)).is_some());
        assert!(NameRule::Label.check(&"a".repeat(64)).is_some());
    }

    #[test]
    fn good_metadata_has_no_problems() {
        assert_eq!(
            problems(json!({
                "labels": {"a.b/c": "D_e", "x": ""},
                "annotations": {"Any.Case/key": "any text at all"},
                "finalizers": ["cascade_deletion", "a.b/c"],
                "ownerReferences": [
                    {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "1", "controller": true},
                    {"apiVersion": "a.b/v1", "kind": "K", "name": "p", "uid": "2"},
                ],
            })),
            Vec::<String>::new()
        );
    }

    #[test]
    fn bad_metadata_says_what_is_wrong_where() {
        let found = problems(json!({
            "labels": {"a b": "c", "d": "e f", "n": 1},
            "finalizers": ["a b"],
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "K", "name": "o", "uid": ""},
                {"apiVersion": "v1", "kind": "K", "name": "o", "uid": "1", "controller": true},
                {"apiVersion": "v1", "kind": "K", "name": "p", "uid": "2", "controller": true},
            ],
        }));
        assert_eq!(found.len(), 6, "{found:#?}");
        assert!(
            found
                .iter()
                .any(|p| p.starts_with("metadata.labels[n]: Invalid value: 1"))
        );
        assert!(
            found
                .iter()
                .any(|p| p.starts_with("metadata.ownerReferences[0].uid: Required"))
        );
        assert!(found.iter().any(|p| p.ends_with("and 2 do: o, p")));
    }

    #[test]
    fn an_object_has_a_thousand_owners_or_as_many_as_it_had() {
        let owned = |count: usize| {
            let owner = json!({"apiVersion": "v1", "kind": "K", "name": "o", "uid": "1"});
            let metadata = json!({"ownerReferences": vec![owner; count]});
            metadata.as_object().unwrap().clone()
        };
        let refused = |count, before: Option<usize>| {
            check_owner_count(&owned(count), before.map(owned).as_ref()).is_some()
        };
        assert!(!refused(OWNERS_MAX, None));
        assert!(refused(OWNERS_MAX + 1, None));
        assert!(refused(OWNERS_MAX + 1, Some(OWNERS_MAX)));
        assert!(
            !refused(OWNERS_MAX + 4, Some(OWNERS_MAX + 5)),
            "stored before there was a limit"
        );
        assert!(refused(OWNERS_MAX + 6, Some(OWNERS_MAX + 5)));
    }

    #[test]
    fn annotations_have_a_total_size() {
        let found = problems(json!({"annotations": {"a": "x".repeat(ANNOTATIONS_BYTES)}}));
        assert_eq!(found.len(), 1);
        assert!(
            found[0].starts_with("metadata.annotations: Too long"),
            "{found:?}"
        );
    }
}
