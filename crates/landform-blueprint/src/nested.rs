//! Nested installations: those of `blueprint.yaml`, of its files and of executors.

use std::collections::{BTreeMap, BTreeSet};

use landform_api::landscaper::installation::{
    BlueprintDefinition, InlineBlueprint, InstallationExports, InstallationImports,
    InstallationSpec,
};
use landform_api::landscaper::names;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::Blueprint;
use crate::definition::SubinstallationEntry;
use crate::execute::{Input, Rendered, Section, run};
use crate::problem::{BlueprintError, Problem};
use crate::reader::{Object, Source};
use crate::values::optional_names;

/// A nested installation as the blueprint gives it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SubinstallationTemplate {
    /// Its name within the parent.
    pub name: String,
    /// What to install: inline files, or a path on the server.
    pub blueprint: BlueprintDefinition,
    /// Where its imports come from: names of the parent's imports and of siblings' exports.
    pub imports: InstallationImports,
    /// Imports that are computed from others.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub import_data_mappings: BTreeMap<String, Value>,
    /// Under which names its exports are given to siblings and to the parent.
    pub exports: InstallationExports,
    /// Exports that are computed from others.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub export_data_mappings: BTreeMap<String, Value>,
}

impl SubinstallationTemplate {
    /// The spec of the installation that is made from this.
    #[must_use]
    pub fn into_spec(self, context: Option<String>) -> InstallationSpec {
        InstallationSpec {
            context,
            blueprint: self.blueprint,
            imports: self.imports,
            import_data_mappings: self.import_data_mappings,
            exports: self.exports,
            export_data_mappings: self.export_data_mappings,
            automatic_reconcile: None,
            ..InstallationSpec::default()
        }
    }
}

/// The entries of `blueprint.yaml` and of its files, which need no imports.
pub(crate) fn written(
    blueprint: &crate::Files,
    entries: &[SubinstallationEntry],
    source: &Source,
) -> Vec<SubinstallationTemplate> {
    let mut templates = Vec::new();
    for entry in entries {
        match entry {
            SubinstallationEntry::Inline { value, pointer } => {
                templates.push(read(&Object::new(source, pointer.as_str(), value)));
            }
            SubinstallationEntry::File(path) => match from_file(blueprint, path) {
                Ok(template) => templates.push(template),
                Err(error) => error
                    .problems
                    .into_iter()
                    .for_each(|problem| source.add(problem)),
            },
        }
    }
    templates
}

fn from_file(files: &crate::Files, path: &str) -> Result<SubinstallationTemplate, BlueprintError> {
    let missing = || {
        Problem::new(
            crate::DEFINITION,
            format!("subinstallations: there is no file {path}"),
        )
    };
    let content = files.get(path).ok_or_else(missing)?;
    let text = std::str::from_utf8(content)
        .map_err(|_| Problem::new(path, "the file is no UTF-8 text"))?;
    let (source, value) = Source::parse(path, text, true)?;
    let template = read(&Object::new(&source, "", &value));
    source.finish()?;
    Ok(template)
}

pub(crate) fn render(
    blueprint: &Blueprint,
    input: &Input,
) -> Result<Rendered<Vec<SubinstallationTemplate>>, BlueprintError> {
    let mut templates = blueprint.subinstallations.clone();
    let collected = run(
        blueprint,
        Section::Subinstallations,
        input,
        Map::new(),
        |_, output, _| {
            let Some((pointer, value)) = output.value_in_any_case("subinstallations") else {
                return;
            };
            match value.as_array() {
                Some(list) => {
                    for (at, value) in list.iter().enumerate() {
                        let pointer = format!("{pointer}/{at}");
                        templates.push(read(&Object::new(output.source, pointer, value)));
                    }
                }
                None => output
                    .source
                    .problem(&pointer, "this has to be a list of installations"),
            }
        },
    )?;
    let problems = duplicates(&templates);
    if !problems.is_empty() {
        return Err(BlueprintError { problems });
    }
    remove_absent(blueprint, input, &mut templates);
    Ok(Rendered {
        value: templates,
        state: collected.state,
        warnings: collected.warnings,
    })
}

