//! Tables over the engine: each keyword accepted and refused, pruning, defaulting.

use serde_json::{Value, json};

use super::Schema;

/// A schema whose `spec` has the given properties.
fn schema(properties: &Value) -> Schema {
    let root = json!({"type": "object", "properties": {"spec": {
        "type": "object", "properties": properties}}});
    Schema::from_crd(&root).expect("a structural schema")
}

fn messages(schema: &Schema, object: &Value) -> Vec<String> {
    schema
        .validate(object, None)
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn unknown_fields_are_pruned_and_named() {
    let schema = schema(&json!({
        "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
        "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"a": {"type": "string"}}}},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                 "properties": {"known": {"type": "object", "properties": {"a": {"type": "string"}}}}},
        "any": {"x-kubernetes-preserve-unknown-fields": true},
        "empty": {"type": "object"},
    }));
    let mut object = json!({
        "apiVersion": "a/v1", "kind": "K", "junk": 1,
        "metadata": {"name": "x", "labels": {"a": "b"}, "nonsense": true, "ownerReferences": [{"uid": "1", "x": 1}]},
        "spec": {
            "list": [{"a": "1", "b": 2}, 3], "map": {"k": {"a": "1", "b": 2}},
            "free": {"other": {"x": 1}, "known": {"a": "1", "b": 2}}, "any": [{"x": 1}],
            "empty": {"x": 1}, "more": {}}
    });
    let mut removed = schema.prune(&mut object);
    removed.sort();
    assert_eq!(
        removed,
        [
            "junk",
            "metadata.nonsense",
            "metadata.ownerReferences[0].x",
            "spec.empty.x",
            "spec.free.known.b",
            "spec.list[0].b",
            "spec.map.k.b",
            "spec.more"
        ]
    );
    assert_eq!(object["spec"]["free"]["other"], json!({"x": 1}));
    assert_eq!(object["spec"]["any"], json!([{"x": 1}]));
    assert_eq!(
        object["metadata"],
        json!({"name": "x", "labels": {"a": "b"}, "ownerReferences": [{"uid": "1"}]})
    );
}

#[test]
fn a_wrong_type_is_refused_in_the_words_of_kubernetes() {
    let schema = schema(&json!({"replicas": {"type": "integer"}}));
    assert_eq!(
        messages(&schema, &json!({"spec": {"replicas": "three"}})),
        [
            r#"spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string""#
        ]
    );
}

#[test]
fn nulls_are_dropped_then_defaulted() {
    let schema = schema(&json!({
        "foo": {"type": "string", "default": "x"},
        "bar": {"type": "string", "nullable": true},
        "baz": {"type": "string"},
    }));
    let mut object = json!({"spec": {"foo": null, "bar": null, "baz": null}});
    schema.apply_defaults(&mut object);
    assert_eq!(object, json!({"spec": {"foo": "x", "bar": null}}));
}

#[test]
fn built_in_tables_are_read_and_serve() {
    crate::builtin::check_tables().expect("the tables are well-formed");
    let kinds = crate::builtin::kinds();
    let deployment = kinds
        .iter()
        .find(|kind| kind.kind == "Deployment")
        .expect("Deployment");
    assert_eq!(
        (deployment.group, deployment.version, deployment.plural),
        ("apps", "v1", "deployments")
    );
    let mut object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x", "creationTimestamp": null},
        "spec": {"replicas": "three", "selector": {"matchLabels": {"a": "b"}}, "typo": 1,
                 "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}});
    assert_eq!(deployment.schema.prune(&mut object), ["spec.typo"]);
    deployment.schema.apply_defaults(&mut object);
    assert_eq!(
        messages(&deployment.schema, &object),
        [
            r#"spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string""#
        ]
    );
    assert_eq!(
        object["spec"]["strategy"],
        json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}})
    );
    assert_eq!(
        object["spec"]["template"]["spec"]["restartPolicy"],
        "Always"
    );
}

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

