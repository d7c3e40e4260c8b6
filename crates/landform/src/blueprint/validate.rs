//! `landform blueprint validate`.

use std::path::Path;
use std::process::ExitCode;

use landform_api::words::counted;
use landform_blueprint::{Blueprint, FileLimits, Files};

use super::{files, read, show};
use crate::AnyError;

/// How deep nested installations may hold blueprints of their own.
const DEEPEST: usize = 10;

pub(super) fn run(path: &Path) -> Result<ExitCode, AnyError> {
    let Some(blueprint) = read(files(path)?) else {
        eprintln!("{} is not valid.", path.display());
        return Ok(ExitCode::FAILURE);
    };
    if !nested(&blueprint, "", 0) {
        eprintln!("{} is not valid.", path.display());
        return Ok(ExitCode::FAILURE);
    }
    let definition = &blueprint.definition;
    let executors = [
        &definition.import_executions,
        &definition.deploy_executions,
        &definition.subinstallation_executions,
        &definition.export_executions,
    ];
    let templates: usize = executors.iter().map(|executors| executors.len()).sum();
    println!(
        "{} is valid: {}, {}, {}, {}.",
        path.display(),
        counted(definition.imports.len(), "import"),
        counted(definition.exports.len(), "export"),
        counted(templates, "template"),
        counted(definition.subinstallations.len(), "nested installation"),
    );
    Ok(ExitCode::SUCCESS)
}

/// Checks the blueprints that stand in nested installations; whether all are right.
fn nested(blueprint: &Blueprint, within: &str, depth: usize) -> bool {
    let mut valid = true;
    for template in blueprint.written_subinstallations() {
        let Some(inline) = &template.blueprint.inline else {
            continue;
        };
        let name = format!("{within}nested installation {:?}: ", template.name);
        if depth >= DEEPEST {
            eprintln!("error: {name}blueprints are nested deeper than {DEEPEST}");
            return false;
        }
        let files = match Files::from_inline(&inline.filesystem, &FileLimits::default()) {
            Ok(files) => files,
            Err(error) => {
                eprintln!("error: {name}{error}");
                valid = false;
                continue;
            }
        };
        match Blueprint::from_files(files) {
            Ok(inner) => {
                show(
                    &format!("warning: {}", name.trim_end_matches(": ")),
                    &inner.warnings,
                );
                valid &= nested(&inner, &name, depth + 1);
            }
            Err(error) => {
                show(
                    &format!("error: {}", name.trim_end_matches(": ")),
                    &error.problems,
                );
                valid = false;
            }
        }
    }
    valid
}
