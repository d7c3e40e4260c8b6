//! Defaults, JSON and YAML, and `fail`.

use landform_yaml::Budget;

use super::{Call, Entry, MANY, entry};
use crate::error::ErrorKind;
use crate::json::{from_json, to_json};
use crate::run::{Answer, Problem};
use crate::value::Value;

pub(super) const FUNCTIONS: &[Entry] = &[
    entry("default", 1, 2, |call| {
        let given = call.arguments.get(1).filter(|given| given.is_true());
        Ok(given.unwrap_or(call.argument(0)).clone())
    }),
    entry("empty", 1, 1, |call| {
        Ok(Value::Bool(!call.argument(0).is_true()))
    }),
    entry("coalesce", 0, MANY, |call| {
        let found = call.arguments.iter().find(|argument| argument.is_true());
        Ok(found.cloned().unwrap_or(Value::Nil))
    }),
    entry("all", 0, MANY, |call| {
        Ok(Value::Bool(call.arguments.iter().all(Value::is_true)))
    }),
    entry("any", 0, MANY, |call| {
        Ok(Value::Bool(call.arguments.iter().any(Value::is_true)))
    }),
    entry("ternary", 3, 3, |call| match call.argument(2) {
        Value::Bool(condition) => Ok(call.argument(usize::from(!condition)).clone()),
        other => Err(call.problem(format!(
            "the condition has to be a bool, and is a {}",
            other.kind()
        ))),
    }),
    entry("fail", 1, 1, |call| {
        Err(Problem {
            kind: ErrorKind::Failed,
            message: call.text(0)?.to_owned(),
        })
    }),
    entry("toJson", 1, 1, to_json_escaped),
    entry("mustToJson", 1, 1, to_json_escaped),
    entry("toPrettyJson", 1, 1, to_pretty_json),
    entry("mustToPrettyJson", 1, 1, to_pretty_json),
    entry("toRawJson", 1, 1, to_raw_json),
    entry("mustToRawJson", 1, 1, to_raw_json),
    entry("fromJson", 1, 1, |call| match read_json(call) {
        Err(problem) if problem.kind == ErrorKind::Value => Ok(Value::text("")),
        other => other,
    }),
    entry("mustFromJson", 1, 1, read_json),
    entry("toYaml", 1, 1, to_yaml),
    entry("mustToYaml", 1, 1, to_yaml),
    entry("fromYaml", 1, 1, from_yaml),
    entry("mustFromYaml", 1, 1, from_yaml),
];

fn to_raw_json(call: &Call<'_>) -> Answer {
    let json = to_json(call.run, call.argument(0))?;
    call.run.text(json.to_string())
}

fn to_json_escaped(call: &Call<'_>) -> Answer {
    let json = to_json(call.run, call.argument(0))?;
    call.run.text(safe_in_html(&json.to_string()))
}

fn to_pretty_json(call: &Call<'_>) -> Answer {
    let json = to_json(call.run, call.argument(0))?;
    let text = serde_json::to_string_pretty(&json)
        .map_err(|_| call.problem("the value can't be written as JSON"))?;
    call.run.text(safe_in_html(&text))
}

/// Go's JSON writes characters that mean something in HTML as numbers.
fn safe_in_html(json: &str) -> String {
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

fn read_json(call: &Call<'_>) -> Answer {
    let json = serde_json::from_str(call.text(0)?).map_err(|error| {
        // The error's own text may hold a piece of the value.
        call.problem(format!(
            "the text is not JSON at its line {}, column {}",
            error.line(),
            error.column()
        ))
    })?;
    from_json(call.run, &json)
}

fn to_yaml(call: &Call<'_>) -> Answer {
    let json = to_json(call.run, call.argument(0))?;
    let text = landform_yaml::write(&json);
    call.run.text(text.trim_end_matches('\n'))
}

fn from_yaml(call: &Call<'_>) -> Answer {
    let text = call.text(0)?;
    if text.trim().is_empty() {
        return call.run.map(crate::value::Entries::new());
    }
    call.run.allocate(text.len())?;
    let json = landform_yaml::parse_one(text, &Budget::RUN).map_err(|error| {
        call.problem(format!(
            "the text is not YAML at its line {}, column {}",
            error.line, error.column
        ))
    })?;
    from_json(call.run, &json)
}
