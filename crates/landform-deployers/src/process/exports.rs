//! What a process exports once it is ready.

use std::io;

use landform_api::jsonpath::JsonPath;
use landform_yaml::Budget;
use serde_json::{Map, Value};

use super::config::{Configuration, Export};
use super::record::Item;
use crate::DeployError;
use crate::foresee::{Foreseen, Foresight};
use crate::local::{other_user, read_below};

/// A file may be so long.
const FILE_BYTES: u64 = 1 << 20;

/// All exports, from the answer of the probe too.
///
/// # Errors
/// Which export is missing, and why.
pub(crate) fn collect(
    item: &Item,
    configuration: &Configuration,
    answer: Option<&Value>,
) -> Result<Map<String, Value>, String> {
    let user = other_user(configuration.launch.user.as_deref()).map_err(|error| error.message)?;
    let mut exports = Map::new();
    for (name, export) in &configuration.exports {
        let value = match export {
            Export::Static(value) => Ok(value.0.clone()),
            Export::File { path, select } => {
                let text = read_below(&item.work(), path, FILE_BYTES, user.as_ref());
                from_file(text, select.as_ref())
            }
            Export::Probe { select } => answer
                .ok_or_else(|| "the readiness probe did not answer with JSON".to_owned())
                .and_then(|answer| one(select, answer)),
        };
        let value = value.map_err(|why| format!("its export {name} is missing: {why}"))?;
        exports.insert(name.clone(), value);
    }
    Ok(exports)
}

/// The text of a file without the line's end, or something in a file of JSON or YAML.
fn from_file(text: io::Result<String>, select: Option<&JsonPath>) -> Result<Value, String> {
    let text = text.map_err(|error| format!("the file can't be read: {error}"))?;
    let Some(select) = select else {
        return Ok(Value::String(
            text.trim_end_matches(['\r', '\n']).to_owned(),
        ));
    };
    let document = landform_yaml::parse_one(&text, &Budget::RUN)
        .map_err(|_| "the file is neither JSON nor YAML".to_owned())?;
    one(select, &document)
}

fn one(select: &JsonPath, document: &Value) -> Result<Value, String> {
    let found = select.first(document).cloned();
    found.ok_or_else(|| "the path leads to nothing".to_owned())
}

/// What of it stands in the configuration already.
///
/// # Errors
/// Which field of the configuration is wrong.
pub(crate) fn foresee(config: Option<&Value>) -> Result<Foreseen, DeployError> {
    let configuration = Configuration::read(config)?;
    let exports = configuration.exports.into_iter().map(|(name, export)| {
        let foresight = match export {
            Export::Static(value) => Foresight::Value(value.0),
            Export::File { path, .. } => Foresight::Later(format!("the file {path}")),
            Export::Probe { .. } => Foresight::Later("the answer of its readiness probe".into()),
        };
        (name, foresight)
    });
    Ok(Foreseen {
        exports: Some(exports.collect()),
        objects: Vec::new(),
    })
}
