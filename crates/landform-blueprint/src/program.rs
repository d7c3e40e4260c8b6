//! The templates of executors, ready to run: texts for Go's engine, documents for Spiff.

use std::sync::Arc;

use landform_spiff::{Bindings, Document};
use landform_template::{Environment, Template};
use serde_json::Value;

use crate::definition::{Engine, Executor, ExecutorText};
use crate::problem::{BlueprintError, Problem};
use crate::reader::{Source, word_warning};

/// The template of an executor.
#[derive(Debug, Clone)]
pub(crate) enum Program {
    Go(Arc<Template>),
    Spiff(Arc<Document>),
}

/// What a program made.
pub(crate) struct Output {
    pub(crate) source: Source,
    pub(crate) value: Value,
    pub(crate) state: State,
}

/// Where the state of an executor comes from.
pub(crate) enum State {
    /// From the field `state` of the output.
    Written,
    /// From the nodes that are marked with `&state`.
    Marked(Option<Value>),
}

impl Program {
    /// Reads the template of an executor, so that errors show its place in its file.
    pub(crate) fn read(
        executor: &Executor,
        files: &crate::Files,
        source: &Source,
        text_of_definition: &str,
        environment: &Environment,
    ) -> Result<Self, BlueprintError> {
        match (&executor.text, executor.engine) {
            (ExecutorText::File(path), engine) => {
                let text = file(executor, files, source, path)?;
                parse(engine, path, text, (0, 0), environment)
            }
            (ExecutorText::Inline { text, pointer }, engine) => {
                let place = source.place(pointer);
                match place.and_then(|place| block(text_of_definition, text, place)) {
                    Some(before) => parse(engine, &source.file, text, before, environment),
                    None => {
                        let name = format!("{} (executor {:?})", source.file, executor.name);
                        parse(engine, &name, text, (0, 0), environment)
                    }
                }
            }
            (ExecutorText::Value { value, pointer }, _) => {
                let (file, text) = (&source.file, text_of_definition);
                let document = Document::from_value(file, value, source.places(), pointer, text)?;
                Ok(Program::Spiff(Arc::new(document)))
            }
        }
    }

    /// What looks wrong without being so.
    pub(crate) fn warnings(&self) -> Vec<Problem> {
        match self {
            Program::Go(_) => Vec::new(),
            Program::Spiff(document) => {
                let words = document.words.iter();
                words
                    .map(|word| word_warning(document.name(), word, true))
                    .collect()
            }
        }
    }

    /// Runs the template. Spiff documents see the data by name, and the old state by their markers.
    pub(crate) fn run(
        &self,
        file: &str,
        data: Value,
        old: Option<&Value>,
        environment: &Environment,
    ) -> Result<Output, BlueprintError> {
        match self {
            Program::Go(template) => {
                let text = template.render(&data, environment)?;
                let (source, value) = Source::parse(file, &text, false)?;
                Ok(Output {
                    source,
                    value,
                    state: State::Written,
                })
            }
            Program::Spiff(document) => {
                let Value::Object(mut values) = data else {
                    return Err(Problem::new(file, "templates are given a map").into());
                };
                values.remove("state");
                let bindings = Bindings {
                    values,
                    state: old.filter(|old| old.is_object()).cloned(),
                };
                let evaluated = document.evaluate(&bindings, environment)?;
                Ok(Output {
                    source: Source::without_text(file),
                    value: evaluated.value,
                    state: State::Marked(evaluated.state),
                })
            }
        }
    }
}

fn file<'f>(
    executor: &Executor,
    files: &'f crate::Files,
    source: &Source,
    path: &str,
) -> Result<&'f str, Problem> {
    let content = files.get(path).ok_or_else(|| {
        let message = format!(
            "the executor {:?} names a file that is not there: {path}",
            executor.name
        );
        Problem::new(&source.file, message)
    })?;
    std::str::from_utf8(content).map_err(|_| Problem::new(path, "the file is no UTF-8 text"))
}

fn parse(
    engine: Engine,
    name: &str,
    text: &str,
    (lines, columns): (usize, usize),
    environment: &Environment,
) -> Result<Program, BlueprintError> {
    match engine {
        Engine::GoTemplate => {
            let template = Template::parse_within(name, text, lines, columns)?;
            template.check(environment)?;
            Ok(Program::Go(Arc::new(template)))
        }
        Engine::Spiff => {
            let document = Document::parse_within(name, text, lines, columns)?;
            Ok(Program::Spiff(Arc::new(document)))
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
