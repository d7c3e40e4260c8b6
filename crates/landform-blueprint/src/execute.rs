//! Runs the executors of a list: templates in, YAML out, and their state kept.

use std::collections::BTreeMap;
use std::sync::Arc;

use landform_template::Template;
use serde_json::{Map, Value, json};
use time::OffsetDateTime;

use crate::Blueprint;
use crate::component::Component;
use crate::definition::{Executor, ExecutorText};
use crate::problem::{BlueprintError, Problem};
use crate::reader::{Object, Source};

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
    let environment = input.component.functions(environment);
    let mut imports = input.imports.clone();
    for executor in section.executors(blueprint) {
        let key = format!("{}/{}", section.name(), executor.name);
        let old = input.state.get(&key).cloned();
        let data = data(input, &imports, old.as_ref(), &more);
        let template = blueprint.template(section, executor)?;
        let output = template.render(&data, &environment)?;
        let file = format!("output of {} executor {:?}", section.name(), executor.name);
        let (source, value) = Source::parse(&file, &output, false)?;
        let empty = Value::Object(Map::new());
        let value = if value.is_null() { &empty } else { &value };
        let object = Object::new(&source, "", value);
        let new = object
            .value_in_any_case("state")
            .map(|(_, state)| state.clone());
        if let Some(state) = new.or(old) {
            collected.state.insert(key, state);
        }
        take(executor, &object, &mut imports);
        object.warn_about_others();
        collected.warnings.extend(source.finish()?);
    }
    Ok(collected)
}

fn data(
    input: &Input,
    imports: &BTreeMap<String, Value>,
    state: Option<&Value>,
    more: &Map<String, Value>,
) -> Value {
    let mut data = json!({
        "imports": imports,
        "blueprint": input.blueprint,
        "blueprintDef": input.blueprint,
        "installation": input.installation,
        "state": state,
    });
    if let Value::Object(fields) = &mut data {
        fields.extend(input.component.bindings());
        fields.extend(more.clone());
    }
    data
}

/// Reads the template of an executor, so that errors show its place in its file.
pub(crate) fn template(
    executor: &Executor,
    files: &crate::Files,
    source: &Source,
    text_of_definition: &str,
) -> Result<Arc<Template>, Problem> {
    match &executor.text {
        ExecutorText::File(path) => {
            let content = files.get(path).ok_or_else(|| {
                let message = format!(
                    "the executor {:?} names a file that is not there: {path}",
                    executor.name
                );
                Problem::new(&source.file, message)
            })?;
            let text = std::str::from_utf8(content)
                .map_err(|_| Problem::new(path.clone(), "the file is no UTF-8 text"))?;
            Ok(Arc::new(Template::parse(path, text)?))
        }
        ExecutorText::Inline { text, pointer } => {
            let place = source.place(pointer);
            let (name, lines, columns) =
                match place.and_then(|place| block(text_of_definition, text, place)) {
                    Some((lines, columns)) => (source.file.clone(), lines, columns),
                    None => (
                        format!("{} (executor {:?})", source.file, executor.name),
                        0,
                        0,
                    ),
                };
            Ok(Arc::new(Template::parse_within(
                &name, text, lines, columns,
            )?))
        }
    }
}

/// Lines and columns before a text that stands as a literal block in YAML; `None` for other styles.
fn block(file: &str, text: &str, (line, _): (usize, usize)) -> Option<(usize, usize)> {
    let first = text.lines().find(|line| !line.trim().is_empty())?;
    let skipped = text
        .lines()
        .take_while(|line| line.trim().is_empty())
        .count();
    // Depending on the parser the place is that of the mark or that of the first line.
    [line, line.saturating_sub(1)]
        .into_iter()
        .find_map(|before| {
            let candidate = file.lines().nth(before + skipped)?;
            let columns = candidate.len().checked_sub(first.len())?;
            let fits =
                candidate.ends_with(first) && candidate[..columns].bytes().all(|byte| byte == b' ');
            let header = file.lines().nth(before.checked_sub(1)?)?;
            (fits && header.contains('|')).then_some((before, columns))
        })
}
