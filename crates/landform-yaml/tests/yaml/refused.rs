//! Texts that are refused: where, and with which words.

use landform_api::Budget;
use landform_yaml::{ErrorKind, parse_one};

use crate::read;

/// Checks kind, place and a part of the message.
fn check(text: &str, kind: ErrorKind, place: (usize, usize), message: &str) {
    let error = match read(text) {
        Err(error) => error,
        Ok(value) => unreachable!("{text:?} was read as {value}"),
    };
    assert!(
        error.message.contains(message),
        "for the text {text:?}: {error}"
    );
    assert_eq!(
        (error.kind, (error.line, error.column)),
        (kind, place),
        "{text:?}: {error}"
    );
}

#[test]
fn anchors_aliases_and_merge_keys() {
    let kind = ErrorKind::Unsupported;
    check("a: &x 1\nb: 2\n", kind, (1, 4), "anchors (&name)");
    check("a: &x\n  b: 1\n", kind, (1, 4), "anchors (&name)");
    check("a: *x\n", kind, (1, 4), "aliases (*name) are not supported");
    check(
        "<<: {a: 1}\n",
        kind,
        (1, 1),
        "the merge key << is not supported",
    );
}

#[test]
fn a_key_given_twice_names_both_lines() {
    let kind = ErrorKind::DuplicateKey;
    check(
        "a: 1\nb: 2\na: 3\n",
        kind,
        (3, 1),
        "\"a\" is given twice, on lines 1 and 3",
    );
    check(
        "x:\n  1: a\n  '1': b\n",
        kind,
        (3, 3),
        "\"1\" is given twice, on lines 2 and 3",
    );
    check(
        "{\n\"a\": 1,\n\"a\": 2}",
        kind,
        (3, 1),
        "\"a\" is given twice, on lines 2 and 3",
    );
    assert!(
        read("- a: 1\n- a: 2\n").is_ok(),
        "the same key in two mappings is fine"
    );
}

#[test]
fn what_json_can_not_hold() {
    let kind = ErrorKind::Unsupported;
    check("a: .inf", kind, (1, 4), ".inf can't be written in JSON");
    check("a: -.INF", kind, (1, 4), "-.INF can't be written in JSON");
    check("a: .nan", kind, (1, 4), ".nan can't be written in JSON");
    check("? [a]\n: b", kind, (1, 3), "can't be a key");
    check("a: {{ .Values.x }}", kind, (1, 5), "put it in quotes");
    check("~: b", kind, (1, 1), "null can't be a key");
    check(": b", kind, (1, 1), "null can't be a key");
    check("1e100: b", kind, (1, 1), "this number can't be a key");
}

#[test]
fn tags_that_do_not_fit() {
    let kind = ErrorKind::Unsupported;
    check(
        "a: !!int x",
        kind,
        (1, 4),
        "\"x\" is not what its tag !!int says",
    );
    check(
        "a: !!int 1.5",
        kind,
        (1, 4),
        "is not what its tag !!int says",
    );
    check(
        "a: !!float x",
        kind,
        (1, 4),
        "is not what its tag !!float says",
    );
    check(
        "a: !!bool 1",
        kind,
        (1, 4),
        "is not what its tag !!bool says",
    );
    check(
        "a: !!null x",
        kind,
        (1, 4),
        "is not what its tag !!null says",
    );
    check(
        "a: !!binary aGk=",
        kind,
        (1, 4),
        "!!binary is not supported",
    );
    check(
        "a: !secret x",
        kind,
        (1, 4),
        "the tag !secret has no meaning",
    );
    check(
        "a: !!set {b: }",
        kind,
        (1, 4),
        "the tag !!set has no meaning",
    );
    check(
        "a: !!seq {}",
        kind,
        (1, 4),
        "a mapping can't have the tag !!seq",
    );
    check(
        "a: !!str [1]",
        kind,
        (1, 4),
        "a list can't have the tag !!str",
    );
}

#[test]
fn malformed_texts_say_where() {
    let kind = ErrorKind::Syntax;
    check("a: 1\n  b: 2\n", kind, (2, 4), "not valid YAML");
    check("a: [1, 2\nb: 3\n", kind, (2, 2), "not valid YAML");
    check("a: 'x\n", kind, (1, 4), "not valid YAML");
    check(
        "a:\n\tb: 1\n",
        kind,
        (2, 2),
        "indented with a tab; use spaces",
    );
    check("a: 1\nb: x\0y\n", kind, (2, 5), "U+0000 is not allowed");
    check("{\"a\": 1", kind, (1, 8), "not valid YAML");
}

#[test]
fn limits_hold_for_yaml_and_json() {
    let limits = Budget {
        depth: 3,
        cells: 26,
        bytes: 100,
    };
    let kind_of = |text: &str| parse_one(text, &limits).map_err(|error| error.kind).err();
    for (text, expected) in [
        ("a:\n  b:\n    c: 1\n", None),
        ("a:\n  b:\n    c:\n      d: 1\n", Some(ErrorKind::Limit)),
        ("[[[1]]]", None),
        ("[[[[1]]]]", Some(ErrorKind::Limit)),
        ("{\"a\": {\"b\": {\"c\": {}}}}", Some(ErrorKind::Limit)),
        ("[{}, {}]", None),
        ("[{}, {}, {}]", Some(ErrorKind::Limit)),
        ("- {}\n- {}\n- {}\n", Some(ErrorKind::Limit)),
    ] {
        assert_eq!(kind_of(text), expected, "for the text {text:?}");
    }
    let json = |count: usize| format!("[{}1]", "1,".repeat(count - 1));
    let yaml = |count: usize| "- 1\n".repeat(count);
    assert_eq!((kind_of(&json(22)), kind_of(&yaml(22))), (None, None));
    let refused = Some(ErrorKind::Limit);
    assert_eq!((kind_of(&json(23)), kind_of(&yaml(23))), (refused, refused));
}

#[test]
fn endless_nesting_is_refused_without_harm() {
    for piece in ["[", "{a: ", "- ", "{\"a\":[", "[{"] {
        let error = read(&piece.repeat(200_000)).expect_err("too deep");
        assert_eq!(error.kind, ErrorKind::Limit, "for {piece:?}: {error}");
    }
    let steps: String = (0..2000)
        .map(|depth| format!("{}a:\n", " ".repeat(depth)))
        .collect();
    assert_eq!(read(&steps).expect_err("too deep").kind, ErrorKind::Limit);
}

#[test]
fn errors_are_shown_with_their_place() {
    let error = read("a: 1\nb: .inf\n").expect_err("an infinity");
    let expected =
        "line 2, column 4: .inf can't be written in JSON: use a finite number, or put it in quotes";
    assert_eq!(error.to_string(), expected);
}
