//! Sequences of integers: `until`, `untilStep`, `seq`.

use super::{Call, Entry, entry};
use crate::run::{Answer, Problem};
use crate::value::Value;

pub(super) const FUNCTIONS: &[Entry] = &[
    entry("until", 1, 1, |call| {
        let count = call.int(0)?;
        let numbers = numbers(call, 0, count, count.signum(), false)?;
        list(call, numbers)
    }),
    entry("untilStep", 3, 3, |call| {
        let numbers = numbers(call, call.int(0)?, call.int(1)?, call.int(2)?, false)?;
        list(call, numbers)
    }),
    entry("seq", 0, 3, |call| {
        let numbers = match call.arguments.len() {
            0 => Vec::new(),
            1 => {
                let last = call.int(0)?;
                numbers(call, 1, last, if last < 1 { -1 } else { 1 }, true)?
            }
            2 => {
                let (first, last) = (call.int(0)?, call.int(1)?);
                numbers(call, first, last, if last < first { -1 } else { 1 }, true)?
            }
            _ => numbers(call, call.int(0)?, call.int(2)?, call.int(1)?, true)?,
        };
        let texts: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        call.run.text(texts.join(" "))
    }),
];

/// More numbers than this are never made at once.
const LONGEST: i64 = 1_000_000;

fn numbers(call: &Call<'_>, first: i64, last: i64, step: i64, inclusive: bool) -> Answer<Vec<i64>> {
    let wrong_way = step == 0 || (last < first) == (step > 0);
    if first == last {
        return Ok(if inclusive { vec![first] } else { Vec::new() });
    }
    if wrong_way {
        return Ok(Vec::new());
    }
    let distance = (i128::from(last) - i128::from(first)).abs();
    let stride = i128::from(step).abs();
    let count = if inclusive {
        distance / stride + 1
    } else {
        (distance + stride - 1) / stride
    };
    if count > i128::from(LONGEST) {
        return Err(Problem::limit(format!(
            "`{}` makes no more than {LONGEST} numbers",
            call.name
        )));
    }
    let count = i64::try_from(count).unwrap_or(0);
    call.run.work(usize::try_from(count).unwrap_or(0))?;
    call.run.allocate(8 * usize::try_from(count).unwrap_or(0))?;
    Ok((0..count).map(|at| first + at * step).collect())
}

fn list(call: &Call<'_>, numbers: Vec<i64>) -> Answer {
    call.run.list(numbers.into_iter().map(Value::Int).collect())
}
