//! Blueprints: those in directories and those within installations, with their templates.

use std::collections::BTreeMap;
use std::path::Path;

use landform_api::landscaper::installation::{BlueprintDefinition, InstallationSpec};
use landform_blueprint::{
    Blueprint, BlueprintError, FileLimits, Files, Guarded, Input, Inputs, Problem,
};
use landform_project::Reading;
use serde_json::{Value, json};

use super::finding::{Findings, Place};
use super::wiring;

/// How deep nested installations may hold blueprints of their own.
const DEEPEST: usize = 10;

/// The blueprints of directories, by path; none where one can't be read.
pub(super) type Blueprints = BTreeMap<String, Option<Blueprint>>;

/// Reads all directories with a blueprint.
pub(super) fn read(directory: &Path, reading: &Reading, findings: &mut Findings) -> Blueprints {
    let mut all = Blueprints::new();
    for path in reading.blueprints.keys() {
        let files = Files::from_directory(&directory.join(path), &FileLimits::default());
        let problems = match files.map(Blueprint::from_files) {
            Ok(Ok(blueprint)) => {
                for warning in &blueprint.warnings {
                    findings.of_directory(path, warning, false);
                }
                all.insert(path.clone(), Some(blueprint));
                continue;
            }
            Ok(Err(error)) => error.problems,
            Err(error) => {
                findings.add(super::Finding::error(
                    landform_api::project::ProjectProblem {
                        file: path.clone(),
                        message: error.to_string(),
                        ..Default::default()
                    },
                ));
                Vec::new()
            }
        };
        problems
            .iter()
            .for_each(|problem| findings.of_directory(path, problem, true));
        all.insert(path.clone(), None);
    }
    for (path, blueprint) in &all {
        if let Some(blueprint) = blueprint {
            let mut say = |problem: String| {
                findings.add(super::Finding::error(
                    landform_api::project::ProjectProblem {
                        file: format!("{path}/{}", landform_blueprint::DEFINITION),
                        message: problem,
                        ..Default::default()
                    },
                ));
            };
            nested(blueprint, &all, "", 0, &mut say);
        }
    }
    all
}

/// The blueprint that an installation means; problems are noted at the installation.
pub(super) fn of_installation<'a>(
    definition: &BlueprintDefinition,
    blueprints: &'a Blueprints,
    place: Place<'_>,
    findings: &mut Findings,
) -> Option<std::borrow::Cow<'a, Blueprint>> {
    use std::borrow::Cow;
    if let Some(path) = &definition.path {
        let plain = path.trim_start_matches("./").trim_end_matches('/');
        let Some(found) = blueprints.get(plain) else {
            let known: Vec<_> = blueprints.keys().map(String::as_str).collect();
            let known = if known.is_empty() {
                "none".to_owned()
            } else {
                known.join(", ")
            };
            findings.error_in(place, path, format!(
                "there is no blueprint {path:?}: spec.blueprint.path is a directory of the project with a blueprint.yaml; there are {known}"
            ));
            return None;
        };
        // What is wrong with it is told there.
        return found.as_ref().map(Cow::Borrowed);
    }
    let Some(inline) = &definition.inline else {
        if definition.reference.is_some() {
            findings.warning(
                place,
                "its blueprint is in a component, which is not looked at here",
            );
        }
        return None;
    };
    let read = match Files::from_inline(&inline.filesystem, &FileLimits::default()) {
        Ok(files) => Blueprint::from_files(files),
        Err(error) => {
            findings.error(place, format!("its blueprint: {error}"));
            return None;
        }
    };
    match read {
        Ok(blueprint) => {
            for warning in &blueprint.warnings {
                findings.warning(place, format!("its blueprint: {warning}"));
            }
            let mut problems = Vec::new();
            nested(&blueprint, blueprints, "", 0, &mut |problem| {
                problems.push(problem);
            });
            for problem in problems {
                findings.error(place, format!("its blueprint: {problem}"));
            }
            Some(Cow::Owned(blueprint))
        }
        Err(error) => {
            for problem in &error.problems {
                findings.error(place, format!("its blueprint: {problem}"));
            }
            None
        }
    }
}

/// Nested installations: their blueprints, and what they import from each other.
fn nested(
    blueprint: &Blueprint,
    known: &Blueprints,
    within: &str,
    depth: usize,
    say: &mut dyn FnMut(String),
) {
    if depth >= DEEPEST {
        say(format!(
            "{within}blueprints are nested deeper than {DEEPEST}"
        ));
        return;
    }
    wiring::nested(blueprint, within, say);
    for template in blueprint.written_subinstallations() {
        let name = format!("{within}nested installation {:?}: ", template.name);
        if let Some(path) = &template.blueprint.path
            && !known.contains_key(path.trim_start_matches("./").trim_end_matches('/'))
        {
            say(format!("{name}there is no blueprint {path:?}"));
        }
        let Some(inline) = &template.blueprint.inline else {
            continue;
        };
        match Files::from_inline(&inline.filesystem, &FileLimits::default()) {
            Ok(files) => match Blueprint::from_files(files) {
                Ok(inner) => nested(&inner, known, &name, depth + 1, say),
                Err(error) => {
                    for problem in &error.problems {
                        say(format!("{name}{problem}"));
                    }
                }
            },
            Err(error) => say(format!("{name}{error}")),
        }
    }
}

/// Runs the templates of an installation whose imports all stand in files.
pub(super) fn render(
    blueprint: &Blueprint,
    spec: &InstallationSpec,
    name: &str,
    imports: BTreeMap<String, Value>,
) -> Vec<Problem> {
    let rest = Input {
        blueprint: json!(spec.blueprint),
        installation: json!({"name": name, "namespace": "default"}),
        now: Some(crate::output::time::now()),
        ..Input::default()
    };
    let given = Guarded::plain(imports.clone());
    let state = Guarded::plain(BTreeMap::new());
    let mut inputs = Inputs::new(imports, &given.shown, &state, rest);
    let mut run = || -> Result<(), BlueprintError> {
        blueprint.bind(&mut inputs)?;
        blueprint.guarded_items(&mut inputs)?;
        blueprint.guarded_subinstallations(&mut inputs)?;
        Ok(())
    };
    match run() {
        Ok(()) => Vec::new(),
        Err(error) => error.problems,
    }
}
