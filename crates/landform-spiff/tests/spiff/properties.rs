//! Whatever the document and the bindings: no panic, the same answer each time, and no value in errors.

use landform_spiff::{Bindings, Document, function_names};
use landform_template::{Environment, Limits};
use proptest::prelude::*;
use serde_json::{Value, json};

fn environment() -> Environment {
    Environment::default().with_limits(Limits {
        max_steps: 20_000,
        max_memory_bytes: 1 << 20,
        max_output_bytes: 1 << 16,
        ..Limits::default()
    })
}

/// Pieces that make up expressions which are often nearly right.
fn piece() -> impl Strategy<Value = String> {
    let fixed = prop::sample::select(vec![
        " ",
        " ",
        " ",
        "\n",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "|",
        "||",
        " || ",
        " // ",
        " ? ",
        " :",
        "->",
        "|x|->",
        "|x,y...|->",
        "|s,x|->",
        "=",
        " == ",
        " != ",
        " < ",
        " + ",
        " - ",
        " * ",
        " / ",
        " % ",
        " -or ",
        " -and ",
        "!",
        "*",
        "*(",
        "...",
        "..",
        ".",
        ",",
        "~",
        "~~",
        "$a",
        "&temporary",
        "&template",
        "&state",
        "merge",
        "merge none",
        "prefer ",
        "map[",
        "map{",
        "select[",
        "sum[",
        "catch[",
        "lambda ",
        "_",
        "__ctx",
        "x",
        "a",
        ".b",
        "c.d",
        "imports.s",
        "imports.m",
        "imports.l",
        "imports.l[0]",
        "imports.n",
        "\"t\"",
        "\"(\"",
        "1",
        "-2",
        "1.5",
        "9223372036854775807",
        "10.0.0.1",
        "true",
        "nil",
        "ä",
        "[*]",
        ".[*]",
        "[0]",
        "[-1]",
    ]);
    prop_oneof![
        8 => fixed.prop_map(str::to_owned),
        1 => prop::sample::select(function_names()).prop_map(|name| format!("{name}(")),
        1 => "\\PC{0,3}",
    ]
}

/// Expressions that can be read, of any values.
fn well_formed() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "a",
        "b",
        ".c",
        "c.d",
        "imports.s",
        "imports.m",
        "imports.l",
        "imports.n",
        "imports.f",
        "imports.m.k",
        "imports.l[0]",
        "nowhere",
        "1",
        "0",
        "-3",
        "2.5",
        "\"t\"",
        "\"\"",
        "~",
        "~~",
        "true",
        "false",
        "[]",
        "{}",
        "x",
        "y",
        "merge",
        "stub()",
        "9223372036854775807",
    ])
    .prop_map(str::to_owned);
    leaf.prop_recursive(5, 40, 4, |inner| {
        let operator = prop::sample::select(vec![
            " ", " || ", " // ", " + ", " - ", " * ", " / ", " % ", " == ", " < ", " -or ",
            " -and ",
        ]);
        let name = prop::sample::select(function_names());
        prop_oneof![
            (inner.clone(), operator, inner.clone()).prop_map(|(a, o, b)| format!("({a}{o}{b})")),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| format!("({a} ? {b} :{c})")),
            (name, prop::collection::vec(inner.clone(), 0..4))
                .prop_map(|(name, arguments)| format!("{name}({})", arguments.join(", "))),
            prop::collection::vec(inner.clone(), 0..4)
                .prop_map(|items| format!("[{}]", items.join(", "))),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{{\"k\"={a}, \"l\"={b}}}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("map[{a}|x|->{b}]")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("select{{{a}|x,y|->{b}}}")),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| format!("sum[{a}|{b}|x,y|->{c}]")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("(|x,y=1|->{a})({b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}).[{b}]")),
            inner.clone().prop_map(|a| format!("({a}).[*].k")),
            inner.clone().prop_map(|a| format!("({a}).[0..1]")),
            inner.clone().prop_map(|a| format!("!{a}")),
            inner.prop_map(|a| format!("( $x = {a} ) x")),
        ]
    })
}

fn marked(expression: String) -> impl Strategy<Value = String> {
    prop::sample::select(vec!["", "", "", "&temporary", "&template", "&state"]).prop_map(
        move |marker| {
            if marker.is_empty() {
                format!("(( {expression} ))")
            } else {
                format!("(( {marker}( {expression} ) ))")
            }
        },
    )
}

fn node() -> impl Strategy<Value = String> {
    let pieces = prop::collection::vec(piece(), 0..12)
        .prop_map(|pieces| format!("(( {} ))", pieces.concat()));
    prop_oneof![
        1 => pieces,
        3 => well_formed().prop_flat_map(marked),
    ]
}

fn document() -> impl Strategy<Value = Value> {
    prop::collection::vec(node(), 6).prop_map(|nodes| {
        json!({
            "a": nodes[0], "b": {"<<<": nodes[1], "x": nodes[2]}, "c": {"d": nodes[3], "e": 1},
            "l": [{"<<<": nodes[4]}, {"name": "n", "v": nodes[5]}, 3],
        })
    })
}

fn bindings() -> Bindings {
    let values = json!({"imports": {
        "s": "canary", "m": {"k": "canary", "n": [1, {"k": 2}]}, "l": [{"name": "q", "k": 1}, "canary", 2],
        "n": 4, "f": 0.5,
    }});
    Bindings {
        values: values.as_object().cloned().unwrap_or_default(),
        state: Some(json!({"a": "canary", "c": {"d": 4}})),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn any_document_ends_the_same_way_each_time(document in document()) {
        let read = || Document::parse("test", &document.to_string());
        let outcome = read().and_then(|read| read.evaluate(&bindings(), &environment()));
        let again = read().and_then(|read| read.evaluate(&bindings(), &environment()));
        prop_assert_eq!(&outcome, &again);
        match outcome {
            Ok(evaluated) => {
                let text = evaluated.value.to_string();
                prop_assert!(text.len() < 1 << 18, "the output is larger than its limit allows");
            }
            Err(errors) => {
                prop_assert!(!errors.is_empty());
                for error in errors {
                    // The author's own text may show it: `error("…")` with a value.
                    let authors = error.kind == landform_spiff::ErrorKind::Failed;
                    prop_assert!(authors || !error.to_string().contains("canary"), "{}", error);
                }
            }
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,60}") {
        let document = json!({"a": format!("(({text}))")});
        let _ = Document::parse("test", &document.to_string());
        let _ = Document::parse("test", &text);
    }

    #[test]
    fn data_without_expressions_stays_as_it_is(text in "[a-z(){} ]{0,12}", number in any::<i64>(), float in -1e9..1e9_f64) {
        prop_assume!(!(text.starts_with("((") && text.ends_with("))")));
        let value = json!({"t": [text, number, {"f": float + 0.5}], "n": null, "b": true});
        let document = Document::from_value("test", &value, &std::collections::BTreeMap::new(), "", "");
        let evaluated = document.unwrap().evaluate(&bindings(), &environment()).unwrap();
        let plain = json!({"x": value});
        let same = json!({"x": evaluated.value});
        prop_assert_eq!(plain.to_string().replace(".0,", ","), same.to_string().replace(".0,", ","));
    }
}
