//! Landscaper's blueprints: read, checked and rendered.
//!
//! In reading order: the files ([`Files`]), what `blueprint.yaml` says ([`Definition`]), whether
//! values fit it ([`Blueprint::complete_imports`], [`Blueprint::check_exports`]), and what its
//! templates make of them ([`Blueprint::render_deploy_items`] and its siblings). `docs/blueprints.md`
//! shows it with an example.
//!
//! Everything is deterministic, and no problem that is reported holds a value: values may be secret.
//! The crate is pure but for reading a directory ([`Files::from_directory`]).

mod component;
mod definition;
mod execute;
mod exports;
mod files;
mod functions;
mod guarded;
mod hide;
mod items;
mod json_schema;
mod mappings;
mod nested;
mod problem;
mod program;
mod reader;
mod schema;
mod secret;
mod values;

use std::collections::BTreeMap;
use std::sync::Arc;

use landform_template::Environment;
use serde_json::Value;

pub use component::Component;
pub use definition::{
    Definition, Engine, Executor, ExecutorText, ExportDefinition, ImportDefinition,
    SubinstallationEntry, ValueKind,
};
pub use execute::{Input, Rendered};
pub use exports::ExportValues;
pub use files::{FileLimits, Files, FilesError};
pub use guarded::{GuardedExportValues, GuardedItem, Inputs, map_guarded};
pub use json_schema::json_schema;
pub use landform_api::landscaper::execution::DeployItemTemplate;
pub use mappings::{MappingKind, map_data};
pub use nested::SubinstallationTemplate;
pub use problem::{BlueprintError, ExportProblem, ImportProblem, Problem, Side, ValueProblem};
pub use secret::{Guarded, MASK, mask, mask_known, secrets_of, stand_in};

use execute::Section;
use program::Program;
use reader::Source;

/// The file that makes a directory a blueprint.
pub const DEFINITION: &str = "blueprint.yaml";

/// A blueprint whose definition, schemas and templates were understood.
#[derive(Debug, Clone)]
pub struct Blueprint {
    /// What `blueprint.yaml` says.
    pub definition: Definition,
    /// What looks wrong without being so.
    pub warnings: Vec<Problem>,
    files: Arc<Files>,
    schemas: schema::Schemas,
    /// By section and executor.
    programs: BTreeMap<String, Program>,
    subinstallations: Vec<SubinstallationTemplate>,
    environment: Environment,
}

impl Blueprint {
    /// Reads a blueprint, with its schemas and all its templates.
    ///
    /// # Errors
    /// With everything that is wrong with it.
    pub fn from_files(files: Files) -> Result<Self, BlueprintError> {
        let content = files.get(DEFINITION).ok_or_else(|| {
            Problem::new(
                DEFINITION,
                "the file is missing: a blueprint has it at its root",
            )
        })?;
        let text = std::str::from_utf8(content)
            .map_err(|_| Problem::new(DEFINITION, "the file is no UTF-8 text"))?
            .to_owned();
        let (source, value) = Source::parse(DEFINITION, &text, true)?;
        let definition = definition::read(&source, &value);

        let schemas = schemas(&files, &definition);
        check_schemas(&source, &schemas, &definition);
        let subinstallations = nested::written(&files, &definition.subinstallations, &source);
        nested::duplicates(&subinstallations)
            .into_iter()
            .for_each(|problem| source.add(problem));

        let files = Arc::new(files);
        let environment = functions::environment(&files);
        let mut programs = BTreeMap::new();
        let sections = [
            (Section::Imports, &definition.import_executions),
            (Section::DeployItems, &definition.deploy_executions),
            (
                Section::Subinstallations,
                &definition.subinstallation_executions,
            ),
            (Section::Exports, &definition.export_executions),
        ];
        for (section, executors) in sections {
            for executor in executors {
                match Program::read(executor, &files, &source, &text, &environment) {
                    Ok(program) => {
                        source.add_warnings(program.warnings());
                        programs.insert(key(section, executor), program);
                    }
                    Err(error) => error
                        .problems
                        .into_iter()
                        .for_each(|problem| source.add(problem)),
                }
            }
        }
        let warnings = source.finish()?;
        Ok(Blueprint {
            definition,
            warnings,
            files,
            schemas,
            programs,
            subinstallations,
            environment,
        })
    }

