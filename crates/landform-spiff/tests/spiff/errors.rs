//! What is said when something is wrong, and where.

use landform_spiff::{Document, ErrorKind};
use serde_json::json;

use crate::{evaluate, expression, outcome};

/// Rows of: document, error.
#[test]
fn errors_have_a_place_and_name_what_is_missing() {
    let rows = [
        (
            "a: (( \"x\" imports.map.y.z ))",
            "test:1:11: a: `imports.map.y` is not found",
        ),
        (
            "a:\n- b: (( nowhere.x ))",
            "test:2:9: a[0].b: `nowhere` is not found: no node around this one and no binding has that name",
        ),
        (
            "a: '(( .imports.b ))'",
            "test:1:8: a: `.imports.b` is not found",
        ),
        (
            "a: (( imports.[imports.name] ))",
            "test:1:7: a: there is nothing at this path",
        ),
        ("a: (( b ))\nb: (( ~~ ))", "test:1:7: a: `b` is undefined"),
        (
            "a: (( [1] + 1 ))",
            "test:1:7: a: arithmetic needs numbers, not a list and an integer",
        ),
        (
            "a: (( 2 * ( 1 / 0 ) ))",
            "test:1:13: a: this divides by zero",
        ),
        (
            "a: (( \"x\" imports.list ))",
            "test:1:11: a: a list can't be joined to a string",
        ),
        (
            "a: (( \"x\" imports.ratio ))",
            "test:1:11: a: a float can't be joined to a string",
        ),
        (
            "a: (( nofunction(1) ))",
            "test:1:7: a: there is no function `nofunction`",
        ),
        (
            "a: (( length(1) ))",
            "test:1:7: a: length: argument 1 has to be a list, a map or a string, and is an integer",
        ),
        (
            "a: (( exec(\"ls\") ))",
            "test:1:7: a: `exec` is not supported: templates start no programs",
        ),
        (
            "a: (( env(\"HOME\") ))",
            "test:1:7: a: `env` is not supported: templates don't see the environment of the server",
        ),
        (
            "a: (( error(\"bad %s\", \"news\") ))",
            "test:1:7: a: bad news",
        ),
        (
            "a: (( merge ))",
            "test:1:7: a: there is nothing to merge: no other document is given, and the state has nothing here",
        ),
        (
            "a: (( *imports.name ))",
            "test:1:8: a: `*` needs a template, a node with the marker &template, and this is a string",
        ),
        (
            "a:\n  <<<: (( 5 ))",
            "test:2:8: a.<<<: what is inserted into a map has to be a map, and is an integer",
        ),
        (
            "a:\n- <<<: (( {} ))",
            "test:2:8: a[0].<<<: what is inserted into a list has to be a list, and is a map",
        ),
        // All that is wrong is said, and each thing once.
        (
            "a: (( 1 / 0 ))\nb: (( a ))\nc: (( nowhere.d || nowhere.e ))",
            "test:1:7: a: this divides by zero\ntest:3:20: c: `nowhere` is not found: no node around this one and no binding has that name",
        ),
    ];
    for (text, expected) in rows {
        assert_eq!(outcome(text), Err(expected.to_owned()), "{text}");
    }
}

#[test]
fn what_can_not_be_read_is_shown() {
    let rows = [
        (
            "a: (( 1 +1 ))",
            "test:1:9: a: this can't be read: operators have a space on both sides",
        ),
        (
            "a: (( a && b ))",
            "test:1:9: a: dynaml has no `&&`: write `-and`",
        ),
        ("a: (( ))", "test:1:7: a: here an expression is expected"),
        (
            "a: (( [1, ))",
            "test:1:11: a: here an expression is expected",
        ),
        ("a: (( \"x ))", "test:1:7: a: this string is not closed"),
        (
            "a: (( \"\\x\" ))",
            "test:1:7: a: this string has an escape that JSON doesn't have",
        ),
        (
            "a: (( &nope ))",
            "test:1:7: a: this marker is not supported",
        ),
        ("a: (( tag::b ))", "test:1:7: a: tags are not supported"),
        (
            "a: (( auto ))",
            "test:1:7: a: this form of dynaml is not supported here",
        ),
        (
            "a: (( true ? 1 ))",
            "test:1:16: a: a condition has the form",
        ),
        ("a: (( map[b|x] ))\nb: [", "test:2:"),
        (
            "a: (( map[b] ))",
            "test:1:12: a: here a function is expected",
        ),
        (
            "a:\n  <<<: {}\n  \"<<\": {}",
            "test:2:3: a: there are two insertions, << and <<<: one is taken",
        ),
        ("a: [", "test:1:"),
    ];
    for (text, expected) in rows {
        let error = outcome(text).unwrap_err();
        assert!(error.starts_with(expected), "{text}\n{error}");
    }
}

