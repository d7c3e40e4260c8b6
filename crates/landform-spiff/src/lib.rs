//! Spiff's dynaml in YAML documents, for templates that strangers write: the part that Landscaper's
//! blueprints and data mappings use.
//!
//! - **A document is data with expressions in it.** Strings of the form `(( … ))` are expressions of
//!   other nodes and of the bindings. What bindings hold is never taken for an expression.
//! - **Nodes are evaluated when they are needed**, each at most once; nodes that need each other in a
//!   circle are an error that shows it.
//! - **Deterministic.** Maps are walked in the order of their keys; there is no chance, no clock, no
//!   environment, and no file but those that the caller's functions give.
//! - **Limited.** Steps, memory, output and depth of an evaluation are counted
//!   ([`Limits`](landform_template::Limits)); no document hangs its caller, takes its memory or its
//!   stack.
//! - **Errors show the place**: name, line, column, node and expression ([`SpiffError`]), and never a
//!   value.
//!
//! `docs/templates.md` lists what there is, what is different from Spiff and what is left out.
//!
//! ```
//! use landform_spiff::{Bindings, Document};
//! use landform_template::Environment;
//! use serde_json::json;
//!
//! let document = Document::parse("greeting", r#"hello: (( "Hello " imports.name || "you" ))"#);
//! let values = json!({"imports": {"name": "Ada"}});
//! let bindings = Bindings { values: values.as_object().cloned().unwrap_or_default(), state: None };
//! let evaluated = document?.evaluate(&bindings, &Environment::default())?;
//! assert_eq!(evaluated.value, json!({"hello": "Hello Ada"}));
//! # Ok::<(), Vec<landform_spiff::SpiffError>>(())
//! ```

mod ast;
mod call;
mod document;
mod error;
mod evaluate;
mod functions;
mod instance;
mod iterate;
mod json;
mod machine;
mod meter;
mod operators;
mod parse;
mod path;
mod reference;
mod value;

use landform_template::Environment;
use serde_json::{Map, Value};

pub use document::{Document, has_expressions};
pub use error::{ErrorKind, SpiffError};

use document::Content;
use machine::{Machine, of_node};

/// What a document sees beside its own nodes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bindings {
    /// Values that references find by name, when no node around has it.
    pub values: Map<String, Value>,
    /// The [`Evaluated::state`] of the last time: its values replace those of the document.
    pub state: Option<Value>,
}

/// What a document is when all its expressions are evaluated.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluated {
    /// The document without what is temporary, undefined, a template or a function.
    pub value: Value,
    /// The topmost nodes that are marked with `&state`, when there are any.
    pub state: Option<Value>,
}

/// The names of all functions of the library.
#[must_use]
pub fn function_names() -> &'static [&'static str] {
    functions::NAMES
}

impl Document {
    /// Evaluates the document. Functions of the environment can be called beside those of the library;
    /// `read` reads files by its function `readFile`.
    ///
    /// # Errors
    /// With all nodes that have no value, and no value of the bindings in what is said.
    pub fn evaluate(
        &self,
        bindings: &Bindings,
        environment: &Environment,
    ) -> Result<Evaluated, Vec<SpiffError>> {
        let shown = |fault: &instance::Fault<'_>| {
            let (source, message) = (fault.source, fault.message.clone());
            source.error(self.name(), fault.kind, fault.span, message)
        };
        let state = bindings.state.as_ref();
        let mut machine = Machine::new(self, &bindings.values, state, environment)
            .map_err(|fault| vec![shown(&fault)])?;
        let result = machine.value(machine.root);
        environment.set_spent(machine.meter.steps());
        let value = match result {
            Ok(value) => value,
            Err(fault) => {
                let faults = machine.faults(fault);
                let mut errors: Vec<_> = faults.iter().map(|fault| shown(fault)).collect();
                errors.sort_by_key(|error| error.place);
                return Err(errors);
            }
        };
        let value = json::output(&machine.meter, &value)
            .map_err(|complaint| vec![shown(&of_node(&self.root, complaint))])?;
        let state = self.state_of(&value);
        Ok(Evaluated { value, state })
    }

    fn state_of(&self, value: &Value) -> Option<Value> {
        let Content::Map { entries, .. } = &self.root.content else {
            return None;
        };
        let kept = entries.iter().filter(|(_, node)| node.markers.state);
        let kept = kept.filter_map(|(key, _)| Some((key.clone(), value.get(key)?.clone())));
        let kept: Map<String, Value> = kept.collect();
        (!kept.is_empty()).then_some(Value::Object(kept))
    }
}
