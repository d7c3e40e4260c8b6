//! What services share: volumes, configurations, secrets, and where things are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::source::{Source, Weight, below, read_text};

/// Something that a container would see at another place.
#[derive(Debug)]
pub(crate) struct Mount {
    pub(crate) pointer: String,
    /// A directory or file of this machine.
    pub(crate) host: Option<PathBuf>,
    /// A named volume.
    pub(crate) volume: Option<String>,
    /// Where the container would have it.
    pub(crate) target: String,
}

/// A path of this machine, as the Compose file names it.
pub(crate) fn local(directory: &Path, path: &str) -> PathBuf {
    let path = match (path.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => directory.join(path),
    };
    path.canonicalize().unwrap_or(path)
}

/// The variable that tells a program where a volume is.
pub(crate) fn variable(volume: &str) -> String {
    let letters = volume.chars();
    let letters = letters.map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
    let name: String = letters.collect();
    format!("VOLUME_{}", name.to_uppercase())
}

/// The named volumes.
pub(crate) fn volumes(source: &Source, pointer: &str, value: &Value) -> Vec<String> {
    let mut names = Vec::new();
    for (name, pointer, settings) in source.map(pointer, Some(value)) {
        if !is_file_name(name) {
            source.wrong(&pointer, "this can't be the name of a directory");
            continue;
        }
        if settings
            .as_object()
            .is_some_and(|fields| !fields.is_empty())
        {
            let text = format!("{name}: settings of volumes have no meaning: it is a directory");
            source.note(Weight::NoEffect, &pointer, text);
        }
        names.push(name.to_owned());
    }
    names
}

fn is_file_name(name: &str) -> bool {
    !name.is_empty() && !name.contains('/') && name != "." && name != ".."
}

/// Configurations or secrets with their contents.
pub(crate) fn contents(source: &Source, pointer: &str, value: &Value) -> BTreeMap<String, String> {
    let mut contents = BTreeMap::new();
    for (name, pointer, settings) in source.map(pointer, Some(value)) {
        if let Some(file) = source.text(&pointer, settings.get("file")) {
            match read_text(&local(&source.directory(), &file)) {
                Ok(text) => {
                    contents.insert(name.to_owned(), text);
                }
                Err(error) => source.wrong(&below(&pointer, "file"), error.to_string()),
            }
        } else if let Some(text) = source.text(&pointer, settings.get("content")) {
            contents.insert(name.to_owned(), text);
        } else {
            let text = format!(
                "{name}: its content is not in a file: write it into the project's files, where it is empty now"
            );
            source.note(Weight::ToDo, &pointer, text);
            contents.insert(name.to_owned(), String::new());
        }
    }
    contents
}

/// The mounts of a service.
pub(crate) fn mounts(
    source: &Source,
    pointer: &str,
    value: &Value,
    directory: &Path,
) -> Vec<Mount> {
    let mut mounts = Vec::new();
    for (pointer, entry) in source.list(pointer, Some(value)) {
        let (from, target) = if entry.is_object() {
            (
                source.text(&pointer, entry.get("source")),
                source.text(&pointer, entry.get("target")),
            )
        } else {
            let text = source.text(&pointer, Some(entry)).unwrap_or_default();
            match text.split_once(':') {
                Some((from, rest)) => {
                    let target = rest.split(':').next().unwrap_or(rest);
                    (Some(from.to_owned()), Some(target.to_owned()))
                }
                None => (None, Some(text)),
            }
        };
        let from = from.filter(|from| !from.is_empty());
        let is_path = |from: &String| from.starts_with(['.', '/', '~']);
        mounts.push(Mount {
            host: from
                .as_ref()
                .filter(|from| is_path(from))
                .map(|from| local(directory, from)),
            volume: from.filter(|from| !is_path(from)),
            target: target.unwrap_or_default(),
            pointer,
        });
    }
    mounts
}

/// A value in which the name of a service stands for a host, with this machine in its place.
pub(crate) fn localized(variable: &str, value: &str, service: &str) -> Option<String> {
    const HERE: &str = "127.0.0.1";
    let ends = |rest: &str| rest.is_empty() || rest.starts_with([':', '/', '?', ',']);
    // `db`, when the variable is about a host, and `db:5432` anywhere.
    if let Some(rest) = value.strip_prefix(service) {
        let port = rest.strip_prefix(':').unwrap_or_default();
        let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        if is_port || (rest.is_empty() && variable.to_uppercase().contains("HOST")) {
            return Some(format!("{HERE}{rest}"));
        }
    }
    let mut made = value.to_owned();
    for before in ["//", "@"] {
        let named = format!("{before}{service}");
        let mut from = 0;
        while let Some(at) = made[from..].find(&named).map(|at| at + from) {
            let end = at + named.len();
            if ends(&made[end..]) {
                made.replace_range(at + before.len()..end, HERE);
            }
            from = at + before.len();
        }
    }
    (made != value).then_some(made)
}

#[test]
fn names_of_services_are_hosts_only_where_a_host_stands() {
    for (variable, value, expected) in [
        (
            "URL",
            "postgres://u:p@db:5432/db",
            Some("postgres://u:p@127.0.0.1:5432/db"),
        ),
        ("URL", "http://db/", Some("http://127.0.0.1/")),
        ("URL", "http://db2/", None),
        ("DB_HOST", "db", Some("127.0.0.1")),
        ("DB_NAME", "db", None),
        ("ADDRESS", "db:5432", Some("127.0.0.1:5432")),
        ("TEXT", "db:x", None),
    ] {
        let found = localized(variable, value, "db");
        assert_eq!(found.as_deref(), expected, "{variable}={value}");
    }
}
