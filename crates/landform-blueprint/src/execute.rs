//! Runs the executors of a list: templates in, YAML out, and their state kept.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use time::OffsetDateTime;

use crate::Blueprint;
use crate::component::Component;
use crate::definition::{Engine, Executor};
use crate::problem::{BlueprintError, Problem};
use crate::program::State;
use crate::reader::Object;

/// What templates are given.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Input {
    /// The completed imports.
    pub imports: BTreeMap<String, Value>,
    /// What executors asked to be handed back, as the last [`Rendered::state`] had it.
    pub state: BTreeMap<String, Value>,
    /// The component of the installation, for `.cd` and what belongs to it.
    pub component: Component,
    /// The `spec.blueprint` of the installation, for `.blueprint`.
    pub blueprint: Value,
    /// The installation, for `.installation`: what of it templates may see.
    pub installation: Value,
    /// What `now` answers; without it `now` is an error.
    pub now: Option<OffsetDateTime>,
}

/// What executors made.
#[derive(Debug, Clone, PartialEq)]
pub struct Rendered<T> {
    /// The result.
    pub value: T,
    /// What each executor wants to be handed back, by `section/executor`. Those of this section only.
    pub state: BTreeMap<String, Value>,
    /// What looks wrong without being so.
    pub warnings: Vec<Problem>,
}

/// A list of executors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    Imports,
    DeployItems,
    Subinstallations,
    Exports,
}

impl Section {
    /// The name of the section in states.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Section::Imports => "import",
            Section::DeployItems => "deploy",
            Section::Subinstallations => "subinstallation",
            Section::Exports => "export",
        }
    }

    fn executors(self, blueprint: &Blueprint) -> &[Executor] {
        let definition = &blueprint.definition;
        match self {
            Section::Imports => &definition.import_executions,
            Section::DeployItems => &definition.deploy_executions,
            Section::Subinstallations => &definition.subinstallation_executions,
            Section::Exports => &definition.export_executions,
        }
    }
}

/// What is collected from the output of the executors of a section.
pub(crate) struct Collected {
    pub(crate) state: BTreeMap<String, Value>,
    pub(crate) warnings: Vec<Problem>,
}

/// Runs all executors of a section in order, and hands the output of each to `take`, which may add
/// imports for those that follow.
pub(crate) fn run(
    blueprint: &Blueprint,
    section: Section,
    input: &Input,
    more: Map<String, Value>,
    mut take: impl FnMut(&Executor, &Object<'_>, &mut BTreeMap<String, Value>),
) -> Result<Collected, BlueprintError> {
    let mut collected = Collected {
        state: BTreeMap::new(),
        warnings: Vec::new(),
    };
    let mut environment = blueprint.environment.clone();
    environment.now = input.now;
    let environment = input.component.functions(environment).sharing_steps();
    let mut added = BTreeMap::new();
    for executor in section.executors(blueprint) {
        let key = format!("{}/{}", section.name(), executor.name);
        let old = input.state.get(&key).cloned();
        let data = data(input, &added, old.as_ref(), &more);
        let program = blueprint.program(section, executor)?;
        let file = format!("output of {} executor {:?}", section.name(), executor.name);
        let output = program.run(&file, data, old.as_ref(), &environment)?;
        let source = output.source;
        let empty = Value::Object(Map::new());
        let value = if output.value.is_null() {
            &empty
        } else {
            &output.value
        };
        let object = Object::new(&source, "", value);
        let written = object
            .value_in_any_case("state")
            .map(|(_, state)| state.clone());
        let new = match output.state {
            State::Written => written,
            State::Marked(state) => state,
        };
        if let Some(state) = new.or(old) {
            collected.state.insert(key, state);
        }
        take(executor, &object, &mut added);
        // Nodes of a Spiff document work for other nodes: Landscaper takes no offence either.
        if executor.engine == Engine::GoTemplate {
            object.warn_about_others();
        }
        collected.warnings.extend(source.finish()?);
    }
    Ok(collected)
}

/// What a template is given: a copy of the imports is part of it, the only one.
fn data(
    input: &Input,
    added: &BTreeMap<String, Value>,
    state: Option<&Value>,
    more: &Map<String, Value>,
) -> Value {
    let others = input
        .imports
        .iter()
        .filter(|(name, _)| !added.contains_key(*name));
    let imports: Map<String, Value> = others
        .chain(added)
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let mut data = json!({
        "imports": Value::Null,
        "blueprint": input.blueprint,
        "blueprintDef": input.blueprint,
        "installation": input.installation,
        "state": state,
    });
    if let Value::Object(fields) = &mut data {
        fields.insert("imports".to_owned(), Value::Object(imports));
        fields.extend(input.component.bindings());
        fields.extend(more.clone());
    }
    data
}
