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

/// How characters are spelled that can't be in the name of a field in CEL.
const MARKS: [(&str, &str); 4] = [
    ("__underscores__", "__"),
    ("__dot__", "."),
    ("__dash__", "-"),
    ("__slash__", "/"),
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

/// The name of the field that a rule refers to by an escaped name.
pub(super) fn unescaped(name: &str) -> String {
    let word = name
        .strip_prefix("__")
        .and_then(|name| name.strip_suffix("__"));
    if let Some(word) = word.filter(|word| RESERVED.contains(word)) {
        return word.to_owned();
    }
    let mut text = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        let mark = MARKS.iter().find(|(mark, _)| rest.starts_with(mark));
        if let Some((mark, meaning)) = mark {
            text.push_str(meaning);
            rest = &rest[mark.len()..];
        } else {
            text.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    text
}

/// What it costs to convert a value and to hand it to the interpreter, beside its text.
const VALUE_COST: u64 = 2;

/// Converts values, as long as they can be paid for.
pub(super) struct Converter<'a> {
    pub(super) arena: &'a Arena,
    /// What is left to pay with; nothing is converted without it.
    pub(super) left: &'a mut u64,
}

impl Converter<'_> {
    /// Takes what it costs to look at a value, its name included, if that is left.
    fn may_take(&mut self, name: &str, value: &Value) -> bool {
        let text = value.as_str().map_or(0, str::len);
        let cost = VALUE_COST + (name.len() + text) as u64 / 10;
        *self.left = self.left.saturating_sub(cost);
        *self.left > 0
    }

    /// Converts the wanted parts of a value.
    pub(super) fn typed(&mut self, id: NodeId, value: &Value, wanted: &Projection) -> Cel {
        let node = self.arena.get(id);
        match value {
            Value::Null => Cel::Null,
            Value::Bool(flag) => Cel::Bool(*flag),
            Value::Number(number) => number_to_cel(node.ty, number),
            Value::String(text) => string_to_cel(node, text),
            Value::Array(entries) => {
                let Some(items) = node.items else {
                    return self.untyped(value);
                };
                let all = Projection::All;
                if *wanted != all {
                    return Cel::List(Arc::default());
                }
                let mut converted = Vec::new();
                for entry in entries {
                    if !self.may_take("", entry) {
                        break;
                    }
                    converted.push(self.typed(items, entry, &all));
                }
                Cel::List(Arc::new(converted))
            }
            Value::Object(map) => self.object(node, map, wanted),
        }
    }

    fn object(
        &mut self,
        node: &Node,
        map: &serde_json::Map<String, Value>,
        wanted: &Projection,
    ) -> Cel {
        let mut fields = HashMap::new();
        for (name, value) in map {
            if !self.may_take(name, &Value::Null) {
                break;
            }
            let child = match (node.property(name), node.additional) {
                (Some(property), _) => Some((escaped(name), property.node)),
                (None, Additional::Schema(child)) => Some((name.clone(), child)),
                (None, Additional::Any | Additional::No) => None,
            };
            let Some((key, child)) = child else { continue };
            if let Some(wanted) = wanted.field(&key) {
                if !self.may_take("", value) {
                    break;
                }
                let value = self.typed(child, value, wanted);
                fields.insert(Key::String(Arc::new(key)), value);
            }
        }
        Cel::Map(Map {
            map: Arc::new(fields),
        })
    }

    /// A value about which the schema says nothing.
    fn untyped(&mut self, value: &Value) -> Cel {
        match value {
            Value::Null => Cel::Null,
            Value::Bool(flag) => Cel::Bool(*flag),
            Value::Number(number) => number_to_cel(Type::Any, number),
            Value::String(text) => Cel::String(Arc::new(text.clone())),
            Value::Array(entries) => {
                let mut converted = Vec::new();
                for entry in entries {
                    if !self.may_take("", entry) {
                        break;
                    }
                    converted.push(self.untyped(entry));
                }
                Cel::List(Arc::new(converted))
            }
            Value::Object(map) => {
                let mut fields = HashMap::new();
                for (name, value) in map {
                    if !self.may_take(name, value) {
                        break;
                    }
                    let value = self.untyped(value);
                    fields.insert(Key::String(Arc::new(name.clone())), value);
                }
                Cel::Map(Map {
                    map: Arc::new(fields),
                })
            }
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
