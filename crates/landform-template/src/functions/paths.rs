//! Paths with slashes; those of the operating system (`osBase`, …) are the same here.

use super::{Call, Entry, entry};
use crate::run::Answer;
use crate::value::Value;

pub(super) const FUNCTIONS: &[Entry] = &[
    entry("base", 1, 1, |call| mapped(call, base)),
    entry("dir", 1, 1, |call| mapped(call, dir)),
    entry("clean", 1, 1, |call| mapped(call, clean)),
    entry("ext", 1, 1, |call| mapped(call, ext)),
    entry("isAbs", 1, 1, is_absolute),
    entry("osBase", 1, 1, |call| mapped(call, base)),
    entry("osDir", 1, 1, |call| mapped(call, dir)),
    entry("osClean", 1, 1, |call| mapped(call, clean)),
    entry("osExt", 1, 1, |call| mapped(call, ext)),
    entry("osIsAbs", 1, 1, is_absolute),
];

fn mapped(call: &Call<'_>, change: fn(&str) -> String) -> Answer {
    call.run.text(change(call.text(0)?))
}

fn is_absolute(call: &Call<'_>) -> Answer {
    Ok(Value::Bool(call.text(0)?.starts_with('/')))
}

fn base(path: &str) -> String {
    if path.is_empty() {
        return ".".to_owned();
    }
    let path = path.trim_end_matches('/');
    match path.rsplit('/').next() {
        Some("") | None => "/".to_owned(),
        Some(last) => last.to_owned(),
    }
}

fn dir(path: &str) -> String {
    let end = path.rfind('/').map_or(0, |at| at + 1);
    clean(&path[..end])
}

fn ext(path: &str) -> String {
    let last = path.rsplit('/').next().unwrap_or_default();
    last.rfind('.')
        .map_or(String::new(), |at| last[at..].to_owned())
}

/// The shortest path that means the same.
pub(super) fn clean(path: &str) -> String {
    let absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => match parts.last() {
                Some(last) if *last != ".." => {
                    parts.pop();
                }
                _ if absolute => {}
                _ => parts.push(".."),
            },
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    match (absolute, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}
