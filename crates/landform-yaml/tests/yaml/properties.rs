//! Properties over any text and any value. `PROPTEST_CASES` sets how many are tried.

use landform_api::Budget;
use landform_yaml::{parse_many, parse_one, write};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::read;

/// Texts made of the pieces that matter to YAML, so that deep states of the parser are reached.
fn yaml_like() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => prop::sample::select(vec![
            " ", "  ", "\n", "\n  ", "\r\n", "\t", ":", ": ", "- ", "-", "? ", "?", ",", "[", "]", "{",
            "}", "#", " #", "&a", "*a", "!", "!!str ", "!<", "|", ">", "|-\n", ">+2\n", "'", "\"", "\\",
            "%YAML 1.2\n", "%TAG ! !\n", "---", "---\n", "...", "...\n", "<<", "a", "b", "0", "1",
            "~", ".inf", "true", "\u{feff}", "\u{85}", "\u{2028}", "é", "😀", "\\u00", "\\x4", "\0", "=",
        ]).prop_map(str::to_owned),
        1 => "[ -~]{0,4}",
        1 => any::<char>().prop_map(|c| c.to_string()),
    ];
    vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn any_string() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => yaml_like(),
        2 => "[a-z0-9./-]{0,12}",
        1 => vec("[ -~]{0,6}", 0..5).prop_map(|lines| lines.join("\n")),
        1 => any::<String>(),
    ]
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(|float| json!(float)),
        any_string().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            btree_map(any_string(), inner, 0..6)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in any_string()) {
        let limits = Budget { depth: 8, cells: 150, bytes: 10_000 };
        let _ = parse_one(&text, &limits);
        let _ = parse_many(&text, &limits);
    }

    #[test]
    fn errors_point_into_the_text(text in any_string()) {
        if let Err(error) = read(&text) {
            prop_assert!(error.line >= 1 && error.column >= 1);
            prop_assert!(error.line <= text.split(['\n', '\r']).count() + 1, "{error}");
        }
    }

    #[test]
    fn what_is_written_reads_as_the_same_value(value in any_json()) {
        let written = write(&value);
        prop_assert_eq!(read(&written), Ok(value), "written as:\n{}", written);
    }

    #[test]
    fn what_is_read_can_be_written(text in yaml_like()) {
        if let Ok(value) = read(&text) {
            let written = write(&value);
            prop_assert_eq!(read(&written), Ok(value), "written as:\n{}", written);
        }
    }

    #[test]
    fn json_means_the_same_as_to_serde_json(value in any_json()) {
        if value.is_object() || value.is_array() {
            let expected: Value = serde_json::from_str(&value.to_string()).unwrap();
            prop_assert_eq!(read(&value.to_string()), Ok(expected.clone()));
            let pretty = serde_json::to_string_pretty(&value).unwrap();
            prop_assert_eq!(read(&pretty), Ok(expected));
        }
    }
}
