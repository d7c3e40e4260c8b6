//! What scalars, keys and tags mean. The expected values were taken from kubectl 1.32
//! (`kubectl annotate --local -o json`), except where the comment says otherwise.

use serde_json::{Value, json};

use crate::read;

fn check(table: &[(&str, Value)]) {
    for (text, expected) in table {
        let found = read(&format!("v: {text}\n")).map(|value| value["v"].clone());
        assert_eq!(found.as_ref(), Ok(expected), "for the text {text}");
    }
}

#[test]
fn nulls_and_booleans_are_those_of_yaml_1_1() {
    for text in ["", "~", "null", "Null", "NULL"] {
        check(&[(text, Value::Null)]);
    }
    for text in [
        "true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", "y", "Y",
    ] {
        check(&[(text, json!(true))]);
    }
    for text in [
        "false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF", "n", "N",
    ] {
        check(&[(text, json!(false))]);
    }
    for text in ["tRUE", "oN", "nULL", "yEs", "none", "nil"] {
        check(&[(text, json!(text))]);
    }
}

#[test]
fn integers_in_all_bases() {
    check(&[
        ("0", json!(0)),
        ("12", json!(12)),
        ("+12", json!(12)),
        ("-12", json!(-12)),
        ("-0", json!(0)),
        ("1_000", json!(1000)),
        ("1_", json!(1)),
        ("0x1F", json!(31)),
        ("0X1f", json!(31)),
        ("+0x1F", json!(31)),
        ("-0x1F", json!(-31)),
        ("0x_1", json!(1)),
        ("0o17", json!(15)),
        ("0O7", json!(7)),
        ("017", json!(15)),
        ("-017", json!(-15)),
        ("0777_7", json!(4095)),
        ("00", json!(0)),
        ("08", json!(8)),
        ("089", json!(89)),
        ("0b11", json!(3)),
        ("-0b11", json!(-3)),
        ("9223372036854775807", json!(i64::MAX)),
        ("-9223372036854775808", json!(i64::MIN)),
        ("18446744073709551615", json!(u64::MAX)),
    ]);
}

#[test]
fn numbers_past_64_bits_become_floats() {
    check(&[
        ("18446744073709551616", json!(18_446_744_073_709_551_616.0)),
        ("-9223372036854775809", json!(-9_223_372_036_854_775_809.0)),
        (
            "123456789012345678901234567890",
            json!(1.234_567_890_123_456_8e29),
        ),
    ]);
}

/// kubectl shows `5.` as `5`; here a number with a point or an exponent stays a float.
#[test]
fn floats() {
    check(&[
        ("1.5", json!(1.5)),
        ("1.0", json!(1.0)),
        ("5.", json!(5.0)),
        (".5", json!(0.5)),
        ("+.5", json!(0.5)),
        ("-.5", json!(-0.5)),
        (".5_0", json!(0.5)),
        ("1_0.5", json!(10.5)),
        ("1e3", json!(1000.0)),
        ("1.e3", json!(1000.0)),
        ("1e-3", json!(0.001)),
        ("12e03", json!(12000.0)),
        (".1e3", json!(100.0)),
    ]);
}

#[test]
fn what_only_looks_like_a_number_is_a_string() {
    let texts = [
        "0x",
        "0o",
        "0o8",
        "0b2",
        "1e",
        "+",
        ".",
        ".e3",
        "._5",
        ".5_",
        "_1",
        "1E400",
        "1.2.3",
        "190:20:30",
        "Infinity",
        "0x1p4",
        "0x-5",
        "+-5",
        "--5",
        "+_",
        "12ab",
        "0xFFFFFFFFFFFFFFFFFF",
        "1e3e3",
        "v1",
        "10.0.0.1",
        "5Gi",
        "100m",
    ];
    for text in texts {
        check(&[(text, json!(text))]);
    }
}

#[test]
fn dates_stay_strings() {
    let texts = [
        "2001-01-01",
        "2001-1-1",
        "2001-12-14t21:59:43.10-05:00",
        "2001-01-01 10:00:00",
    ];
    for text in texts {
        check(&[(text, json!(text))]);
    }
}

