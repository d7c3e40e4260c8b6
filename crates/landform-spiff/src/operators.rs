//! Operators on values.

use std::rc::Rc;

use crate::ast::Operator;
use crate::error::Complaint;
use crate::meter::{Answer, Meter};
use crate::value::Value;

/// Joins values that stand side by side; an error comes with the number of the part.
pub(crate) fn concatenate<'d>(
    meter: &Meter,
    values: &[Value<'d>],
) -> Result<Value<'d>, (usize, Complaint)> {
    let mut joined = match values.first() {
        Some(first) => first.clone(),
        None => return Ok(Value::Nil),
    };
    for (at, value) in values.iter().enumerate().skip(1) {
        joined = join(meter, &joined, value).map_err(|complaint| (at, complaint))?;
    }
    Ok(joined)
}

fn join<'d>(meter: &Meter, left: &Value<'d>, right: &Value<'d>) -> Answer<Value<'d>> {
    if let (Some(left), Some(right)) = (simple(left), simple(right)) {
        return meter.text(format!("{left}{right}"));
    }
    match (left, right) {
        (Value::List(left), Value::List(right)) => {
            let mut items = left.items().to_vec();
            items.extend(right.items().iter().cloned());
            meter.work(items.len() / 16)?;
            meter.list(items)
        }
        (Value::List(_) | Value::Map(_), Value::Nil) => Ok(left.clone()),
        (Value::List(left), other) => {
            let mut items = left.items().to_vec();
            items.push(other.clone());
            meter.work(items.len() / 16)?;
            meter.list(items)
        }
        (Value::Map(left), Value::Map(right)) => {
            let mut entries = left.entries().clone();
            entries.extend(right.entries().clone());
            meter.work(entries.len() / 4)?;
            meter.map(entries)
        }
        _ => Err(Complaint::value(format!(
            "{} can't be joined to {}",
            right.kind(),
            left.kind()
        ))),
    }
}

/// The text of a value that can be a part of one.
pub(crate) fn simple(value: &Value<'_>) -> Option<Rc<str>> {
    match value {
        Value::Text(text) => Some(Rc::clone(text)),
        Value::Int(number) => Some(Rc::from(number.to_string())),
        Value::Bool(value) => Some(Rc::from(value.to_string())),
        Value::Undefined
        | Value::Nil
        | Value::Float(_)
        | Value::List(_)
        | Value::Map(_)
        | Value::Lambda(_)
        | Value::Template(_)
        | Value::Temporary(_) => None,
    }
}

/// What `-or` and `-and` answer without looking at the right side.
pub(crate) fn decided<'d>(operator: Operator, left: &Value<'d>) -> Option<Value<'d>> {
    let bits = matches!(left, Value::Int(_));
    match operator {
        Operator::Or if !bits && left.holds() => Some(Value::Bool(true)),
        Operator::And if !bits && !left.holds() => Some(Value::Bool(false)),
        _ => None,
    }
}

pub(crate) fn apply<'d>(
    meter: &Meter,
    operator: Operator,
    left: &Value<'d>,
    right: &Value<'d>,
) -> Answer<Value<'d>> {
    match operator {
        Operator::Or => match (left, right) {
            (Value::Int(left), Value::Int(right)) => Ok(Value::Int(left | right)),
            _ => Ok(Value::Bool(left.holds() || right.holds())),
        },
        Operator::And => match (left, right) {
            (Value::Int(left), Value::Int(right)) => Ok(Value::Int(left & right)),
            _ => Ok(Value::Bool(left.holds() && right.holds())),
        },
        Operator::Equal => Ok(Value::Bool(equal(meter, left, right)?)),
        Operator::NotEqual => Ok(Value::Bool(!equal(meter, left, right)?)),
        Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual => {
            ordered(operator, left, right)
        }
        Operator::Add
        | Operator::Subtract
        | Operator::Multiply
        | Operator::Divide
        | Operator::Modulo => arithmetic(operator, left, right),
    }
}

