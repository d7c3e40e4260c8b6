//! `eq`, `ne`, `lt`, `le`, `gt`, `ge`.
//!
//! Go refuses to compare an integer with a float. Here numbers compare by what they stand for: data
//! from JSON has integers where Go has floats, so that templates written for Go see both.

use std::cmp::Ordering;

use super::{Call, Entry, MANY, entry};
use crate::run::{Answer, Problem};
use crate::value::Value;

pub(super) const FUNCTIONS: &[Entry] = &[
    entry("eq", 2, MANY, |call| {
        for other in &call.arguments[1..] {
            if equal(call, call.argument(0), other)? {
                return Ok(Value::Bool(true));
            }
        }
        Ok(Value::Bool(false))
    }),
    entry("ne", 2, 2, |call| {
        equal(call, call.argument(0), call.argument(1)).map(|equal| Value::Bool(!equal))
    }),
    entry("lt", 2, 2, |call| ordered(call, Ordering::is_lt)),
    entry("le", 2, 2, |call| ordered(call, Ordering::is_le)),
    entry("gt", 2, 2, |call| ordered(call, Ordering::is_gt)),
    entry("ge", 2, 2, |call| ordered(call, Ordering::is_ge)),
];

fn incompatible(call: &Call<'_>, left: &Value, right: &Value) -> Problem {
    call.problem(format!(
        "a {} and a {} can't be compared",
        left.kind(),
        right.kind()
    ))
}

fn equal(call: &Call<'_>, left: &Value, right: &Value) -> Answer<bool> {
    match (left, right) {
        (Value::Nil, Value::Nil) => Ok(true),
        (Value::Nil, _) | (_, Value::Nil) => Ok(false),
        (Value::Bool(left), Value::Bool(right)) => Ok(left == right),
        (Value::Text(left), Value::Text(right)) => Ok(left == right),
        (Value::Time(left), Value::Time(right)) => Ok(left == right),
        (Value::Int(_) | Value::Float(_), Value::Int(_) | Value::Float(_)) => {
            Ok(numbers(left, right) == Some(Ordering::Equal))
        }
        _ => Err(incompatible(call, left, right)),
    }
}

/// How two numbers compare; an integer with a float by value, without rounding.
pub(super) fn numbers(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => Some(left.cmp(right)),
        (Value::Float(left), Value::Float(right)) => left.partial_cmp(right),
        (Value::Int(left), Value::Float(right)) => int_with_float(*left, *right),
        (Value::Float(_), Value::Int(_)) => numbers(right, left).map(Ordering::reverse),
        _ => None,
    }
}

fn int_with_float(left: i64, right: f64) -> Option<Ordering> {
    // 2⁶³, the first float above all integers.
    const ABOVE: f64 = 9_223_372_036_854_775_808.0;
    if right.is_nan() {
        return None;
    }
    if right >= ABOVE {
        return Some(Ordering::Less);
    }
    if right < -ABOVE {
        return Some(Ordering::Greater);
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the bounds were checked, and the fraction counts below"
    )]
    let whole = right.trunc() as i64;
    Some(left.cmp(&whole).then_with(|| {
        let fraction = right.fract();
        0.0_f64.partial_cmp(&fraction).unwrap_or(Ordering::Equal)
    }))
}

fn ordered(call: &Call<'_>, wanted: fn(Ordering) -> bool) -> Answer {
    let (left, right) = (call.argument(0), call.argument(1));
    let ordering = match (left, right) {
        (Value::Text(left), Value::Text(right)) => Some(left.cmp(right)),
        (Value::Int(_) | Value::Float(_), Value::Int(_) | Value::Float(_)) => numbers(left, right),
        _ => return Err(incompatible(call, left, right)),
    };
    Ok(Value::Bool(ordering.is_some_and(wanted)))
}
