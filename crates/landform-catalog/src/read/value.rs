//! Small readers of values whose shape nobody promises.

use landform_api::GroupVersionKind;
use semver::Version;
use serde_json::Value;

/// The text of a field; empty when there is none.
pub(super) fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// The items of a field; none when it is no list.
pub(super) fn items<'a>(value: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    value
        .get(field)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

/// The texts of a field that is a list.
pub(super) fn texts(value: &Value, field: &str) -> Vec<String> {
    items(value, field)
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

/// A kind; `None` unless version and kind are given.
pub(super) fn kind(value: &Value) -> Option<GroupVersionKind> {
    let (version, kind) = (text(value, "version"), text(value, "kind"));
    let given = !version.is_empty() && !kind.is_empty();
    given.then(|| GroupVersionKind::new(text(value, "group"), version, kind))
}

/// A version of a server as people write it: `1.25`, `v1.25.0`.
pub(super) fn server_version(text: &str) -> Option<Version> {
    let text = text.trim();
    let text = text.strip_prefix('v').unwrap_or(text);
    let full = match text.split(['-', '+']).next()?.matches('.').count() {
        0 => format!("{text}.0.0"),
        1 => format!("{text}.0"),
        _ => text.to_owned(),
    };
    Version::parse(&full).ok()
}

/// What to say of a text that is no version.
pub(super) fn no_version(text: &str) -> String {
    let hint = match text.strip_prefix('v') {
        Some(rest) if Version::parse(rest).is_ok() => format!(": write {rest:?}"),
        _ => ": write three numbers such as 1.2.3, as semver has it".to_owned(),
    };
    format!("{text:?} is no version{hint}")
}

/// Names after a comma, each once, in order.
pub(super) fn comma_separated(text: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in text.split(',').map(str::trim) {
        if !name.is_empty() && !names.iter().any(|found| found == name) {
            names.push(name.to_owned());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_servers_may_be_short() {
        let read = |text| server_version(text).map(|version| version.to_string());
        assert_eq!(read("1.25").as_deref(), Some("1.25.0"));
        assert_eq!(read("v1.16.0").as_deref(), Some("1.16.0"));
        assert_eq!(read("1.25.0-0").as_deref(), Some("1.25.0-0"));
        assert_eq!(read("1").as_deref(), Some("1.0.0"));
        assert_eq!(read("new"), None);
        assert_eq!(read(""), None);
    }

    #[test]
    fn a_wrong_version_comes_with_the_right_one() {
        assert_eq!(
            no_version("v1.0.0"),
            r#""v1.0.0" is no version: write "1.0.0""#
        );
        assert!(no_version("1.0").contains("three numbers"));
    }
}
