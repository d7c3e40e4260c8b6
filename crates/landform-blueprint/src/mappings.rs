//! Data mappings of installations: new values from those that are there.
//!
//! A mapping with an expression of Spiff in it is a Spiff document, as in Landscaper. In others a
//! string with `{{` is a Go template whose output is read as YAML, like that of executors. Everything
//! else is taken as it is.

use std::collections::BTreeMap;

use landform_spiff::{Bindings, Document, has_expressions};
use landform_template::{Environment, Template};
use serde_json::{Map, Value, json};

use crate::problem::{BlueprintError, Problem};
use crate::reader::Source;

/// Which mappings, and what their templates see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MappingKind {
    /// `importDataMappings`: Go templates see `.imports`, Spiff sees the imports by name.
    Imports,
    /// `exportDataMappings`: Go templates see `.exports`, Spiff sees the exports by name.
    Exports,
}

/// Computes the values of data mappings.
///
/// # Errors
/// When an expression or a template fails; no value is in the error.
pub fn map_data(
    kind: MappingKind,
    mappings: &BTreeMap<String, Value>,
    data: &BTreeMap<String, Value>,
) -> Result<BTreeMap<String, Value>, BlueprintError> {
    if mappings.is_empty() {
        return Ok(BTreeMap::new());
    }
    let (file, all) = match kind {
        MappingKind::Imports => ("importDataMappings", "imports"),
        MappingKind::Exports => ("exportDataMappings", "exports"),
    };
    let seen = json!({all: data});
    let mut values: Map<String, Value> = data.clone().into_iter().collect();
    // All together have a name too: those with dots in theirs can only be reached by it. As in
    // Landscaper, it hides an export of that name, but no import.
    if kind == MappingKind::Exports || !values.contains_key(all) {
        values.insert(all.to_owned(), json!(data));
    }
    let bindings = Bindings {
        values,
        state: None,
    };
    let environment = Environment::default().sharing_steps();
    let mut mapped = BTreeMap::new();
    let mut problems = Vec::new();
    for (name, value) in mappings {
        let path = format!("{file}.{name}");
        let outcome = if has_expressions(value) {
            evaluate(&path, value, &bindings, &environment)
        } else {
            map_value(&path, value, &seen, &environment)
        };
        match outcome {
            Ok(value) => {
                mapped.insert(name.clone(), value);
            }
            Err(error) => problems.extend(error.problems),
        }
    }
    if problems.is_empty() {
        Ok(mapped)
    } else {
        Err(BlueprintError { problems })
    }
}

fn evaluate(
    path: &str,
    value: &Value,
    bindings: &Bindings,
    environment: &Environment,
) -> Result<Value, BlueprintError> {
    let document = Document::from_value("", value, &BTreeMap::new(), "", "");
    let evaluated = document.and_then(|document| document.evaluate(bindings, environment));
    evaluated
        .map(|evaluated| evaluated.value)
        .map_err(|errors| {
            let problems = errors.into_iter().map(|error| {
                // The path within the mapping belongs to the path of the mapping.
                let dot = if error.path.starts_with('[') || error.path.is_empty() {
                    ""
                } else {
                    "."
                };
                let file = format!("{path}{dot}{}", error.path);
                Problem {
                    file,
                    path: String::new(),
                    ..Problem::from(error)
                }
            });
            BlueprintError {
                problems: problems.collect(),
            }
        })
}

fn map_value(
    path: &str,
    value: &Value,
    data: &Value,
    environment: &Environment,
) -> Result<Value, BlueprintError> {
    match value {
        Value::String(text) if text.contains("{{") => {
            let output = Template::parse(path, text)?.render(data, environment)?;
            Source::parse(&format!("output of {path}"), &output, false).map(|(_, value)| value)
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            let items = items
                .map(|(at, item)| map_value(&format!("{path}[{at}]"), item, data, environment));
            items.collect()
        }
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| {
                let value = map_value(&format!("{path}.{name}"), value, data, environment)?;
                Ok((name.clone(), value))
            });
            Ok(Value::Object(
                fields.collect::<Result<_, BlueprintError>>()?,
            ))
        }
        other => Ok(other.clone()),
    }
}
