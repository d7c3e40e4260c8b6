//! Types into each other: `int`, `float64`, `toString`, …
//!
//! As in sprig, what can't be converted becomes zero.

use super::{Call, Entry, entry, shown};
use crate::run::Answer;
use crate::value::Value;

pub(super) const FUNCTIONS: &[Entry] = &[
    entry("atoi", 1, 1, |call| {
        let text = call.text(0)?;
        Ok(Value::Int(text.parse().unwrap_or(0)))
    }),
    entry("int", 1, 1, |call| Ok(Value::Int(call.cast_int(0)))),
    entry("int64", 1, 1, |call| Ok(Value::Int(call.cast_int(0)))),
    entry("float64", 1, 1, |call| Ok(Value::Float(call.cast_float(0)))),
    entry("toDecimal", 1, 1, |call| {
        let digits = call.shown(0)?;
        let octal = digits.trim_start_matches('0');
        Ok(Value::Int(i64::from_str_radix(octal, 8).unwrap_or(0)))
    }),
    entry("toString", 1, 1, |call| {
        let text = call.shown(0)?;
        call.run.text(text)
    }),
    entry("toStrings", 1, 1, to_strings),
];

fn to_strings(call: &Call<'_>) -> Answer {
    let texts = strings(call, 0)?;
    call.run.texts(texts)
}

/// A list as texts; anything else is a list of one.
pub(super) fn strings(call: &Call<'_>, at: usize) -> Answer<Vec<std::rc::Rc<str>>> {
    match call.argument(at) {
        Value::Nil => Ok(Vec::new()),
        Value::List(list) => {
            let items = list.items().iter();
            let present = items.filter(|item| !matches!(item, Value::Nil));
            present.map(|item| shown(call.run, item)).collect()
        }
        other => Ok(vec![shown(call.run, other)?]),
    }
}

/// The integer that a value stands for; zero when it stands for none.
pub(super) fn to_int(value: &Value) -> i64 {
    match value {
        Value::Int(value) => *value,
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the fraction is dropped on purpose, and bounds are kept by `as`"
        )]
        Value::Float(value) => *value as i64,
        Value::Bool(value) => i64::from(*value),
        Value::Text(text) => integer(text.trim()).unwrap_or(0),
        Value::Nil | Value::List(_) | Value::Map(_) | Value::Time(_) => 0,
    }
}

fn integer(text: &str) -> Option<i64> {
    if let Ok(value) = text.parse() {
        return Some(value);
    }
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let magnitude = match digits.get(..2)? {
        "0x" | "0X" => i64::from_str_radix(&digits[2..], 16).ok()?,
        "0o" | "0O" => i64::from_str_radix(&digits[2..], 8).ok()?,
        "0b" | "0B" => i64::from_str_radix(&digits[2..], 2).ok()?,
        _ => {
            // `3.7` as text: only the whole part counts, when the rest is zero.
            let value: f64 = digits.parse().ok()?;
            if value.fract() != 0.0 || value.abs() > 9e15 {
                return None;
            }
            #[expect(
                clippy::cast_possible_truncation,
                reason = "such floats are exact integers"
            )]
            {
                value as i64
            }
        }
    };
    Some(if negative { -magnitude } else { magnitude })
}

pub(super) fn to_float(value: &Value) -> f64 {
    match value {
        Value::Float(value) => *value,
        #[expect(
            clippy::cast_precision_loss,
            reason = "what float64 means for large integers"
        )]
        Value::Int(value) => *value as f64,
        Value::Bool(value) => f64::from(u8::from(*value)),
        Value::Text(text) => text.trim().parse().unwrap_or(0.0),
        Value::Nil | Value::List(_) | Value::Map(_) | Value::Time(_) => 0.0,
    }
}
