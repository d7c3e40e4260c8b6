//! What a target answered, as an error for people that holds nothing of what was sent.
//!
//! API servers repeat values in their messages (`Invalid value: "…"`). About a Secret only the kind of
//! error and the fields are told; in other messages values are cut out.

use kube::core::Status;
use landform_api::landscaper::ErrorCode;

use super::object::ObjectName;
use crate::DeployError;

/// The words after which an API server repeats a value.
const BEFORE_VALUES: [&str; 4] = [
    "Invalid value: ",
    "Unsupported value: ",
    "Duplicate value: ",
    "Not found: ",
];

/// A request about an object failed.
pub(super) fn of_object(
    operation: &str,
    target: &str,
    object: &ObjectName,
    error: &kube::Error,
) -> DeployError {
    let what = format!("target {target}: {object}");
    match error {
        kube::Error::Api(status) => refused(operation, &what, object.is_secret(), status),
        _ => unreachable(operation, &what, error),
    }
}

/// A request about no object in particular failed.
pub(super) fn of_target(operation: &str, target: &str, error: &kube::Error) -> DeployError {
    let what = format!("target {target}");
    match error {
        kube::Error::Api(status) => refused(operation, &what, false, status),
        _ => unreachable(operation, &what, error),
    }
}

/// In a few words, for messages about something else.
pub(crate) fn in_short(object_is_secret: bool, error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => answer(object_is_secret, status),
        _ => transport(error),
    }
}

fn refused(operation: &str, what: &str, secret: bool, status: &Status) -> DeployError {
    let message = format!("{what}: {}", answer(secret, status));
    let reason = if status.reason.is_empty() {
        "Refused"
    } else {
        &status.reason
    };
    match status.code {
        400 | 405 | 413 | 422 => {
            let code = ErrorCode::ConfigurationProblem;
            DeployError::with_code(operation, reason, message, code)
        }
        401 | 403 => DeployError::with_code(operation, reason, message, ErrorCode::Unauthorized),
        _ => DeployError::transient(operation, reason, message),
    }
}

fn unreachable(operation: &str, what: &str, error: &kube::Error) -> DeployError {
    let message = format!("{what}: {}", transport(error));
    DeployError::transient(operation, "Unreachable", message)
}

fn answer(secret: bool, status: &Status) -> String {
    if !secret {
        let message = without_values(&status.message);
        return format!(
            "the API says {} ({})",
            message.trim_end_matches('.'),
            status.code
        );
    }
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let causes: Vec<_> = causes
        .filter(|cause| !cause.field.is_empty())
        .map(|cause| format!("{} {}", cause.field, cause.reason))
        .collect();
    let fields = if causes.is_empty() {
        String::new()
    } else {
        format!(": {}", causes.join(", "))
    };
    format!("the API says {} ({}){fields}", status.reason, status.code)
}

/// Errors of the connection. Those of reading answers could repeat what was read.
fn transport(error: &kube::Error) -> String {
    match error {
        kube::Error::HyperError(error) => chain(error),
        kube::Error::Service(error) => chain(error.as_ref()),
        kube::Error::ReadEvents(error) => chain(error),
        kube::Error::RustlsTls(error) => chain(error),
        kube::Error::SerdeError(_) => "its answer can't be read".into(),
        _ => "the request failed".into(),
    }
}

/// An error with everything that caused it, in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

/// A message of an API server without the values in it.
pub(super) fn without_values(message: &str) -> String {
    let mut text = String::new();
    let mut rest = message;
    loop {
        let places = BEFORE_VALUES.iter().filter_map(|words| {
            let at = rest.find(words)?;
            Some((at, at + words.len()))
        });
        let Some((_, end)) = places.min() else {
            text.push_str(rest);
            return text;
        };
        text.push_str(rest[..end].trim_end_matches(": "));
        rest = match after_value(&rest[end..]) {
            Some(after) => after,
            None => return text,
        };
    }
}

/// What follows a quoted text or a word. Behind anything else nobody can tell where it ends.
fn after_value(text: &str) -> Option<&str> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([':', ',', ' ', ']'])?;
        let word = &text[..end];
        let is_plain = word
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'));
        return is_plain.then(|| &text[end..]);
    };
    let mut escaped = false;
    for (at, c) in quoted.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some(&quoted[at + 1..]),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    #[test]
    fn values_are_cut_out_of_messages() {
        for (message, expected) in [
            ("not found", "not found"),
            (
                r#"spec.a: Invalid value: "top \"secret\": yes": must be b"#,
                "spec.a: Invalid value: must be b",
            ),
            (
                r#"[spec.a: Invalid value: 5: too small, spec.b: Unsupported value: "x": supported values: "y"]"#,
                r#"[spec.a: Invalid value: too small, spec.b: Unsupported value: supported values: "y"]"#,
            ),
            (r#"Invalid value: v1.Env{Value:"x"}: bad"#, "Invalid value"),
            (r#"Invalid value: "never closed"#, "Invalid value"),
            (r#"a: Duplicate value: "x""#, "a: Duplicate value"),
        ] {
            assert_eq!(without_values(message), expected, "{message}");
        }
    }

    fn status(value: Value) -> Status {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn of_a_secret_only_fields_and_reasons_are_told() {
        let status = status(json!({
            "status": "Failure", "code": 422, "reason": "Invalid",
            "message": "data[key]: Invalid value: canary: canary",
            "details": {"causes": [
                {"field": "data[key]", "reason": "FieldValueInvalid", "message": "canary"},
            ]},
        }));
        let error = refused("Apply", "target t: Secret a/b", true, &status);
        let expected =
            "target t: Secret a/b: the API says Invalid (422): data[key] FieldValueInvalid";
        assert_eq!(error.message, expected);
        assert!(error.is_fatal());
    }

    proptest! {
        #[test]
        fn no_quoted_value_gets_through(value in ".*", detail in "[a-z ]*") {
            let quoted = serde_json::to_string(&format!("canary{value}")).unwrap();
            let text = without_values(&format!("spec.a: Invalid value: {quoted}: {detail}"));
            prop_assert_eq!(text, format!("spec.a: Invalid value: {detail}"));
        }
    }
}