    /// The files that the blueprint was read from.
    #[must_use]
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// The import of a name, also a conditional one.
    #[must_use]
    pub fn import(&self, name: &str) -> Option<&ImportDefinition> {
        fn find<'a>(imports: &'a [ImportDefinition], name: &str) -> Option<&'a ImportDefinition> {
            imports.iter().find_map(|import| {
                if import.name == name {
                    return Some(import);
                }
                find(&import.imports, name)
            })
        }
        find(&self.definition.imports, name)
    }

    /// The imports that count, with defaults filled in, after they were checked (I41). Values that
    /// the blueprint doesn't declare, or whose condition doesn't hold, are left out.
    ///
    /// # Errors
    /// With all imports that are missing or don't fit: path and reason, never the value.
    pub fn complete_imports(
        &self,
        given: &BTreeMap<String, Value>,
    ) -> Result<BTreeMap<String, Value>, Vec<ImportProblem>> {
        values::complete_imports(
            &self.definition.imports,
            &self.schemas,
            given,
            &BTreeMap::new(),
        )
    }

    /// [`Blueprint::complete_imports`] of values with secret parts.
    ///
    /// # Errors
    /// The same; of a secret part a name of a field is shown only if the schema has it.
    pub fn complete_guarded(
        &self,
        given: &Guarded,
    ) -> Result<BTreeMap<String, Value>, Vec<ImportProblem>> {
        values::complete_imports(
            &self.definition.imports,
            &self.schemas,
            &given.values,
            &given.shown,
        )
    }

    /// Whether nothing has to provide an import: it is optional, has a default, or counts only below one that
    /// isn't `given`.
    #[must_use]
    pub fn may_be_absent(&self, name: &str, given: impl Fn(&str) -> bool) -> bool {
        values::may_be_absent(&self.definition.imports, name, &given)
    }

    /// Names of given values that the blueprint doesn't declare.
    #[must_use]
    pub fn undeclared_imports(&self, given: &BTreeMap<String, Value>) -> Vec<String> {
        values::undeclared(&self.definition.imports, given)
    }

    /// Runs the import executors: the value is the imports with their bindings.
    ///
    /// # Errors
    /// When a template fails, or an executor gives `errors`.
    pub fn run_import_executions(
        &self,
        input: &Input,
    ) -> Result<Rendered<BTreeMap<String, Value>>, BlueprintError> {
        let bound = exports::import_bindings(self, input)?;
        let mut imports = input.imports.clone();
        imports.extend(bound.value);
        Ok(Rendered {
            value: imports,
            state: bound.state,
            warnings: bound.warnings,
        })
    }

    /// Runs the import executors: the value is their bindings alone.
    ///
    /// # Errors
    /// When a template fails, or an executor gives `errors`.
    pub fn import_bindings(
        &self,
        input: &Input,
    ) -> Result<Rendered<BTreeMap<String, Value>>, BlueprintError> {
        exports::import_bindings(self, input)
    }

    /// Runs the deploy executors. Targets given by import are resolved to names.
    ///
    /// # Errors
    /// When a template fails, its output is no list of deploy items, names are doubled, or
    /// `dependsOn` names something unknown or makes a cycle (E11).
    pub fn render_deploy_items(
        &self,
        input: &Input,
    ) -> Result<Rendered<Vec<DeployItemTemplate>>, BlueprintError> {
        items::render(self, input)
    }

    /// The nested installations of `blueprint.yaml` and of its files, without those of executors.
    #[must_use]
    pub fn written_subinstallations(&self) -> &[SubinstallationTemplate] {
        &self.subinstallations
    }

    /// The nested installations: those of `blueprint.yaml`, then those of executors. Imports that come
    /// from an absent optional import of this blueprint are left out.
    ///
    /// # Errors
    /// When a template fails, or names are doubled.
    pub fn render_subinstallations(
        &self,
        input: &Input,
    ) -> Result<Rendered<Vec<SubinstallationTemplate>>, BlueprintError> {
        nested::render(self, input)
    }

    /// Runs the export executors. [`Blueprint::check_exports`] says whether the result is right.
    ///
    /// # Errors
    /// When a template fails or its output is no map.
    pub fn render_exports(
        &self,
        input: &Input,
        values: &ExportValues,
    ) -> Result<Rendered<BTreeMap<String, Value>>, BlueprintError> {
        exports::render(self, input, values)
    }

    /// What is wrong with exports: declared ones without a value, undeclared ones, and values that
    /// don't fit (I41).
    #[must_use]
    pub fn check_exports(&self, exports: &BTreeMap<String, Value>) -> Vec<ExportProblem> {
        values::check_exports(
            &self.definition.exports,
            &self.schemas,
            exports,
            &BTreeMap::new(),
        )
    }

    /// [`Blueprint::check_exports`] of values with secret parts: of these a name of a field is shown only if the schema
    /// has it.
    #[must_use]
    pub fn check_guarded_exports(&self, exports: &Guarded) -> Vec<ExportProblem> {
        values::check_exports(
            &self.definition.exports,
            &self.schemas,
            &exports.values,
            &exports.shown,
        )
    }

    pub(crate) fn program(
        &self,
        section: Section,
        executor: &Executor,
    ) -> Result<&Program, BlueprintError> {
        self.programs.get(&key(section, executor)).ok_or_else(|| {
            let message = format!(
                "the template of the executor {:?} is missing",
                executor.name
            );
            Problem::new(DEFINITION, message).into()
        })
    }
}

