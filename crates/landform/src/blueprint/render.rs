//! `landform blueprint render`.

use std::collections::BTreeMap;
use std::process::ExitCode;

use landform_blueprint::{
    Blueprint, BlueprintError, Guarded, GuardedExportValues, Input, Inputs, MASK, ValueProblem,
};
use serde_json::{Map, Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::{Output, RenderArgs, files, map_file, read, show};
use crate::AnyError;

pub(super) fn run(args: &RenderArgs) -> Result<ExitCode, AnyError> {
    let now = match &args.now {
        Some(text) => OffsetDateTime::parse(text, &Rfc3339)
            .map_err(|_| "--now has to be a time such as 2026-01-31T12:00:00Z")?,
        None => OffsetDateTime::now_utc(),
    };
    let given = args.imports.as_deref().map(map_file).transpose()?;
    let secrets = args.secrets.as_deref().map(map_file).transpose()?;
    let state = args.state.as_deref().map(map_file).transpose()?;
    let values = args.exports_values.as_deref().map(map_file).transpose()?;
    let values = values.map(export_values).transpose()?;
    let Some(blueprint) = read(files(&args.path)?) else {
        return Ok(ExitCode::FAILURE);
    };
    let mut given = Guarded::plain(given.unwrap_or_default());
    for (name, value) in secrets.unwrap_or_default() {
        given.insert(name, value, Value::from(MASK));
    }
    for name in blueprint.undeclared_imports(&given.values) {
        eprintln!("warning: the blueprint has no import {name:?}, and the value has no effect");
    }
    let imports = match blueprint.complete_guarded(&given) {
        Ok(imports) => imports,
        Err(problems) => {
            show_values(&problems);
            if args.imports.is_none() {
                eprintln!("Give imports with --imports FILE: a YAML map from names to values.");
            }
            return Ok(ExitCode::FAILURE);
        }
    };
    let rest = Input {
        blueprint: Value::Null,
        installation: json!({"name": "example", "namespace": "default"}),
        now: Some(now),
        ..Input::default()
    };
    let state = Guarded::plain(state.unwrap_or_default());
    let inputs = Inputs::new(imports, &given.shown, &state, rest);
    match render(&blueprint, inputs, values.as_ref()) {
        Ok((result, problems)) => {
            match if args.json { Output::Json } else { args.output } {
                Output::Yaml => crate::say(&landform_yaml::write(&result))?,
                Output::Json => crate::say(&format!("{result:#}\n"))?,
            }
            show_values(&problems);
            Ok(if problems.is_empty() {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            })
        }
        Err(error) => {
            show("error", &error.problems);
            Ok(ExitCode::FAILURE)
        }
    }
}

fn show_values(problems: &[ValueProblem]) {
    for problem in problems {
        eprintln!("error: {problem}");
    }
}

/// What export executors see, from the file's map.
fn export_values(mut map: BTreeMap<String, Value>) -> Result<GuardedExportValues, AnyError> {
    let mut take = |name: &str| match map.remove(name) {
        None | Some(Value::Null) => Ok(Guarded::default()),
        Some(Value::Object(fields)) => Ok(Guarded::plain(fields.into_iter().collect())),
        Some(_) => Err(format!(
            "`{name}` in the file of --exports-values has to be a map from names to values"
        )),
    };
    let values = GuardedExportValues {
        deploy_items: take("deployitems")?,
        data_objects: take("dataobjects")?,
        targets: take("targets")?,
    };
    match map.keys().next() {
        None => Ok(values),
        Some(other) => Err(format!(
            "`{other}` in the file of --exports-values is not known: it holds deployitems, dataobjects and targets"
        )
        .into()),
    }
}

/// Everything that the blueprint makes, as far as it may be shown, and what is wrong with its exports.
fn render(
    blueprint: &Blueprint,
    mut inputs: Inputs,
    values: Option<&GuardedExportValues>,
) -> Result<(Value, Vec<ValueProblem>), BlueprintError> {
    let mut result = Map::new();
    show("warning", &blueprint.bind(&mut inputs)?);
    result.insert("imports".to_owned(), shown(&inputs.imports()));
    let (items, warnings) = blueprint.guarded_items(&mut inputs)?;
    show("warning", &warnings);
    let items = items.into_iter().map(|found| {
        let mut item = found.item;
        item.config = found.shown.or(item.config);
        item
    });
    result.insert("deployItems".to_owned(), json!(items.collect::<Vec<_>>()));
    let (nested, warnings) = blueprint.guarded_subinstallations(&mut inputs)?;
    show("warning", &warnings);
    result.insert("subinstallations".to_owned(), json!(nested));
    let mut problems = Vec::new();
    if let Some(values) = values {
        let (exports, warnings) = blueprint.guarded_exports(&mut inputs, values)?;
        show("warning", &warnings);
        problems = blueprint.check_guarded_exports(&exports);
        result.insert("exports".to_owned(), shown(&exports));
    }
    let state = inputs.state();
    if !state.values.is_empty() {
        result.insert("state".to_owned(), shown(&state));
    }
    Ok((Value::Object(result), problems))
}

/// What may be shown of values.
fn shown(all: &Guarded) -> Value {
    let names = all.values.keys();
    let shown = names.filter_map(|name| Some((name.clone(), all.shown(name)?.clone())));
    Value::Object(shown.collect())
}
