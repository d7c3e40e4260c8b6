//! Regular expressions, in the syntax that Go and Rust share. What a search costs is charged for by landform-pattern.

use regex::Match;

use super::{Call, Entry, entry};
use crate::run::Answer;
use crate::value::Value;

pub(super) const FUNCTIONS: &[Entry] = &[
    entry("regexMatch", 2, 2, matches),
    entry("mustRegexMatch", 2, 2, matches),
    entry("regexFind", 2, 2, find),
    entry("mustRegexFind", 2, 2, find),
    entry("regexFindAll", 3, 3, find_all),
    entry("mustRegexFindAll", 3, 3, find_all),
    entry("regexReplaceAll", 3, 3, replace),
    entry("mustRegexReplaceAll", 3, 3, replace),
    entry("regexReplaceAllLiteral", 3, 3, replace_literal),
    entry("mustRegexReplaceAllLiteral", 3, 3, replace_literal),
    entry("regexSplit", 3, 3, split),
    entry("mustRegexSplit", 3, 3, split),
    entry("regexQuoteMeta", 1, 1, |call| {
        call.run.text(quoted(call.text(0)?))
    }),
];

fn matches(call: &Call<'_>) -> Answer {
    let pattern = call.run.pattern(call.text(0)?)?;
    let matches = pattern.is_match(call.text(1)?, |steps| call.run.work(steps))?;
    Ok(Value::Bool(matches))
}

fn find(call: &Call<'_>) -> Answer {
    let pattern = call.run.pattern(call.text(0)?)?;
    let found = pattern.find(call.text(1)?, |steps| call.run.work(steps))?;
    call.run.text(found.map_or("", |found| found.as_str()))
}

/// At most so many; a negative number stands for all.
fn at_most(count: i64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

fn find_all(call: &Call<'_>) -> Answer {
    let found = all(call, at_most(call.int(2)?))?;
    call.run.texts(found.iter().map(Match::as_str))
}

/// The matches of the first argument in the second one.
fn all<'a>(call: &'a Call<'_>, most: usize) -> Answer<Vec<Match<'a>>> {
    let pattern = call.run.pattern(call.text(0)?)?;
    let found = pattern.find_all(call.text(1)?, most, |steps| call.run.work(steps))?;
    call.run
        .allocate(found.len() * std::mem::size_of::<Match<'_>>())?;
    Ok(found)
}

fn replace(call: &Call<'_>) -> Answer {
    let pattern = call.run.pattern(call.text(0)?)?;
    let (text, by) = (call.text(1)?, call.text(2)?);
    let charge = |steps| call.run.work(steps);
    let dollars = by.matches('$').count();
    let mut replaced = String::new();
    let mut end = 0;
    pattern.each_captures(text, usize::MAX, charge, |groups| {
        let Some(whole) = groups.get(0) else {
            return Ok(());
        };
        let most = dollars.saturating_mul(whole.len()).saturating_add(by.len());
        call.run.work(most / 64)?;
        call.run.allocate(most)?;
        replaced.push_str(&text[end..whole.start()]);
        groups.expand(by, &mut replaced);
        end = whole.end();
        Ok(())
    })?;
    replaced.push_str(&text[end..]);
    call.run.text(replaced)
}

fn replace_literal(call: &Call<'_>) -> Answer {
    let found = all(call, usize::MAX)?;
    let (text, by) = (call.text(1)?, call.text(2)?);
    call.run.allocate(found.len().saturating_mul(by.len()))?;
    let mut replaced = String::new();
    let mut end = 0;
    for found in found {
        replaced.push_str(&text[end..found.start()]);
        replaced.push_str(by);
        end = found.end();
    }
    replaced.push_str(&text[end..]);
    call.run.text(replaced)
}

fn split(call: &Call<'_>) -> Answer {
    let (text, count) = (call.text(1)?, call.int(2)?);
    if count == 0 {
        return call.run.list(Vec::new());
    }
    if text.is_empty() && !call.text(0)?.is_empty() {
        return call.run.texts([""]);
    }
    let most = at_most(count);
    let mut parts = Vec::new();
    let (mut begin, mut end) = (0, 0);
    for found in all(call, most)? {
        if parts.len() + 1 == most {
            break;
        }
        end = found.start();
        if found.end() != 0 {
            parts.push(&text[begin..end]);
        }
        begin = found.end();
    }
    if end != text.len() {
        parts.push(&text[begin..]);
    }
    call.run.texts(parts)
}

/// Go escapes only what means something in a pattern.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if r"\.+*?()|[]{}^$".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