/// Equality. As in Spiff, a string is equal to the integer or boolean that it spells.
pub(crate) fn equal(meter: &Meter, left: &Value<'_>, right: &Value<'_>) -> Answer<bool> {
    meter.work(1)?;
    let same = match (left.plain(), right.plain()) {
        (Value::Nil, Value::Nil) => true,
        (Value::Bool(left), Value::Bool(right)) => left == right,
        (Value::Int(left), Value::Int(right)) => left == right,
        (Value::Text(left), Value::Text(right)) => {
            meter.read(left)?;
            left == right
        }
        (Value::Text(text), other @ (Value::Int(_) | Value::Bool(_)))
        | (other @ (Value::Int(_) | Value::Bool(_)), Value::Text(text)) => {
            simple(other).is_some_and(|other| other == *text)
        }
        (Value::List(left), Value::List(right)) => {
            let (left, right) = (left.items(), right.items());
            if left.len() != right.len() {
                return Ok(false);
            }
            for (left, right) in left.iter().zip(right) {
                if !equal(meter, left, right)? {
                    return Ok(false);
                }
            }
            true
        }
        (Value::Map(left), Value::Map(right)) => {
            let (left, right) = (left.entries(), right.entries());
            if left.len() != right.len() {
                return Ok(false);
            }
            for ((left_key, left), (right_key, right)) in left.iter().zip(right) {
                if left_key != right_key || !equal(meter, left, right)? {
                    return Ok(false);
                }
            }
            true
        }
        (Value::Lambda(left), Value::Lambda(right)) => Rc::ptr_eq(left, right),
        (Value::Template(left), Value::Template(right)) => left == right,
        (left, right) => match (float(left), float(right)) {
            (Some(left), Some(right)) => left.total_cmp(&right).is_eq(),
            _ => false,
        },
    };
    Ok(same)
}

fn ordered<'d>(operator: Operator, left: &Value<'d>, right: &Value<'d>) -> Answer<Value<'d>> {
    let order = match (left, right) {
        (Value::Int(left), Value::Int(right)) => Some(left.cmp(right)),
        (Value::Text(left), Value::Text(right)) => Some(left.cmp(right)),
        _ => match (float(left), float(right)) {
            (Some(left), Some(right)) => left.partial_cmp(&right),
            _ => None,
        },
    };
    let Some(order) = order else {
        return Err(Complaint::value(format!(
            "numbers or strings can be ordered, not {} and {}",
            left.kind(),
            right.kind()
        )));
    };
    Ok(Value::Bool(match operator {
        Operator::Less => order.is_lt(),
        Operator::LessOrEqual => order.is_le(),
        Operator::Greater => order.is_gt(),
        _ => order.is_ge(),
    }))
}

fn arithmetic<'d>(operator: Operator, left: &Value<'d>, right: &Value<'d>) -> Answer<Value<'d>> {
    if let (Value::Int(left), Value::Int(right)) = (left, right) {
        return integers(operator, *left, *right);
    }
    let (Some(left), Some(right)) = (float(left), float(right)) else {
        return Err(Complaint::value(format!(
            "arithmetic needs numbers, not {} and {}",
            left.kind(),
            right.kind()
        )));
    };
    let result = match operator {
        Operator::Add => left + right,
        Operator::Subtract => left - right,
        Operator::Multiply => left * right,
        Operator::Divide if right == 0.0 => return Err(by_zero()),
        Operator::Divide => left / right,
        _ => return Err(Complaint::value("`%` needs integers")),
    };
    if result.is_finite() {
        return Ok(Value::Float(result));
    }
    Err(Complaint::value("the result is too large"))
}

fn integers<'d>(operator: Operator, left: i128, right: i128) -> Answer<Value<'d>> {
    let result = match operator {
        Operator::Add => left.checked_add(right),
        Operator::Subtract => left.checked_sub(right),
        Operator::Multiply => left.checked_mul(right),
        Operator::Divide | Operator::Modulo if right == 0 => return Err(by_zero()),
        Operator::Divide => left.checked_div(right),
        _ => left.checked_rem(right),
    };
    let fits = |number: &i128| (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(number);
    let result = result.filter(fits);
    result
        .map(Value::Int)
        .ok_or_else(|| Complaint::value("the result is too large"))
}

fn by_zero() -> Complaint {
    Complaint::value("this divides by zero")
}

#[expect(
    clippy::cast_precision_loss,
    reason = "integers beside floats are floats, as everywhere"
)]
pub(crate) fn float(value: &Value<'_>) -> Option<f64> {
    match value {
        Value::Int(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        _ => None,
    }
}