#[test]
fn the_expression_is_shown_with_a_mark() {
    let errors = evaluate("a:\n  b: (( \"x\" imports.nope ))\n", None).unwrap_err();
    assert_eq!(
        errors[0].to_string(),
        "test:2:13: a.b: `imports.nope` is not found\n(( \"x\" imports.nope ))\n       ^^^^^^^^^^^^"
    );
    let text = "a: |-\n  (( imports.name\n  imports.nope ))\n";
    let errors = evaluate(text, None).unwrap_err();
    assert_eq!(errors[0].excerpt, "imports.nope ))\n^^^^^^^^^^^^");
}

#[test]
fn places_count_from_the_file_that_the_text_is_a_part_of() {
    let error = Document::parse_within("file", "a:\n  b: (( 1 +1 ))\n", 10, 4).unwrap_err();
    assert_eq!(error[0].place, Some((12, 15)));
    assert_eq!(error[0].path, "a.b");
    assert_eq!(error[0].kind, ErrorKind::Syntax);
}

#[test]
fn circles_are_shown_and_can_not_be_caught() {
    let rows = [
        ("a: (( a || 1 ))", "a → a"),
        (
            "a: (( b || 1 ))\nb: (( c ))\nc: (( a || 2 ))",
            "a → b → c → a",
        ),
        ("hi:\n  foo: (( foo ))\nfoo: 1", "hi.foo → hi.foo"),
        ("a:\n  b: (( a ))", "a → a.b → a"),
        ("a: (( defined(a) ))", "a → a"),
        ("a: (( catch(a) ))", "a → a"),
        (
            "a:\n  <<<: (( .b ))\n  c: 1\nb:\n  d: (( a.e ))",
            "a → a.<<< → b → b.d → a.<<<",
        ),
    ];
    for (text, circle) in rows {
        let errors = evaluate(text, None).unwrap_err();
        assert!(
            errors.iter().all(|error| error.kind == ErrorKind::Cycle),
            "{errors:?}"
        );
        let expected = format!("these nodes need each other in a circle: {circle}");
        let found = errors.iter().any(|error| {
            // Which of the nodes is met first decides where the circle begins.
            error.message == expected || text.starts_with("a:\n  <<<")
        });
        assert!(found, "{text}\n{errors:?}");
    }
}

/// Values may be secrets, and errors go to conditions and logs.
#[test]
fn errors_never_hold_values() {
    let secret = "canary";
    let document = json!({
        "a": "(( imports[imports.secret] ))",
        "b": "(( imports.secret + 1 ))",
        "c": "(( match(imports.secret \"(\", \"x\") ))",
        "d": "(( parse(imports.secret \": [\") ))",
        "e": "(( integer(imports.secret) ))",
        "f": "(( element({}, imports.secret) ))",
        "g": "(( hash(\"x\", imports.secret) ))",
        "h": "(( read(imports.secret) ))",
        "i": "(( format(\"%d\", imports.secret) ))",
        "j": "(( [imports.secret](1) ))",
    });
    let bindings = landform_spiff::Bindings {
        values: json!({"imports": {"secret": secret}})
            .as_object()
            .cloned()
            .unwrap(),
        state: None,
    };
    let document = Document::parse("test", &document.to_string()).unwrap();
    let errors = document
        .evaluate(&bindings, &crate::environment())
        .unwrap_err();
    assert_eq!(errors.len(), 10);
    let text: Vec<_> = errors.iter().map(ToString::to_string).collect();
    assert!(!text.concat().contains(secret), "{text:?}");
}

#[test]
fn what_spiff_has_and_is_not_here_says_so() {
    for call in [
        "rand()",
        "semver(\"1\")",
        "static_ips(1)",
        "validate(1,\"ip\")",
        "tempfile(1)",
        "eval(\"1\")",
    ] {
        let error = expression(call).unwrap_err();
        assert!(error.contains("is not supported: "), "{error}");
    }
}
