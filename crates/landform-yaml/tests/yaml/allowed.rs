//! What callers may allow: anchors with aliases and merge keys, and keys that are given more than once.

use landform_api::Budget;
use landform_yaml::{Allowed, ErrorKind, Placed, parse_placed, parse_placed_with};
use proptest::prelude::*;
use serde_json::json;

const ALL: Allowed = Allowed {
    aliases: true,
    repeated_keys: true,
};

fn read(text: &str) -> Placed {
    parse_placed_with(text, &Budget::FILE, ALL).unwrap()
}

#[test]
fn an_alias_is_what_its_anchor_names() {
    for (text, meaning) in [
        ("a: &x 1\nb: *x\n", json!({"a": 1, "b": 1})),
        (
            "a: &x {y: [1, 2]}\nb: *x\nc: [*x]",
            json!({"a": {"y": [1, 2]}, "b": {"y": [1, 2]}, "c": [{"y": [1, 2]}]}),
        ),
        (
            "a: &x\n  b: &y z\n  c: *y\nd: *x\n",
            json!({"a": {"b": "z", "c": "z"}, "d": {"b": "z", "c": "z"}}),
        ),
        // A later anchor of the same name takes the name over.
        (
            "a: &x 1\nb: *x\nc: &x 2\nd: *x\n",
            json!({"a": 1, "b": 1, "c": 2, "d": 2}),
        ),
        ("&k a: 1\nb: *k\n", json!({"a": 1, "b": "a"})),
        ("x: &k a\n*k : 2\n", json!({"x": "a", "a": 2})),
        ("- &x\n- *x\n", json!([null, null])),
    ] {
        assert_eq!(read(text).value, meaning, "{text}");
    }
}

#[test]
fn a_merge_key_brings_what_is_not_written() {
    for (text, meaning) in [
        (
            "base: &b {x: 1, y: 2}\nc:\n  <<: *b\n  y: 3\n",
            json!({"x": 1, "y": 3}),
        ),
        (
            "base: &b {x: 1, y: 2}\nc:\n  y: 3\n  <<: *b\n",
            json!({"x": 1, "y": 3}),
        ),
        (
            "a: &a {x: 1}\nb: &b {x: 2, y: 2}\nc: {<<: [*a, *b], z: 3}\n",
            json!({"x": 1, "y": 2, "z": 3}),
        ),
        ("c: {<<: {x: 1}, z: 3}\n", json!({"x": 1, "z": 3})),
        ("c: {\"<<\": 1}\n", json!({"<<": 1})),
    ] {
        let placed = read(text);
        assert_eq!(placed.value["c"], meaning, "{text}");
        assert_eq!(placed.repeated, [], "{text}");
    }
}

#[test]
fn the_last_of_repeated_keys_wins_and_is_noted() {
    let placed = read("a: 1\nb:\n  c/d: x\n  e: 1\n  c/d: y\na: 2\na: 3\n");
    assert_eq!(placed.value, json!({"a": 3, "b": {"c/d": "y", "e": 1}}));
    let noted: Vec<_> = placed
        .repeated
        .iter()
        .map(|key| (key.pointer.as_str(), key.first_line, key.line, key.column))
        .collect();
    assert_eq!(
        noted,
        [("/b/c~1d", 3, 5, 3), ("/a", 1, 6, 1), ("/a", 6, 7, 1)]
    );
    // The place is that of the value that counts.
    assert_eq!(placed.places["/a"], (7, 4));
}

#[test]
fn each_is_allowed_by_itself() {
    let repeated = Allowed {
        repeated_keys: true,
        ..Allowed::default()
    };
    let error = parse_placed_with("a: &x 1\nb: *x", &Budget::FILE, repeated).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unsupported);
    let aliases = Allowed {
        aliases: true,
        ..Allowed::default()
    };
    let error = parse_placed_with("a: 1\na: 2", &Budget::FILE, aliases).unwrap_err();
    assert_eq!(error.kind, ErrorKind::DuplicateKey);
    assert!(parse_placed("a: 1\na: 2", &Budget::FILE).is_err());
    assert!(parse_placed("a: &x 1", &Budget::FILE).is_err());
}

