//! Each keyword of a schema, accepted and refused.

use serde_json::{Value, json};

use super::{messages, schema};

/// A schema, values it accepts, and values it refuses with a part of the message.
type Keyword = (Value, Vec<Value>, Vec<(Value, &'static str)>);

/// Each keyword: a schema of `spec.x`, values it accepts, and values it refuses with the message.
#[test]
fn each_keyword_accepts_and_refuses() {
    let table: Vec<Keyword> = vec![
        (
            json!({"type": "string"}),
            vec![json!("a")],
            vec![
                (
                    json!(1),
                    r#"Invalid value: "integer": spec.x in body must be of type string: "integer""#,
                ),
                (
                    json!(null),
                    r#"Invalid value: "null": spec.x in body must be of type string: "null""#,
                ),
            ],
        ),
        (
            json!({"type": "integer"}),
            vec![json!(1), json!(1.0), json!(-5)],
            vec![(
                json!(1.5),
                r#"Invalid value: "number": spec.x in body must be of type integer: "number""#,
            )],
        ),
        (
            json!({"type": "number"}),
            vec![json!(1), json!(1.5)],
            vec![(json!("1"), "must be of type number")],
        ),
        (
            json!({"type": "boolean"}),
            vec![json!(true)],
            vec![(json!("true"), "must be of type boolean")],
        ),
        (
            json!({"type": "object"}),
            vec![json!({})],
            vec![(json!([]), "must be of type object")],
        ),
        (
            json!({"type": "array", "items": {"type": "string"}}),
            vec![json!([]), json!(["a"])],
            vec![
                (json!({}), "must be of type array"),
                (json!([1]), "spec.x[0]: Invalid value: \"integer\""),
            ],
        ),
        (
            json!({"type": "string", "nullable": true}),
            vec![json!(null), json!("a")],
            vec![],
        ),
        (
            json!({"x-kubernetes-int-or-string": true}),
            vec![json!(1), json!("10%")],
            vec![
                (json!(1.5), "must be of type integer or string"),
                (json!(true), "must be of type integer or string"),
            ],
        ),
        (
            json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}], "pattern": "^[0-9]+%?$"}),
            vec![json!(1), json!("10%")],
            vec![(json!("ten"), "spec.x in body should match '^[0-9]+%?$'")],
        ),
        (
            json!({"x-kubernetes-preserve-unknown-fields": true}),
            vec![json!(1), json!({"a": [1]}), json!(null)],
            vec![],
        ),
        (
            json!({"type": "string", "enum": ["a", "b"]}),
            vec![json!("a")],
            vec![(
                json!("x"),
                r#"spec.x: Unsupported value: "x": supported values: "a", "b""#,
            )],
        ),
        (
            json!({"type": "integer", "enum": [1, 2]}),
            vec![json!(1), json!(2.0)],
            vec![(json!(3), "supported values: 1, 2")],
        ),
        (
            json!({"type": "integer", "maximum": 10}),
            vec![json!(10)],
            vec![(
                json!(11),
                "spec.x: Invalid value: 11: spec.x in body should be less than or equal to 10",
            )],
        ),
        (
            json!({"type": "integer", "maximum": 10, "exclusiveMaximum": true}),
            vec![json!(9)],
            vec![(json!(10), "spec.x in body should be less than 10")],
        ),
        (
            json!({"type": "integer", "minimum": 1}),
            vec![json!(1)],
            vec![(
                json!(0),
                "spec.x in body should be greater than or equal to 1",
            )],
        ),
        (
            json!({"type": "number", "minimum": 1, "exclusiveMinimum": true}),
            vec![json!(1.1)],
            vec![(json!(1), "spec.x in body should be greater than 1")],
        ),
        (
            json!({"type": "integer", "maximum": 9_223_372_036_854_775_806_i64}),
            vec![json!(9_223_372_036_854_775_806_i64)],
            vec![(
                json!(i64::MAX),
                "should be less than or equal to 9223372036854775806",
            )],
        ),
        (
            json!({"type": "number", "multipleOf": 0.1}),
            vec![json!(0.3), json!(2)],
            vec![(json!(0.35), "should be a multiple of 0.1")],
        ),
        (
            json!({"type": "string", "minLength": 2}),
            vec![json!("ab"), json!("äö")],
            vec![(json!("a"), "spec.x in body should be at least 2 chars long")],
        ),
        (
            json!({"type": "string", "maxLength": 2}),
            vec![json!("äö")],
            vec![(
                json!("abc"),
                "spec.x: Too long: may not be more than 2 bytes",
            )],
        ),
        (
            json!({"type": "string", "pattern": "^a+$"}),
            vec![json!("aa")],
            vec![(
                json!("b"),
                r#"spec.x: Invalid value: "b": spec.x in body should match '^a+$'"#,
            )],
        ),
        (
            json!({"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "integer"}}),
            vec![json!([1])],
            vec![
                (
                    json!([]),
                    "spec.x: Invalid value: 0: spec.x in body should have at least 1 items",
                ),
                (
                    json!([1, 2, 3]),
                    "spec.x: Too many: 3: must have at most 2 items",
                ),
            ],
        ),
        (
            json!({"type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": {"type": "integer"}}),
            vec![json!({"a": 1})],
            vec![
                (
                    json!({}),
                    "spec.x in body should have at least 1 properties",
                ),
                (
                    json!({"a": 1, "b": 2}),
                    "spec.x: Too many: 2: must have at most 1 properties",
                ),
                (
                    json!({"a": "x"}),
                    "spec.x[a]: Invalid value: \"string\": spec.x[a] in body must be of type integer",
                ),
            ],
        ),
        (
            json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}),
            vec![json!({"a": ""})],
            vec![(json!({}), "spec.x.a: Required value")],
        ),
        (
            json!({"type": "string", "format": "date-time"}),
            vec![json!("2024-01-02T03:04:05Z")],
            vec![(
                json!("x"),
                r#"spec.x: Invalid value: "x": spec.x in body must be of type date-time: "x""#,
            )],
        ),
        (
            json!({"type": "string", "format": "nobody-knows-this"}),
            vec![json!("x")],
            vec![],
        ),
        (
            json!({"type": "integer", "allOf": [{"minimum": 1}, {"maximum": 5}]}),
            vec![json!(3)],
            vec![
                (json!(0), "should be greater than or equal to 1"),
                (json!(6), "should be less than or equal to 5"),
            ],
        ),
        (
            json!({"type": "integer", "anyOf": [{"minimum": 10}, {"maximum": 5}]}),
            vec![json!(3), json!(12)],
            vec![(
                json!(7),
                r#"spec.x: Invalid value: 7: "spec.x" must validate at least one schema (anyOf)"#,
            )],
        ),
        (
            json!({"type": "integer", "oneOf": [{"minimum": 3}, {"maximum": 5}]}),
            vec![json!(1), json!(9)],
            vec![(
                json!(4),
                "must validate one and only one schema (oneOf). Found 2 valid alternatives",
            )],
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}),
            vec![json!({"a": ""})],
            vec![(
                json!({}),
                "must validate one and only one schema (oneOf). Found none valid",
            )],
        ),
        (
            json!({"type": "string", "not": {"enum": ["a"]}}),
            vec![json!("b")],
            vec![(json!("a"), "must not validate the schema (not)")],
        ),
        (
            json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}),
            vec![json!(["a", "b"])],
            vec![(json!(["a", "b", "a"]), r#"spec.x[2]: Duplicate value: "a""#)],
        ),
        (
            json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n"],
                "items": {"type": "object", "required": ["n"], "properties": {"n": {"type": "string"}}}}),
            vec![json!([{"n": "a"}, {"n": "b"}])],
            vec![(
                json!([{"n": "a"}, {"n": "a"}]),
                r#"spec.x[1]: Duplicate value: {"n":"a"}"#,
            )],
        ),
        (
            json!({"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}),
            vec![json!({"apiVersion": "v1", "kind": "X", "metadata": {"name": "a"}, "more": 1})],
            vec![
                (
                    json!({"kind": "X"}),
                    "spec.x.apiVersion: Required value: must not be empty",
                ),
                (
                    json!({"apiVersion": "v1", "kind": "X", "metadata": {"labels": {"a": 1}}}),
                    "spec.x.metadata.labels[a]: Invalid value",
                ),
            ],
        ),
    ];
    for (keyword, good, bad) in table {
        let schema = schema(&json!({"x": keyword}));
        for value in good {
            let errors = messages(&schema, &json!({"spec": {"x": value}}));
            assert!(errors.is_empty(), "{keyword} on {value}: {errors:?}");
        }
        for (value, expected) in bad {
            let errors = messages(&schema, &json!({"spec": {"x": value}}));
            assert!(
                errors.iter().any(|error| error.contains(expected)),
                "{keyword} on {value}: {errors:?}"
            );
        }
    }
}

