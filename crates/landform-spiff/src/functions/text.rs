//! Functions on strings.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

use crate::error::Complaint;
use crate::meter::{Answer, Meter};
use crate::operators::simple;
use crate::value::Value;

use super::{argument, at_most, optional_integer, text_at, wrong};

pub(super) fn join<'d>(meter: &Meter, arguments: &[Value<'d>]) -> Answer<Value<'d>> {
    let separator = text_at(arguments, 0)?;
    let mut parts = Vec::new();
    for (at, value) in arguments.iter().enumerate().skip(1) {
        let no_part = || {
            wrong(
                at,
                "a string, an integer, a boolean or a list of them",
                value,
            )
        };
        match value {
            Value::Nil => {}
            Value::List(list) => {
                for item in list.plain() {
                    parts.push(simple(item).ok_or_else(no_part)?);
                }
            }
            other => parts.push(simple(other).ok_or_else(no_part)?),
        }
    }
    let bytes: usize = parts.iter().map(|part| part.len()).sum();
    meter.allocate(bytes + separator.len().saturating_mul(parts.len()))?;
    meter.text(parts.join(separator))
}

pub(super) fn split<'d>(meter: &Meter, arguments: &[Value<'d>]) -> Answer<Value<'d>> {
    at_most(arguments, 3)?;
    let text = text_at(arguments, 1)?;
    meter.read(text)?;
    let most = count(optional_integer(arguments, 2)?);
    let separator = match argument(arguments, 0)? {
        Value::Text(separator) => separator,
        Value::Int(length) if *length > 0 => {
            let length = usize::try_from(*length).unwrap_or(usize::MAX);
            return pieces(meter, text, length, most);
        }
        other => return Err(wrong(0, "a string or a length greater than 0", other)),
    };
    if separator.is_empty() {
        return pieces(meter, text, 1, most);
    }
    meter.texts(text.splitn(most, &**separator))
}

/// How many there may be: as in Go, a negative number is no limit.
fn count(limit: Option<i64>) -> usize {
    limit.map_or(usize::MAX, |limit| {
        usize::try_from(limit).unwrap_or(usize::MAX)
    })
}

fn pieces<'d>(meter: &Meter, text: &str, length: usize, most: usize) -> Answer<Value<'d>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() && most > 0 {
        meter.work(1)?;
        let end = rest
            .char_indices()
            .nth(length)
            .map_or(rest.len(), |(at, _)| at);
        let end = if pieces.len() + 1 == most {
            rest.len()
        } else {
            end
        };
        pieces.push(&rest[..end]);
        rest = &rest[end..];
    }
    meter.texts(pieces)
}

pub(super) fn split_match<'d>(meter: &Meter, arguments: &[Value<'d>]) -> Answer<Value<'d>> {
    at_most(arguments, 3)?;
    let pattern = meter.pattern(text_at(arguments, 0)?)?;
    let text = text_at(arguments, 1)?;
    let most = count(optional_integer(arguments, 2)?);
    if most == 0 {
        return meter.list(Vec::new());
    }
    let found = pattern.find_all(text, most - 1, |steps| meter.work(steps))?;
    let mut parts = Vec::new();
    let mut end = 0;
    for found in found {
        parts.push(&text[end..found.start()]);
        end = found.end();
    }
    parts.push(&text[end..]);
    meter.texts(parts)
}

pub(super) fn trim<'d>(meter: &Meter, arguments: &[Value<'d>]) -> Answer<Value<'d>> {
    at_most(arguments, 2)?;
    let cut: Vec<char> = match arguments.get(1) {
        Some(_) => text_at(arguments, 1)?.chars().collect(),
        None => vec![' ', '\t'],
    };
    let trimmed = |text: &str| meter.text(text.trim_matches(cut.as_slice()));
    match argument(arguments, 0)? {
        Value::Text(text) => trimmed(text),
        list @ Value::List(items) => {
            let items = items.plain().map(|item| match item {
                Value::Text(text) => trimmed(text),
                _ => Err(wrong(0, "a string or a list of strings", list)),
            });
            meter.list(items.collect::<Answer<_>>()?)
        }
        other => Err(wrong(0, "a string or a list of strings", other)),
    }
}

pub(super) fn upper<'d>(meter: &Meter, arguments: &[Value<'d>]) -> Answer<Value<'d>> {
    at_most(arguments, 1)?;
    meter.text(text_at(arguments, 0)?.to_uppercase())
}

pub(super) fn lower<'d>(meter: &Meter, arguments: &[Value<'d>]) -> Answer<Value<'d>> {
    at_most(arguments, 1)?;
    meter.text(text_at(arguments, 0)?.to_lowercase())
}

pub(super) fn replace<'d>(meter: &Meter, arguments: &[Value<'d>]) -> Answer<Value<'d>> {
    at_most(arguments, 4)?;
    let (text, from, to) = (
        text_at(arguments, 0)?,
        text_at(arguments, 1)?,
        text_at(arguments, 2)?,
    );
    meter.read(text)?;
    let most = count(optional_integer(arguments, 3)?);
    let hits = text.matches(from).take(most).count();
    meter.allocate(text.len() + to.len().saturating_mul(hits))?;
    meter.text(text.replacen(from, to, most))
}

