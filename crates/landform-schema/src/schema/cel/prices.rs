//! What calls cost that take or make more than the sum of what they are given: they are paid for before they are made.
//!
//! Such a function stands here in place of the interpreter's: it evaluates what it is given, once, spends what the call
//! will cost, and has the interpreter's function carry it out. `text.replace(…)` and `replace(text, …)` are one call.

use std::sync::LazyLock;

use kube_cel::KubeCelExt;
use kube_cel::cel::common::ast::{CallExpr, Expr, IdedExpr};
use kube_cel::cel::{Context, ExecutionError, FunctionContext, ResolveResult, Value};

use super::metered::{size, spend};

/// This many pairs of bytes are compared in the time of one unit.
const PAIRS_OF_A_UNIT: u64 = 1_000;
/// A precision of more digits than this is no number of digits that is meant.
const DIGITS_MAX: usize = 3;
/// The digits of a quantity, as far as can be computed with them.
const QUANTITY_DIGITS_MAX: usize = 19;
/// The largest exponent of a quantity, of either sign.
const EXPONENT_MAX: u32 = 18;

/// Spends what a call will cost; the first value is the target of a method.
type Price = fn(&[Value]) -> Result<(), ExecutionError>;
/// A function as the interpreter calls it.
type Function = Box<dyn Fn(&mut FunctionContext<'_, '_>) -> ResolveResult + Send + Sync>;

/// How a function is called.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Method,
    Function,
}

const PRICES: [(&str, Form, Price); 15] = [
    ("replace", Form::Method, replaced),
    ("indexOf", Form::Method, searched),
    ("lastIndexOf", Form::Method, searched),
    ("contains", Form::Method, searched_bytes),
    ("join", Form::Method, joined),
    ("format", Form::Method, formatted),
    ("split", Form::Method, bytewise),
    ("distinct", Form::Method, pairwise),
    ("sort", Form::Method, sorted),
    ("sum", Form::Method, summed),
    ("lists.range", Form::Function, counted),
    ("sets.contains", Form::Function, compared),
    ("sets.equivalent", Form::Function, compared),
    ("sets.intersects", Form::Function, compared),
    ("quantity", Form::Function, is_a_quantity),
];

/// The interpreter's functions as they are.
static PLAIN: LazyLock<Context<'static>> = LazyLock::new(|| Context::default().with_all());

pub(super) fn register(context: &mut Context<'static>) {
    for (name, form, price) in PRICES {
        context.add_function::<Function, Function>(name, paid(name, form, price));
    }
    let is_quantity = |call: &mut FunctionContext<'_, '_>| {
        let values = evaluated(call)?;
        if is_a_quantity(&values).is_err() {
            return Ok(Value::Bool(false));
        }
        carry_out("isQuantity", Form::Function, values)
    };
    context.add_function::<Function, Function>("isQuantity", Box::new(is_quantity));
}

/// A function that spends before it does anything.
fn paid(name: &'static str, form: Form, price: Price) -> Function {
    Box::new(move |call| {
        let values = evaluated(call)?;
        price(&values)?;
        carry_out(name, form, values)
    })
}

/// What a function is given: its target, if it has one, and its arguments.
fn evaluated(call: &mut FunctionContext<'_, '_>) -> Result<Vec<Value>, ExecutionError> {
    let mut values = Vec::with_capacity(1 + call.args.len());
    values.extend(call.this.take());
    for argument in call.args {
        values.push(Value::resolve(argument, call.ptx)?);
    }
    Ok(values)
}

/// Has the interpreter's function work with values.
fn carry_out(name: &str, form: Form, values: Vec<Value>) -> ResolveResult {
    let mut context = PLAIN.new_inner_scope();
    let mut given = Vec::with_capacity(values.len());
    for (index, value) in values.into_iter().enumerate() {
        let variable = format!("@{index}");
        context.add_variable_from_value(variable.as_str(), value);
        given.push(expression(Expr::Ident(variable)));
    }
    let target = if form == Form::Method && !given.is_empty() {
        Some(Box::new(given.remove(0)))
    } else {
        None
    };
    let call = CallExpr {
        func_name: name.to_owned(),
        target,
        args: given,
    };
    Value::resolve(&expression(Expr::Call(call)), &context)
}

fn expression(expr: Expr) -> IdedExpr {
    IdedExpr { id: 0, expr }
}

fn bytes(text: &str) -> u64 {
    text.len() as u64
}