/// What a structural schema may not say, with the path and the words of the refusal.
#[test]
fn what_is_not_structural_is_refused() {
    let object = |more: Value| {
        let mut schema = json!({"type": "object"});
        crate::merge::json_merge(&mut schema, &more);
        schema
    };
    let spec = |schema: Value| object(json!({"properties": {"spec": schema}}));
    let table: Vec<(Value, &str)> = vec![
        (
            json!({}),
            "type: Required value: must not be empty at the root",
        ),
        (
            json!({"type": "array", "items": {"type": "string"}}),
            r#"type: Invalid value: "array": must be object at the root"#,
        ),
        (json!("x"), "<root>: Invalid value: \"x\": must be a schema"),
        (
            spec(json!({})),
            "properties[spec].type: Required value: must not be empty for specified object fields",
        ),
        (
            spec(json!({"type": "text"})),
            r#"properties[spec].type: Unsupported value: "text": supported values"#,
        ),
        (
            spec(json!({"type": "array"})),
            "properties[spec].items: Required value: must be specified",
        ),
        (
            spec(json!({"type": "array", "items": {}})),
            "properties[spec].items.type: Required value: must not be empty for specified array items",
        ),
        (
            spec(json!({"type": "array", "items": [{"type": "string"}]})),
            "items must be a schema object and not an array",
        ),
        (
            spec(
                json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}}),
            ),
            "properties[spec].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
        ),
        (
            spec(json!({"type": "object", "additionalProperties": false})),
            "additionalProperties cannot be set to false",
        ),
        (
            spec(json!({"type": "object", "additionalProperties": {}})),
            "properties[spec].additionalProperties.type: Required value",
        ),
        (
            spec(json!({"type": "array", "uniqueItems": true, "items": {"type": "string"}})),
            "uniqueItems cannot be set to true",
        ),
        (
            spec(json!({"type": "object", "$ref": "#/x"})),
            "properties[spec].$ref: Forbidden: $ref is not supported",
        ),
        (
            spec(json!({"type": "object", "definitions": {}})),
            "properties[spec].definitions: Forbidden",
        ),
        (
            spec(json!({"type": "object", "dependencies": {}})),
            "properties[spec].dependencies: Forbidden",
        ),
        (
            spec(json!({"type": "object", "id": "x"})),
            "properties[spec].id: Forbidden",
        ),
        (
            spec(json!({"type": "object", "patternProperties": {}})),
            "properties[spec].patternProperties: Forbidden",
        ),
        (
            spec(json!({"type": "string", "pattern": "("})),
            "properties[spec].pattern: Invalid value: \"(\": must be a valid regular expression",
        ),
        (
            spec(json!({"type": "string", "maxLength": -1})),
            "properties[spec].maxLength: Invalid value: -1",
        ),
        (
            spec(json!({"type": "number", "multipleOf": 0})),
            "must be a number greater than 0",
        ),
        (
            spec(json!({"type": "string", "minimum": "x"})),
            "properties[spec].minimum: Invalid value: \"x\": must be a number",
        ),
        (
            spec(json!({"type": "string", "default": 1})),
            "properties[spec].default: Invalid value: \"integer\"",
        ),
        (
            spec(json!({"type": "integer", "maximum": 3, "default": 4})),
            "should be less than or equal to 3",
        ),
        (
            spec(
                json!({"type": "object", "default": {"typo": 1}, "properties": {"a": {"type": "string"}}}),
            ),
            "must not have unknown fields, but has typo",
        ),
        (
            spec(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": false})),
            "must be true or undefined",
        ),
        (
            spec(json!({"type": "string", "x-kubernetes-int-or-string": true})),
            "must be empty if x-kubernetes-int-or-string is true",
        ),
        (
            spec(
                json!({"type": "array", "x-kubernetes-list-type": "bag", "items": {"type": "string"}}),
            ),
            r#"properties[spec].x-kubernetes-list-type: Unsupported value: "bag": supported values: "atomic", "map", "set""#,
        ),
        (
            spec(json!({"type": "string", "x-kubernetes-list-type": "set"})),
            "must be array if x-kubernetes-list-type is specified",
        ),
        (
            spec(
                json!({"type": "array", "x-kubernetes-list-type": "map", "items": {"type": "object"}}),
            ),
            "properties[spec].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
        ),
        (
            spec(
                json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {"type": "string"}}),
            ),
            "must be object if parent array's x-kubernetes-list-type is map",
        ),
        (
            spec(
                json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {"type": "object"}}),
            ),
            "entries must all be names of item properties",
        ),
        (
            spec(
                json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
                     "items": {"type": "object", "properties": {"k": {"type": "string"}}}}),
            ),
            "properties[spec].items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys",
        ),
        (
            spec(
                json!({"type": "array", "x-kubernetes-list-map-keys": ["k"], "items": {"type": "string"}}),
            ),
            "must be map if x-kubernetes-list-map-keys is non-empty",
        ),
        (
            spec(
                json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object"}}),
            ),
            "entries of a set must be scalars",
        ),
        (
            spec(json!({"type": "object", "x-kubernetes-map-type": "odd"})),
            "x-kubernetes-map-type: Unsupported value",
        ),
        (
            spec(json!({"type": "object", "x-kubernetes-embedded-resource": true})),
            "must not be empty if x-kubernetes-embedded-resource is true",
        ),
        (
            spec(json!({"type": "integer", "allOf": [{"type": "integer"}]})),
            "properties[spec].allOf[0].type: Forbidden: must be empty to be structural",
        ),
        (
            spec(json!({"type": "integer", "anyOf": [{"default": 1}]})),
            "properties[spec].anyOf[0].default: Forbidden: must be empty to be structural",
        ),
        (
            spec(json!({"type": "integer", "not": {"nullable": true}})),
            "properties[spec].not.nullable: Forbidden",
        ),
        (
            spec(json!({"type": "object", "oneOf": [{"properties": {"a": {"minimum": 1}}}]})),
            "properties[spec].oneOf[0].properties[a]: Required value",
        ),
        (
            object(
                json!({"properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}}}),
            ),
            "properties[metadata]: Forbidden: must not specify anything other than name and generateName",
        ),
        (
            object(json!({"properties": {"metadata": {"type": "string"}}})),
            "properties[metadata].type: Invalid value",
        ),
        (
            object(json!({"properties": {"kind": {"type": "integer"}}})),
            "properties[kind].type: Invalid value: \"integer\": must be string",
        ),
    ];
    for (schema, expected) in table {
        let errors = Schema::from_crd(&schema).expect_err(expected);
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert!(
            errors.iter().any(|error| error.contains(expected)),
            "{expected}\n{errors:?}"
        );
    }
}

