//! The pages that are made from the code are what the code says.

use std::path::Path;

use serde_json::Value;
use xtask::docs::kinds::{definitions, pages, phases};
use xtask::docs::pages::PAGES;
use xtask::docs::stale;
use xtask::repository;

use crate::expect_none;

#[test]
fn the_pages_of_kinds_are_up_to_date() {
    let stale = stale(&pages().unwrap()).unwrap();
    let findings: Vec<_> = stale
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    expect_none(&findings, "run `cargo xtask docs`, which writes these anew");
}

/// What of a value the schema doesn't know, as paths.
fn unknown(value: &Value, schema: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) if schema["properties"].is_object() => {
            for (name, value) in fields {
                let at = format!("{at}.{name}");
                match schema["properties"].get(name) {
                    Some(schema) => unknown(value, schema, &at, found),
                    None => found.push(at),
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                unknown(item, &schema["items"], at, found);
            }
        }
        Value::Object(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn every_kind_has_an_example_that_its_schema_knows() {
    let mut findings = Vec::new();
    let definitions = definitions().unwrap();
    for page in PAGES {
        let definition = definitions
            .iter()
            .find(|definition| definition["spec"]["names"]["kind"] == page.kind);
        let spec = &definition.unwrap_or_else(|| panic!("there is no kind {}", page.kind))["spec"];
        let limits = landform_yaml::Budget::FILE;
        let mut example = landform_yaml::parse_one(page.example, &limits).unwrap();
        assert_eq!(example["kind"], page.kind);
        let version = &spec["versions"][0];
        let group = spec["group"].as_str().unwrap();
        let api_version = format!("{group}/{}", version["name"].as_str().unwrap());
        assert_eq!(example["apiVersion"], api_version.as_str());
        let fields = example.as_object_mut().unwrap();
        for common in ["apiVersion", "kind", "metadata"] {
            fields.remove(common);
        }
        let schema = &version["schema"]["openAPIV3Schema"];
        unknown(&example, schema, page.kind, &mut findings);
    }
    assert_eq!(PAGES.len(), definitions.len());
    expect_none(
        &findings,
        "these examples have fields that the schema doesn't know",
    );
}

#[test]
fn every_phase_of_a_kind_is_explained() {
    let mut findings = Vec::new();
    for definition in definitions().unwrap() {
        let kind = definition["spec"]["names"]["kind"].as_str().unwrap();
        let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        let words = &schema["properties"]["status"]["properties"]["phase"]["enum"];
        let words: Vec<_> = words.as_array().into_iter().flatten().collect();
        let explained = phases(kind);
        assert_eq!(explained.len(), words.len(), "of {kind}");
        findings.extend(
            explained
                .iter()
                .filter(|(_, means)| means.is_empty())
                .map(|(phase, _)| format!("{kind}: {phase}")),
        );
    }
    expect_none(
        &findings,
        "say what these phases mean, in the comment on the variant",
    );
}

/// The longest piece of a quoted message that is no placeholder: those are in capitals, numbers, or left out.
fn fixed_piece(quoted: &str) -> String {
    let is_placeholder = |word: &str| {
        let bare = word.trim_matches(|one: char| !one.is_alphanumeric());
        word.contains('…')
            || word.contains('"')
            || bare.chars().any(|one| one.is_ascii_digit())
            || (!bare.is_empty() && bare.chars().all(|one| one.is_ascii_uppercase()))
    };
    let mut pieces = vec![String::new()];
    for word in quoted.split(' ') {
        if is_placeholder(word) {
            pieces.push(String::new());
        } else if let Some(piece) = pieces.last_mut() {
            if !piece.is_empty() {
                piece.push(' ');
            }
            piece.push_str(word);
        }
    }
    let longest = pieces.into_iter().max_by_key(String::len);
    longest
        .unwrap_or_default()
        .trim_end_matches([':', ',', ';'])
        .to_owned()
}

#[test]
fn troubleshooting_quotes_messages_that_the_code_has() {
    let sources = repository::texts("rs").unwrap();
    let page = repository::read(Path::new("docs/troubleshooting.md")).unwrap();
    let mut findings = Vec::new();
    let mut quotes = false;
    let mut seen = 0;
    for line in page.lines() {
        if !line.starts_with('|') {
            quotes = false;
        } else if line.starts_with("| what it says |") {
            quotes = true;
        } else if let (true, Some(cell)) = (quotes, line.split(" | ").next()) {
            let piece = cell.split('`').nth(1).map(fixed_piece).unwrap_or_default();
            if piece.len() >= 10 {
                seen += 1;
                if !sources.iter().any(|(_, text)| text.contains(&piece)) {
                    findings.push(format!("{piece:?}"));
                }
            }
        }
    }
    assert!(seen > 20, "this test sees only {seen} messages");
    expect_none(
        &findings,
        "docs/troubleshooting.md quotes what no source file has",
    );
}
