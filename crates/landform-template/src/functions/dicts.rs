//! Dicts. `set`, `unset` and the merges change the dict that they are given, as in Go.

use std::rc::Rc;

use super::{Call, Entry, MANY, entry};
use crate::run::{Answer, Run, too_deep};
use crate::value::{DEEPEST_VALUE, Entries, Map, Value};

pub(super) const FUNCTIONS: &[Entry] = &[
    entry("dict", 0, MANY, dict),
    entry("get", 2, 2, |call| {
        Ok(call
            .map(0)?
            .get(call.text(1)?)
            .unwrap_or_else(|| Value::text("")))
    }),
    entry("set", 3, 3, |call| {
        let (map, key) = (call.map(0)?, call.text(1)?);
        call.run.allocate(key.len() + 64)?;
        map.insert(key, call.argument(2).clone());
        Ok(call.argument(0).clone())
    }),
    entry("unset", 2, 2, |call| {
        call.map(0)?.remove(call.text(1)?);
        Ok(call.argument(0).clone())
    }),
    entry("hasKey", 2, 2, |call| {
        Ok(Value::Bool(
            call.map(0)?.entries().contains_key(call.text(1)?),
        ))
    }),
    entry("pluck", 1, MANY, |call| {
        let key = call.text(0)?;
        let mut found = Vec::new();
        for at in 1..call.arguments.len() {
            found.extend(call.map(at)?.get(key));
        }
        call.run.list(found)
    }),
    entry("dig", 3, MANY, dig),
    entry("merge", 1, MANY, |call| merge_all(call, false)),
    entry("mustMerge", 1, MANY, |call| merge_all(call, false)),
    entry("mergeOverwrite", 1, MANY, |call| merge_all(call, true)),
    entry("mustMergeOverwrite", 1, MANY, |call| merge_all(call, true)),
    entry("keys", 1, MANY, |call| {
        let mut keys = Vec::new();
        for at in 0..call.arguments.len() {
            keys.extend(
                call.map(at)?
                    .entries()
                    .keys()
                    .map(|key| Value::Text(Rc::clone(key))),
            );
        }
        call.run.list(keys)
    }),
    entry("values", 1, 1, |call| {
        let values = call.map(0)?.entries().values().cloned().collect();
        call.run.list(values)
    }),
    entry("pick", 1, MANY, |call| selected(call, true)),
    entry("omit", 1, MANY, |call| selected(call, false)),
    entry("deepCopy", 1, 1, |call| {
        deep_copy(call.run, call.argument(0), 0)
    }),
    entry("mustDeepCopy", 1, 1, |call| {
        deep_copy(call.run, call.argument(0), 0)
    }),
];

fn dict(call: &Call<'_>) -> Answer {
    let mut entries = Entries::new();
    for at in (0..call.arguments.len()).step_by(2) {
        let value = call.arguments.get(at + 1);
        let value = value.cloned().unwrap_or_else(|| Value::text(""));
        entries.insert(call.shown(at)?, value);
    }
    call.run.map(entries)
}

/// `dig "a" "b" default dict`: the value under the keys, or the default.
fn dig(call: &Call<'_>) -> Answer {
    let last = call.arguments.len() - 1;
    let default = call.argument(last - 1);
    let mut map = call.map(last)?.clone();
    for at in 0..last - 1 {
        let Some(value) = map.get(call.text(at)?) else {
            return Ok(default.clone());
        };
        if at == last - 2 {
            return Ok(value);
        }
        map = match value {
            Value::Map(inner) => inner,
            other => {
                return Err(call.problem(format!(
                    "argument {} leads to a {}, which has no keys",
                    at + 1,
                    other.kind()
                )));
            }
        };
    }
    Ok(default.clone())
}

fn selected(call: &Call<'_>, picks: bool) -> Answer {
    let map = call.map(0)?;
    let mut names = std::collections::BTreeSet::new();
    for at in 1..call.arguments.len() {
        names.insert(call.text(at)?);
    }
    let entries = map.entries();
    let kept = entries
        .iter()
        .filter(|(key, _)| names.contains(&***key) == picks);
    let kept = kept
        .map(|(key, value)| (Rc::clone(key), value.clone()))
        .collect();
    drop(entries);
    call.run.map(kept)
}

fn merge_all(call: &Call<'_>, overwrites: bool) -> Answer {
    let target = call.map(0)?;
    for at in 1..call.arguments.len() {
        merge(call.run, target, call.map(at)?, overwrites, 0)?;
    }
    Ok(call.argument(0).clone())
}

/// Takes over what the target lacks, or everything when it overwrites; dicts in dicts are merged.
fn merge(run: &Run<'_>, target: &Map, source: &Map, overwrites: bool, depth: usize) -> Answer<()> {
    if depth > DEEPEST_VALUE {
        return Err(too_deep());
    }
    if target.same(source) {
        return Ok(());
    }
    run.work(1 + source.len())?;
    let entries: Vec<_> = source
        .entries()
        .iter()
        .map(|(key, value)| (Rc::clone(key), value.clone()))
        .collect();
    for (key, value) in entries {
        match (target.get(&key), &value) {
            (Some(Value::Map(inner)), Value::Map(other)) => {
                merge(run, &inner, other, overwrites, depth + 1)?;
            }
            (Some(present), _) if present.is_true() && !overwrites => {}
            _ => {
                run.allocate(key.len() + 64)?;
                target.insert(&key, value);
            }
        }
    }
    Ok(())
}

fn deep_copy(run: &Run<'_>, value: &Value, depth: usize) -> Answer {
    if depth > DEEPEST_VALUE {
        return Err(too_deep());
    }
    run.work(1)?;
    match value {
        Value::List(list) => {
            let items = list.items().iter();
            let items = items.map(|item| deep_copy(run, item, depth + 1));
            let items = items.collect::<Answer<Vec<_>>>()?;
            run.list(items)
        }
        Value::Map(map) => {
            let mut copy = Entries::new();
            for (key, value) in map.entries().iter() {
                copy.insert(Rc::clone(key), deep_copy(run, value, depth + 1)?);
            }
            run.map(copy)
        }
        other => Ok(other.clone()),
    }
}
