//! Sums and the like, on integers and on floats.
//!
//! Arguments are converted as sprig does it: texts with digits count, other things are zero. An
//! overflow is an error, where Go goes on with a wrong number.

use super::{Call, Entry, MANY, entry};
use crate::run::Answer;
use crate::value::Value;

pub(super) const FUNCTIONS: &[Entry] = &[
    entry("add", 0, MANY, |call| fold(call, 0, i64::checked_add)),
    entry("add1", 1, 1, |call| {
        checked(call, call.cast_int(0).checked_add(1))
    }),
    entry("sub", 2, 2, |call| {
        checked(call, call.cast_int(0).checked_sub(call.cast_int(1)))
    }),
    entry("mul", 1, MANY, |call| fold(call, 1, i64::checked_mul)),
    entry("div", 2, 2, |call| divided(call, i64::checked_div)),
    entry("mod", 2, 2, |call| divided(call, i64::checked_rem)),
    entry("max", 1, MANY, |call| {
        Ok(Value::Int(ints(call).max().unwrap_or(0)))
    }),
    entry("biggest", 1, MANY, |call| {
        Ok(Value::Int(ints(call).max().unwrap_or(0)))
    }),
    entry("min", 1, MANY, |call| {
        Ok(Value::Int(ints(call).min().unwrap_or(0)))
    }),
    entry("floor", 1, 1, |call| {
        Ok(Value::Float(call.cast_float(0).floor()))
    }),
    entry("ceil", 1, 1, |call| {
        Ok(Value::Float(call.cast_float(0).ceil()))
    }),
    entry("round", 2, 3, round),
    entry("add1f", 1, 1, |call| Ok(decimal(call.cast_float(0) + 1.0))),
    entry("addf", 0, MANY, |call| Ok(decimal(floats(call).sum()))),
    entry("subf", 1, MANY, |call| {
        Ok(decimal(
            floats(call)
                .reduce(|left, right| left - right)
                .unwrap_or(0.0),
        ))
    }),
    entry("mulf", 1, MANY, |call| Ok(decimal(floats(call).product()))),
    entry("divf", 1, MANY, |call| {
        let value = floats(call)
            .reduce(|left, right| left / right)
            .unwrap_or(0.0);
        if value.is_finite() {
            Ok(decimal(value))
        } else {
            Err(call.problem("this divides by zero"))
        }
    }),
    entry("maxf", 1, MANY, |call| {
        Ok(Value::Float(floats(call).reduce(f64::max).unwrap_or(0.0)))
    }),
    entry("minf", 1, MANY, |call| {
        Ok(Value::Float(floats(call).reduce(f64::min).unwrap_or(0.0)))
    }),
];

fn ints<'a>(call: &'a Call<'a>) -> impl Iterator<Item = i64> + 'a {
    (0..call.arguments.len()).map(|at| call.cast_int(at))
}

fn floats<'a>(call: &'a Call<'a>) -> impl Iterator<Item = f64> + 'a {
    (0..call.arguments.len()).map(|at| call.cast_float(at))
}

fn checked(call: &Call<'_>, value: Option<i64>) -> Answer {
    let value = value.ok_or_else(|| call.problem("the result has more than 64 bits"))?;
    Ok(Value::Int(value))
}

fn fold(call: &Call<'_>, start: i64, operation: fn(i64, i64) -> Option<i64>) -> Answer {
    checked(call, ints(call).try_fold(start, operation))
}

fn divided(call: &Call<'_>, operation: fn(i64, i64) -> Option<i64>) -> Answer {
    if call.cast_int(1) == 0 {
        return Err(call.problem("this divides by zero"));
    }
    checked(call, operation(call.cast_int(0), call.cast_int(1)))
}

/// Sprig counts in decimals (0.1 + 0.2 is 0.3); digits that a float doesn't have are cut off.
fn decimal(value: f64) -> Value {
    let rounded = format!("{value:.14e}").parse().unwrap_or(value);
    Value::Float(rounded)
}

/// `round 123.5555 3`: so many digits, and from which fraction on it goes up.
fn round(call: &Call<'_>) -> Answer {
    let value = call.cast_float(0);
    let places = i32::try_from(call.int(1)?.clamp(-300, 300)).unwrap_or(0);
    let up_from = if call.arguments.len() > 2 {
        call.cast_float(2)
    } else {
        0.5
    };
    let scale = 10_f64.powi(places);
    let digits = value * scale;
    let fraction = (digits - digits.trunc()).abs();
    let rounded = if fraction >= up_from {
        digits.trunc() + digits.signum()
    } else {
        digits.trunc()
    };
    Ok(decimal(rounded / scale))
}
