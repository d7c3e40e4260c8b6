//! YAML (and JSON) as Kubernetes clients write it, read into [`serde_json::Value`].
//!
//! The meaning of a scalar is that of `sigs.k8s.io/yaml`, which kubectl and the API server of
//! Kubernetes use: YAML 1.1 booleans (`yes`, `off`, also `y` and `n`), octal numbers with a leading
//! zero, dates that stay strings, keys that become strings. The table in `tests/yaml` was checked
//! against kubectl.
//!
//! We are stricter than kubectl in what would lose or hide data:
//! - anchors, aliases and merge keys are refused (a short text could stand for gigabytes), unless the caller
//!   allows them: then an alias counts as if its content were written again;
//! - a key that is given twice in a mapping is an error that names both lines, unless the caller wants the last
//!   one to win: then it is noted;
//! - `!!binary` and tags of one's own are refused instead of ignored;
//! - depth and number of values are limited while the text is read.
//!
//! One difference is on purpose: a number written with a point or an exponent stays a float
//! (`1.0` is `1.0`, where Kubernetes makes it `1`), so that [`write()`] and [`parse_one`] are inverse.
//!
//! This crate is pure and never panics on any text: the property tests hold that line.

mod anchors;
mod compose;
mod error;
mod json;
mod scalar;
mod write;

use std::collections::BTreeMap;

use serde_json::Value;

pub use error::{Error, ErrorKind};
pub use landform_api::Budget;
pub use write::write;

use error::Place;

/// One document of a text with several.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// What the document says.
    pub value: Value,
    /// The line on which its content begins, from 1.
    pub line: usize,
}

/// Reads a text that holds exactly one document, YAML or JSON.
///
/// Documents with nothing but comments in them don't count.
///
/// # Errors
/// When the text is malformed, passes a limit, or holds no document or several.
pub fn parse_one(text: &str, budget: &Budget) -> Result<Value, Error> {
    let text = within(budget, text)?;
    if let Some(answer) = json::parse_if_json(text, budget) {
        return answer;
    }
    let mut documents = compose::compose(text, budget)?.into_iter();
    match (documents.next(), documents.next()) {
        (Some(only), None) => Ok(only.value),
        (None, _) => Err(Place { line: 1, column: 1 }.error(
            ErrorKind::DocumentCount,
            "the text holds no document: write one object, as YAML or JSON",
        )),
        (Some(_), Some(second)) => Err(Place {
            line: second.line,
            column: 1,
        }
        .error(
            ErrorKind::DocumentCount,
            "a second document begins here, and only one is taken: remove it or send it by itself",
        )),
    }
}

/// Reads a text of any number of documents separated by `---`.
///
/// Documents that are empty or `null` are left out, as kubectl does.
///
/// # Errors
/// When the text is malformed or passes a limit.
pub fn parse_many(text: &str, budget: &Budget) -> Result<Vec<Document>, Error> {
    let text = within(budget, text)?;
    let mut documents = match json::parse_if_json(text, budget) {
        Some(answer) => vec![Document {
            value: answer?,
            line: first_line_of_content(text),
        }],
        None => compose::compose(text, budget)?,
    };
    documents.retain(|document| !document.value.is_null());
    Ok(documents)
}

/// A document with the place of everything in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed {
    /// What the document says; null when there is none.
    pub value: Value,
    /// Line and column, from 1, of every value, by its JSON pointer (`/spec/ports/0`).
    pub places: BTreeMap<String, (usize, usize)>,
    /// Words that stay strings here and are booleans for others.
    pub words: Vec<Word>,
    /// Keys that are given more than once, where that is allowed; the last one counts.
    pub repeated: Vec<RepeatedKey>,
}

/// What a caller takes beyond plain YAML without repetitions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Allowed {
    /// Anchors, aliases and merge keys.
    pub aliases: bool,
    /// Keys that are given more than once in a mapping: the last one wins, and each is noted.
    pub repeated_keys: bool,
}

/// A key that was given before in the same mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepeatedKey {
    /// The JSON pointer of the entry.
    pub pointer: String,
    /// The line of the key's last occurrence before this one, from 1.
    pub first_line: usize,
    /// Its line, from 1.
    pub line: usize,
    /// Its column, from 1.
    pub column: usize,
}

/// A word that YAML 1.1 takes for a boolean, such as `y`, `no` or `on`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// Its line, from 1.
    pub line: usize,
    /// Its column, from 1.
    pub column: usize,
    /// The word.
    pub text: String,
}

/// Reads a text with at most one document, and says where everything stands. Words that only YAML 1.1
/// takes for booleans stay strings and are listed.
///
/// # Errors
/// When the text is malformed, passes a limit, or holds several documents.
pub fn parse_placed(text: &str, budget: &Budget) -> Result<Placed, Error> {
    parse_placed_with(text, budget, Allowed::default())
}

/// As [`parse_placed`], with more that is allowed.
///
/// # Errors
/// When the text is malformed, passes a limit, or holds several documents.
pub fn parse_placed_with(text: &str, budget: &Budget, allowed: Allowed) -> Result<Placed, Error> {
    let text = within(budget, text)?;
    let (documents, notes) = compose::compose_placed(text, budget, allowed)?;
    let mut documents = documents.into_iter();
    let first = documents.next();
    if let Some(second) = documents.next() {
        let place = Place {
            line: second.line,
            column: 1,
        };
        return Err(place.error(
            ErrorKind::DocumentCount,
            "a second document begins here, and only one is taken: remove it",
        ));
    }
    Ok(Placed {
        value: first.map_or(Value::Null, |document| document.value),
        places: notes.places,
        words: notes.words,
        repeated: notes.repeated,
    })
}

/// The text to read, without a byte order mark.
fn within<'t>(budget: &Budget, text: &'t str) -> Result<&'t str, Error> {
    if text.len() > budget.bytes {
        let problem = format!(
            "the text has {} bytes, and {} are taken: split it into several",
            text.len(),
            budget.bytes
        );
        return Err(Place { line: 1, column: 1 }.error(ErrorKind::Limit, problem));
    }
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

fn first_line_of_content(text: &str) -> usize {
    let blank = text.len() - text.trim_start().len();
    1 + text
        .bytes()
        .take(blank)
        .filter(|byte| *byte == b'\n')
        .count()
}