/// The text that comes of it may be far longer than all that it is made of.
fn replaced(values: &[Value]) -> Result<(), ExecutionError> {
    if let [
        Value::String(text),
        Value::String(from),
        Value::String(to),
        ..,
    ] = values
    {
        let times = text.matches(from.as_str()).count() as u64;
        spend(bytes(text) + times.saturating_mul(bytes(to)) / 10)?;
    }
    Ok(())
}

/// Each place of the text may be compared with all that is looked for.
fn searched(values: &[Value]) -> Result<(), ExecutionError> {
    if let [Value::String(text), Value::String(wanted), ..] = values {
        spend(bytes(text).saturating_mul(bytes(wanted)) / PAIRS_OF_A_UNIT)?;
    }
    Ok(())
}

fn searched_bytes(values: &[Value]) -> Result<(), ExecutionError> {
    if let [Value::Bytes(all), Value::Bytes(wanted), ..] = values {
        if wanted.is_empty() {
            // The interpreter can't.
            let problem = "there are no bytes to look for";
            return Err(ExecutionError::function_error("contains", problem));
        }
        let pairs = (all.len() as u64).saturating_mul(wanted.len() as u64);
        spend(pairs / PAIRS_OF_A_UNIT)?;
    }
    Ok(())
}

fn joined(values: &[Value]) -> Result<(), ExecutionError> {
    if let [Value::List(entries), Value::String(between), ..] = values {
        spend((entries.len() as u64).saturating_mul(bytes(between)) / 10)?;
    }
    Ok(())
}

/// A precision is a number of digits that are written.
fn formatted(values: &[Value]) -> Result<(), ExecutionError> {
    if let [Value::String(format), ..] = values {
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
    Ok(())
}

/// Each byte may become a value of its own.
fn bytewise(values: &[Value]) -> Result<(), ExecutionError> {
    if let [Value::String(text), ..] = values {
        spend(bytes(text))?;
    }
    Ok(())
}

/// Each entry is compared with each other one.
fn pairwise(values: &[Value]) -> Result<(), ExecutionError> {
    if let [Value::List(entries), ..] = values {
        spend(compare(entries, entries))?;
    }
    Ok(())
}

fn compared(values: &[Value]) -> Result<(), ExecutionError> {
    if let [Value::List(entries), Value::List(others), ..] = values {
        spend(compare(entries, others))?;
    }
    Ok(())
}

fn compare(entries: &[Value], others: &[Value]) -> u64 {
    let longest = entries.iter().map(size).max().unwrap_or_default();
    let pairs = (entries.len() as u64).saturating_mul(others.len() as u64);
    pairs.saturating_mul(1 + longest) / 10
}

/// Each entry is compared about as often as the number of entries has binary digits.
fn sorted(values: &[Value]) -> Result<(), ExecutionError> {
    if let [list @ Value::List(entries), ..] = values {
        spend(size(list).saturating_mul(u64::from(entries.len().max(1).ilog2())) / 4)?;
    }
    Ok(())
}

/// A sum of texts or lists grows with each entry, and is copied as often.
fn summed(values: &[Value]) -> Result<(), ExecutionError> {
    let [list @ Value::List(entries), ..] = values else {
        return Ok(());
    };
    let grows =
        |entry: &Value| matches!(entry, Value::String(_) | Value::Bytes(_) | Value::List(_));
    if entries.iter().any(grows) {
        spend((entries.len() as u64).saturating_mul(size(list)) / 2)?;
    }
    Ok(())
}

/// As many values are made as the number says.
fn counted(values: &[Value]) -> Result<(), ExecutionError> {
    if let [Value::Int(number), ..] = values {
        spend(u64::try_from(*number).unwrap_or_default())?;
    }
    Ok(())
}

/// Quantities are computed with as whole numbers of some forty digits: larger ones are none.
fn is_a_quantity(values: &[Value]) -> Result<(), ExecutionError> {
    let [Value::String(text), ..] = values else {
        return Ok(());
    };
    let (number, exponent) = match text.trim().split_once(['e', 'E']) {
        Some((number, exponent)) if !exponent.is_empty() && !exponent.starts_with('i') => {
            (number, exponent)
        }
        _ => (text.as_str(), "0"),
    };
    let digits = number.bytes().filter(u8::is_ascii_digit).count();
    let exponent = exponent.parse::<i32>().ok().map(i32::unsigned_abs);
    if digits > QUANTITY_DIGITS_MAX || exponent.is_none_or(|exponent| exponent > EXPONENT_MAX) {
        let shown: String = text.chars().take(50).collect();
        return Err(ExecutionError::function_error(
            "quantity",
            format!("{shown:?} is not a quantity"),
        ));
    }
    Ok(())
}
