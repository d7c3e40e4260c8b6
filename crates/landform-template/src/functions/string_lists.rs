//! Lists of strings: `join`, `split`, `sortAlpha`.

use std::rc::Rc;

use super::{Entry, conversion, entry};
use crate::run::{Answer, Run};
use crate::value::Entries;

pub(super) const FUNCTIONS: &[Entry] = &[
    entry("join", 2, 2, |call| {
        let separator = call.text(0)?;
        let parts = conversion::strings(call, 1)?;
        let total: usize = parts.iter().map(|part| part.len() + separator.len()).sum();
        call.run.allocate(total)?;
        call.run.text(parts.join(separator))
    }),
    entry("splitList", 2, 2, |call| {
        let (separator, text) = (call.text(0)?, call.text(1)?);
        if separator.is_empty() {
            return call.run.texts(text.chars().map(String::from));
        }
        call.run.texts(text.split(separator))
    }),
    entry("split", 2, 2, |call| {
        let (separator, text) = (call.text(0)?, call.text(1)?);
        numbered(call.run, text.split(separator))
    }),
    entry("splitn", 3, 3, |call| {
        let (separator, count, text) = (call.text(0)?, call.int(1)?, call.text(2)?);
        match usize::try_from(count) {
            Ok(count) => numbered(call.run, text.splitn(count, separator)),
            Err(_) => numbered(call.run, text.split(separator)),
        }
    }),
    entry("sortAlpha", 1, 1, |call| {
        let mut parts = conversion::strings(call, 0)?;
        call.run.work(parts.len())?;
        parts.sort();
        call.run.texts(parts)
    }),
];

/// A dict with the keys `_0`, `_1`, …
fn numbered<'a>(run: &Run<'_>, parts: impl Iterator<Item = &'a str>) -> Answer {
    let mut entries = Entries::new();
    for (at, part) in parts.enumerate() {
        let part = run.text(part)?;
        run.allocate(64)?;
        entries.insert(Rc::from(format!("_{at}")), part);
    }
    run.map(entries)
}
