//! `landform blueprint render`.

use std::collections::BTreeMap;
use std::process::ExitCode;

use landform_blueprint::{
    Blueprint, BlueprintError, ExportValues, Input, Problem, Rendered, ValueProblem,
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
    let state = args.state.as_deref().map(map_file).transpose()?;
    let values = args.exports_values.as_deref().map(map_file).transpose()?;
    let values = values.map(export_values).transpose()?;
    let Some(blueprint) = read(files(&args.path)?) else {
        return Ok(ExitCode::FAILURE);
    };
    let given = given.unwrap_or_default();
    for name in blueprint.undeclared_imports(&given) {
        eprintln!("warning: the blueprint has no import {name:?}, and the value has no effect");
    }
    let imports = match blueprint.complete_imports(&given) {
        Ok(imports) => imports,
        Err(problems) => {
            show_values(&problems);
            if args.imports.is_none() {
                eprintln!("Give imports with --imports FILE: a YAML map from names to values.");
            }
            return Ok(ExitCode::FAILURE);
        }
    };
    let input = Input {
        imports,
        state: state.unwrap_or_default(),
        blueprint: Value::Null,
        installation: json!({"name": "example", "namespace": "default"}),
        now: Some(now),
        ..Input::default()
    };
    match render(&blueprint, input, values.as_ref()) {
        Ok((result, problems)) => {
            match args.output {
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
fn export_values(mut map: BTreeMap<String, Value>) -> Result<ExportValues, AnyError> {
    let mut take = |name: &str| match map.remove(name) {
        None | Some(Value::Null) => Ok(BTreeMap::new()),
        Some(Value::Object(fields)) => Ok(fields.into_iter().collect()),
        Some(_) => Err(format!(
            "`{name}` in the file of --exports-values has to be a map from names to values"
        )),
    };
    let values = ExportValues {
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

/// Everything that the blueprint makes, and what is wrong with its exports.
fn render(
    blueprint: &Blueprint,
    mut input: Input,
    values: Option<&ExportValues>,
) -> Result<(Value, Vec<ValueProblem>), BlueprintError> {
    let mut result = Map::new();
    let mut state = BTreeMap::new();
    input.imports = keep(blueprint.run_import_executions(&input)?, &mut state);
    result.insert("imports".to_owned(), json!(input.imports));
    let items = keep(blueprint.render_deploy_items(&input)?, &mut state);
    result.insert("deployItems".to_owned(), json!(items));
    let nested = keep(blueprint.render_subinstallations(&input)?, &mut state);
    result.insert("subinstallations".to_owned(), json!(nested));
    let mut problems = Vec::new();
    if let Some(values) = values {
        let exports = keep(blueprint.render_exports(&input, values)?, &mut state);
        problems = blueprint.check_exports(&exports);
        result.insert("exports".to_owned(), json!(exports));
    }
    if !state.is_empty() {
        result.insert("state".to_owned(), json!(state));
    }
    Ok((Value::Object(result), problems))
}

/// The value, after its state was kept and its warnings shown.
fn keep<T>(rendered: Rendered<T>, state: &mut BTreeMap<String, Value>) -> T {
    let warnings: &[Problem] = &rendered.warnings;
    show("warning", warnings);
    state.extend(rendered.state);
    rendered.value
}
