//! What calls cost that take or make more than the sum of what they are given: they are paid for before they are made.
//!
//! A call of such a function gets an argument (or the target) that is wrapped in a call of one of ours, which looks at
//! what it is to work with, spends, and hands the argument on.

use std::sync::Arc;

use kube_cel::cel::common::ast::{CallExpr, Expr, IdedExpr};
use kube_cel::cel::{Context, ExecutionError, Value};

use super::metered::{size, spend};

/// This many pairs of bytes are compared in the time of one unit.
const PAIRS_OF_A_UNIT: u64 = 1_000;
/// A precision of more digits than this is no number of digits that is meant.
const DIGITS_MAX: usize = 3;

pub(super) fn register(context: &mut Context<'static>) {
    context.add_function("@replaced", replaced);
    context.add_function("@searched", searched);
    context.add_function("@joined", joined);
    context.add_function("@formatted", formatted);
    context.add_function("@bytewise", bytewise);
    context.add_function("@pairwise", pairwise);
    context.add_function("@compared", compared);
    context.add_function("@counted", counted);
}

/// A call of a function, with what pays for it. `library` is the name that a function of a library is called by.
pub(super) fn paid(call: &mut CallExpr, library: Option<&str>) {
    let function = call.func_name.as_str();
    let others = call.args.clone();
    match (library, &mut call.target) {
        (Some("lists"), _) if function == "range" => {
            pay(call.args.first_mut(), "@counted", Vec::new());
        }
        (Some("sets"), _) => {
            let rest = others.into_iter().skip(1).take(1).collect();
            pay(call.args.first_mut(), "@compared", rest);
        }
        (None, Some(target)) => {
            let target = Some(&mut **target);
            match function {
                "replace" => pay(target, "@replaced", others.into_iter().take(2).collect()),
                "indexOf" | "lastIndexOf" => {
                    pay(target, "@searched", others.into_iter().take(1).collect());
                }
                "join" if !others.is_empty() => {
                    pay(target, "@joined", others.into_iter().take(1).collect());
                }
                "format" => pay(target, "@formatted", Vec::new()),
                "split" | "findAll" => pay(target, "@bytewise", Vec::new()),
                "distinct" => pay(target, "@pairwise", Vec::new()),
                _ => {}
            }
        }
        _ => {}
    }
}

fn pay(argument: Option<&mut IdedExpr>, function: &str, others: Vec<IdedExpr>) {
    let Some(argument) = argument else {
        return;
    };
    let id = argument.id;
    let first = std::mem::replace(
        argument,
        IdedExpr {
            id,
            expr: Expr::Unspecified,
        },
    );
    argument.expr = Expr::Call(CallExpr {
        func_name: function.to_owned(),
        target: None,
        args: std::iter::once(first).chain(others).collect(),
    });
}

fn bytes(text: &str) -> u64 {
    text.len() as u64
}

/// The text that comes of it may be far longer than all that it is made of.
fn replaced(text: Value, from: Value, to: Value) -> Result<Value, ExecutionError> {
    if let (Value::String(text), Value::String(from), Value::String(to)) = (&text, &from, &to) {
        let times = text.matches(from.as_str()).count() as u64;
        spend(bytes(text) + times.saturating_mul(bytes(to)) / 10)?;
    }
    Ok(text)
}

/// Each place of the text may be compared with all that is looked for.
fn searched(text: Value, wanted: Value) -> Result<Value, ExecutionError> {
    if let (Value::String(text), Value::String(wanted)) = (&text, &wanted) {
        spend(bytes(text).saturating_mul(bytes(wanted)) / PAIRS_OF_A_UNIT)?;
    }
    Ok(text)
}

fn joined(list: Value, between: Value) -> Result<Value, ExecutionError> {
    if let (Value::List(entries), Value::String(between)) = (&list, &between) {
        spend((entries.len() as u64).saturating_mul(bytes(between)) / 10)?;
    }
    Ok(list)
}

/// A precision is a number of digits that are written.
fn formatted(text: Value) -> Result<Value, ExecutionError> {
    if let Value::String(format) = &text {
        let mut digits = 0;
        for byte in format.bytes() {
            digits = if byte.is_ascii_digit() { digits + 1 } else { 0 };
            if digits > DIGITS_MAX {
                return Err(ExecutionError::function_error(
                    "format",
                    "a number in the format has too many digits",
                ));
            }
        }
    }
    Ok(text)
}

/// Each byte may become a value of its own.
fn bytewise(text: Value) -> Result<Value, ExecutionError> {
    if let Value::String(text) = &text {
        spend(bytes(text))?;
    }
    Ok(text)
}

/// Each entry is compared with each other one.
fn pairwise(list: Value) -> Result<Value, ExecutionError> {
    if let Value::List(entries) = &list {
        spend(compare(entries, entries))?;
    }
    Ok(list)
}

fn compared(list: Value, other: Value) -> Result<Value, ExecutionError> {
    if let (Value::List(entries), Value::List(others)) = (&list, &other) {
        spend(compare(entries, others))?;
    }
    Ok(list)
}

fn compare(entries: &Arc<Vec<Value>>, others: &Arc<Vec<Value>>) -> u64 {
    let longest = entries.iter().map(size).max().unwrap_or_default();
    let pairs = (entries.len() as u64).saturating_mul(others.len() as u64);
    pairs.saturating_mul(1 + longest) / 10
}

/// As many values are made as the number says.
fn counted(number: Value) -> Result<Value, ExecutionError> {
    if let Value::Int(number) = &number {
        spend(u64::try_from(*number).unwrap_or_default())?;
    }
    Ok(number)
}
