//! Functions that look at expressions before they are evaluated.

use crate::ast::{Expression, Item, Span};
use crate::call::as_reference;
use crate::error::{Complaint, ErrorKind};
use crate::instance::Outcome;
use crate::machine::{Context, Machine};
use crate::value::Value;

fn only<'d>(items: &'d [Item], span: Span, context: &Context<'d>) -> Outcome<'d, &'d Expression> {
    match items {
        [only] if !only.expanded => Ok(&only.expression),
        _ => {
            let complaint = Complaint::value("it takes one argument");
            Err(context.fault(span, complaint))
        }
    }
}

/// The value of an expression, or nothing when there is none.
fn tried<'d>(
    machine: &mut Machine<'d>,
    expression: &'d Expression,
    context: &Context<'d>,
) -> Outcome<'d, Option<Value<'d>>> {
    match machine.evaluate(expression, context) {
        Ok(Value::Undefined) => Ok(None),
        Ok(value) => Ok(Some(value)),
        Err(fault) if fault.kind.can_be_caught() => Ok(None),
        Err(fault) => Err(fault),
    }
}

pub(super) fn defined<'d>(
    machine: &mut Machine<'d>,
    items: &'d [Item],
    span: Span,
    context: &Context<'d>,
) -> Outcome<'d, Value<'d>> {
    let value = tried(machine, only(items, span, context)?, context)?;
    Ok(Value::Bool(value.is_some()))
}

pub(super) fn valid<'d>(
    machine: &mut Machine<'d>,
    items: &'d [Item],
    span: Span,
    context: &Context<'d>,
) -> Outcome<'d, Value<'d>> {
    let value = tried(machine, only(items, span, context)?, context)?;
    let valid = value.is_some_and(|value| !matches!(value, Value::Nil));
    Ok(Value::Bool(valid))
}

/// The second argument when the first one holds; otherwise nothing.
pub(super) fn optional<'d>(
    machine: &mut Machine<'d>,
    items: &'d [Item],
    span: Span,
    context: &Context<'d>,
) -> Outcome<'d, Value<'d>> {
    let [condition, value] = items else {
        let complaint = Complaint::value("optional: it takes a condition and a value");
        return Err(context.fault(span, complaint));
    };
    let holds = tried(machine, &condition.expression, context)?;
    if holds.is_some_and(|condition| condition.holds()) {
        return machine.evaluate(&value.expression, context);
    }
    Ok(Value::Undefined)
}

pub(super) fn catch<'d>(
    machine: &mut Machine<'d>,
    items: &'d [Item],
    span: Span,
    context: &Context<'d>,
) -> Outcome<'d, Value<'d>> {
    machine.caught(only(items, span, context)?, span, context)
}

/// What the state has, here or at a path.
pub(super) fn stub<'d>(
    machine: &mut Machine<'d>,
    items: &'d [Item],
    span: Span,
    context: &Context<'d>,
) -> Outcome<'d, Value<'d>> {
    let found = match items {
        [] => machine.instances.get(context.place).stub.clone(),
        _ => {
            let argument = only(items, span, context)?;
            let Some(reference) = as_reference(argument) else {
                let complaint = Complaint::value("stub: the argument has to be a path");
                return Err(context.fault(span, complaint));
            };
            machine.stub(reference, context)
        }
    };
    found.ok_or_else(|| {
        let complaint = Complaint::new(ErrorKind::NotFound, "the state has nothing there");
        context.fault(span, complaint)
    })
}
