//! Documents as users write them, with what they give. The tables were compared with Spiff itself.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod documents;
mod errors;
mod language;
mod library;
mod limits;
mod properties;
mod state;

use landform_spiff::{Bindings, Document, Evaluated, SpiffError};
use landform_template::Environment;
use serde_json::{Map, Value, json};

/// The bindings of all tables.
fn bindings() -> Map<String, Value> {
    let values = json!({
        "imports": {
            "name": "ada",
            "version": "1.2",
            "count": 3,
            "ratio": 1.5,
            "nothing": null,
            "none": {},
            "words": ["b", "a"],
            "list": [{"name": "a", "v": 1}, {"name": "b", "v": 2}],
            "map": {"x": 1, "z": {"deep": [7, 8]}},
            "expression": "(( 1 + 1 ))",
        },
        "dotted.name": "found",
    });
    values.as_object().cloned().unwrap_or_default()
}

fn environment() -> Environment {
    Environment::default()
        .with_function("readFile", |arguments| match arguments {
            [Value::String(path)] if path == "VERSION" => Ok(json!("1.0.0\n")),
            [Value::String(path)] if path == "data.yaml" => Ok(json!("a: [1, 2]\n")),
            _ => Err("there is no such file".to_owned()),
        })
        .with_function("twice", |arguments| Ok(json!([arguments, arguments])))
}

fn evaluate(text: &str, state: Option<Value>) -> Result<Evaluated, Vec<SpiffError>> {
    let bindings = Bindings {
        values: bindings(),
        state,
    };
    Document::parse("test", text)?.evaluate(&bindings, &environment())
}

/// The value of a document, or its errors without excerpts, one on each line.
fn outcome(text: &str) -> Result<Value, String> {
    let evaluated = evaluate(text, None).map_err(|errors| {
        let lines = errors.iter().map(|error| SpiffError {
            excerpt: String::new(),
            ..error.clone()
        });
        let lines: Vec<_> = lines.map(|error| error.to_string()).collect();
        lines.join("\n")
    });
    evaluated.map(|evaluated| evaluated.value)
}

/// The value of one expression.
fn expression(text: &str) -> Result<Value, String> {
    let document = json!({"is": format!("(( {text} ))")});
    outcome(&document.to_string())
        .map(|value| value.get("is").cloned().unwrap_or(json!("<left out>")))
}

/// Evaluates the left side of each row and compares it with the right side.
fn check(rows: &[(&str, Value)]) {
    for (text, expected) in rows {
        assert_eq!(expression(text).as_ref(), Ok(expected), "(( {text} ))");
    }
}
