//! `landform validate`: a project's files, without a server: what can't work is said before anything is done.
//!
//! `objects.rs` has a server in this process, with nothing in it, judge each object; `blueprints.rs` reads and renders
//! blueprints; `wiring.rs` follows imports to what provides them, with `fits.rs` for types and `circles.rs`. `finding.rs` is one thing that was found.

mod blueprints;
mod circles;
mod finding;
mod fits;
mod objects;
mod wiring;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use landform_api::project::{ProjectSpec, SETTINGS_FILE};
use landform_api::words::counted;
use landform_project::{ReadProblem, Reader, Reading, Settings};
use serde_json::json;

use crate::client::block_on;
use crate::output::harmless::harmless;
use crate::output::{ReportArgs, one};
use crate::{AnyError, exit, say};
use finding::{Finding, Findings};

const EXAMPLES: &str = "Examples:
  landform validate                    the project in this directory
  landform validate examples/shop      another one
  landform validate --strict           warnings count, too
  landform validate -o json            for programs

Checked are files, manifests by the schemas of their kinds (Landform's, Kubernetes' and those that the project
defines), blueprints, what installations import from each other, and templates as far as all that they are given stands
in files. No server is asked and no program is run: what only a server knows, such as data that others provide, is a
warning. Exits with 0 when the project is valid, and with 1 when it is not or can't be read. `landform plan` says what
the files would change.";

/// Arguments of `landform validate`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ValidateArgs {
    /// The project's directory.
    #[arg(value_name = "DIR", default_value = ".")]
    directory: PathBuf,
    /// Warnings count as errors.
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    report: ReportArgs,
}

pub(crate) fn run(args: ValidateArgs) -> Result<ExitCode, AnyError> {
    let (findings, counts) = block_on(check(&args.directory))?;
    let (errors, warnings) = findings.counts();
    let valid = errors == 0 && (warnings == 0 || !args.strict);
    if let Some(form) = args.report.form() {
        let report = json!({
            "apiVersion": "landform.dev/v1alpha1", "kind": "Validation", "valid": valid,
            "errors": errors, "warnings": warnings, "problems": findings.all(),
        });
        say(&one(&report, form)?)?;
    } else {
        for finding in findings.all() {
            for line in finding.lines() {
                eprintln!("{}", harmless(&line));
            }
        }
        let shown = args.directory.display();
        let found = match (errors, warnings) {
            (0, 0) => String::new(),
            (0, warnings) => format!(", with {}", counted(warnings, "warning")),
            (errors, 0) => format!(": {}", counted(errors, "error")),
            (errors, warnings) => {
                format!(
                    ": {}, {}",
                    counted(errors, "error"),
                    counted(warnings, "warning")
                )
            }
        };
        if valid {
            say(&format!("{shown} is valid{found}: {counts}.\n"))?;
        } else {
            say(&format!("{shown} is not valid{found}.\n"))?;
        }
    }
    Ok(if valid { exit::OK } else { exit::FAILED })
}

async fn check(directory: &std::path::Path) -> Result<(Findings, String), AnyError> {
    let mut findings = Findings::default();
    let directory = directory.canonicalize().map_err(|error| {
        format!(
            "there is no project in {}: {error}; name its directory",
            directory.display()
        )
    })?;
    let name = Settings::load(&directory)
        .ok()
        .and_then(|settings| settings.name);
    let name = name.unwrap_or_else(|| "project".to_owned());
    let spec = ProjectSpec {
        directory: directory.display().to_string(),
        ..ProjectSpec::default()
    };
    let reading = match Reader::default().read(&directory, &name, &spec, 0) {
        Ok(reading) => reading,
        Err(ReadProblem::Settings(problems)) => {
            problems
                .into_iter()
                .for_each(|problem| findings.add(Finding::error(problem)));
            return Ok((findings, String::new()));
        }
        Err(error) => return Err(error.into()),
    };
    let has_objects = reading
        .files
        .values()
        .any(|parsed| !parsed.objects.is_empty() || !parsed.problems.is_empty());
    let has_settings = directory.join(SETTINGS_FILE).exists();
    if !has_objects && !has_settings && reading.blueprints.is_empty() {
        // Another directory may have been meant, and nothing would be checked.
        return Err(format!(
            "{} has no file of a project: name the project's directory",
            directory.display()
        )
        .into());
    }
    objects::check(&directory, &name, &reading, &mut findings).await?;
    let blueprints = blueprints::read(&directory, &reading, &mut findings);
    let wired = wiring::check(&reading, &blueprints, &mut findings);
    findings.locate(&directory);
    findings.sort();
    Ok((findings, counts(&reading, wired)))
}

fn counts(reading: &Reading, installations: usize) -> String {
    let objects = reading.files.values().map(|parsed| parsed.objects.len());
    let objects: usize = objects.sum();
    format!(
        "{}, {}, {}",
        counted(objects, "object"),
        counted(installations, "installation"),
        counted(reading.blueprints.len(), "blueprint directory")
            .replace("directorys", "directories")
    )
}
