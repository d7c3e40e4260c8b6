//! What one evaluation may cost: steps, memory and depth are counted, nothing is measured.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use landform_pattern::{Pattern, Price};
use landform_template::{Environment, Limits};

use crate::error::Complaint;
use crate::value::{DEEPEST_VALUE, Entries, Frame, List, Map, Scope, Value};

pub(crate) type Answer<T> = Result<T, Complaint>;

/// Texts of this length cost a step, when a function reads them.
const BYTES_OF_A_STEP: usize = 256;

/// A level here takes a third of the stack that one of a Go template takes, and references between
/// nodes take two levels each.
const LEVELS_OF_A_LEVEL: usize = 3;

pub(crate) struct Meter {
    limits: Limits,
    steps: Cell<u64>,
    memory_bytes: Cell<usize>,
    depth: Cell<usize>,
    patterns: RefCell<BTreeMap<String, Rc<Pattern>>>,
}

impl Meter {
    pub(crate) fn new(environment: &Environment) -> Self {
        let limits = environment.limits;
        Meter {
            limits: Limits {
                max_depth: limits.max_depth * LEVELS_OF_A_LEVEL,
                ..limits
            },
            steps: Cell::new(environment.spent()),
            memory_bytes: Cell::new(0),
            depth: Cell::new(0),
            patterns: RefCell::default(),
        }
    }

    /// The steps taken so far, those of earlier evaluations in the same environment included.
    pub(crate) fn steps(&self) -> u64 {
        self.steps.get()
    }

    pub(crate) fn work(&self, steps: usize) -> Answer<()> {
        let steps = self.steps.get().saturating_add(steps as u64);
        self.steps.set(steps);
        if steps > self.limits.max_steps {
            let most = self.limits.max_steps;
            return Err(Complaint::limit(format!(
                "evaluations take more than {most} steps: loop over less, or search shorter texts with \
                 smaller patterns"
            )));
        }
        Ok(())
    }

    /// The work of reading a text.
    pub(crate) fn read(&self, text: &str) -> Answer<()> {
        self.work(1 + text.len() / BYTES_OF_A_STEP)
    }

    pub(crate) fn allocate(&self, bytes: usize) -> Answer<()> {
        let bytes = self.memory_bytes.get().saturating_add(bytes);
        self.memory_bytes.set(bytes);
        if bytes > self.limits.max_memory_bytes {
            let most = self.limits.max_memory_bytes;
            return Err(Complaint::limit(format!(
                "the evaluation makes more than {most} bytes of values"
            )));
        }
        Ok(())
    }

    /// Whether an output of this size may be given.
    pub(crate) fn output(&self, bytes: usize) -> Answer<()> {
        if bytes > self.limits.max_output_bytes {
            let most = self.limits.max_output_bytes;
            return Err(Complaint::limit(format!(
                "the output is longer than {most} bytes"
            )));
        }
        Ok(())
    }

    /// One level deeper; [`Meter::leave`] comes back, also after an error.
    pub(crate) fn enter(&self) -> Answer<()> {
        let depth = self.depth.get() + 1;
        self.depth.set(depth);
        if depth > self.limits.max_depth {
            let most = self.limits.max_depth;
            return Err(Complaint::limit(format!(
                "nodes, expressions and functions need each other deeper than {most}"
            )));
        }
        self.work(1)
    }

    pub(crate) fn leave(&self) {
        self.depth.set(self.depth.get().saturating_sub(1));
    }

    pub(crate) fn text<'d>(&self, text: impl AsRef<str>) -> Answer<Value<'d>> {
        let text = text.as_ref();
        self.allocate(text.len() + 32)?;
        self.read(text)?;
        Ok(Value::text(text))
    }

    pub(crate) fn list<'d>(&self, items: Vec<Value<'d>>) -> Answer<Value<'d>> {
        self.allocate(size_of::<Value<'d>>() * items.len() + 64)?;
        self.work(items.len() / 16)?;
        List::new(items).map(Value::List).ok_or_else(too_deep)
    }

    pub(crate) fn texts<'d, T: AsRef<str>>(
        &self,
        items: impl IntoIterator<Item = T>,
    ) -> Answer<Value<'d>> {
        let items = items.into_iter().map(|item| self.text(item));
        self.list(items.collect::<Answer<_>>()?)
    }

    pub(crate) fn map<'d>(&self, entries: Entries<'d>) -> Answer<Value<'d>> {
        let keys: usize = entries.keys().map(|key| key.len()).sum();
        self.allocate(keys + 96 * entries.len() + 64)?;
        self.work(entries.len() / 16)?;
        Map::new(entries).map(Value::Map).ok_or_else(too_deep)
    }

    pub(crate) fn scope<'d>(
        &self,
        names: Vec<(std::rc::Rc<str>, Value<'d>)>,
        outer: Scope<'d>,
    ) -> Answer<Scope<'d>> {
        self.allocate(64 * names.len() + 64)?;
        Frame::scope(names, outer).ok_or_else(too_deep)
    }

    /// The pattern, compiled once in an evaluation.
    pub(crate) fn pattern(&self, pattern: &str) -> Answer<Rc<Pattern>> {
        if let Some(compiled) = self.patterns.borrow().get(pattern) {
            return Ok(compiled.clone());
        }
        let refused = |refused: landform_pattern::Refused| Complaint::value(refused.to_string());
        self.read(pattern)?;
        let price = Price::of(pattern).map_err(refused)?;
        self.work(price.steps_to_compile())?;
        self.allocate(pattern.len().saturating_add(price.bytes()))?;
        let compiled = Rc::new(Pattern::compile(pattern, price).map_err(refused)?);
        let mut patterns = self.patterns.borrow_mut();
        patterns.insert(pattern.to_owned(), compiled.clone());
        Ok(compiled)
    }
}

pub(crate) fn too_deep() -> Complaint {
    Complaint::limit(format!("values are nested deeper than {DEEPEST_VALUE}"))
}