#[test]
fn wrong_aliases_are_explained() {
    for (text, kind, piece) in [
        ("a: *x\n", ErrorKind::Syntax, "no anchor (&name) before"),
        (
            "a: &x\n  b: *x\n",
            ErrorKind::Unsupported,
            "can't contain itself",
        ),
        (
            "a: &x [*x]\n",
            ErrorKind::Unsupported,
            "can't contain itself",
        ),
        ("a: {<<: 1}\n", ErrorKind::Unsupported, "takes a mapping"),
        ("a: {<<: [1]}\n", ErrorKind::Unsupported, "takes a mapping"),
        (
            "a: &x {b: 1}\n*x : 1\n",
            ErrorKind::Unsupported,
            "can't be a key",
        ),
    ] {
        let error = parse_placed_with(text, &Budget::FILE, ALL).unwrap_err();
        assert_eq!(error.kind, kind, "{text}: {error}");
        assert!(error.message.contains(piece), "{text}: {error}");
    }
}

/// Each line has ten of the line before it.
fn laughs(lines: usize) -> String {
    let mut text = String::from("l0: &l0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n");
    for line in 1..lines {
        let ten = vec![format!("*l{}", line - 1); 10].join(", ");
        text.push_str(&format!("l{line}: &l{line} [{ten}]\n"));
    }
    text
}

#[test]
fn a_short_text_never_stands_for_a_large_value() {
    let small = Budget {
        cells: 10_000,
        ..Budget::OBJECT
    };
    assert!(parse_placed_with(&laughs(3), &small, ALL).is_ok());
    let error = parse_placed_with(&laughs(9), &small, ALL).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Limit);

    let long = format!(
        "a: &a {}\nb: [{}]\n",
        "x".repeat(100_000),
        vec!["*a"; 1_000].join(",")
    );
    let error = parse_placed_with(&long, &Budget::OBJECT, ALL).unwrap_err();
    assert_eq!((error.kind, error.line), (ErrorKind::Limit, 2));

    let opened: String = (0..60).map(|level| format!("&n{level} [")).collect();
    let nested = format!("{opened}{}{}", "x".repeat(100_000), "]".repeat(60));
    let error = parse_placed_with(&nested, &Budget::OBJECT, ALL).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Limit);

    let mut deep = String::from("d0: &d0 [x]\n");
    for line in 1..200 {
        deep.push_str(&format!("d{line}: &d{line} [*d{}]\n", line - 1));
    }
    let error = parse_placed_with(&deep, &Budget::OBJECT, ALL).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Limit);
}

proptest! {
    /// Whatever is allowed: a text is read or refused, and what is read is within its budget.
    #[test]
    fn any_text_is_read_within_the_budget_or_refused(text in "([ab]: |- |&x |\\*x|<<: |\\{|\\}|\\[|\\]|,|\n|  |v){0,40}") {
        let budget = Budget { depth: 6, cells: 100, bytes: 400 };
        if let Ok(placed) = parse_placed_with(&text, &budget, ALL) {
            let larger = Budget { bytes: 4 * 400, ..budget };
            prop_assert!(larger.check(&placed.value).is_ok(), "{}", placed.value);
            // Without any of it the meaning is that of the strict reader.
            if let Ok(strict) = parse_placed(&text, &budget) {
                prop_assert_eq!(strict.value, placed.value);
                prop_assert!(placed.repeated.is_empty());
            }
        }
    }
}

#[test]
fn values_of_aliases_have_the_place_of_the_alias() {
    let placed = read("a: &x {y: 1}\nb: *x\n");
    assert_eq!(placed.places["/b"], (2, 4));
    assert_eq!(placed.value, json!({"a": {"y": 1}, "b": {"y": 1}}));
    assert_eq!(placed.value["b"], json!({"y": 1}));
}
