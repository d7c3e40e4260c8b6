//! `landform schema`: JSON schemas of the files that people write, for editors.

use std::process::ExitCode;

use clap::Args;
use landform_api::{catalog, json_schema, landscaper, project};
use landform_engine::hooks;
use landform_project::settings_schema;
use serde_json::Value;

use crate::{AnyError, exit, say};

/// What `landform.yaml` is called here.
pub(crate) const PROJECT: &str = "project";
/// What `blueprint.yaml` is called here.
pub(crate) const BLUEPRINT: &str = "blueprint";

const EXAMPLES: &str = "Examples:
  landform schema project > project.json          landform.yaml
  landform schema blueprint > blueprint.json      blueprint.yaml
  landform schema Installation                    manifests of a kind, also `inst`

An editor with a YAML language server reads the schema that the file's first lines name:
  # yaml-language-server: $schema=blueprint.json";

/// Arguments of `landform schema`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SchemaArgs {
    /// What the schema is of: `project`, `blueprint`, or a kind that Landform brings (Installation, DeployItem, Catalog…).
    #[arg(value_name = "WHAT")]
    what: String,
}

pub(crate) fn run(args: SchemaArgs) -> Result<ExitCode, AnyError> {
    let schema = schema_of(&args.what)?;
    say(&format!("{}\n", text(&schema)?))?;
    Ok(exit::OK)
}

/// A schema as it is written into a file.
pub(crate) fn text(schema: &Value) -> Result<String, AnyError> {
    Ok(serde_json::to_string_pretty(schema)?)
}

/// The schema of what is called so.
pub(crate) fn schema_of(what: &str) -> Result<Value, AnyError> {
    // The file is meant, not the object that `landform up` makes of it.
    match what {
        PROJECT => return Ok(settings_schema::schema()),
        BLUEPRINT => return Ok(landform_blueprint::json_schema()),
        _ => {}
    }
    let definitions = definitions()?;
    let found = definitions.iter().find(|found| is_called(found, what));
    found.map(json_schema::of_definition).ok_or_else(|| {
        let kinds = definitions.iter().filter_map(|one| kind(one).as_str());
        let mut names: Vec<_> = [PROJECT, BLUEPRINT].into_iter().chain(kinds).collect();
        names.sort_unstable();
        format!(
            "there is no schema of {what:?}: there are {}. A kind of yours has one on the server: `landform explain`",
            names.join(", ")
        )
        .into()
    })
}

/// The definition of a kind that Landform brings, by any of its names.
pub(crate) fn definition_of(what: &str) -> Option<Value> {
    let definitions = definitions().ok()?;
    definitions.into_iter().find(|found| is_called(found, what))
}

/// The definitions of all kinds that Landform brings.
fn definitions() -> Result<Vec<Value>, AnyError> {
    let mut all = landscaper::definition::definitions();
    all.extend(landscaper::definition::further_definitions());
    all.extend(catalog::definition::definitions());
    all.extend(project::definition::definitions());
    let reconciler = landform_yaml::parse_one(hooks::DEFINITION, &landform_yaml::Budget::FILE);
    all.push(reconciler.map_err(|error| error.message)?);
    Ok(all)
}

fn kind(definition: &Value) -> &Value {
    &definition["spec"]["names"]["kind"]
}

fn is_called(definition: &Value, what: &str) -> bool {
    let names = &definition["spec"]["names"];
    let short = names["shortNames"].as_array().into_iter().flatten();
    let names = [&names["kind"], &names["plural"], &names["singular"]];
    let mut names = names.into_iter().chain(short).filter_map(Value::as_str);
    names.any(|name| name.eq_ignore_ascii_case(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_schema_by_all_its_names() {
        for (what, title) in [
            ("project", "landform.yaml: the settings of a project"),
            ("blueprint", "blueprint.yaml: the definition of a blueprint"),
            ("Project", "Project of landform.dev/v1alpha1"),
            (
                "installation",
                "Installation of landscaper.gardener.cloud/v1alpha1",
            ),
            ("inst", "Installation of landscaper.gardener.cloud/v1alpha1"),
            ("apptypes", "AppType of catalog.landform.dev/v1alpha1"),
            ("rec", "Reconciler of landform.dev/v1alpha1"),
        ] {
            assert_eq!(schema_of(what).unwrap()["title"], title);
        }
        for definition in definitions().unwrap() {
            let kind = kind(&definition).as_str().unwrap();
            let schema = schema_of(kind).unwrap();
            assert_eq!(schema["properties"]["kind"]["const"], kind);
        }
        let error = schema_of("shop").unwrap_err().to_string();
        assert!(error.starts_with("there is no schema of \"shop\": there are AppType, "));
    }
}
