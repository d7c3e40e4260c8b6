//! Evaluates expressions.

use std::rc::Rc;

use crate::ast::{
    Alternative, Expression, Item, Kind, Merge, MergeSource, Operator, Range, Reference, Span,
};
use crate::error::{Complaint, ErrorKind};
use crate::instance::{Inherited, Outcome};
use crate::machine::{Context, Machine};
use crate::operators;
use crate::value::{Closure, Entries, Value};

impl<'d> Machine<'d> {
    /// The value of an expression; it may be undefined.
    pub(crate) fn evaluate(
        &mut self,
        expression: &'d Expression,
        context: &Context<'d>,
    ) -> Outcome<'d, Value<'d>> {
        let entered = context.at(expression.span, self.meter.enter());
        let outcome = entered.and_then(|()| self.evaluate_kind(expression, context));
        self.meter.leave();
        outcome
    }

    fn evaluate_kind(
        &mut self,
        expression: &'d Expression,
        context: &Context<'d>,
    ) -> Outcome<'d, Value<'d>> {
        let span = expression.span;
        match &expression.kind {
            Kind::Nil => Ok(Value::Nil),
            Kind::Undefined => Ok(Value::Undefined),
            Kind::Boolean(value) => Ok(Value::Bool(*value)),
            Kind::Integer(number) => Ok(Value::Int(i128::from(*number))),
            Kind::Float(number) => Ok(Value::Float(*number)),
            Kind::Text(text) => context.at(span, self.meter.text(text)),
            Kind::Reference(reference) => self.reference(reference, span, context),
            Kind::Chained { base, steps } => self.chained(base, steps, context),
            Kind::List(items) => self.list_literal(items, span, context),
            Kind::Range(range) => self.range_literal(range, span, context),
            Kind::Map(assignments) => self.map_literal(assignments, span, context),
            Kind::Not(inner) => {
                let value = self.evaluate(inner, context)?;
                Ok(Value::Bool(!value.holds()))
            }
            Kind::Substitution(inner) => self.substitution(inner, span, context),
            Kind::Alternatives { first, rest } => self.alternatives(first, rest, context),
            Kind::Conditional(conditional) => {
                let branch = if self.evaluate(&conditional.condition, context)?.holds() {
                    &conditional.then
                } else {
                    &conditional.otherwise
                };
                self.evaluate(branch, context)
            }
            Kind::Concatenation(parts) => self.concatenation(parts, span, context),
            Kind::Operations { first, rest } => self.operations(first, rest, context),
            Kind::Lambda(lambda) => Ok(Value::Lambda(Rc::new(Closure {
                lambda,
                open: (0..lambda.parameters.len()).collect(),
                scope: context.scope.clone(),
                source: context.source,
                place: context.place,
            }))),
            Kind::Scoped { assignments, body } => {
                let mut names = Vec::new();
                for (key, value) in assignments {
                    names.push(self.assignment(key, value, context)?);
                }
                let scope = self.meter.scope(names, context.scope.clone());
                let scope = context.at(span, scope)?;
                self.evaluate(body, &context.with_scope(scope))
            }
            Kind::Merge(merge) => self.merge(merge, span, context),
            Kind::Iteration(iteration) => self.iteration(iteration, span, context),
            Kind::Catch { tried, function } => self.catch(tried, function, span, context),
        }
    }

    /// The value of an expression where a value has to be.
    pub(crate) fn defined(
        &mut self,
        expression: &'d Expression,
        context: &Context<'d>,
    ) -> Outcome<'d, Value<'d>> {
        let value = self.evaluate(expression, context)?;
        if value.is_defined() {
            return Ok(value);
        }
        let complaint = Complaint::new(ErrorKind::NotFound, "this is undefined");
        Err(context.fault(expression.span, complaint))
    }

    fn list_literal(
        &mut self,
        items: &'d [Item],
        span: Span,
        context: &Context<'d>,
    ) -> Outcome<'d, Value<'d>> {
        let values = self.items(items, context)?;
        // As in Spiff, a list with something undefined in it is undefined as a whole.
        if values.iter().any(|value| !value.is_defined()) {
            return Ok(Value::Undefined);
        }
        context.at(span, self.meter.list(values))
    }

    /// The values of list items or arguments, with expanded lists in their places.
    pub(crate) fn items(
        &mut self,
        items: &'d [Item],
        context: &Context<'d>,
    ) -> Outcome<'d, Vec<Value<'d>>> {
        let mut values = Vec::new();
        for item in items {
            let span = item.expression.span;
            let value = self.evaluate(&item.expression, context)?;
            match value {
                Value::List(list) if item.expanded => {
                    let bytes = size_of_val(list.items());
                    context.at(span, self.meter.allocate(bytes))?;
                    values.extend(list.plain().cloned());
                }
                other if item.expanded => {
                    let message = format!("`...` needs a list, and this is {}", other.kind());
                    return Err(context.fault(span, Complaint::value(message)));
                }
                value => values.push(value),
            }
        }
        Ok(values)
    }

    fn range_literal(
        &mut self,
        range: &'d Range,
        span: Span,
        context: &Context<'d>,
    ) -> Outcome<'d, Value<'d>> {
        let (Some(first), Some(last)) = (&range.first, &range.last) else {
            let complaint = Complaint::value("a range has a first and a last number: `[1 .. 3]`");
            return Err(context.fault(span, complaint));
        };
        let first = self.integer(first, context)?;
        let last = self.integer(last, context)?;
        let count = usize::try_from(first.abs_diff(last)).unwrap_or(usize::MAX);
        let bytes = size_of::<Value<'d>>().saturating_mul(count.saturating_add(1));
        context.at(span, self.meter.allocate(bytes))?;
        let items: Vec<_> = if first <= last {
            (first..=last).map(Value::Int).collect()
        } else {
            (last..=first).rev().map(Value::Int).collect()
        };
        context.at(span, self.meter.list(items))
    }