/// Names that are given twice.
pub(crate) fn duplicates(templates: &[SubinstallationTemplate]) -> Vec<Problem> {
    let mut names = BTreeSet::new();
    let twice = templates
        .iter()
        .filter(|template| !names.insert(&template.name));
    let problems = twice.map(|template| {
        let message = format!(
            "there are two nested installations {:?}: names have to differ",
            template.name
        );
        Problem::new("subinstallations", message)
    });
    problems.collect()
}

/// Imports that come from an optional import of the parent which is not given are not passed on.
fn remove_absent(blueprint: &Blueprint, input: &Input, templates: &mut [SubinstallationTemplate]) {
    let optional = optional_names(&blueprint.definition.imports);
    let exported: BTreeSet<String> = templates.iter().flat_map(exported_names).collect();
    let absent = |name: &str| {
        optional.contains(name) && !input.imports.contains_key(name) && !exported.contains(name)
    };
    // `clusters[red]` is one target of what the parent imports as `clusters`.
    let absent_target = |key: &str| {
        let import = names::element_of(key).map_or(key, |(import, _)| import);
        absent(import)
    };
    for template in templates {
        let imports = &mut template.imports;
        imports.data.retain(|import| !absent(&import.data_ref));
        imports.targets.retain(|import| {
            !absent_target(&import.target)
                && !absent(&import.target_list_ref)
                && !absent(&import.target_map_ref)
        });
        for import in &mut imports.targets {
            if let Some(targets) = &mut import.target_map {
                targets.retain(|_, key| !absent_target(key));
            }
        }
    }
}

fn exported_names(template: &SubinstallationTemplate) -> Vec<String> {
    let exports = &template.exports;
    let data = exports.data.iter().map(|export| export.data_ref.clone());
    let targets = exports.targets.iter().map(|export| export.target.clone());
    data.chain(targets).collect()
}

fn read(object: &Object<'_>) -> SubinstallationTemplate {
    for name in ["apiVersion", "kind"] {
        object.value(name);
    }
    let template = SubinstallationTemplate {
        name: object.required_text("name"),
        blueprint: read_blueprint(object),
        imports: typed(object, "imports"),
        import_data_mappings: object.map("importDataMappings"),
        exports: typed(object, "exports"),
        export_data_mappings: object.map("exportDataMappings"),
    };
    object.warn_about_others();
    template
}

fn typed<T: DeserializeOwned + Default>(object: &Object<'_>, name: &str) -> T {
    let Some(value) = object.value(name) else {
        return T::default();
    };
    // The error's own text may hold a value.
    T::deserialize(value).unwrap_or_else(|_| {
        let message = "this has not the form of an installation's field of that name";
        object.source.problem(&object.pointer(name), message);
        T::default()
    })
}

fn read_blueprint(object: &Object<'_>) -> BlueprintDefinition {
    let source = object.source;
    let Some(value) = object.value("blueprint") else {
        source.problem(&object.pointer, "`blueprint` is missing");
        return BlueprintDefinition::default();
    };
    let blueprint = Object::new(source, object.pointer("blueprint"), value);
    let path = blueprint.text("path").map(str::to_owned);
    let filesystem = blueprint.value("filesystem").cloned();
    if blueprint.value("ref").is_some() {
        let message = "component descriptors are not supported yet: write the files under `filesystem`, \
                       or name a directory of the server with `path`";
        source.problem(&blueprint.pointer("ref"), message);
    } else if path.is_some() == filesystem.is_some() {
        source.problem(&blueprint.pointer, "write either `filesystem` or `path`");
    }
    blueprint.warn_about_others();
    BlueprintDefinition {
        reference: None,
        inline: filesystem.map(|filesystem| InlineBlueprint { filesystem }),
        path,
    }
}
