//! `landform blueprint`: checks and renders blueprints without a server (I41).
//!
//! Results go to stdout; problems and warnings to stderr, one paragraph each, with file, line and column
//! first, as compilers write them.

mod render;
mod validate;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use landform_blueprint::{Blueprint, FileLimits, Files, Problem};
use serde_json::Value;

use crate::AnyError;

/// What to do with a blueprint.
#[derive(Subcommand)]
pub(crate) enum BlueprintCommand {
    /// Reads a blueprint with its schemas and templates, and says what is wrong with it.
    ///
    /// Nested installations whose files stand in the blueprint are checked too. Ends with 1 when there
    /// is a problem; warnings are only shown.
    Validate {
        /// A directory with a blueprint.yaml, or a tar archive of one (also with gzip).
        path: PathBuf,
    },
    /// Shows what a blueprint makes of its imports: deploy items, nested installations, exports.
    ///
    /// Nothing is deployed and no server is needed. What depends on a value of --secrets is shown as `(secret)`, as a
    /// server would; values of --imports are shown as they are given.
    Render(RenderArgs),
}

/// Arguments of `landform blueprint render`.
#[derive(Args)]
pub(crate) struct RenderArgs {
    /// A directory with a blueprint.yaml, or a tar archive of one (also with gzip).
    path: PathBuf,
    /// A YAML file with the imports: names and values; targets are whole Target objects.
    #[arg(long, value_name = "FILE")]
    imports: Option<PathBuf>,
    /// A YAML file with imports that come from Secrets: names and values.
    #[arg(long, value_name = "FILE")]
    secrets: Option<PathBuf>,
    /// A YAML file with what deploy items and nested installations exported: a map with `deployitems`,
    /// `dataobjects` and `targets`. With it the exports are shown.
    #[arg(long, value_name = "FILE")]
    exports_values: Option<PathBuf>,
    /// A YAML file with the state of the executors, as an earlier render showed it.
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// What `now` answers in templates (RFC 3339) [default: the present time].
    #[arg(long, value_name = "TIME")]
    now: Option<String>,
    /// The form of the output.
    #[arg(short, long, value_enum, default_value_t = Output::Yaml)]
    output: Output,
    /// The same as -o json.
    #[arg(long, conflicts_with = "output")]
    json: bool,
}

/// How results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// YAML.
    Yaml,
    /// JSON.
    Json,
}

pub(crate) fn run(command: BlueprintCommand) -> Result<ExitCode, AnyError> {
    match command {
        BlueprintCommand::Validate { path } => validate::run(&path),
        BlueprintCommand::Render(args) => render::run(&args),
    }
}

/// The files at a path.
fn files(path: &Path) -> Result<Files, AnyError> {
    if !path.exists() {
        let message = format!(
            "{} does not exist: give a directory with a blueprint.yaml, or a tar archive of one",
            path.display()
        );
        return Err(message.into());
    }
    Ok(Files::from_path(path, &FileLimits::default())?)
}

/// The blueprint, or nothing after its problems were shown.
fn read(files: Files) -> Option<Blueprint> {
    match Blueprint::from_files(files) {
        Ok(blueprint) => {
            show("warning", &blueprint.warnings);
            Some(blueprint)
        }
        Err(error) => {
            show("error", &error.problems);
            None
        }
    }
}

fn show(word: &str, problems: &[Problem]) {
    for problem in problems {
        eprintln!("{word}: {problem}");
        if !problem.excerpt.is_empty() {
            eprintln!("{}", problem.excerpt);
        }
    }
}

/// A YAML file that holds a map.
fn map_file(path: &Path) -> Result<BTreeMap<String, Value>, AnyError> {
    let shown = path.display();
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("{shown} can't be read: {error}"))?;
    let value = landform_yaml::parse_one(&text, &landform_yaml::Budget::FILE)
        .map_err(|error| format!("{shown}:{}:{}: {}", error.line, error.column, error.message))?;
    match value {
        Value::Object(fields) => Ok(fields.into_iter().collect()),
        _ => Err(format!("{shown} has to hold a map from names to values").into()),
    }
}
