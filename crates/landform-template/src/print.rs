//! Values as text, as Go's `fmt` writes them.

use crate::run::{Answer, Run, too_deep};
use crate::value::{DEEPEST_VALUE, Value};

/// The value as `%v` writes it.
pub(crate) fn print(run: &Run<'_>, value: &Value) -> Answer<String> {
    let mut out = String::new();
    write(run, &mut out, value, 0)?;
    Ok(out)
}

fn write(run: &Run<'_>, out: &mut String, value: &Value, depth: usize) -> Answer<()> {
    if depth > DEEPEST_VALUE {
        return Err(too_deep());
    }
    run.work(1)?;
    let before = out.len();
    match value {
        Value::Nil => out.push_str("<nil>"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Int(value) => out.push_str(&value.to_string()),
        Value::Float(value) => out.push_str(&float(*value)),
        Value::Text(text) => out.push_str(text),
        Value::Time(time) => out.push_str(&crate::functions::dates::plain(*time)),
        Value::List(list) => {
            out.push('[');
            for (at, item) in list.items().iter().enumerate() {
                if at > 0 {
                    out.push(' ');
                }
                write(run, out, item, depth + 1)?;
            }
            out.push(']');
        }
        Value::Map(map) => {
            out.push_str("map[");
            for (at, (key, value)) in map.entries().iter().enumerate() {
                if at > 0 {
                    out.push(' ');
                }
                run.allocate(key.len())?;
                out.push_str(key);
                out.push(':');
                write(run, out, value, depth + 1)?;
            }
            out.push(']');
        }
    }
    if !matches!(value, Value::List(_) | Value::Map(_)) {
        run.allocate(out.len() - before)?;
    }
    Ok(())
}

/// A float as `%v` writes it: the shortest digits that read back the same, with an exponent when
/// it is below -4 or at least 21.
pub(crate) fn float(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if value != 0.0 && !(-4..21).contains(&exponent) {
        return with_exponent(mantissa, exponent);
    }
    format!("{value}")
}

/// Go writes at least two digits of an exponent, and always its sign.
pub(crate) fn with_exponent(mantissa: &str, exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

/// A text in double quotes, as `%q` writes it.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            c if c == ' ' || !(c.is_control() || c.is_whitespace()) => out.push(c),
            c => match u32::from(c) {
                code @ ..=0x7f => out.push_str(&format!("\\x{code:02x}")),
                code @ ..=0xffff => out.push_str(&format!("\\u{code:04x}")),
                code => out.push_str(&format!("\\U{code:08x}")),
            },
        }
    }
    out.push('"');
    out
}
