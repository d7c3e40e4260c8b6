//! Variables in a Compose file: `$NAME`, `${NAME}`, `${NAME:-default}` and their relatives, from the file `.env` beside it.
//!
//! The environment of the shell is not read: the same file must give the same project.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::source::{Source, Weight, below, read_text};
use crate::AnyError;

/// The values of variables.
#[derive(Debug, Default)]
pub(crate) struct Variables(pub(crate) BTreeMap<String, String>);

impl Variables {
    /// Those of the file `.env` in a directory, if there is one.
    pub(crate) fn beside(directory: &Path) -> Result<Self, AnyError> {
        let file = directory.join(".env");
        if !file.exists() {
            return Ok(Self::default());
        }
        Ok(Self(assignments(&read_text(&file)?)))
    }
}

/// The lines `NAME=value` of a file of variables.
pub(crate) fn assignments(text: &str) -> BTreeMap<String, String> {
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let lines = lines.map(|line| line.strip_prefix("export ").unwrap_or(line));
    let pairs = lines.map(|line| match line.split_once('=') {
        Some((name, value)) => (name.trim().to_owned(), unquoted(value.trim())),
        None => (line.to_owned(), String::new()),
    });
    pairs.collect()
}

fn unquoted(value: &str) -> String {
    if let Some(rest) = value.strip_prefix('\'') {
        return rest.split('\'').next().unwrap_or(rest).to_owned();
    }
    if let Some(rest) = value.strip_prefix('"') {
        let inner = rest.split('"').next().unwrap_or(rest);
        return inner.replace("\\n", "\n");
    }
    // A comment begins behind a blank.
    let end = value.find(" #").unwrap_or(value.len());
    value[..end].trim_end().to_owned()
}

/// Puts values into all texts below a value.
pub(crate) fn put_into(value: &mut Value, pointer: &str, known: &Variables, source: &Source) {
    match value {
        Value::String(text) => *text = replaced(text, pointer, known, source),
        Value::Array(items) => {
            for (at, item) in items.iter_mut().enumerate() {
                put_into(item, &format!("{pointer}/{at}"), known, source);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                put_into(field, &below(pointer, name), known, source);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn replaced(text: &str, pointer: &str, known: &Variables, source: &Source) -> String {
    let mut made = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        made.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            made.push('$');
            rest = after;
        } else if let Some(after) = rest.strip_prefix('{') {
            let Some(end) = closing(after) else {
                source.wrong(pointer, "`${` has no `}`: write `$$` for a dollar sign");
                return made;
            };
            made.push_str(&expanded(&after[..end], pointer, known, source));
            rest = &after[end + 1..];
        } else {
            let end = name_end(rest);
            if end == 0 {
                made.push('$');
            } else {
                made.push_str(&expanded(&rest[..end], pointer, known, source));
            }
            rest = &rest[end..];
        }
    }
    made.push_str(rest);
    made
}

fn name_end(text: &str) -> usize {
    let other = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    text.find(other).unwrap_or(text.len())
}

/// Where the brace is closed that was opened before this text.
fn closing(text: &str) -> Option<usize> {
    let mut open = 0_usize;
    for (at, letter) in text.char_indices() {
        match letter {
            '{' => open += 1,
            '}' if open == 0 => return Some(at),
            '}' => open -= 1,
            _ => {}
        }
    }
    None
}

/// What stands between the braces: a name, and what counts when it has no value.
fn expanded(inner: &str, pointer: &str, known: &Variables, source: &Source) -> String {
    let (name, operator) = inner.split_at(name_end(inner));
    let value = known.0.get(name);
    let filled = value.filter(|value| !value.is_empty());
    let nested = |text: &str| replaced(text, pointer, known, source);
    if let Some(default) = operator.strip_prefix(":-") {
        return filled.cloned().unwrap_or_else(|| nested(default));
    }
    if let Some(default) = operator.strip_prefix('-') {
        return value.cloned().unwrap_or_else(|| nested(default));
    }
    if let Some(other) = operator.strip_prefix(":+") {
        return filled.map(|_| nested(other)).unwrap_or_default();
    }
    if let Some(other) = operator.strip_prefix('+') {
        return value.map(|_| nested(other)).unwrap_or_default();
    }
    if let Some(value) = value {
        return value.clone();
    }
    let text = format!(
        "the variable {name} has no value in the file .env and no default: it was taken as empty; put its value into the project's files"
    );
    source.note(Weight::ToDo, pointer, text);
    String::new()
}
