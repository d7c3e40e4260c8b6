//! Functions between types, and between texts and values.

use landform_yaml::Budget;
use serde_json::Value as Json;

use crate::ast::Span;
use crate::error::{Complaint, ErrorKind};
use crate::instance::Outcome;
use crate::json;
use crate::machine::{Context, Machine};
use crate::meter::{Answer, Meter};
use crate::operators;
use crate::value::Value;

use super::{argument, at_most, text_at, wrong};

pub(super) fn type_name<'d>(meter: &Meter, arguments: &[Value<'d>]) -> Answer<Value<'d>> {
    at_most(arguments, 1)?;
    meter.text(match argument(arguments, 0)?.plain() {
        Value::Undefined => "undef",
        Value::Nil => "nil",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int",
        Value::Float(_) => "float",
        Value::Text(_) => "string",
        Value::List(_) => "list",
        Value::Map(_) => "map",
        Value::Lambda(_) => "lambda",
        Value::Template(_) | Value::Temporary(_) => "template",
    })
}

pub(super) fn require<'d>(meter: &Meter, arguments: &[Value<'d>]) -> Answer<Value<'d>> {
    at_most(arguments, 1)?;
    meter.work(1)?;
    match argument(arguments, 0)? {
        Value::Undefined | Value::Nil => Err(Complaint::new(
            ErrorKind::NotFound,
            "require: there is no value",
        )),
        value => Ok(value.clone()),
    }
}

pub(super) fn string<'d>(meter: &Meter, arguments: &[Value<'d>]) -> Answer<Value<'d>> {
    at_most(arguments, 1)?;
    let value = argument(arguments, 0)?;
    match (operators::simple(value), value) {
        (Some(text), _) => meter.text(text),
        (None, Value::Float(number)) => meter.text(number.to_string()),
        (None, other) => Err(wrong(0, "a string, a number or a boolean", other)),
    }
}

pub(super) fn integer<'d>(meter: &Meter, arguments: &[Value<'d>]) -> Answer<Value<'d>> {
    at_most(arguments, 1)?;
    meter.work(1)?;
    match argument(arguments, 0)? {
        Value::Int(number) => Ok(Value::Int(*number)),
        Value::Bool(value) => Ok(Value::Int(i128::from(*value))),
        Value::Float(number) => whole(number.trunc()),
        Value::Text(text) => {
            let number = text.parse::<i64>();
            let number = number.map_err(|_| Complaint::value("the string is no integer"))?;
            Ok(Value::Int(i128::from(number)))
        }
        other => Err(wrong(0, "a string, a number or a boolean", other)),
    }
}

pub(super) fn float<'d>(meter: &Meter, arguments: &[Value<'d>]) -> Answer<Value<'d>> {
    at_most(arguments, 1)?;
    meter.work(1)?;
    match argument(arguments, 0)? {
        Value::Text(text) => {
            let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
            let number = number.ok_or_else(|| Complaint::value("the string is no number"))?;
            Ok(Value::Float(number))
        }
        value => {
            let number = operators::float(value);
            let number = number.ok_or_else(|| wrong(0, "a string or a number", value))?;
            Ok(Value::Float(number))
        }
    }
}

pub(super) fn boolean<'d>(meter: &Meter, arguments: &[Value<'d>]) -> Answer<Value<'d>> {
    at_most(arguments, 1)?;
    meter.work(1)?;
    match argument(arguments, 0)? {
        Value::Text(text) => match &**text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Value::Bool(false)),
            _ => Err(Complaint::value("the string is neither `true` nor `false`")),
        },
        value @ (Value::Bool(_) | Value::Int(_) | Value::Float(_)) => {
            Ok(Value::Bool(value.holds()))
        }
        other => Err(wrong(0, "a string, a number or a boolean", other)),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the number has no fraction, and its size is checked"
)]
fn whole<'d>(number: f64) -> Answer<Value<'d>> {
    const LARGEST: f64 = 9.2e18;
    if number.abs() > LARGEST {
        return Err(Complaint::value("the number is too large for an integer"));
    }
    Ok(Value::Int(number as i128))
}

fn rounded<'d>(arguments: &[Value<'d>], round: fn(f64) -> f64) -> Answer<Value<'d>> {
    at_most(arguments, 1)?;
    match argument(arguments, 0)? {
        Value::Int(number) => Ok(Value::Int(*number)),
        Value::Float(number) => whole(round(*number)),
        other => Err(wrong(0, "a number", other)),
    }
}

