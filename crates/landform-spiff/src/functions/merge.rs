//! The functions `merge` and `deepmerge`.

use std::rc::Rc;

use crate::ast::Span;
use crate::error::Complaint;
use crate::instance::{Inherited, Outcome};
use crate::machine::{Context, Machine};
use crate::meter::{Answer, Meter};
use crate::value::{Entries, List, Map, Value};

use super::wrong;

/// The arguments, or the items of the only one.
fn documents<'v, 'd>(arguments: &'v [Value<'d>]) -> Vec<&'v Value<'d>> {
    match arguments {
        [Value::List(list)] => list.plain().collect(),
        _ => arguments.iter().collect(),
    }
}

/// The first document with values of the later ones: only what it has itself is replaced.
pub(super) fn merge<'d>(
    machine: &mut Machine<'d>,
    arguments: &[Value<'d>],
    span: Span,
    context: &Context<'d>,
) -> Outcome<'d, Value<'d>> {
    let documents = documents(arguments);
    let Some((first, later)) = documents.split_first() else {
        let complaint = Complaint::value("merge: argument 1 is missing");
        return Err(context.fault(span, complaint));
    };
    let mut stub: Option<Value<'d>> = None;
    for (at, document) in later.iter().enumerate().rev() {
        if !matches!(document, Value::Map(_)) {
            return Err(context.fault(span, wrong(at + 1, "a map", document)));
        }
        let merged = match stub {
            // The later document first replaces what the earlier one has, and adds the rest.
            Some(later) => deep(&machine.meter, document, &later),
            None => Ok((*document).clone()),
        };
        stub = Some(context.at(span, merged)?);
    }
    match (first, stub) {
        (Value::Template(template), stub) => {
            let inherited = Inherited {
                parent: Some(context.place),
                root: None,
                stub,
                replaceable: true,
                dormant: false,
                used: true,
            };
            let node = machine.node(*template);
            let made = machine.instances.create(&machine.meter, node, &inherited);
            let made = context.at(span, made)?;
            machine
                .instances
                .get_mut(made)
                .scope
                .clone_from(&context.scope);
            machine.value(made)
        }
        (first @ Value::Map(_), Some(stub)) => {
            context.at(span, replaced(&machine.meter, first, &stub))
        }
        (first @ Value::Map(_), None) => Ok((*first).clone()),
        (other, _) => Err(context.fault(span, wrong(0, "a map or a template", other))),
    }
}

/// The value with what the other has at the same places.
fn replaced<'d>(meter: &Meter, value: &Value<'d>, other: &Value<'d>) -> Answer<Value<'d>> {
    meter.work(1)?;
    match (value, other) {
        (Value::Map(value), Value::Map(other)) => {
            let entries = value.entries().iter().map(|(key, value)| {
                let value = match other.get(key) {
                    Some(other) => replaced(meter, value.plain(), other)?,
                    None => value.clone(),
                };
                Ok((Rc::clone(key), value))
            });
            meter.map(entries.collect::<Answer<Entries<'_>>>()?)
        }
        (Value::List(value), Value::List(other)) => replaced_items(meter, value, other),
        (Value::Map(_) | Value::List(_), _) => Ok(value.clone()),
        (_, other) => Ok(other.clone()),
    }
}

/// Items are known by their name; those without one stay.
fn replaced_items<'d>(meter: &Meter, value: &List<'d>, other: &List<'d>) -> Answer<Value<'d>> {
    meter.work(other.items().len())?;
    let named = |item: &Value<'d>| match item {
        Value::Map(map) => match map.get("name")? {
            Value::Text(name) => other.named("name", name).cloned(),
            _ => None,
        },
        _ => None,
    };
    let mut items = Vec::new();
    for item in value.items() {
        meter.work(1 + other.items().len())?;
        items.push(match named(item.plain()) {
            Some(other) => replaced(meter, item.plain(), &other)?,
            None => item.clone(),
        });
    }
    meter.list(items)
}

/// Maps joined at all depths; later ones win.
pub(super) fn deep_merge<'d>(meter: &Meter, arguments: &[Value<'d>]) -> Answer<Value<'d>> {
    let documents = documents(arguments);
    let mut merged = meter.map(Entries::new())?;
    for (at, document) in documents.iter().enumerate() {
        if !matches!(document, Value::Map(_)) {
            return Err(wrong(at, "a map", document));
        }
        merged = deep(meter, &merged, document)?;
    }
    Ok(merged)
}

fn deep<'d>(meter: &Meter, left: &Value<'d>, right: &Value<'d>) -> Answer<Value<'d>> {
    meter.work(1)?;
    match (left.plain(), right.plain()) {
        (Value::Map(left), Value::Map(right)) => deep_maps(meter, left, right),
        (_, right) => Ok(right.clone()),
    }
}

fn deep_maps<'d>(meter: &Meter, left: &Map<'d>, right: &Map<'d>) -> Answer<Value<'d>> {
    let mut entries = left.entries().clone();
    meter.work(entries.len() / 4)?;
    for (key, right) in right.entries() {
        let value = match entries.get(key) {
            Some(left) => deep(meter, left, right)?,
            None => right.clone(),
        };
        entries.insert(Rc::clone(key), value);
    }
    meter.map(entries)
}