#[test]
fn quotes_and_blocks_make_strings() {
    check(&[
        ("'true'", json!("true")),
        ("\"12\"", json!("12")),
        ("\"\"", json!("")),
        ("'it''s'", json!("it's")),
        ("\"a\\tb\\u00e9\\x41\"", json!("a\tbéA")),
        ("|-\n  12", json!("12")),
        ("|\n  a\n   b\n", json!("a\n b\n")),
        (">-\n  a\n  b\n", json!("a b")),
        ("a\n  b", json!("a b")),
        ("=", json!("=")),
        ("<<", json!("<<")),
    ]);
}

#[test]
fn tags_of_yaml_are_followed() {
    check(&[
        ("!!str 12", json!("12")),
        ("!!str", json!("")),
        ("! 12", json!("12")),
        ("!<tag:yaml.org,2002:str> 12", json!("12")),
        ("!!int 12", json!(12)),
        ("!!int \"12\"", json!(12)),
        ("!!float 1", json!(1.0)),
        ("!!bool yes", json!(true)),
        ("!!bool \"true\"", json!(true)),
        ("!!null \"\"", Value::Null),
        ("!!timestamp 2001-01-01", json!("2001-01-01")),
        ("!!map {}", json!({})),
        ("!!seq []", json!([])),
    ]);
}

#[test]
fn keys_become_strings() {
    let table = [
        ("1", "1"),
        ("0x10", "16"),
        ("017", "15"),
        ("true", "true"),
        ("yes", "true"),
        ("Off", "false"),
        ("y", "true"),
        ("1.5", "1.5"),
        ("1.10", "1.1"),
        (".5", "0.5"),
        ("1.123456789", "1.1234568"),
        ("123456.0", "123456"),
        ("1000000.0", "1e+06"),
        ("12345678.0", "1.2345678e+07"),
        ("0.0001", "0.0001"),
        ("0.00001", "1e-05"),
        ("-1.5e30", "-1.5e+30"),
        ("2001-01-01", "2001-01-01"),
        ("'null'", "null"),
        ("\"<<\"", "<<"),
    ];
    for (key, expected) in table {
        assert_eq!(
            read(&format!("{key}: x\n")),
            Ok(json!({ expected: "x" })),
            "for the key {key}"
        );
        assert_eq!(
            read(&format!("{{{key}: x}}")),
            Ok(json!({ expected: "x" })),
            "in flow: {key}"
        );
    }
}

#[test]
fn an_object_as_people_write_it() {
    let text = "
# a comment
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings   # another
  labels: {app: web, tier: 'front'}
  finalizers:
  - example.com/one
  - example.com/two
data:
  empty:
  port: \"8080\"
  script: |
    #!/bin/sh
    echo: hi
";
    let expected = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "settings",
            "labels": {"app": "web", "tier": "front"},
            "finalizers": ["example.com/one", "example.com/two"],
        },
        "data": {"empty": null, "port": "8080", "script": "#!/bin/sh\necho: hi\n"},
    });
    assert_eq!(read(text), Ok(expected.clone()));
    assert_eq!(
        read(&text.replace('\n', "\r\n")),
        Ok(expected),
        "with the line ends of Windows"
    );
}

#[test]
fn json_with_all_its_escapes() {
    let table = [
        (r#"{"a": "\ud83d\ude00 \/ \u00e9"}"#, json!({"a": "😀 / é"})),
        (
            "[1, -2, 3.5, 1e2, true, null, \"x\"]",
            json!([1, -2, 3.5, 100.0, true, null, "x"]),
        ),
        ("\n\t{\"tab\":\t1}", json!({"tab": 1})),
        ("{\"1\": {\"yes\": \"no\"}}", json!({"1": {"yes": "no"}})),
        ("{}", json!({})),
        ("[]", json!([])),
    ];
    for (text, expected) in table {
        assert_eq!(read(text), Ok(expected), "for the text {text}");
    }
    let long = "k".repeat(5000);
    assert_eq!(read(&format!("{{\"{long}\": 1}}")), Ok(json!({ long: 1 })));
}
