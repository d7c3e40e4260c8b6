//! Data mappings of installations: new values from those that are there.
//!
//! Landscaper evaluates the strings of a mapping with Spiff. Here plain values are taken as they are,
//! and a string with `{{` is a Go template whose output is read as YAML, like that of executors.

use std::collections::BTreeMap;

use landform_template::{Environment, Template};
use serde_json::{Value, json};

use crate::problem::{BlueprintError, Problem};
use crate::reader::Source;

/// Which mappings, and what their templates see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MappingKind {
    /// `importDataMappings`: templates see `.imports`.
    Imports,
    /// `exportDataMappings`: templates see `.exports`.
    Exports,
}

/// Computes the values of data mappings.
///
/// # Errors
/// When a string is for Spiff, or a template fails; no value is in the error.
pub fn map_data(
    kind: MappingKind,
    mappings: &BTreeMap<String, Value>,
    data: &BTreeMap<String, Value>,
) -> Result<BTreeMap<String, Value>, BlueprintError> {
    let (file, seen) = match kind {
        MappingKind::Imports => ("importDataMappings", json!({"imports": data})),
        MappingKind::Exports => ("exportDataMappings", json!({"exports": data})),
    };
    let environment = Environment::default();
    let mut mapped = BTreeMap::new();
    let mut problems = Vec::new();
    for (name, value) in mappings {
        let path = format!("{file}.{name}");
        match map_value(&path, value, &seen, &environment) {
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

fn map_value(
    path: &str,
    value: &Value,
    data: &Value,
    environment: &Environment,
) -> Result<Value, BlueprintError> {
    match value {
        Value::String(text) if text.contains("((") => {
            let message = "this is an expression of Spiff, which is not supported: write a Go template, \
                           for instance `{{ .imports.name | toJson }}`";
            Err(Problem::new(path, message).into())
        }
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