pub(super) fn replace_match<'d>(meter: &Meter, arguments: &[Value<'d>]) -> Answer<Value<'d>> {
    at_most(arguments, 4)?;
    let text = text_at(arguments, 0)?;
    let pattern = meter.pattern(text_at(arguments, 1)?)?;
    let to = text_at(arguments, 2)?;
    let most = count(optional_integer(arguments, 3)?);
    let mut replaced = String::new();
    let mut end = 0;
    let charge = |steps| meter.work(steps);
    pattern.each_captures(text, most, charge, |found| {
        let Some(whole) = found.get(0) else {
            return Ok(());
        };
        let before = replaced.len();
        replaced.push_str(&text[end..whole.start()]);
        found.expand(to, &mut replaced);
        meter.work(1 + to.len() / 64)?;
        meter.allocate(replaced.len() - before)?;
        end = whole.end();
        Ok(())
    })?;
    replaced.push_str(&text[end..]);
    meter.text(replaced)
}

/// The groups of the first match, or of as many as the third argument says.
pub(super) fn find_match<'d>(meter: &Meter, arguments: &[Value<'d>]) -> Answer<Value<'d>> {
    at_most(arguments, 3)?;
    let pattern = meter.pattern(text_at(arguments, 0)?)?;
    let text = text_at(arguments, 1)?;
    let groups = |found: regex::Captures<'_>| {
        let groups = found.iter();
        meter.texts(groups.map(|group| group.map_or("", |group| group.as_str())))
    };
    match optional_integer(arguments, 2)? {
        None => match pattern.captures(text, |steps| meter.work(steps))? {
            Some(found) => groups(found),
            None => meter.list(Vec::new()),
        },
        Some(most) => {
            let most = count(Some(most));
            let charge = |steps| meter.work(steps);
            let mut all = Vec::new();
            pattern.each_captures(text, most, charge, |found| {
                all.push(groups(found)?);
                Ok(())
            })?;
            meter.list(all)
        }
    }
}

/// From an index to another one, that one not counted; negative ones count from the end.
pub(super) fn substr<'d>(meter: &Meter, arguments: &[Value<'d>]) -> Answer<Value<'d>> {
    at_most(arguments, 3)?;
    let text = text_at(arguments, 0)?;
    meter.read(text)?;
    let length = i64::try_from(text.len()).unwrap_or(i64::MAX);
    let from_end = |index: i64| if index < 0 { index + length } else { index };
    let start = from_end(super::integer_at(arguments, 1)?);
    let end = from_end(optional_integer(arguments, 2)?.unwrap_or(length));
    let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
    let part = range.and_then(|(start, end)| text.get(start..end));
    let part = part.ok_or_else(|| {
        Complaint::value("the string has no such part: indices are bytes from 0 to its length")
    })?;
    meter.text(part)
}

pub(super) fn base64<'d>(meter: &Meter, arguments: &[Value<'d>]) -> Answer<Value<'d>> {
    at_most(arguments, 2)?;
    let text = text_at(arguments, 0)?;
    let encoded = STANDARD.encode(text);
    match optional_integer(arguments, 1)? {
        Some(length) if length > 0 => {
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            let lines: Vec<&str> = (0..encoded.len())
                .step_by(length)
                .map(|at| &encoded[at..encoded.len().min(at.saturating_add(length))])
                .collect();
            meter.allocate(lines.len() * 17)?;
            meter.text(lines.join("\n"))
        }
        _ => meter.text(encoded),
    }
}

pub(super) fn base64_decode<'d>(meter: &Meter, arguments: &[Value<'d>]) -> Answer<Value<'d>> {
    at_most(arguments, 1)?;
    let text: String = text_at(arguments, 0)?
        .chars()
        .filter(|c| !matches!(c, '\n' | '\r'))
        .collect();
    let decoded = STANDARD.decode(text).ok();
    let decoded = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
    match decoded {
        Some(text) => meter.text(text),
        None => Err(Complaint::value("the string is no base64 of a text")),
    }
}

pub(super) fn hash<'d>(meter: &Meter, arguments: &[Value<'d>]) -> Answer<Value<'d>> {
    at_most(arguments, 2)?;
    let text = text_at(arguments, 0)?;
    meter.work(1 + text.len() / 16)?;
    let kind = match arguments.get(1) {
        Some(_) => text_at(arguments, 1)?,
        None => "sha256",
    };
    let digest = match kind {
        "sha1" => Sha1::digest(text).to_vec(),
        "sha224" => Sha224::digest(text).to_vec(),
        "sha256" => Sha256::digest(text).to_vec(),
        "sha384" => Sha384::digest(text).to_vec(),
        "sha512" => Sha512::digest(text).to_vec(),
        _ => {
            let message = "the kind of hash has to be sha1, sha224, sha256, sha384 or sha512";
            return Err(Complaint::value(message));
        }
    };
    let hexadecimal: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    meter.text(hexadecimal)
}

/// The path of a URL, or the whole of a path.
fn path_of(text: &str) -> &str {
    match text.split_once("://") {
        Some((_, rest)) => {
            let path = rest.find('/').map_or("", |at| &rest[at..]);
            path.split(['?', '#']).next().unwrap_or_default()
        }
        None => text,
    }
}

pub(super) fn basename<'d>(meter: &Meter, arguments: &[Value<'d>]) -> Answer<Value<'d>> {
    at_most(arguments, 1)?;
    let path = path_of(text_at(arguments, 0)?);
    let trimmed = path.trim_end_matches('/');
    let name = match (trimmed.rsplit('/').next(), path.is_empty()) {
        (_, true) => ".",
        (Some("") | None, _) => "/",
        (Some(name), _) => name,
    };
    meter.text(name)
}

pub(super) fn dirname<'d>(meter: &Meter, arguments: &[Value<'d>]) -> Answer<Value<'d>> {
    at_most(arguments, 1)?;
    let path = path_of(text_at(arguments, 0)?);
    let name = match path.rfind('/') {
        None => ".",
        Some(0) => "/",
        Some(at) => path[..at].trim_end_matches('/'),
    };
    meter.text(name)
}
