//! Lists. They never change; `append` and the like make new ones.

use super::{Call, Entry, MANY, entry, reflection};
use crate::run::Answer;
use crate::value::Value;

pub(super) const FUNCTIONS: &[Entry] = &[
    entry("list", 0, MANY, |call| {
        call.run.list(call.arguments.to_vec())
    }),
    entry("tuple", 0, MANY, |call| {
        call.run.list(call.arguments.to_vec())
    }),
    entry("first", 1, 1, first),
    entry("mustFirst", 1, 1, first),
    entry("last", 1, 1, last),
    entry("mustLast", 1, 1, last),
    entry("rest", 1, 1, rest),
    entry("mustRest", 1, 1, rest),
    entry("initial", 1, 1, initial),
    entry("mustInitial", 1, 1, initial),
    entry("append", 2, 2, append),
    entry("mustAppend", 2, 2, append),
    entry("push", 2, 2, append),
    entry("mustPush", 2, 2, append),
    entry("prepend", 2, 2, prepend),
    entry("mustPrepend", 2, 2, prepend),
    entry("concat", 0, MANY, |call| {
        let mut items = Vec::new();
        for at in 0..call.arguments.len() {
            items.extend_from_slice(call.list(at)?);
        }
        call.run.list(items)
    }),
    entry("reverse", 1, 1, reverse),
    entry("mustReverse", 1, 1, reverse),
    entry("uniq", 1, 1, uniq),
    entry("mustUniq", 1, 1, uniq),
    entry("without", 1, MANY, without),
    entry("mustWithout", 1, MANY, without),
    entry("has", 2, 2, has),
    entry("mustHas", 2, 2, has),
    entry("compact", 1, 1, compact),
    entry("mustCompact", 1, 1, compact),
    entry("slice", 1, 3, slice),
    entry("mustSlice", 1, 3, slice),
    entry("chunk", 2, 2, chunk),
    entry("mustChunk", 2, 2, chunk),
];

fn first(call: &Call<'_>) -> Answer {
    Ok(call.list(0)?.first().cloned().unwrap_or(Value::Nil))
}

fn last(call: &Call<'_>) -> Answer {
    Ok(call.list(0)?.last().cloned().unwrap_or(Value::Nil))
}

fn rest(call: &Call<'_>) -> Answer {
    let items = call.list(0)?;
    call.run.list(items.get(1..).unwrap_or_default().to_vec())
}

fn initial(call: &Call<'_>) -> Answer {
    let items = call.list(0)?;
    call.run
        .list(items[..items.len().saturating_sub(1)].to_vec())
}

fn append(call: &Call<'_>) -> Answer {
    let mut items = call.list(0)?.to_vec();
    items.push(call.argument(1).clone());
    call.run.list(items)
}

fn prepend(call: &Call<'_>) -> Answer {
    let mut items = vec![call.argument(1).clone()];
    items.extend_from_slice(call.list(0)?);
    call.run.list(items)
}

fn reverse(call: &Call<'_>) -> Answer {
    call.run.list(call.list(0)?.iter().rev().cloned().collect())
}

fn contains(call: &Call<'_>, items: &[Value], wanted: &Value) -> Answer<bool> {
    for item in items {
        if reflection::same(call.run, item, wanted)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn uniq(call: &Call<'_>) -> Answer {
    let mut kept: Vec<Value> = Vec::new();
    for item in call.list(0)? {
        if !contains(call, &kept, item)? {
            kept.push(item.clone());
        }
    }
    call.run.list(kept)
}

fn without(call: &Call<'_>) -> Answer {
    let unwanted = &call.arguments[1..];
    let mut kept = Vec::new();
    for item in call.list(0)? {
        if !contains(call, unwanted, item)? {
            kept.push(item.clone());
        }
    }
    call.run.list(kept)
}

fn has(call: &Call<'_>) -> Answer {
    if matches!(call.argument(1), Value::Nil) {
        return Ok(Value::Bool(false));
    }
    contains(call, call.list(1)?, call.argument(0)).map(Value::Bool)
}

fn compact(call: &Call<'_>) -> Answer {
    let kept = call.list(0)?.iter().filter(|item| item.is_true());
    call.run.list(kept.cloned().collect())
}

/// `slice list from to`. Go's own function of that name, which sprig hides, also takes strings.
fn slice(call: &Call<'_>) -> Answer {
    let length = match call.argument(0) {
        Value::Text(text) => text.len(),
        _ => call.list(0)?.len(),
    };
    let from = if call.arguments.len() > 1 {
        call.size(1)?
    } else {
        0
    };
    let to = if call.arguments.len() > 2 {
        call.size(2)?
    } else {
        length
    };
    let outside = || {
        call.problem(format!(
            "{from} to {to} is not inside of the {length} there are"
        ))
    };
    if from > to || to > length {
        return Err(outside());
    }
    match call.argument(0) {
        Value::Text(text) => call.run.text(text.get(from..to).ok_or_else(outside)?),
        _ => call.run.list(call.list(0)?[from..to].to_vec()),
    }
}

fn chunk(call: &Call<'_>) -> Answer {
    let size = call.size(0)?;
    if size == 0 {
        return Err(call.problem("the size of the parts is zero"));
    }
    let parts = call.list(1)?.chunks(size);
    let parts = parts.map(|part| call.run.list(part.to_vec()));
    let parts = parts.collect::<Answer<Vec<_>>>()?;
    call.run.list(parts)
}
