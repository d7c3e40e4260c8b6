//! Types of values, and `deepEqual`.
//!
//! An integer answers to `int`, `int64` and `float64`: in Go a literal is an int, and a number from
//! JSON a float64.

use super::{Call, Entry, compare, entry};
use crate::run::{Answer, Run, too_deep};
use crate::value::{DEEPEST_VALUE, Value};

pub(super) const FUNCTIONS: &[Entry] = &[
    entry("kindOf", 1, 1, |call| call.run.text(kind(call.argument(0)))),
    entry("kindIs", 2, 2, |call| {
        let wanted = call.text(0)?;
        Ok(Value::Bool(
            kind(call.argument(1)) == wanted || number_answers(call, wanted),
        ))
    }),
    entry("typeOf", 1, 1, |call| {
        call.run.text(type_name(call.argument(0)))
    }),
    entry("typeIs", 2, 2, type_is),
    entry("typeIsLike", 2, 2, type_is),
    entry("deepEqual", 2, 2, |call| {
        same(call.run, call.argument(0), call.argument(1)).map(Value::Bool)
    }),
];

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Nil => "invalid",
        Value::List(_) => "slice",
        Value::Time(_) => "struct",
        other => other.kind(),
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Nil => "<nil>",
        Value::List(_) => "[]interface {}",
        Value::Map(_) => "map[string]interface {}",
        Value::Time(_) => "time.Time",
        other => other.kind(),
    }
}

fn number_answers(call: &Call<'_>, wanted: &str) -> bool {
    matches!(call.argument(1), Value::Int(_)) && matches!(wanted, "int" | "int64" | "float64")
}

fn type_is(call: &Call<'_>) -> Answer {
    let wanted = call.text(0)?;
    let answers = type_name(call.argument(1)) == wanted || number_answers(call, wanted);
    Ok(Value::Bool(answers))
}

/// Whether two values are the same all through.
pub(super) fn same(run: &Run<'_>, left: &Value, right: &Value) -> Answer<bool> {
    compare_at(run, left, right, 0)
}

fn compare_at(run: &Run<'_>, left: &Value, right: &Value, depth: usize) -> Answer<bool> {
    if depth > DEEPEST_VALUE {
        return Err(too_deep());
    }
    run.work(1)?;
    match (left, right) {
        (Value::Nil, Value::Nil) => Ok(true),
        (Value::Bool(left), Value::Bool(right)) => Ok(left == right),
        (Value::Text(left), Value::Text(right)) => {
            run.read(&Value::Text(std::rc::Rc::clone(left)))?;
            Ok(left == right)
        }
        (Value::Time(left), Value::Time(right)) => Ok(left == right),
        (Value::List(left), Value::List(right)) => {
            if left.items().len() != right.items().len() {
                return Ok(false);
            }
            for (left, right) in left.items().iter().zip(right.items()) {
                if !compare_at(run, left, right, depth + 1)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Value::Map(left), Value::Map(right)) => {
            if left.same(right) {
                return Ok(true);
            }
            let (left, right) = (left.entries(), right.entries());
            if left.len() != right.len() {
                return Ok(false);
            }
            for ((left_key, left), (right_key, right)) in left.iter().zip(right.iter()) {
                if left_key != right_key || !compare_at(run, left, right, depth + 1)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        _ => Ok(compare::numbers(left, right) == Some(std::cmp::Ordering::Equal)),
    }
}
