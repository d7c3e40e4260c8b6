//! Between JSON and the values of an evaluation.

use std::rc::Rc;

use serde_json::{Map as JsonMap, Number, Value as Json};

use crate::error::Complaint;
use crate::meter::{Answer, Meter, too_deep};
use crate::value::{DEEPEST_VALUE, Entries, Value};

pub(crate) fn from_json<'d>(meter: &Meter, json: &Json) -> Answer<Value<'d>> {
    read(meter, json, DEEPEST_VALUE)
}

fn read<'d>(meter: &Meter, json: &Json, depth: usize) -> Answer<Value<'d>> {
    meter.work(1)?;
    let depth_below = || depth.checked_sub(1).ok_or_else(too_deep);
    match json {
        Json::Null => Ok(Value::Nil),
        Json::Bool(value) => Ok(Value::Bool(*value)),
        Json::Number(number) => number_value(number),
        Json::String(text) => meter.text(text),
        Json::Array(items) => {
            let depth = depth_below()?;
            let items = items.iter().map(|item| read(meter, item, depth));
            meter.list(items.collect::<Answer<_>>()?)
        }
        Json::Object(fields) => {
            let depth = depth_below()?;
            let fields = fields.iter().map(|(key, value)| {
                let value = read(meter, value, depth)?;
                Ok((Rc::from(key.as_str()), value))
            });
            meter.map(fields.collect::<Answer<Entries<'_>>>()?)
        }
    }
}

fn number_value<'d>(number: &Number) -> Answer<Value<'d>> {
    let integer = number.as_i64().map(i128::from);
    let integer = integer.or_else(|| number.as_u64().map(i128::from));
    match (integer, number.as_f64()) {
        (Some(integer), _) => Ok(Value::Int(integer)),
        (None, Some(float)) => Ok(Value::Float(float)),
        (None, None) => Err(Complaint::value("this number is too large")),
    }
}

/// The output: without what is undefined, temporary, a function or a template.
pub(crate) fn output(meter: &Meter, value: &Value<'_>) -> Answer<Json> {
    let mut bytes = 0;
    write(meter, value, &mut bytes, false).map(Option::unwrap_or_default)
}

/// A value for a function: what is temporary belongs to it.
pub(crate) fn to_json(meter: &Meter, value: &Value<'_>) -> Answer<Json> {
    let mut bytes = 0;
    write(meter, value, &mut bytes, true).map(Option::unwrap_or_default)
}

fn write(
    meter: &Meter,
    value: &Value<'_>,
    bytes: &mut usize,
    temporary: bool,
) -> Answer<Option<Json>> {
    meter.work(1)?;
    *bytes += 8;
    meter.output(*bytes)?;
    let json = match value {
        Value::Undefined | Value::Lambda(_) | Value::Template(_) => return Ok(None),
        Value::Temporary(inner) if temporary => return write(meter, inner, bytes, temporary),
        Value::Temporary(_) => return Ok(None),
        Value::Nil => Json::Null,
        Value::Bool(value) => Json::Bool(*value),
        Value::Int(number) => Json::Number(integer(*number)?),
        Value::Float(float) => Json::Number(number(*float)?),
        Value::Text(text) => {
            *bytes += text.len();
            meter.output(*bytes)?;
            Json::String(text.to_string())
        }
        Value::List(list) => {
            let mut items = Vec::new();
            for item in list.items() {
                items.extend(write(meter, item, bytes, temporary)?);
            }
            Json::Array(items)
        }
        Value::Map(map) => {
            let mut fields = JsonMap::new();
            for (key, value) in map.entries() {
                *bytes += key.len();
                if let Some(value) = write(meter, value, bytes, temporary)? {
                    fields.insert(key.to_string(), value);
                }
            }
            Json::Object(fields)
        }
    };
    Ok(Some(json))
}

fn integer(number: i128) -> Answer<Number> {
    Number::from_i128(number).ok_or_else(|| Complaint::value("this number is too large"))
}

/// A float without a fraction is written as an integer, as Spiff does.
fn number(float: f64) -> Answer<Number> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if float.fract() == 0.0 && float.abs() <= EXACT {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "it has no fraction, and integers up to 2^53 have a place in an i64"
        )]
        return Ok(Number::from(float as i64));
    }
    Number::from_f64(float).ok_or_else(|| Complaint::value("the result is no finite number"))
}
