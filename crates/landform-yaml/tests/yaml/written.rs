//! What the writer prints.

use landform_yaml::write;
use serde_json::json;

use crate::read;

#[test]
fn an_object_reads_as_kubectl_prints_it() {
    let value = json!({
        "apiVersion": "v1",
        "data": {"note": "two\nlines\n", "port": "8080", "script": "a\n\n  b"},
        "items": [{"a": 1, "b": [true, null]}, [1.5, "x"], {}, []],
        "kind": "ConfigMap",
    });
    let expected = "\
apiVersion: v1
data:
  note: |
    two
    lines
  port: \"8080\"
  script: |-
    a

      b
items:
- a: 1
  b:
  - true
  - null
- - 1.5
  - x
- {}
- []
kind: ConfigMap
";
    assert_eq!(write(&value), expected);
    assert_eq!(read(expected), Ok(value));
}

#[test]
fn strings_are_quoted_when_another_reading_is_possible() {
    let quoted = [
        "",
        " ",
        "a ",
        " a",
        "true",
        "yes",
        "y",
        "N",
        "off",
        "null",
        "~",
        "12",
        "1.5",
        "0x1F",
        "1e3",
        ".inf",
        "2001-01-01",
        "12:30:45",
        "- a",
        "-",
        "?",
        ": a",
        "a: b",
        "a:",
        "a #b",
        "#a",
        "&a",
        "*a",
        "!a",
        "|",
        ">",
        "%a",
        "@a",
        "`a",
        "'a'",
        "\"a\"",
        "{a",
        "[a",
        "<<",
        "=",
        "---",
        "...",
        "a\tb",
        "a\u{7f}",
        "a\u{85}b",
        "\u{feff}",
        "\u{2028}",
        "😀",
        "a\\\n ",
        "\n",
    ];
    for text in quoted {
        let written = write(&json!({ "v": text }));
        assert!(
            written.starts_with("v: \""),
            "{text:?} was written as {written}"
        );
        assert_eq!(read(&written), Ok(json!({ "v": text })), "{written}");
        assert_eq!(read(&write(&json!(text))), Ok(json!(text)));
        assert_eq!(read(&write(&json!({ text: 1 }))), Ok(json!({ text: 1 })));
    }
    for text in [
        "a",
        "a b",
        "a:b",
        "a#b",
        "1.2.3",
        "10.0.0.1",
        "5Gi",
        "é",
        "a, b",
        "http://x/y",
    ] {
        assert_eq!(write(&json!({ "v": text })), format!("v: {text}\n"));
    }
}

#[test]
fn long_keys_and_strings_survive() {
    let value = json!({ "k".repeat(3000): { "\n".repeat(200): "v ".repeat(3000) }, "z": "\n\n" });
    assert_eq!(read(&write(&value)), Ok(value));
}
