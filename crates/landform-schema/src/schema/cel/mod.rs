//! CEL rules of a schema (`x-kubernetes-validations`).
//!
//! Reading order: [`compile`] (from the schema to checked rules) with [`program`] and [`tokens`], [`analysis`] (names, fields and
//! estimated cost), [`metered`] (evaluation with a cost limit) and [`prices`], [`value`] (from JSON to CEL) and here
//! the walk that evaluates rules over an object.
//!
//! The language is that of the crate `kube-cel`. What it lacks of what Kubernetes documents:
//! macros with two variables (`list.all(i, v, …)`), `cel.bind`, `optMap` and `optFlatMap`; lists of
//! type set and map compare in order; expressions are not fully type-checked when a definition is
//! created, only names of variables, functions and fields are, so that `1 + 'a'` fails when the rule
//! first runs.

mod analysis;
mod compile;
mod functions;
mod metered;
mod prices;
mod program;
#[cfg(test)]
mod tests;
mod tokens;
mod value;

use std::sync::Arc;

use landform_api::budget::PROBLEMS_LISTED_MAX;
use landform_api::{FieldError, FieldPath, FieldReason};
use serde_json::Value;

use super::correlate;
use super::node::{Additional, Arena, Node, NodeId};
use analysis::Projection;
pub(crate) use compile::Room;
use metered::{Failure, Meter};
use program::Program;

/// The compiled rules of one node.
#[derive(Debug)]
pub(crate) struct RuleSet {
    rules: Vec<Rule>,
}

/// One rule, ready to run.
#[derive(Debug)]
struct Rule {
    text: String,
    expression: Program,
    message: Option<String>,
    message_expression: Option<Program>,
    reason: FieldReason,
    field_path: Option<String>,
    uses_old: bool,
    optional_old: bool,
    /// The parts of the value that the rule and its message look at.
    wanted: Projection,
    wanted_old: Projection,
}

impl Rule {
    /// What the rule is called when it fails: its message, or else its text.
    fn name(&self) -> &str {
        self.message.as_deref().unwrap_or(&self.text)
    }
}

/// Evaluates the rules of all nodes that occur in an object and appends what they refuse.
pub(crate) fn check_rules(
    arena: &Arena,
    root: NodeId,
    object: &Value,
    old: Option<&Value>,
    mut errors: Vec<FieldError>,
) -> Vec<FieldError> {
    if !has_rules(arena.get(root)) {
        return errors;
    }
    if !errors.is_empty() {
        errors.push(FieldError::with_value(
            &FieldPath::root(),
            FieldReason::Invalid,
            &Value::Null,
            "some validation rules were not checked because the object was invalid; \
             correct the existing errors to complete validation",
        ));
        return errors;
    }
    let mut walk = Walk {
        arena,
        path: FieldPath::root(),
        meter: Meter::for_object(),
        errors,
    };
    walk.value(root, object, old);
    walk.errors
}

fn has_rules(node: &Node) -> bool {
    node.rules.is_some() || node.rules_below
}

struct Walk<'a> {
    arena: &'a Arena,
    path: FieldPath,
    meter: Meter,
    errors: Vec<FieldError>,
}

