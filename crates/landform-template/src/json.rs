//! Values from JSON and back.

use std::rc::Rc;

use serde_json::{Number, Value as Json};

use crate::run::{Answer, Problem, Run, too_deep};
use crate::value::{DEEPEST_VALUE, Entries, Value};

/// Reads JSON into a value of the run. Integers stay integers.
pub(crate) fn from_json(run: &Run<'_>, json: &Json) -> Answer {
    read(run, json, 0)
}

fn read(run: &Run<'_>, json: &Json, depth: usize) -> Answer {
    if depth > DEEPEST_VALUE {
        return Err(too_deep());
    }
    run.work(1)?;
    match json {
        Json::Null => Ok(Value::Nil),
        Json::Bool(value) => Ok(Value::Bool(*value)),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(value), _) => Ok(Value::Int(value)),
            (None, _) if number.is_u64() => Err(Problem::value(format!(
                "the data holds an integer above {}, which would lose digits: give it as a string",
                i64::MAX
            ))),
            (None, value) => Ok(Value::Float(value.unwrap_or(f64::NAN))),
        },
        Json::String(text) => run.text(text),
        Json::Array(items) => {
            let items = items.iter().map(|item| read(run, item, depth + 1));
            let items = items.collect::<Answer<Vec<_>>>()?;
            run.list(items)
        }
        Json::Object(fields) => {
            let mut entries = Entries::new();
            for (key, value) in fields {
                entries.insert(Rc::from(key.as_str()), read(run, value, depth + 1)?);
            }
            run.map(entries)
        }
    }
}

/// Writes a value as JSON. A float without a fraction becomes an integer, as in Go's JSON.
pub(crate) fn to_json(run: &Run<'_>, value: &Value) -> Answer<Json> {
    write(run, value, 0)
}

fn write(run: &Run<'_>, value: &Value, depth: usize) -> Answer<Json> {
    if depth > DEEPEST_VALUE {
        return Err(too_deep());
    }
    run.work(1)?;
    run.allocate(std::mem::size_of::<Json>())?;
    Ok(match value {
        Value::Nil => Json::Null,
        Value::Bool(value) => Json::Bool(*value),
        Value::Int(value) => Json::from(*value),
        Value::Float(value) => float(*value)?,
        Value::Text(text) => {
            run.allocate(text.len())?;
            Json::String(text.to_string())
        }
        Value::Time(time) => Json::String(crate::functions::dates::rfc3339(*time)),
        Value::List(list) => {
            let items = list.items().iter().map(|item| write(run, item, depth + 1));
            Json::Array(items.collect::<Answer<_>>()?)
        }
        Value::Map(map) => {
            let mut fields = serde_json::Map::new();
            for (key, value) in map.entries().iter() {
                run.allocate(key.len() + 32)?;
                fields.insert(key.to_string(), write(run, value, depth + 1)?);
            }
            Json::Object(fields)
        }
    })
}

fn float(value: f64) -> Answer<Json> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the bounds are checked before, and such floats are exact"
    )]
    if value.fract() == 0.0 && value.abs() < 9e15 {
        return Ok(Json::from(value as i64));
    }
    let number = Number::from_f64(value).ok_or_else(|| {
        Problem::value("a number is infinite or undefined, which JSON can't hold")
    })?;
    Ok(Json::Number(number))
}
