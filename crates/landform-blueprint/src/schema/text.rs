//! Rules for strings: length, pattern, format.

use landform_api::words::counted;
use regex::{Regex, RegexBuilder};
use serde_json::{Map, Value};

use super::formats;

/// A pattern in the syntax of ECMA as far as it is linear; `None` for others.
pub(super) fn pattern(text: &str) -> Option<Regex> {
    RegexBuilder::new(text).size_limit(1 << 20).build().ok()
}

/// What a text violates.
pub(super) fn violations(
    fields: &Map<String, Value>,
    text: &str,
    compiled: impl Fn(&str) -> Option<Regex>,
) -> Vec<String> {
    let mut found = Vec::new();
    let limit = |name: &str| fields.get(name).and_then(Value::as_u64);
    let length = text.chars().count() as u64;
    if let Some(least) = limit("minLength").filter(|least| length < *least) {
        let least = counted(least, "character");
        found.push(format!("has to have at least {least}"));
    }
    if let Some(most) = limit("maxLength").filter(|most| length > *most) {
        let most = counted(most, "character");
        found.push(format!("may have at most {most}"));
    }
    if let Some(Value::String(wanted)) = fields.get("pattern")
        && compiled(wanted).is_some_and(|pattern| !pattern.is_match(text))
    {
        found.push(format!("doesn't fit the pattern `{wanted}`"));
    }
    if let Some(Value::String(format)) = fields.get("format")
        && formats::fits(format, text) == Some(false)
    {
        found.push(format!("has not the format `{format}`"));
    }
    found
}