/// What makes work of the schema's size for each entry of the value ends when the steps are used up.
#[test]
fn checks_that_multiply_are_ended() {
    let numbers: Vec<Value> = (0..30_000).map(Value::from).collect();
    let names: Vec<String> = (0..30_000).map(|number| format!("n{number}")).collect();
    let alternatives: Vec<Value> = (0..3_000)
        .map(|number| json!({"maximum": number}))
        .collect();
    let patterns: Vec<Value> = (0..100)
        .map(|number| json!({"pattern": format!("^{number}$")}))
        .collect();
    let mut required = vec![json!({"required": names}); 50];
    required.push(json!({}));
    for (what, items, entry, count) in [
        (
            "anyOf",
            json!({"type": "integer", "anyOf": alternatives}),
            json!(2_999),
            30_000,
        ),
        (
            "oneOf",
            json!({"type": "integer", "oneOf": alternatives}),
            json!(2_999),
            30_000,
        ),
        (
            "enum",
            json!({"type": "integer", "enum": numbers}),
            json!(29_999),
            100_000,
        ),
        (
            "required",
            json!({"type": "object", "anyOf": required}),
            json!({}),
            1_000,
        ),
        (
            "text",
            json!({"type": "string", "anyOf": patterns}),
            json!("a".repeat(200_000)),
            100,
        ),
    ] {
        let schema = schema(&json!({"x": {"type": "array", "items": items}}));
        let found = messages(&schema, &json!({"spec": {"x": vec![entry; count]}}));
        let last = found.last().map(String::as_str).unwrap_or_default();
        assert!(
            last.contains("takes more than 20000000 steps"),
            "{what}: {last}"
        );
        assert!(found.iter().all(|message| message.len() < 2_000), "{what}");
    }
}
