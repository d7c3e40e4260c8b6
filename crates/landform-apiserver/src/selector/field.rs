//! Field selectors as text: `metadata.name=a,status.phase!=Running`.

use serde_json::Value;

use landform_api::budget;

use crate::error::{ApiError, Result};

/// Requirements on fields, all of which must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    /// The field's path, by dots.
    field: String,
    value: String,
    /// `=` or `!=`.
    equal: bool,
}

impl FieldSelector {
    /// Reads a selector over the fields that the kind lets be selected.
    pub fn parse(text: Option<&str>, selectable: &[String]) -> Result<Self> {
        let text = text.unwrap_or_default();
        let mut requirements = Vec::new();
        for part in split_unescaped(text) {
            let requirement = parse_one(&part).ok_or_else(|| {
                ApiError::bad_request(format!(
                    "invalid field selector {:?}: write FIELD=VALUE, FIELD==VALUE or FIELD!=VALUE",
                    budget::shown(&part)
                ))
            })?;
            let known = matches!(
                requirement.field.as_str(),
                "metadata.name" | "metadata.namespace"
            ) || selectable.contains(&requirement.field);
            if !known {
                let mut fields = vec!["metadata.name", "metadata.namespace"];
                fields.extend(selectable.iter().map(String::as_str));
                return Err(ApiError::bad_request(format!(
                    "field label not supported: {}; this resource can be selected by {}",
                    budget::shown(&requirement.field),
                    fields.join(", ")
                )));
            }
            requirements.push(requirement);
        }
        Ok(Self(requirements))
    }

    /// Whether it selects everything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The one name that it can select, when it demands one.
    #[must_use]
    pub fn demanded_name(&self) -> Option<&str> {
        self.0
            .iter()
            .find(|requirement| requirement.equal && requirement.field == "metadata.name")
            .map(|requirement| requirement.value.as_str())
    }

    /// The one name that a selector's text demands, whatever else it says and whether or not it is valid.
    #[must_use]
    pub fn name_in(text: Option<&str>) -> Option<String> {
        let parts = split_unescaped(text?);
        let requirements = parts.iter().filter_map(|part| parse_one(part)).collect();
        Self(requirements).demanded_name().map(str::to_owned)
    }

    /// Whether only name and namespace are looked at, which a key tells without the object.
    #[must_use]
    pub fn only_needs_key(&self) -> bool {
        self.0
            .iter()
            .all(|requirement| requirement.field.starts_with("metadata."))
    }

    /// Whether an object is selected. `object` is read only for fields beyond its key.
    pub fn matches<'a>(
        &self,
        namespace: &str,
        name: &str,
        object: impl FnOnce() -> Option<&'a Value>,
    ) -> bool {
        let by_key = |requirement: &Requirement| match requirement.field.as_str() {
            "metadata.name" => Some(name),
            "metadata.namespace" => Some(namespace),
            _ => None,
        };
        let key_holds = self.0.iter().all(|requirement| {
            by_key(requirement)
                .is_none_or(|found| (found == requirement.value) == requirement.equal)
        });
        if !key_holds || self.only_needs_key() {
            return key_holds;
        }
        let object = object();
        self.0
            .iter()
            .filter(|requirement| by_key(requirement).is_none())
            .all(|requirement| {
                let found = object.map(|object| field_text(object, &requirement.field));
                (found.unwrap_or_default() == requirement.value) == requirement.equal
            })
    }
}

/// A field as text; empty when it is absent.
fn field_text(object: &Value, path: &str) -> String {
    let mut value = object;
    for part in path.split('.') {
        match value.get(part) {
            Some(next) => value = next,
            None => return String::new(),
        }
    }
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Splits at commas that no backslash protects.
fn split_unescaped(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut escaped = false;
    for c in text.chars() {
        if c == ',' && !escaped {
            parts.push(String::new());
            continue;
        }
        escaped = c == '\\' && !escaped;
        if let Some(last) = parts.last_mut() {
            last.push(c);
        }
    }
    parts.retain(|part| !part.trim().is_empty());
    parts
}

fn parse_one(part: &str) -> Option<Requirement> {
    let at = part.find(['=', '!'])?;
    let (field, rest) = part.split_at(at);
    let (equal, value) = match rest {
        _ if rest.starts_with("==") => (true, &rest[2..]),
        _ if rest.starts_with('=') => (true, &rest[1..]),
        _ if rest.starts_with("!=") => (false, &rest[2..]),
        _ => return None,
    };
    if field.trim().is_empty() {
        return None;
    }
    Some(Requirement {
        field: field.trim().into(),
        value: unescape(value)?,
        equal,
    })
}

/// Takes the backslashes away; `None` where one protects nothing, or `=` and `,` stand bare.
fn unescape(value: &str) -> Option<String> {
    let mut out = String::new();
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next()? {
                protected @ ('\\' | ',' | '=') => out.push(protected),
                _ => return None,
            },
            '=' => return None,
            other => out.push(other),
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn fields_select_by_key_and_by_content() {
        let object = json!({"spec": {"nodeName": "n1", "on": true}});
        let selectable = [
            "spec.nodeName".to_owned(),
            "spec.on".to_owned(),
            "spec.no".to_owned(),
        ];
        for (text, expected) in [
            ("", true),
            ("metadata.name=a", true),
            ("metadata.name!=a", false),
            ("metadata.namespace==ns,metadata.name=a", true),
            ("spec.nodeName=n1", true),
            ("spec.nodeName!=n1", false),
            ("spec.on=true", true),
            ("spec.no=", true),
            ("spec.no!=x,metadata.name=b", false),
        ] {
            let selector = FieldSelector::parse(Some(text), &selectable).unwrap();
            assert_eq!(
                selector.matches("ns", "a", || Some(&object)),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn unknown_fields_and_bad_text_are_refused() {
        let error = FieldSelector::parse(Some("spec.x=1"), &["spec.y".into()]).unwrap_err();
        assert_eq!(
            error.message(),
            "field label not supported: spec.x; this resource can be selected by metadata.name, metadata.namespace, spec.y"
        );
        for text in [
            "metadata.name",
            "=a",
            "metadata.name=a=b",
            "metadata.name!a",
        ] {
            assert!(FieldSelector::parse(Some(text), &[]).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_selector_panics(text in ".*") {
            let _ = FieldSelector::parse(Some(&text), &[]);
        }
    }
}
