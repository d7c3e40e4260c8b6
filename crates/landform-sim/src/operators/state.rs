//! What is stored in the end, in words that are the same in every run that did the same.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use crate::disk::Disk;
use crate::end_state::{EndState, objects};
use crate::landscape::landscape_state;

static UID: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").ok()
});
/// Times, with or without parts of a second.
static TIME: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z").ok());

/// Everything that is stored in the end; uids become what they are of, and times a word.
pub(super) fn operators_state(disk: &Disk) -> EndState {
    let stored = objects(disk.store());
    let uids: BTreeMap<&str, &str> = stored
        .iter()
        .filter_map(|(name, object)| Some((object["metadata"]["uid"].as_str()?, name.as_str())))
        .collect();
    let state = landscape_state(disk).into_iter();
    let state = state.map(|(name, text)| {
        let text = replaced(UID.as_ref(), text, |uid| {
            let known = uids.get(uid).copied().unwrap_or("nobody");
            // Names of deploy items are generated from uids.
            let known = if known.starts_with("deployitems.") {
                "a deploy item"
            } else {
                known
            };
            format!("uid of {known}")
        });
        (name, replaced(TIME.as_ref(), text, |_| "a time".to_owned()))
    });
    state.collect()
}

fn replaced(pattern: Option<&Regex>, text: String, word: impl Fn(&str) -> String) -> String {
    match pattern {
        Some(pattern) => pattern
            .replace_all(&text, |found: &regex::Captures<'_>| word(&found[0]))
            .into_owned(),
        None => text,
    }
}