fn key(section: Section, executor: &Executor) -> String {
    format!("{}/{}", section.name(), executor.name)
}

fn schemas(files: &Files, definition: &Definition) -> schema::Schemas {
    let mut roots: Vec<&Value> = definition.local_types.values().collect();
    all_schemas(&definition.imports, "/imports", &mut |_, schema| {
        roots.push(schema);
    });
    for export in &definition.exports {
        if let ValueKind::Data { schema } = &export.kind {
            roots.push(schema);
        }
    }
    schema::Schemas {
        files: schema::load_files(files, &roots),
        local_types: definition.local_types.clone(),
    }
}

fn all_schemas<'a>(
    imports: &'a [ImportDefinition],
    pointer: &str,
    take: &mut impl FnMut(String, &'a Value),
) {
    for (at, import) in imports.iter().enumerate() {
        let pointer = format!("{pointer}/{at}");
        if let ValueKind::Data { schema } = &import.kind {
            take(format!("{pointer}/schema"), schema);
        }
        all_schemas(&import.imports, &format!("{pointer}/imports"), take);
    }
}

fn check_schemas(source: &Source, schemas: &schema::Schemas, definition: &Definition) {
    let check = |pointer: &str, schema: &Value| {
        for (inner, message) in schema::check(schemas, schema) {
            source.problem(&format!("{pointer}{inner}"), message);
        }
    };
    for (name, schema) in &definition.local_types {
        let name = name.replace('~', "~0").replace('/', "~1");
        check(&format!("/localTypes/{name}"), schema);
    }
    all_schemas(&definition.imports, "/imports", &mut |pointer, schema| {
        check(&pointer, schema);
    });
    for (at, export) in definition.exports.iter().enumerate() {
        if let ValueKind::Data { schema } = &export.kind {
            check(&format!("/exports/{at}/schema"), schema);
        }
    }
    for (path, schema) in &schemas.files {
        for (pointer, message) in schema::check(schemas, schema) {
            source.add(Problem::new(path.clone(), message).field(reader::path_of(&pointer)));
        }
    }
}
