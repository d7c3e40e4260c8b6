//! What one run of a template may use: steps, memory, maps, compiled patterns.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use landform_pattern::{Pattern, Price};

use crate::environment::Environment;
use crate::error::ErrorKind;
use crate::value::{DEEPEST_VALUE, Entries, List, Map, Maps, Value};

/// What a function or an operation has to complain about; the place is added by whoever called it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Problem {
    pub(crate) kind: ErrorKind,
    pub(crate) message: String,
}

impl Problem {
    pub(crate) fn value(message: impl Into<String>) -> Self {
        Problem {
            kind: ErrorKind::Value,
            message: message.into(),
        }
    }

    pub(crate) fn limit(message: impl Into<String>) -> Self {
        Problem {
            kind: ErrorKind::Limit,
            message: message.into(),
        }
    }
}

pub(crate) type Answer<T = Value> = Result<T, Problem>;

/// Texts of this length cost a step, when a function reads them.
const BYTES_OF_A_STEP: usize = 256;

pub(crate) struct Run<'a> {
    pub(crate) environment: &'a Environment,
    steps: Cell<u64>,
    memory_bytes: Cell<usize>,
    depth: Cell<usize>,
    patterns: RefCell<BTreeMap<String, Rc<Pattern>>>,
    maps: Maps,
}

impl<'a> Run<'a> {
    pub(crate) fn new(environment: &'a Environment) -> Self {
        Run {
            environment,
            steps: Cell::new(environment.spent()),
            memory_bytes: Cell::new(0),
            depth: Cell::new(0),
            patterns: RefCell::default(),
            maps: Maps::default(),
        }
    }

    /// Counts work; every loop of the evaluator and of the functions comes by here.
    pub(crate) fn work(&self, steps: usize) -> Answer<()> {
        let most = self.environment.limits.max_steps;
        let steps = self.steps.get().saturating_add(steps as u64);
        self.steps.set(steps);
        if steps > most {
            return Err(Problem::limit(format!(
                "templates take more than {most} steps (limit max_steps): loop over less, or search \
                 shorter texts with smaller patterns"
            )));
        }
        Ok(())
    }

    /// Counts what is looked at when a value is read as a whole, without what is nested in it.
    pub(crate) fn read(&self, value: &Value) -> Answer<()> {
        self.work(match value {
            Value::Text(text) => text.len() / BYTES_OF_A_STEP,
            Value::List(list) => list.items().len() / 16,
            Value::Map(map) => map.len() / 16,
            _ => 0,
        })
    }

    /// Counts memory before it is taken. Nothing is ever given back during a run.
    pub(crate) fn allocate(&self, bytes: usize) -> Answer<()> {
        let most = self.environment.limits.max_memory_bytes;
        let bytes = self.memory_bytes.get().saturating_add(bytes);
        self.memory_bytes.set(bytes);
        if bytes > most {
            return Err(Problem::limit(format!(
                "the template makes more than {most} bytes of texts, lists and dicts (limit \
                 max_memory_bytes)"
            )));
        }
        self.work(0)
    }

    /// Enters something that nests; [`Run::leave`] ends it.
    pub(crate) fn enter(&self) -> Answer<()> {
        let most = self.environment.limits.max_depth;
        self.depth.set(self.depth.get() + 1);
        if self.depth.get() > most {
            return Err(Problem::limit(format!(
                "blocks and templates call each other deeper than {most} (limit max_depth)"
            )));
        }
        Ok(())
    }

    pub(crate) fn leave(&self) {
        self.depth.set(self.depth.get().saturating_sub(1));
    }

    pub(crate) fn text(&self, text: impl AsRef<str>) -> Answer {
        let text = text.as_ref();
        self.allocate(text.len() + 16)?;
        self.work(text.len() / BYTES_OF_A_STEP)?;
        Ok(Value::text(text))
    }

    pub(crate) fn list(&self, items: Vec<Value>) -> Answer {
        self.allocate(std::mem::size_of::<Value>() * items.len() + 48)?;
        self.work(items.len() / 16)?;
        let list = List::new(items).ok_or_else(too_deep)?;
        Ok(Value::List(list))
    }

    pub(crate) fn texts<T: AsRef<str>>(&self, items: impl IntoIterator<Item = T>) -> Answer {
        let items = items.into_iter().map(|item| {
            self.work(1)?;
            self.text(item)
        });
        let items = items.collect::<Answer<Vec<_>>>()?;
        self.list(items)
    }

    pub(crate) fn map(&self, entries: Entries) -> Answer {
        self.new_map(entries).map(Value::Map)
    }

    pub(crate) fn new_map(&self, entries: Entries) -> Answer<Map> {
        let keys: usize = entries.keys().map(|key| key.len()).sum();
        self.allocate(keys + 64 * entries.len() + 64)?;
        self.work(entries.len() / 16)?;
        Ok(self.maps.create(entries))
    }

    /// The pattern, compiled once in a run.
    pub(crate) fn pattern(&self, pattern: &str) -> Answer<Rc<Pattern>> {
        if let Some(compiled) = self.patterns.borrow().get(pattern) {
            return Ok(compiled.clone());
        }
        let refused = |refused: landform_pattern::Refused| Problem::value(refused.to_string());
        self.work(pattern.len() / BYTES_OF_A_STEP)?;
        let price = Price::of(pattern).map_err(refused)?;
        self.work(price.steps_to_compile())?;
        self.allocate(pattern.len().saturating_add(price.bytes()))?;
        let compiled = Rc::new(Pattern::compile(pattern, price).map_err(refused)?);
        let mut patterns = self.patterns.borrow_mut();
        patterns.insert(pattern.to_owned(), compiled.clone());
        Ok(compiled)
    }
}

/// What comes after this run in the same environment has that much less.
impl Drop for Run<'_> {
    fn drop(&mut self) {
        self.environment.set_spent(self.steps.get());
    }
}

pub(crate) fn too_deep() -> Problem {
    Problem::limit(format!(
        "values are nested deeper than {DEEPEST_VALUE}, or a dict holds itself"
    ))
}