pub(super) fn ceil<'d>(_: &Meter, arguments: &[Value<'d>]) -> Answer<Value<'d>> {
    rounded(arguments, f64::ceil)
}

pub(super) fn floor<'d>(_: &Meter, arguments: &[Value<'d>]) -> Answer<Value<'d>> {
    rounded(arguments, f64::floor)
}

pub(super) fn round<'d>(_: &Meter, arguments: &[Value<'d>]) -> Answer<Value<'d>> {
    rounded(arguments, f64::round)
}

pub(super) fn abs<'d>(_: &Meter, arguments: &[Value<'d>]) -> Answer<Value<'d>> {
    at_most(arguments, 1)?;
    match argument(arguments, 0)? {
        Value::Int(number) => Ok(Value::Int(number.abs())),
        Value::Float(number) => Ok(Value::Float(number.abs())),
        other => Err(wrong(0, "a number", other)),
    }
}

pub(super) fn as_json<'d>(meter: &Meter, arguments: &[Value<'d>]) -> Answer<Value<'d>> {
    at_most(arguments, 1)?;
    let json = json::to_json(meter, argument(arguments, 0)?)?;
    meter.text(json.to_string())
}

pub(super) fn as_yaml<'d>(meter: &Meter, arguments: &[Value<'d>]) -> Answer<Value<'d>> {
    at_most(arguments, 1)?;
    let json = json::to_json(meter, argument(arguments, 0)?)?;
    meter.text(landform_yaml::write(&json))
}

/// Reads a text as YAML, which JSON is a part of. Expressions in it stay the strings that they are.
pub(super) fn parse<'d>(meter: &Meter, arguments: &[Value<'d>]) -> Answer<Value<'d>> {
    at_most(arguments, 2)?;
    let mode = match arguments.get(1) {
        Some(_) => text_at(arguments, 1)?,
        None => "import",
    };
    parsed(meter, text_at(arguments, 0)?, mode)
}

fn parsed<'d>(meter: &Meter, text: &str, mode: &str) -> Answer<Value<'d>> {
    meter.read(text)?;
    meter.allocate(text.len())?;
    match mode {
        "text" => meter.text(text),
        "yaml" | "import" => {
            let value = landform_yaml::parse_placed(text, &Budget::RUN);
            // What the reader says could repeat a part of the text, and that may be data.
            let value = value.map_err(|_| Complaint::value("the text is no YAML and no JSON"))?;
            json::from_json(meter, &value.value)
        }
        "multiyaml" => {
            let documents = landform_yaml::parse_many(text, &Budget::RUN);
            let documents =
                documents.map_err(|_| Complaint::value("the text is no YAML and no JSON"))?;
            let values = documents.iter();
            let values = values.map(|document| json::from_json(meter, &document.value));
            meter.list(values.collect::<Answer<_>>()?)
        }
        _ => Err(Complaint::value(
            "the mode has to be `text`, `yaml`, `import` or `multiyaml`",
        )),
    }
}

/// A file that the caller gives, as text or as YAML.
pub(super) fn read<'d>(
    machine: &mut Machine<'d>,
    arguments: &[Value<'d>],
    span: Span,
    context: &Context<'d>,
) -> Outcome<'d, Value<'d>> {
    let answer = file(machine, arguments);
    let answer = answer.map_err(|complaint| Complaint {
        message: format!("read: {}", complaint.message),
        ..complaint
    });
    context.at(span, answer)
}

fn file<'d>(machine: &Machine<'d>, arguments: &[Value<'d>]) -> Answer<Value<'d>> {
    at_most(arguments, 2)?;
    let path = text_at(arguments, 0)?;
    let yaml = [".yaml", ".yml", ".json"];
    let mode = match arguments.get(1) {
        Some(_) => text_at(arguments, 1)?,
        None if yaml.iter().any(|end| path.ends_with(end)) => "yaml",
        None => "text",
    };
    let Some(read) = machine.environment.function("readFile") else {
        return Err(Complaint::value("there are no files here"));
    };
    let content = read(&[Json::String(path.to_owned())]).map_err(Complaint::value)?;
    parsed(&machine.meter, content.as_str().unwrap_or_default(), mode)
}