impl Walk<'_> {
    /// Whether nothing more is evaluated: what used the budget up has been reported, or as much as is ever reported.
    fn is_done(&self) -> bool {
        self.meter.is_empty() || self.errors.len() >= PROBLEMS_LISTED_MAX
    }

    fn value(&mut self, id: NodeId, value: &Value, old: Option<&Value>) {
        let node = self.arena.get(id);
        if value.is_null() || self.is_done() {
            return;
        }
        if let Some(rules) = node.rules.clone() {
            self.rules(&rules, id, value, old);
        }
        if node.rules_below {
            self.inside(node, value, old);
        }
    }

    fn inside(&mut self, node: &Node, value: &Value, old: Option<&Value>) {
        match value {
            Value::Object(map) => {
                for (name, value) in map {
                    let (child, mark) = match (node.property(name), node.additional) {
                        (Some(property), _) => (property.node, self.path.push_field(name)),
                        (None, Additional::Schema(child)) => (child, self.path.push_key(name)),
                        (None, Additional::Any | Additional::No) => continue,
                    };
                    if has_rules(self.arena.get(child)) {
                        self.value(child, value, old.and_then(|old| old.get(name)));
                    }
                    self.path.pop(mark);
                }
            }
            Value::Array(entries) => {
                let Some(items) = node.items else { return };
                let old = correlate::Entries::new(&node.list, old);
                for (index, entry) in entries.iter().enumerate() {
                    let mark = self.path.push_index(index);
                    self.value(items, entry, old.find(entry));
                    self.path.pop(mark);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn rules(&mut self, rules: &Arc<RuleSet>, id: NodeId, value: &Value, old: Option<&Value>) {
        // What didn't change isn't held against the writer; transitions are always checked.
        let is_unchanged = old == Some(value);
        for rule in &rules.rules {
            if self.is_done() {
                return;
            }
            let is_unchanged = !rule.uses_old && is_unchanged;
            let no_transition = rule.uses_old && old.is_none() && !rule.optional_old;
            if is_unchanged || no_transition {
                continue;
            }
            self.rule(rule, id, value, old);
        }
    }

    fn rule(&mut self, rule: &Rule, id: NodeId, value: &Value, old: Option<&Value>) {
        let current = self.meter.convert(self.arena, id, value, &rule.wanted);
        let old = rule.uses_old.then(|| {
            let old = old.map(|old| self.meter.convert(self.arena, id, old, &rule.wanted_old));
            if rule.optional_old {
                value::optional(old)
            } else {
                old.unwrap_or(value::null())
            }
        });
        let inputs = metered::Inputs { current, old };
        match self.meter.run(&rule.expression, &inputs) {
            Ok(result) if value::is_true(&result) => {}
            Ok(result) if value::is_false(&result) => {
                let detail = self.message(rule, &inputs);
                self.refuse(rule, id, value, detail);
            }
            Ok(_) => self.fail(
                id,
                format!(
                    "the rule must be true or false, but is neither: {}",
                    rule.text
                ),
            ),
            Err(Failure::RuleCost) => self.fail(
                id,
                format!("call cost exceeds limit for rule: {}", rule.text),
            ),
            Err(Failure::ObjectCost) => self.fail(
                id,
                "validation failed due to running out of cost budget, no further validation rules \
                 will be run"
                    .to_owned(),
            ),
            Err(Failure::Evaluation(error)) => {
                self.fail(id, format!("{error} evaluating rule: {}", rule.name()));
            }
        }
    }

    /// The message that the rule computes, else the one it states, else the rule itself.
    fn message(&mut self, rule: &Rule, inputs: &metered::Inputs) -> String {
        let computed = rule
            .message_expression
            .as_ref()
            .and_then(|expression| self.meter.run(expression, inputs).ok())
            .and_then(|value| value::text(&value))
            .map(|text| text.trim().to_owned())
            .filter(|text| !text.is_empty() && !text.contains('\n') && text.len() <= 5 * 1024);
        let stated = || rule.message.clone();
        computed
            .or_else(stated)
            .unwrap_or_else(|| format!("failed rule: {}", rule.text))
    }

    fn refuse(&mut self, rule: &Rule, id: NodeId, value: &Value, detail: String) {
        let path = match &rule.field_path {
            None => self.path.clone(),
            Some(more) => {
                FieldPath::of(format!("{}{more}", self.path.as_str()).trim_start_matches('.'))
            }
        };
        let error = match rule.reason {
            FieldReason::Required | FieldReason::Forbidden => {
                FieldError::new(&path, rule.reason, detail)
            }
            reason => FieldError::with_value(&path, reason, &self.shown(id, value), detail),
        };
        self.errors.push(error);
    }

    fn fail(&mut self, id: NodeId, detail: String) {
        let kind = self.type_name(id);
        self.errors.push(FieldError::with_value(
            &self.path,
            FieldReason::Invalid,
            &kind,
            detail,
        ));
    }

    /// What an error shows of a value: a scalar itself, of all else the type.
    fn shown(&self, id: NodeId, value: &Value) -> Value {
        match value {
            Value::Object(_) | Value::Array(_) => self.type_name(id),
            scalar => scalar.clone(),
        }
    }

    fn type_name(&self, id: NodeId) -> Value {
        Value::from(self.arena.get(id).ty.name())
    }
}
