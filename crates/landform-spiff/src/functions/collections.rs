//! Functions on lists and maps.

use std::cmp::Ordering;
use std::rc::Rc;

use crate::ast::Span;
use crate::call::{Given, OwnName, closure};
use crate::error::{Complaint, ErrorKind};
use crate::instance::Outcome;
use crate::machine::{Context, Machine};
use crate::meter::{Answer, Meter};
use crate::operators::{equal, simple};
use crate::value::{Entries, List, Value, position};

use super::{argument, at_most, integer_at, list_at, map_at, text_at, wrong};

pub(super) fn length<'d>(meter: &Meter, arguments: &[Value<'d>]) -> Answer<Value<'d>> {
    at_most(arguments, 1)?;
    meter.work(1)?;
    let length = match argument(arguments, 0)? {
        Value::Text(text) => text.len(),
        Value::List(list) => list.items().len(),
        Value::Map(map) => map.entries().len(),
        other => return Err(wrong(0, "a list, a map or a string", other)),
    };
    Ok(Value::Int(i128::try_from(length).unwrap_or(i128::MAX)))
}

pub(super) fn element<'d>(meter: &Meter, arguments: &[Value<'d>]) -> Answer<Value<'d>> {
    at_most(arguments, 2)?;
    meter.work(1)?;
    let found = match argument(arguments, 0)? {
        Value::List(list) => {
            let at = position(integer_at(arguments, 1)?, list.items().len());
            at.and_then(|at| list.items().get(at))
        }
        Value::Map(map) => map.get(text_at(arguments, 1)?),
        other => return Err(wrong(0, "a list or a map", other)),
    };
    let found = found.map(|found| found.plain().clone());
    found.ok_or_else(|| Complaint::new(ErrorKind::NotFound, "element: there is no such element"))
}

pub(super) fn compact<'d>(meter: &Meter, arguments: &[Value<'d>]) -> Answer<Value<'d>> {
    at_most(arguments, 1)?;
    let full = |item: &&Value<'d>| match item {
        Value::Nil | Value::Undefined => false,
        Value::Text(_) | Value::List(_) | Value::Map(_) => item.holds(),
        _ => true,
    };
    let items = list_at(arguments, 0)?.plain().filter(full);
    meter.list(items.cloned().collect())
}

/// The position of the first equal item.
fn find<'a, 'd: 'a>(
    meter: &Meter,
    items: impl Iterator<Item = &'a Value<'d>>,
    wanted: &Value<'d>,
) -> Answer<Option<usize>> {
    for (at, item) in items.enumerate() {
        if equal(meter, item, wanted)? {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

pub(super) fn uniq<'d>(meter: &Meter, arguments: &[Value<'d>]) -> Answer<Value<'d>> {
    at_most(arguments, 1)?;
    let mut kept: Vec<Value<'d>> = Vec::new();
    for item in list_at(arguments, 0)?.plain() {
        if find(meter, kept.iter(), item)?.is_none() {
            kept.push(item.clone());
        }
    }
    meter.list(kept)
}

pub(super) fn contains<'d>(meter: &Meter, arguments: &[Value<'d>]) -> Answer<Value<'d>> {
    at_most(arguments, 2)?;
    let wanted = argument(arguments, 1)?;
    let found = match argument(arguments, 0)? {
        Value::List(list) => find(meter, list.plain(), wanted)?.is_some(),
        Value::Map(map) => match wanted {
            Value::Text(key) => map.get(key).is_some(),
            _ => false,
        },
        Value::Text(text) => {
            meter.read(text)?;
            text.contains(text_at(arguments, 1)?)
        }
        other => return Err(wrong(0, "a list, a map or a string", other)),
    };
    Ok(Value::Bool(found))
}

fn position_or_none<'d>(at: Option<usize>) -> Value<'d> {
    Value::Int(at.and_then(|at| i128::try_from(at).ok()).unwrap_or(-1))
}

pub(super) fn index<'d>(meter: &Meter, arguments: &[Value<'d>]) -> Answer<Value<'d>> {
    at_most(arguments, 2)?;
    let wanted = argument(arguments, 1)?;
    let at = match argument(arguments, 0)? {
        Value::List(list) => find(meter, list.plain(), wanted)?,
        Value::Text(text) => {
            meter.read(text)?;
            text.find(text_at(arguments, 1)?)
        }
        other => return Err(wrong(0, "a list or a string", other)),
    };
    Ok(position_or_none(at))
}

pub(super) fn last_index<'d>(meter: &Meter, arguments: &[Value<'d>]) -> Answer<Value<'d>> {
    at_most(arguments, 2)?;
    let wanted = argument(arguments, 1)?;
    let at = match argument(arguments, 0)? {
        Value::List(list) => {
            let length = list.items().len();
            let from_end = find(meter, list.items().iter().rev(), wanted)?;
            from_end.map(|at| length - 1 - at)
        }
        Value::Text(text) => {
            meter.read(text)?;
            text.rfind(text_at(arguments, 1)?)
        }
        other => return Err(wrong(0, "a list or a string", other)),
    };
    Ok(position_or_none(at))
}

