//! Whatever the text and the data: no panic, and the same answer each time.

use landform_template::{Environment, Limits, Template, function_names};
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

/// Pieces that make up templates which are often nearly right.
fn piece() -> impl Strategy<Value = String> {
    let fixed = prop::sample::select(vec![
        "{{",
        "}}",
        "{{-",
        "-}}",
        " ",
        "\n",
        "(",
        ")",
        "|",
        ":=",
        "=",
        ",",
        "$x",
        "$",
        ".",
        ".a",
        ".a.b",
        "\"t\"",
        "`r`",
        "'c'",
        "1",
        "-2.5",
        "0x",
        "nil",
        "true",
        "if",
        "else",
        "end",
        "range",
        "with",
        "define \"d\"",
        "template \"d\"",
        "block \"b\" .",
        "break",
        "continue",
        "/*",
        "*/",
        "text",
        "ä",
    ]);
    prop_oneof![
        4 => fixed.prop_map(str::to_owned),
        1 => prop::sample::select(function_names()).prop_map(str::to_owned),
        1 => "\\PC{0,4}",
    ]
}

fn argument() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        ".",
        ".a",
        ".a.b",
        ".l",
        ".s",
        ".n",
        ".f",
        "1",
        "-1",
        "0",
        "100000",
        "9223372036854775807",
        "1.5",
        "\"\"",
        "\"text\"",
        "\"ä€\"",
        "\"1.2.3\"",
        "\"2006-01-02\"",
        "(list 1 2 3)",
        "(dict \"a\" 1)",
        "nil",
        "true",
        "(now)",
        "\"%5.3x%q%v%*d\"",
        "\"(a|b)+\"",
    ])
}

fn data() -> Value {
    json!({"a": {"b": "c"}, "l": [1, "x", null, {"k": []}], "s": "säle", "n": -7, "f": 0.1})
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_refused(text in "\\PC*") {
        if let Ok(template) = Template::parse("t", &text) {
            let _ = template.render(&data(), &environment());
        }
    }

    #[test]
    fn nearly_right_templates_do_no_harm(pieces in prop::collection::vec(piece(), 0..40)) {
        let text = pieces.concat();
        match Template::parse("t", &text) {
            Ok(template) => {
                let first = template.render(&data(), &environment());
                prop_assert_eq!(first, template.render(&data(), &environment()));
            }
            Err(error) => prop_assert!(error.to_string().contains("t:")),
        }
    }

    #[test]
    fn every_function_takes_any_arguments(
        name in prop::sample::select(function_names()),
        arguments in prop::collection::vec(argument(), 0..5),
    ) {
        let now = time::OffsetDateTime::from_unix_timestamp(1_257_894_000).unwrap();
        let text = format!("{{{{ {name} {} | toString }}}}", arguments.join(" "));
        let template = Template::parse("t", &text).unwrap();
        let _ = template.render(&data(), &environment().with_now(now));
    }
}
