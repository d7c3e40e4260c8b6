//! Regular expressions, in the syntax that Go and Rust share. They take linear time.

use regex::{NoExpand, Regex};

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
    Ok(Value::Bool(pattern.is_match(call.text(1)?)))
}

fn find(call: &Call<'_>) -> Answer {
    let pattern = call.run.pattern(call.text(0)?)?;
    let found = pattern.find(call.text(1)?);
    call.run.text(found.map_or("", |found| found.as_str()))
}

/// At most so many; a negative number stands for all.
fn at_most(count: i64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

fn find_all(call: &Call<'_>) -> Answer {
    let pattern = call.run.pattern(call.text(0)?)?;
    let found = pattern.find_iter(call.text(1)?).take(at_most(call.int(2)?));
    call.run.texts(found.map(|found| found.as_str()))
}

fn replace(call: &Call<'_>) -> Answer {
    let (pattern, text, by) = replacement(call)?;
    call.run.text(pattern.replace_all(text, by))
}

fn replace_literal(call: &Call<'_>) -> Answer {
    let (pattern, text, by) = replacement(call)?;
    call.run.text(pattern.replace_all(text, NoExpand(by)))
}

/// The arguments, after the memory that the result takes at most was counted.
fn replacement<'a>(call: &'a Call<'_>) -> Answer<(Regex, &'a str, &'a str)> {
    let pattern = call.run.pattern(call.text(0)?)?;
    let (text, by) = (call.text(1)?, call.text(2)?);
    let mut total = text.len();
    let groups = by.matches('$').count();
    for found in pattern.find_iter(text) {
        let inserted = by.len().saturating_add(groups.saturating_mul(found.len()));
        total = total.saturating_add(inserted);
    }
    call.run.allocate(total)?;
    Ok((pattern, text, by))
}

fn split(call: &Call<'_>) -> Answer {
    let pattern = call.run.pattern(call.text(0)?)?;
    let (text, count) = (call.text(1)?, call.int(2)?);
    if count == 0 {
        return call.run.list(Vec::new());
    }
    if text.is_empty() && !pattern.as_str().is_empty() {
        return call.run.texts([""]);
    }
    let most = at_most(count);
    let mut parts = Vec::new();
    let (mut begin, mut end) = (0, 0);
    for found in pattern.find_iter(text).take(most) {
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