    pub(crate) fn integer(
        &mut self,
        expression: &'d Expression,
        context: &Context<'d>,
    ) -> Outcome<'d, i128> {
        match self.evaluate(expression, context)? {
            Value::Int(number) => Ok(number),
            other => {
                let message = format!("here an integer is needed, and this is {}", other.kind());
                Err(context.fault(expression.span, Complaint::value(message)))
            }
        }
    }

    fn map_literal(
        &mut self,
        assignments: &'d [(Expression, Expression)],
        span: Span,
        context: &Context<'d>,
    ) -> Outcome<'d, Value<'d>> {
        let mut entries = Entries::new();
        for (key, value) in assignments {
            let (key, value) = self.assignment(key, value, context)?;
            let value = if value.is_defined() {
                value
            } else {
                Value::Nil
            };
            entries.insert(key, value);
        }
        context.at(span, self.meter.map(entries))
    }

    fn assignment(
        &mut self,
        key: &'d Expression,
        value: &'d Expression,
        context: &Context<'d>,
    ) -> Outcome<'d, (Rc<str>, Value<'d>)> {
        let name = match self.evaluate(key, context)? {
            Value::Text(name) => name,
            other => {
                let message = format!("a key has to be a string, and this is {}", other.kind());
                return Err(context.fault(key.span, Complaint::value(message)));
            }
        };
        Ok((name, self.evaluate(value, context)?))
    }

    /// Evaluates a template where it is used.
    fn substitution(
        &mut self,
        inner: &'d Expression,
        span: Span,
        context: &Context<'d>,
    ) -> Outcome<'d, Value<'d>> {
        let template = match self.evaluate(inner, context)? {
            Value::Template(template) => template,
            other => {
                let message = format!(
                    "`*` needs a template, a node with the marker &template, and this is {}",
                    other.kind()
                );
                return Err(context.fault(inner.span, Complaint::value(message)));
            }
        };
        let inherited = Inherited {
            parent: Some(context.place),
            root: Some(self.instances.get(context.place).root),
            stub: None,
            replaceable: false,
            dormant: false,
            used: true,
        };
        let node = self.node(template);
        let used = self.instances.create(&self.meter, node, &inherited);
        let used = context.at(span, used)?;
        self.instances
            .get_mut(used)
            .scope
            .clone_from(&context.scope);
        self.value(used)
    }

    fn alternatives(
        &mut self,
        first: &'d Expression,
        rest: &'d [(Alternative, Expression)],
        context: &Context<'d>,
    ) -> Outcome<'d, Value<'d>> {
        let mut outcome = self.evaluate(first, context);
        for (alternative, next) in rest {
            let goes_on = match &outcome {
                Ok(Value::Undefined) => true,
                Ok(Value::Nil) => *alternative == Alternative::Nil,
                Ok(_) => false,
                Err(fault) => fault.kind.can_be_caught(),
            };
            if !goes_on {
                break;
            }
            outcome = self.evaluate(next, context);
        }
        outcome
    }

    fn concatenation(
        &mut self,
        parts: &'d [Expression],
        span: Span,
        context: &Context<'d>,
    ) -> Outcome<'d, Value<'d>> {
        let mut values = Vec::new();
        for part in parts {
            values.push(self.defined(part, context)?);
        }
        operators::concatenate(&self.meter, &values).map_err(|(at, complaint)| {
            let span = parts.get(at).map_or(span, |part| part.span);
            context.fault(span, complaint)
        })
    }

    fn operations(
        &mut self,
        first: &'d Expression,
        rest: &'d [(Operator, Expression)],
        context: &Context<'d>,
    ) -> Outcome<'d, Value<'d>> {
        let mut value = self.defined(first, context)?;
        let mut span = first.span;
        for (operator, operand) in rest {
            span.end = operand.span.end;
            if let Some(decided) = operators::decided(*operator, &value) {
                value = decided;
                continue;
            }
            let right = self.defined(operand, context)?;
            let result = operators::apply(&self.meter, *operator, &value, &right);
            value = context.at(span, result)?;
        }
        Ok(value)
    }

    /// What the state has, at this path or at another one.
    fn merge(
        &mut self,
        merge: &'d Merge,
        span: Span,
        context: &Context<'d>,
    ) -> Outcome<'d, Value<'d>> {
        let found = match &merge.source {
            MergeSource::Nothing => return Ok(Value::Nil),
            MergeSource::Here => self.instances.get(context.place).stub.clone(),
            MergeSource::Reference(reference) => self.stub(reference, context),
        };
        found.ok_or_else(|| {
            let message = "there is nothing to merge: no other document is given, and the state has nothing here";
            context.fault(span, Complaint::new(ErrorKind::NotFound, message))
        })
    }

    /// What the state has at a path.
    pub(crate) fn stub(
        &mut self,
        reference: &Reference,
        context: &Context<'d>,
    ) -> Option<Value<'d>> {
        let root = self.instances.get(context.place).root;
        let mut value = self.instances.get(root).stub.clone()?;
        for component in &reference.path {
            value = crate::reference::step(&value, component)?.clone();
        }
        Some(value)
    }
}
