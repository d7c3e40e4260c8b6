//! Go's own functions: `index`, `len`, `print`, `printf`, escaping.

use super::{Call, Entry, MANY, entry, printf};
use crate::print;
use crate::run::{Answer, Problem};
use crate::value::Value;

pub(super) const FUNCTIONS: &[Entry] = &[
    entry("not", 1, 1, |call| {
        Ok(Value::Bool(!call.argument(0).is_true()))
    }),
    entry("len", 1, 1, |call| match call.argument(0) {
        Value::Text(text) => Ok(Value::Int(text.len() as i64)),
        Value::List(list) => Ok(Value::Int(list.items().len() as i64)),
        Value::Map(map) => Ok(Value::Int(map.len() as i64)),
        other => Err(call.problem(format!("a {} has no length", other.kind()))),
    }),
    entry("index", 1, MANY, index),
    entry("print", 0, MANY, |call| call.run.text(joined(call)?)),
    entry("println", 0, MANY, |call| {
        let parts = call.arguments.iter();
        let parts = parts.map(|argument| print::print(call.run, argument));
        let parts = parts.collect::<Answer<Vec<_>>>()?;
        call.run.text(parts.join(" ") + "\n")
    }),
    entry("printf", 1, MANY, |call| {
        let text = printf::printf(call.run, call.text(0)?, &call.arguments[1..])?;
        call.run.text(text)
    }),
    entry("html", 0, MANY, |call| {
        call.run.text(escape_html(&joined(call)?))
    }),
    entry("js", 0, MANY, |call| {
        call.run.text(escape_js(&joined(call)?))
    }),
    entry("urlquery", 0, MANY, |call| {
        call.run.text(escape_query(&joined(call)?))
    }),
];

/// What `print` makes: spaces only between operands when neither is a string.
fn joined(call: &Call<'_>) -> Answer<String> {
    let mut out = String::new();
    let mut previous_is_text = true;
    for (at, argument) in call.arguments.iter().enumerate() {
        let is_text = matches!(argument, Value::Text(_));
        if at > 0 && !is_text && !previous_is_text {
            out.push(' ');
        }
        out.push_str(&print::print(call.run, argument)?);
        previous_is_text = is_text;
    }
    Ok(out)
}

fn index(call: &Call<'_>) -> Answer {
    let mut value = call.argument(0).clone();
    for (at, key) in call.arguments.iter().enumerate().skip(1) {
        value = match (&value, key) {
            (Value::Map(map), Value::Text(key)) => map.get(key).unwrap_or(Value::Nil),
            (Value::List(list), Value::Int(_) | Value::Float(_)) => {
                let items = list.items();
                let place = usize::try_from(call.int(at)?).ok();
                place
                    .and_then(|place| items.get(place))
                    .cloned()
                    .ok_or_else(|| {
                        call.problem(format!(
                            "argument {} is outside of the list, which has {} items",
                            at + 1,
                            items.len()
                        ))
                    })?
            }
            (Value::Text(text), Value::Int(place)) => {
                let byte = usize::try_from(*place).ok();
                let byte = byte.and_then(|place| text.as_bytes().get(place));
                let byte = byte.ok_or_else(|| {
                    call.problem(format!("argument {} is outside of the string", at + 1))
                })?;
                Value::Int(i64::from(*byte))
            }
            (Value::Nil, _) => {
                return Err(Problem {
                    kind: crate::ErrorKind::NoValue,
                    message: format!(
                        "`index` reads argument {} from something that has no value",
                        at + 1
                    ),
                });
            }
            (holder, key) => {
                return Err(call.problem(format!(
                    "a {} can't be indexed with a {}",
                    holder.kind(),
                    key.kind()
                )));
            }
        };
    }
    Ok(value)
}

pub(super) fn escape_html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\0' => out.push('\u{fffd}'),
            '"' => out.push_str("&#34;"),
            '\'' => out.push_str("&#39;"),
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            c => out.push(c),
        }
    }
    out
}

fn escape_js(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\'' => out.push_str("\\'"),
            '"' => out.push_str("\\\""),
            '<' | '>' | '&' | '=' => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

/// A text as a value of a query: what is neither letter, digit nor `-_.~` is escaped.
pub(super) fn escape_query(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte));
            }
            b' ' => out.push('+'),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