#[test]
fn a_schema_that_is_too_deep_is_refused() {
    let mut schema = json!({"type": "string"});
    for _ in 0..100 {
        schema = json!({"type": "object", "properties": {"a": schema}});
    }
    let errors = Schema::from_crd(&schema).expect_err("too deep");
    assert!(
        errors
            .iter()
            .any(|error| error.to_string().contains("more than 64 levels deep"))
    );
}

#[test]
fn a_restricted_name_is_enforced() {
    let schema = Schema::from_crd(
        &json!({"type": "object", "properties": {"metadata": {"type": "object",
        "properties": {"name": {"type": "string", "pattern": "^a"}}}}}),
    )
    .expect("a schema");
    assert!(
        messages(
            &schema,
            &json!({"metadata": {"name": "abc", "labels": {"x": "y"}}})
        )
        .is_empty()
    );
    assert!(
        messages(&schema, &json!({"metadata": {"name": "b"}}))[0]
            .contains("metadata.name in body should match '^a'")
    );
}

#[test]
fn defaults_nest_and_leave_given_values_alone() {
    let schema = schema(&json!({
        "deep": {"type": "object", "default": {}, "properties": {
            "a": {"type": "integer", "default": 1},
            "inner": {"type": "object", "properties": {"b": {"type": "string", "default": "x"}}}}},
        "list": {"type": "array", "items": {"type": "object", "properties": {"c": {"type": "boolean", "default": true}}}},
        "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"d": {"type": "integer", "default": 4}}}},
        "nulls": {"type": "object", "additionalProperties": {"type": "integer", "default": 7}},
    }));
    let table = [
        (json!({"spec": {}}), json!({"spec": {"deep": {"a": 1}}})),
        (json!({}), json!({})),
        (
            json!({"spec": {"deep": {"a": 2, "inner": {}}}}),
            json!({"spec": {"deep": {"a": 2, "inner": {"b": "x"}}}}),
        ),
        (
            json!({"spec": {"deep": null}}),
            json!({"spec": {"deep": {"a": 1}}}),
        ),
        (
            json!({"spec": {"deep": {}, "list": [{}, {"c": false}]}}),
            json!({"spec": {"deep": {"a": 1}, "list": [{"c": true}, {"c": false}]}}),
        ),
        (
            json!({"spec": {"deep": {}, "map": {"k": {}}}}),
            json!({"spec": {"deep": {"a": 1}, "map": {"k": {"d": 4}}}}),
        ),
        (
            json!({"spec": {"deep": {}, "nulls": {"k": null}}}),
            json!({"spec": {"deep": {"a": 1}, "nulls": {"k": 7}}}),
        ),
    ];
    for (mut object, expected) in table {
        schema.apply_defaults(&mut object);
        assert_eq!(object, expected);
    }
}

#[test]
fn an_update_may_leave_what_is_wrong_but_not_change_it_to_wrong() {
    let schema = schema(
        &json!({"a": {"type": "integer", "maximum": 5}, "b": {"type": "integer", "maximum": 5}}),
    );
    let old = json!({"spec": {"a": 9, "b": 1}});
    assert!(
        schema
            .validate(&json!({"spec": {"a": 9, "b": 2}}), Some(&old))
            .is_empty()
    );
    assert_eq!(
        schema
            .validate(&json!({"spec": {"a": 8, "b": 2}}), Some(&old))
            .len(),
        1
    );
    assert_eq!(
        schema
            .validate(&json!({"spec": {"a": 9, "b": 9}}), Some(&old))
            .len(),
        1
    );
}
