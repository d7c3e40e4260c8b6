//! Values written as YAML in block style, the way kubectl prints objects.

use serde_json::{Map, Value};

use crate::scalar::{self, Scalar};

/// A key longer than this needs the explicit form `? key`: readers look no further for a colon.
const LONGEST_PLAIN_KEY: usize = 120;

/// Writes a value as one YAML document that [`crate::parse_one`] reads back as the same value.
///
/// Keys come in the order of the map. Strings are quoted when another reading were possible, also
/// by readers that know more types than we do (dates, sexagesimal numbers).
#[must_use]
pub fn write(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(entries) if !entries.is_empty() => mapping(&mut out, entries, 0),
        Value::Array(items) if !items.is_empty() => sequence(&mut out, items, 0),
        _ => {
            leaf(&mut out, value);
            out.push('\n');
        }
    }
    out
}

/// The lines of a mapping; the first one starts where the writer stands.
fn mapping(out: &mut String, entries: &Map<String, Value>, indent: usize) {
    for (at, (key, value)) in entries.iter().enumerate() {
        if at > 0 {
            pad(out, indent);
        }
        let start = out.len();
        string(out, key);
        if out.len() - start > LONGEST_PLAIN_KEY {
            out.insert_str(start, "? ");
            out.push('\n');
            pad(out, indent);
        }
        out.push(':');
        match value {
            Value::Object(inner) if !inner.is_empty() => {
                out.push('\n');
                pad(out, indent + 2);
                mapping(out, inner, indent + 2);
            }
            Value::Array(items) if !items.is_empty() => {
                out.push('\n');
                pad(out, indent);
                sequence(out, items, indent);
            }
            _ => {
                out.push(' ');
                leaf_or_block(out, value, indent + 2);
            }
        }
    }
}

/// The lines of a sequence; the first one starts where the writer stands.
fn sequence(out: &mut String, items: &[Value], indent: usize) {
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            pad(out, indent);
        }
        out.push_str("- ");
        match item {
            Value::Object(inner) if !inner.is_empty() => mapping(out, inner, indent + 2),
            Value::Array(inner) if !inner.is_empty() => sequence(out, inner, indent + 2),
            _ => leaf_or_block(out, item, indent + 2),
        }
    }
}

fn leaf_or_block(out: &mut String, value: &Value, indent: usize) {
    match value {
        Value::String(text) if fits_literal_block(text) => literal_block(out, text, indent),
        _ => {
            leaf(out, value);
            out.push('\n');
        }
    }
}

fn leaf(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(bool) => out.push_str(if *bool { "true" } else { "false" }),
        Value::Number(number) => out.push_str(&number.to_string()),
        Value::String(text) => string(out, text),
        Value::Array(_) => out.push_str("[]"),
        Value::Object(_) => out.push_str("{}"),
    }
}

fn string(out: &mut String, text: &str) {
    if is_safe_plain(text) {
        out.push_str(text);
    } else {
        quoted(out, text);
    }
}

/// Whether every reader takes the text for the same string without quotes.
fn is_safe_plain(text: &str) -> bool {
    let Some(first) = text.chars().next() else {
        return false;
    };
    let printable = |c: char| matches!(c, ' '..='~') || (!c.is_ascii() && c.is_alphanumeric());
    scalar::resolve(text) == Scalar::Text
        && text.chars().all(printable)
        && !"-?:,[]{}#&*!|>'\"%@` =<".contains(first)
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.starts_with("...")
        && !looks_like_date_or_base_60(text)
}

fn looks_like_date_or_base_60(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    (digits == 4 && text.as_bytes().get(4) == Some(&b'-'))
        || (text.contains(':') && text.starts_with(|c: char| c.is_ascii_digit() || c == '+'))
}

fn quoted(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            ' '..='~' => out.push(c),
            _ if c.is_alphanumeric() => out.push(c),
            _ => match u32::from(c) {
                code @ ..=0xff => out.push_str(&format!("\\x{code:02x}")),
                code @ ..=0xffff => out.push_str(&format!("\\u{code:04x}")),
                code => out.push_str(&format!("\\U{code:08x}")),
            },
        }
    }
    out.push('"');
}

/// Texts of several lines are easier to read as a block, when nothing in them is ambiguous there.
fn fits_literal_block(text: &str) -> bool {
    let printable =
        |c: char| matches!(c, '\n' | '\t' | ' '..='~') || (!c.is_ascii() && c.is_alphanumeric());
    text.trim_end_matches('\n').contains('\n')
        && !text.starts_with(|c: char| c.is_whitespace())
        && text.chars().all(printable)
        && text
            .split('\n')
            .all(|line| line.is_empty() || !line.trim().is_empty())
}

fn literal_block(out: &mut String, text: &str, indent: usize) {
    out.push_str(match text.len() - text.trim_end_matches('\n').len() {
        0 => "|-\n",
        1 => "|\n",
        _ => "|+\n",
    });
    for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
        if !line.is_empty() {
            pad(out, indent);
            out.push_str(line);
        }
        out.push('\n');
    }
}

fn pad(out: &mut String, indent: usize) {
    out.extend(std::iter::repeat_n(' ', indent));
}
