//! How answers look: tables, YAML, JSON or names; colours and a line that lives, on a terminal only.
//!
//! `format.rs` reads what `-o` says, `jsonpath.rs` the paths in it; `table.rs` lays out columns, `color.rs` decides about colours, `live.rs` is the line that shows how it goes;
//! `harmless.rs` keeps texts of others from doing anything to the terminal.

pub(crate) mod color;
pub(crate) mod format;
pub(crate) mod harmless;
pub(crate) mod jsonpath;
pub(crate) mod live;
pub(crate) mod table;
pub(crate) mod time;

use clap::Args;
use serde_json::Value;

use crate::AnyError;
use crate::output::color::When;
pub(crate) use format::{Format, OutputArgs, ReportArgs};

/// Whether there are colours.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct ColorArgs {
    /// Whether the answer has colours; `auto` is on a terminal, unless NO_COLOR is set.
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = When::Auto, help_heading = "Output")]
    pub(crate) color: When,
}

/// An object without what only servers read.
pub(crate) fn readable(mut object: Value) -> Value {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    object
}

/// Objects as one text: one by itself, several as a List.
pub(crate) fn objects(
    objects: Vec<Value>,
    single: bool,
    format: Format,
) -> Result<String, AnyError> {
    let mut objects: Vec<Value> = objects.into_iter().map(readable).collect();
    let value = match (single, objects.len()) {
        (true, 1) => objects.remove(0),
        _ => serde_json::json!({"apiVersion": "v1", "kind": "List", "items": objects}),
    };
    one(&value, format)
}

/// One value as text.
pub(crate) fn one(value: &Value, format: Format) -> Result<String, AnyError> {
    match format {
        Format::Made(maker) => maker.make(value),
        Format::Yaml => Ok(landform_yaml::write(value)),
        Format::Json | Format::Wide | Format::Name => {
            let mut text = serde_json::to_string_pretty(value)?;
            text.push('\n');
            Ok(escaped(&text))
        }
    }
}

/// JSON with all its control characters escaped, so that the same value is read from what is shown.
fn escaped(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '\u{7f}'..='\u{9f}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' => {
                text.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => text.push(c),
        }
    }
    text
}

/// A text, indented by so many spaces.
pub(crate) fn indented(text: &str, by: usize) -> String {
    let indent = " ".repeat(by);
    text.lines()
        .map(|line| {
            if line.is_empty() {
                "\n".to_owned()
            } else {
                format!("{indent}{line}\n")
            }
        })
        .collect()
}

/// What stands in the place of a secret's values.
pub(crate) const HIDDEN: &str = "***";

/// An object that may be shown to those who look over a shoulder: a Secret without its values.
pub(crate) fn without_secrets(mut object: Value, mark: &str) -> Value {
    let is_secret = object["kind"] == "Secret" && object["apiVersion"] == "v1";
    if is_secret {
        for field in ["data", "stringData"] {
            if let Some(data) = object.get_mut(field).and_then(Value::as_object_mut) {
                data.values_mut().for_each(|value| *value = mark.into());
            }
        }
    }
    // What was applied last stands in an annotation, values and all.
    let annotations = object.pointer_mut("/metadata/annotations");
    if let Some(annotations) = annotations.and_then(Value::as_object_mut) {
        annotations.remove(crate::apply::LAST_APPLIED);
        annotations.remove(landform_api::project::ANNOTATION_APPLIED);
        if annotations.is_empty()
            && let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut)
        {
            metadata.remove("annotations");
        }
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn one_object_stands_alone_and_several_are_a_list() {
        let object = json!({"kind": "A", "metadata": {"name": "a", "managedFields": [1]}});
        let text = objects(vec![object.clone()], true, Format::Yaml).unwrap();
        assert_eq!(text, "kind: A\nmetadata:\n  name: a\n");
        let text = objects(vec![object.clone(), object], false, Format::Json).unwrap();
        let list: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(list["items"].as_array().unwrap().len(), 2);
    }

    #[test]
    fn values_of_secrets_are_not_shown() {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "data": {"a": "aHVudGVyMg=="},
            "metadata": {"annotations": {crate::apply::LAST_APPLIED: "hunter2"}},
        });
        let shown = without_secrets(secret, HIDDEN);
        assert_eq!(shown["data"]["a"], "***");
        assert!(!shown.to_string().contains("hunter2"), "{shown}");
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}});
        assert_eq!(without_secrets(map.clone(), HIDDEN), map);
    }
}
