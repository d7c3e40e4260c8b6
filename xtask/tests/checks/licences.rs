//! Every dependency has a licence that `deny.toml` allows.

use std::path::Path;

use xtask::metadata::Metadata;
use xtask::repository;

use crate::expect_none;

/// What `deny.toml` allows: for all crates, and for single ones.
struct Allowed {
    everywhere: Vec<String>,
    exceptions: Vec<(String, Vec<String>)>,
}

impl Allowed {
    /// Reads the list `allow` (one licence a line) and the exceptions (one a line).
    fn parse(text: &str) -> Self {
        let quoted = |line: &str| -> Vec<String> {
            let code = line.split('#').next().unwrap_or_default();
            code.split('"')
                .skip(1)
                .step_by(2)
                .map(str::to_owned)
                .collect()
        };
        let block = |start: &'static str| {
            let lines = text
                .lines()
                .skip_while(move |line| !line.starts_with(start))
                .skip(1);
            lines.take_while(|line| !line.starts_with(']'))
        };
        let everywhere = block("allow = [").flat_map(quoted).collect();
        let exceptions = block("exceptions = [")
            .filter(|line| line.contains('{'))
            .map(|line| {
                let mut words = quoted(line);
                // `crate = "…"` comes last.
                (words.pop().unwrap_or_default(), words)
            })
            .collect();
        Allowed {
            everywhere,
            exceptions,
        }
    }

    fn allows(&self, name: &str, licence: &str) -> bool {
        // `MPL-2.0+` is the old spelling of "this version or a later one".
        let licence = licence.trim_end_matches('+');
        let listed = |list: &[String]| list.iter().any(|allowed| allowed == licence);
        listed(&self.everywhere)
            || self
                .exceptions
                .iter()
                .any(|(krate, list)| krate == name && listed(list))
    }
}

/// Whether one of the choices of an SPDX expression consists of allowed licences only.
fn fulfilled(expression: &str, allowed: &impl Fn(&str) -> bool) -> bool {
    let expression = expression.trim();
    // OR binds weaker than AND, and both weaker than parentheses and WITH.
    for (word, all) in [(" OR ", false), ("/", false), (" AND ", true)] {
        let parts = split_outside_parentheses(expression, word);
        if parts.len() > 1 {
            let mut parts = parts.into_iter();
            return if all {
                parts.all(|part| fulfilled(part, allowed))
            } else {
                parts.any(|part| fulfilled(part, allowed))
            };
        }
    }
    match expression
        .strip_prefix('(')
        .and_then(|inner| inner.strip_suffix(')'))
    {
        Some(inner) => fulfilled(inner, allowed),
        None => allowed(expression),
    }
}

fn split_outside_parentheses<'a>(text: &'a str, word: &str) -> Vec<&'a str> {
    let mut parts = Vec::new();
    let (mut start, mut depth) = (0, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ if depth == 0 && at >= start && text[at..].starts_with(word) => {
                parts.push(&text[start..at]);
                start = at + word.len();
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

#[test]
fn dependencies_have_allowed_licences() {
    let allowed = Allowed::parse(&repository::read(Path::new("deny.toml")).unwrap());
    let metadata = Metadata::load().unwrap();
    let mut findings = Vec::new();
    for package in metadata.packages().filter(|package| package.external) {
        let licence = package.license.as_deref().unwrap_or("none");
        if !fulfilled(licence, &|licence| allowed.allows(&package.name, licence)) {
            findings.push(format!("{}: {licence}", package.name));
        }
    }
    expect_none(
        &findings,
        "choose another crate, or allow the licence in deny.toml with a reason",
    );
}

#[test]
fn expressions_of_licences() {
    let allowed = |licence: &str| matches!(licence, "MIT" | "ISC" | "A WITH B");
    let table = [
        ("MIT", true),
        ("GPL-3.0", false),
        ("MIT OR GPL-3.0", true),
        ("GPL-3.0/MIT", true),
        ("MIT AND GPL-3.0", false),
        ("(GPL-3.0 OR MIT) AND ISC", true),
        ("GPL-3.0 OR MIT AND ISC", true),
        ("A WITH B", true),
        ("A", false),
    ];
    for (expression, expected) in table {
        assert_eq!(
            fulfilled(expression, &allowed),
            expected,
            "for {expression}"
        );
    }
}