pub(super) fn reverse<'d>(meter: &Meter, arguments: &[Value<'d>]) -> Answer<Value<'d>> {
    at_most(arguments, 1)?;
    let items = list_at(arguments, 0)?.items();
    meter.list(items.iter().rev().cloned().collect())
}

pub(super) fn intersect<'d>(meter: &Meter, arguments: &[Value<'d>]) -> Answer<Value<'d>> {
    let mut kept = Vec::new();
    for item in list_at(arguments, 0)?.plain() {
        let mut everywhere = true;
        for at in 1..arguments.len() {
            everywhere =
                everywhere && find(meter, list_at(arguments, at)?.plain(), item)?.is_some();
        }
        if everywhere {
            kept.push(item.clone());
        }
    }
    meter.list(kept)
}

pub(super) fn keys<'d>(meter: &Meter, arguments: &[Value<'d>]) -> Answer<Value<'d>> {
    at_most(arguments, 1)?;
    meter.texts(map_at(arguments, 0)?.entries().keys())
}

/// A list of maps as a map of them, by one of their fields.
pub(super) fn list_to_map<'d>(meter: &Meter, arguments: &[Value<'d>]) -> Answer<Value<'d>> {
    at_most(arguments, 2)?;
    let key = match arguments.get(1) {
        Some(_) => text_at(arguments, 1)?,
        None => "name",
    };
    let mut entries = Entries::new();
    for item in list_at(arguments, 0)?.plain() {
        let Value::Map(map) = item else {
            return Err(Complaint::value("the items have to be maps"));
        };
        let Some(name) = map.get(key).and_then(simple) else {
            let message = "each item needs the key field, with a string for its value";
            return Err(Complaint::value(message));
        };
        let mut rest = map.entries().clone();
        rest.remove(key);
        entries.insert(name, meter.map(rest)?);
    }
    meter.map(entries)
}

/// A map from keys and values, or from a list of maps with `key` and `value`.
pub(super) fn make_map<'d>(meter: &Meter, arguments: &[Value<'d>]) -> Answer<Value<'d>> {
    let named = |key: Option<&Value<'d>>| {
        let name = key.and_then(simple);
        name.ok_or_else(|| Complaint::value("keys have to be strings, integers or booleans"))
    };
    let mut entries = Entries::new();
    if let [Value::List(list)] = arguments {
        for item in list.plain() {
            let Value::Map(map) = item else {
                return Err(Complaint::value(
                    "the items have to be maps with `key` and `value`",
                ));
            };
            let value = map.get("value").cloned().unwrap_or(Value::Nil);
            entries.insert(named(map.get("key"))?, value);
        }
        return meter.map(entries);
    }
    for pair in arguments.chunks(2) {
        let [key, value] = pair else {
            return Err(Complaint::value("each key needs a value"));
        };
        entries.insert(named(Some(key))?, value.clone());
    }
    meter.map(entries)
}

/// Sorts strings or integers, or anything by a function.
pub(super) fn sort<'d>(
    machine: &mut Machine<'d>,
    arguments: &[Value<'d>],
    span: Span,
    context: &Context<'d>,
) -> Outcome<'d, Value<'d>> {
    let list = context.at(
        span,
        at_most(arguments, 2).and_then(|()| list_at(arguments, 0)),
    )?;
    if arguments.len() < 2 {
        let sorted = sort_simple(&machine.meter, list);
        return context.at(span, sorted);
    }
    let function = closure(&arguments[1], span, context)?;
    // A plain insertion of each item keeps the order whatever the function answers.
    let mut sorted: Vec<Value<'d>> = Vec::new();
    for item in list.plain() {
        let (mut from, mut to) = (0, sorted.len());
        while from < to {
            let middle = usize::midpoint(from, to);
            let given = Given::items(vec![item.clone(), sorted[middle].clone()]);
            let answer = machine.apply(&function, given, OwnName::Unbound, span, context)?;
            let less = match answer {
                Value::Int(order) => order < 0,
                other => other.holds(),
            };
            if less {
                to = middle;
            } else {
                from = middle + 1;
            }
        }
        context.at(span, machine.meter.work(1 + sorted.len() / 64))?;
        sorted.insert(from, item.clone());
    }
    context.at(span, machine.meter.list(sorted))
}

fn sort_simple<'d>(meter: &Meter, list: &List<'d>) -> Answer<Value<'d>> {
    let mut items: Vec<Value<'d>> = list.plain().cloned().collect();
    let length = items.len();
    meter.work(length.saturating_mul(1 + length.checked_ilog2().unwrap_or(0) as usize))?;
    let texts = items.iter().all(|item| matches!(item, Value::Text(_)));
    let numbers = items.iter().all(|item| matches!(item, Value::Int(_)));
    if !texts && !numbers {
        let message = "sort: the items have to be strings only or integers only, or a function says what is less";
        return Err(Complaint::value(message));
    }
    items.sort_by(|left, right| match (left, right) {
        (Value::Text(left), Value::Text(right)) => Rc::as_ref(left).cmp(Rc::as_ref(right)),
        (Value::Int(left), Value::Int(right)) => left.cmp(right),
        _ => Ordering::Equal,
    });
    meter.list(items)
}
