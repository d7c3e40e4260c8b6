//! Rules for strings: length, pattern, format.

use landform_api::words::counted;
use landform_pattern::Price;
use serde_json::{Map, Value};

use super::formats;

/// Whether a text is a pattern in the syntax of ECMA as far as it is linear. Nothing is compiled.
pub(super) fn is_pattern(text: &str) -> bool {
    Price::of(text).is_ok()
}

/// What a text violates.
pub(super) fn violations(
    fields: &Map<String, Value>,
    text: &str,
    fits: impl Fn(&str) -> bool,
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
        && !fits(wanted)
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
