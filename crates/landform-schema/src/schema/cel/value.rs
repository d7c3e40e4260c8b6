//! From JSON to CEL values, guided by the schema: formats become timestamps, durations and bytes,
//! field names are escaped, and only what a rule looks at is converted.

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine;
use kube_cel::cel::Value as Cel;
use kube_cel::cel::objects::{Key, Map, OptionalValue};
use serde_json::{Number, Value};

use super::analysis::Projection;
use crate::schema::formats::Format;
use crate::schema::node::{Additional, Arena, Node, NodeId, Type};

/// Words that can't be field names in CEL.
const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// The name by which a rule refers to a field.
pub(super) fn escaped(name: &str) -> String {
    if RESERVED.contains(&name) {
        return format!("__{name}__");
    }
    if !name.contains(['_', '.', '-', '/']) {
        return name.to_owned();
    }
    // A single underscore is an ordinary character of a name; only a double one marks an escape.
    let mut text = String::with_capacity(name.len() + 8);
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("__") {
            text.push_str("__underscores__");
            rest = after;
            continue;
        }
        match c {
            '.' => text.push_str("__dot__"),
            '-' => text.push_str("__dash__"),
            '/' => text.push_str("__slash__"),
            other => text.push(other),
        }
        rest = &rest[c.len_utf8()..];
    }
    text
}

/// Converts the wanted parts of a value.
pub(super) fn to_cel(arena: &Arena, id: NodeId, value: &Value, wanted: &Projection) -> Cel {
    let node = arena.get(id);
    match value {
        Value::Null => Cel::Null,
        Value::Bool(flag) => Cel::Bool(*flag),
        Value::Number(number) => number_to_cel(node.ty, number),
        Value::String(text) => string_to_cel(node, text),
        Value::Array(entries) => {
            let Some(items) = node.items else {
                return untyped(value);
            };
            let all = Projection::All;
            if *wanted != all {
                return Cel::List(Arc::default());
            }
            Cel::List(Arc::new(
                entries
                    .iter()
                    .map(|entry| to_cel(arena, items, entry, &all))
                    .collect(),
            ))
        }
        Value::Object(map) => {
            let mut fields = HashMap::with_capacity(map.len());
            for (name, value) in map {
                let child = match (node.property(name), node.additional) {
                    (Some(property), _) => Some((escaped(name), property.node)),
                    (None, Additional::Schema(child)) => Some((name.clone(), child)),
                    (None, Additional::Any | Additional::No) => None,
                };
                let Some((key, child)) = child else { continue };
                if let Some(wanted) = wanted.field(&key) {
                    let value = to_cel(arena, child, value, wanted);
                    fields.insert(Key::String(Arc::new(key)), value);
                }
            }
            Cel::Map(Map {
                map: Arc::new(fields),
            })
        }
    }
}

/// A value about which the schema says nothing.
fn untyped(value: &Value) -> Cel {
    match value {
        Value::Null => Cel::Null,
        Value::Bool(flag) => Cel::Bool(*flag),
        Value::Number(number) => number_to_cel(Type::Any, number),
        Value::String(text) => Cel::String(Arc::new(text.clone())),
        Value::Array(entries) => Cel::List(Arc::new(entries.iter().map(untyped).collect())),
        Value::Object(map) => {
            let fields = map.iter();
            let fields =
                fields.map(|(name, value)| (Key::String(Arc::new(name.clone())), untyped(value)));
            Cel::Map(Map {
                map: Arc::new(fields.collect()),
            })
        }
    }
}

fn number_to_cel(ty: Type, number: &Number) -> Cel {
    let float = || Cel::Float(number.as_f64().unwrap_or(f64::NAN));
    if ty == Type::Number {
        return float();
    }
    match (number.as_i64(), number.as_f64()) {
        (Some(integer), _) => Cel::Int(integer),
        // JSON doesn't tell 1.0 from 1; the schema says that it is an integer.
        (None, Some(value)) if ty == Type::Integer && value.abs() < 9.0e15 => {
            Cel::Int(value as i64)
        }
        _ => float(),
    }
}

fn string_to_cel(node: &Node, text: &str) -> Cel {
    let format = node.checks.as_ref().and_then(|checks| checks.format);
    let converted = match format {
        Some(Format::DateTime) => chrono::DateTime::parse_from_rfc3339(text)
            .ok()
            .map(Cel::Timestamp),
        Some(Format::Date) => {
            let midnight = format!("{text}T00:00:00Z");
            chrono::DateTime::parse_from_rfc3339(&midnight)
                .ok()
                .map(Cel::Timestamp)
        }
        Some(Format::Duration) => duration(text).map(Cel::Duration),
        Some(Format::Byte) => {
            let bytes = base64::engine::general_purpose::STANDARD.decode(text).ok();
            bytes.map(|bytes| Cel::Bytes(Arc::new(bytes)))
        }
        _ => None,
    };
    converted.unwrap_or_else(|| Cel::String(Arc::new(text.to_owned())))
}

/// A span of time as Go writes it, `1h30m`.
fn duration(text: &str) -> Option<chrono::Duration> {
    let (body, sign) = match text.strip_prefix('-') {
        Some(body) => (body, -1.0),
        None => (text.strip_prefix('+').unwrap_or(text), 1.0),
    };
    let mut rest = body;
    let mut nanoseconds = 0.0;
    while !rest.is_empty() && rest != "0" {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        rest = rest[digits..].trim_start();
        let end = rest
            .find(|c: char| c.is_ascii_digit() || c == ' ')
            .unwrap_or(rest.len());
        let unit = match &rest[..end] {
            "ns" => 1.0,
            "us" | "µs" | "μs" => 1e3,
            "ms" => 1e6,
            "s" | "second" | "seconds" => 1e9,
            "m" | "minute" | "minutes" => 60e9,
            "h" | "hour" | "hours" => 3600e9,
            "d" | "day" | "days" => 86_400e9,
            "w" | "week" | "weeks" => 604_800e9,
            _ => return None,
        };
        nanoseconds += number * unit;
        rest = rest[end..].trim_start();
    }
    Some(chrono::Duration::nanoseconds((sign * nanoseconds) as i64))
}

/// The old value of a rule that wants it as an optional.
pub(super) fn optional(value: Option<Cel>) -> Cel {
    Cel::Opaque(Arc::new(
        value.map_or_else(OptionalValue::none, OptionalValue::of),
    ))
}

pub(super) fn null() -> Cel {
    Cel::Null
}

pub(super) fn is_true(value: &Cel) -> bool {
    matches!(value, Cel::Bool(true))
}

pub(super) fn is_false(value: &Cel) -> bool {
    matches!(value, Cel::Bool(false))
}

pub(super) fn text(value: &Cel) -> Option<String> {
    match value {
        Cel::String(text) => Some(text.to_string()),
        _ => None,
    }
}
