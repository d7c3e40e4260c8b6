//! I41: imports and exports against what the blueprint declares.

use landform_blueprint::{Blueprint, Input, MappingKind, map_data};
use serde_json::{Value, json};

use crate::{blueprint, files, given, target};

fn complete(blueprint: &Blueprint, values: Value) -> Result<Value, Vec<String>> {
    match blueprint.complete_imports(&given(values)) {
        Ok(complete) => Ok(json!(complete)),
        Err(problems) => Err(problems.iter().map(ToString::to_string).collect()),
    }
}

#[test]
fn i41_required_conditional_and_default_imports() {
    let blueprint = blueprint(
        "imports:\n- {name: a, schema: {type: string}}\n- {name: b, required: false, schema: {}, default: {value: 7}}\n\
         - name: c\n  required: false\n  schema: {}\n  imports:\n  - {name: d, schema: {type: string}}\n",
    );
    assert_eq!(
        complete(&blueprint, json!({"a": "x"})),
        Ok(json!({"a": "x", "b": 7}))
    );
    assert_eq!(
        complete(&blueprint, json!({"a": "x", "b": 1, "c": 2, "d": "e"})),
        Ok(json!({"a": "x", "b": 1, "c": 2, "d": "e"}))
    );
    assert_eq!(
        complete(&blueprint, json!({"c": 1})),
        Err(vec![
            "import \"a\": it is required, and nothing provides it".to_owned(),
            "import \"d\": it is required, and nothing provides it".to_owned(),
        ])
    );
    // The condition doesn't hold, so the value is not looked at.
    assert_eq!(
        complete(&blueprint, json!({"a": "x", "d": 3})),
        Ok(json!({"a": "x", "b": 7}))
    );
    assert_eq!(
        blueprint.undeclared_imports(&given(json!({"a": 1, "z": 1, "d": 1}))),
        ["z"]
    );
}

/// Schema, value, what is said (nothing when it fits).
const SCHEMAS: &[(&str, &str, &str)] = &[
    ("true", "1", ""),
    ("false", "1", "nothing is allowed"),
    (
        "{type: string}",
        "1",
        "has to be a string, and is an integer",
    ),
    ("{type: [string, \"null\"]}", "null", ""),
    ("{type: integer}", "1.0", ""),
    (
        "{type: integer}",
        "1.5",
        "has to be an integer, and is a number",
    ),
    ("{enum: [a, 1]}", "b", "has to be one of \"a\", 1"),
    ("{enum: [a, 1]}", "1.0", ""),
    ("{const: {a: 1}}", "{a: 2}", "has to be {\"a\":1}"),
    ("{minimum: 3, maximum: 5}", "2", "at least 3"),
    ("{minimum: 3, maximum: 5}", "6", "at most 5"),
    ("{exclusiveMinimum: 3}", "3", "more than 3"),
    ("{minimum: 3, exclusiveMinimum: true}", "3", "more than 3"),
    ("{exclusiveMaximum: 3}", "3", "less than 3"),
    ("{multipleOf: 0.1}", "0.3", ""),
    ("{multipleOf: 2}", "3", "multiple of 2"),
    ("{minLength: 2}", "\"ä\"", "at least 2 characters"),
    ("{maxLength: 2}", "abc", "at most 2 characters"),
    (
        "{pattern: \"^a+$\"}",
        "ab",
        "doesn't fit the pattern `^a+$`",
    ),
    ("{format: ipv4}", "1.2.3", "has not the format `ipv4`"),
    ("{format: date-time}", "\"2020-01-01T00:00:00Z\"", ""),
    ("{format: uri}", "\"no uri\"", "has not the format `uri`"),
    ("{format: unheard-of}", "x", ""),
    ("{required: [a]}", "{b: 1}", "the field `a` is missing"),
    (
        "{properties: {a: {type: string}}}",
        "{a: 1}",
        "at .a: has to be a string",
    ),
    (
        "{properties: {a: {}}, additionalProperties: false}",
        "{b: 1}",
        "the field `b` is not allowed",
    ),
    (
        "{additionalProperties: {type: string}}",
        "{\"b c\": 1}",
        "at [\"b c\"]: has to be a string",
    ),
    (
        "{patternProperties: {\"^x-\": {type: string}}, additionalProperties: false}",
        "{x-a: b}",
        "",
    ),
    (
        "{patternProperties: {\"^x-\": {type: string}}}",
        "{x-a: 1}",
        "at .x-a: has to be a string",
    ),
    (
        "{propertyNames: {maxLength: 2}}",
        "{abc: 1}",
        "must not be called `abc`",
    ),
    ("{minProperties: 1}", "{}", "at least 1 fields, and has 0"),
    ("{maxProperties: 1}", "{a: 1, b: 1}", "at most 1 fields"),
    (
        "{dependencies: {a: [b]}}",
        "{a: 1}",
        "with the field `a`, `b` is needed too",
    ),
    (
        "{dependentSchemas: {a: {required: [b]}}}",
        "{a: 1}",
        "`b` is missing",
    ),
    (
        "{items: {type: string}}",
        "[a, 1]",
        "at [1]: has to be a string",
    ),
    (
        "{items: [{type: string}], additionalItems: false}",
        "[a, b]",
        "at [1]: nothing is allowed",
    ),
    (
        "{prefixItems: [{type: string}], items: {type: integer}}",
        "[a, b]",
        "at [1]: has to be an integer",
    ),
    ("{minItems: 2}", "[1]", "at least 2 items, and has 1"),
    ("{maxItems: 0}", "[1]", "at most 0 items"),
    (
        "{uniqueItems: true}",
        "[1, 2, 1.0]",
        "at [2]: stands in the list twice",
    ),
    ("{contains: {const: 3}}", "[1]", "no item that fits"),
    (
        "{allOf: [{type: string}, {minLength: 3}]}",
        "ab",
        "at least 3 characters",
    ),
    (
        "{anyOf: [{type: string}, {type: boolean}]}",
        "1",
        "fits none",
    ),
    (
        "{oneOf: [{type: integer}, {minimum: 1}]}",
        "1",
        "exactly one of the schemas under `oneOf`, and fits 2",
    ),
    ("{not: {type: string}}", "a", "must not"),
    (
        "{if: {type: string}, then: {minLength: 2}, else: {minimum: 5}}",
        "a",
        "at least 2",
    ),
    (
        "{if: {type: string}, then: {minLength: 2}, else: {minimum: 5}}",
        "4",
        "at least 5",
    ),
    ("{$ref: \"local://name\"}", "1", "has to be a string"),
    (
        "{properties: {a: {$ref: \"#/definitions/b\"}}, definitions: {b: {type: string}}}",
        "{a: 1}",
        "at .a: has to be a string",
    ),
    (
        "{$ref: \"blueprint://schemas/all.yaml#/definitions/number\"}",
        "a",
        "has to be an integer",
    ),
    (
        "{$ref: \"blueprint:///schemas/all.yaml\"}",
        "{n: x}",
        "at .n: has to be an integer",
    ),
    (
        "{$ref: \"local://tree\"}",
        "{children: [{children: [{x: 1}]}]}",
        "at .children[0].children[0]: the field `x` is not allowed",
    ),
    ("{$ref: \"local://loop\"}", "1", "refers to itself"),
];

fn with_schema(schema: &str) -> Blueprint {
    let definition = format!(
        "localTypes:\n  name: {{type: string}}\n  loop: {{$ref: \"local://loop\"}}\n  \
         tree: {{additionalProperties: false, properties: {{children: {{items: {{$ref: \"local://tree\"}}}}}}}}\n\
         imports:\n- name: value\n  schema: {schema}\n"
    );
    let all = "properties: {n: {$ref: '#/definitions/number'}}\ndefinitions:\n  number: {type: integer}\n";
    let files = files(&[("blueprint.yaml", &definition), ("schemas/all.yaml", all)]);
    Blueprint::from_files(files).unwrap_or_else(|error| panic!("{schema}: {error}"))
}

#[test]
fn i41_values_are_checked_against_schemas() {
    let mut wrong = Vec::new();
    for (schema, value, expected) in SCHEMAS {
        let value = landform_yaml::parse_placed(value, &landform_yaml::Budget::FILE)
            .unwrap()
            .value;
        let said = complete(&with_schema(schema), json!({"value": value}));
        let said = said.map_or_else(|problems| problems.join("; "), |_| String::new());
        if expected.is_empty() != said.is_empty() || !said.contains(expected) {
            wrong.push(format!("{schema} on {value}: {said:?}, not {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn i41_problems_never_hold_values() {
    for (schema, _, _) in SCHEMAS {
        for value in [
            json!("canary"),
            json!(["canary", "canary"]),
            json!({"a": "canary"}),
            json!([{"a": "canary"}]),
        ] {
            if let Err(problems) = complete(&with_schema(schema), json!({"value": value})) {
                assert!(
                    !problems.join(" ").contains("canary"),
                    "{schema}: {problems:?}"
                );
            }
        }
    }
}

#[test]
fn i41_targets_of_a_map_are_of_their_type() {
    let blueprint = blueprint("imports:\n- {name: places, type: targetMap, targetType: cluster}\n");
    let complete = |values| complete(&blueprint, values);
    assert!(complete(json!({"places": {"red": target("a"), "blue": target("b")}})).is_ok());
    assert!(complete(json!({"places": {}})).is_ok());
    let mut other = target("x");
    other["spec"]["type"] = json!("other");
    assert_eq!(
        complete(json!({"places": {"red": other, "blue": target("b")}})).unwrap_err(),
        ["import \"places\" at [red].spec.type: has to be `cluster`, and is another type"]
    );
    assert_eq!(
        complete(json!({"places": [target("a")]})).unwrap_err(),
        ["import \"places\": has to be a map of targets, and is a list"]
    );
    assert_eq!(
        complete(json!({})).unwrap_err(),
        ["import \"places\": it is required, and nothing provides it"]
    );
}

#[test]
fn i41_targets_are_of_their_type() {
    let blueprint = blueprint(
        "imports:\n- {name: one, targetType: cluster}\n- {name: many, type: targetList, targetType: cluster}\n",
    );
    let complete = |values| complete(&blueprint, values);
    assert!(complete(json!({"one": target("a"), "many": [target("b"), target("c")]})).is_ok());
    let mut other = target("x");
    other["spec"]["type"] = json!("other");
    let problems =
        complete(json!({"one": other, "many": [target("b"), {"spec": {}}]})).unwrap_err();
    assert_eq!(
        problems,
        [
            "import \"one\" at .spec.type: has to be `cluster`, and is another type",
            "import \"many\" at [1].spec.type: has to be `cluster`, and is missing",
            "import \"many\" at [1].metadata.name: is missing: targets are given as whole objects",
        ]
    );
    let problems = complete(json!({"one": "x", "many": "y"})).unwrap_err();
    assert_eq!(
        problems[0],
        "import \"one\": has to be a target, and is a string"
    );
    assert_eq!(
        problems[1],
        "import \"many\": has to be a list of targets, and is a string"
    );
}

#[test]
fn i41_exports_are_checked() {
    let blueprint = blueprint(
        "exports:\n- {name: url, schema: {type: string}}\n- {name: place, type: target, targetType: cluster}\n",
    );
    let check = |values| {
        let problems = blueprint.check_exports(&given(values));
        problems.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        check(json!({"url": "x", "place": {"type": "cluster", "config": {}}})),
        [""; 0]
    );
    assert_eq!(
        check(json!({"url": 3, "other": 1})),
        [
            "export \"url\": has to be a string, and is an integer",
            "export \"place\": the blueprint declares it, and no export execution gives it",
            "export \"other\": the blueprint doesn't declare it under `exports`",
        ]
    );
}

#[test]
fn mappings_take_values_go_templates_and_spiff() {
    let data = given(json!({"a": {"b": 3}, "secret": "canary"}));
    let map = |mappings: Value| map_data(MappingKind::Imports, &given(mappings), &data);
    let mapped = map(
        json!({"plain": [1], "copied": "{{ .imports.a | toJson }}", "deep": {"x": ["{{ add1 .imports.a.b }}"]}}),
    );
    assert_eq!(
        json!(mapped.unwrap()),
        json!({"plain": [1], "copied": {"b": 3}, "deep": {"x": [4]}})
    );
    let mapped = map(json!({
        "number": "(( a.b ))",
        "all": "(( imports.a.b + 1 ))",
        "deep": {"x": ["(( a ))", "{{ not a template }}", "$((1+1)) (( a ))"], "own": "(( deep || x[0].b ))"},
    }));
    assert_eq!(
        json!(mapped.unwrap()),
        json!({
            "number": 3,
            "all": 4,
            "deep": {"x": [{"b": 3}, "{{ not a template }}", "$((1+1)) (( a ))"], "own": 3},
        })
    );
    let error = map(
        json!({"x": ["(( a.c ))"], "y": "{{ .imports.secret.z }}", "w": "{{ .imports.secret }}: ["}),
    )
    .unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("importDataMappings.x[0]: `a.c` is not found"),
        "{text}"
    );
    assert!(
        text.contains("importDataMappings.y:1:4: a string has no field `z`"),
        "{text}"
    );
    assert!(!text.contains("canary"), "{text}");
}

#[test]
fn i41_imports_that_nothing_has_to_provide() {
    let blueprint = blueprint(
        "imports:\n- {name: must, schema: {}}\n- {name: may, required: false, schema: {}}\n- {name: else, schema: {}, default: {value: 1}}\n\
         - name: url\n  required: false\n  schema: {}\n  imports:\n  - {name: password, schema: {}}\n  - name: proxy\n    required: false\n    schema: {}\n    imports: [{name: port, schema: {}}]\n",
    );
    let absent = |given: &[&str]| {
        let names = [
            "must", "may", "else", "url", "password", "proxy", "port", "unknown",
        ];
        let names = names.into_iter();
        let absent =
            names.filter(|name| blueprint.may_be_absent(name, |other| given.contains(&other)));
        absent.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(absent(&[]), "may else url password proxy port");
    assert_eq!(absent(&["url"]), "may else url proxy port");
    assert_eq!(absent(&["url", "proxy"]), "may else url proxy");
}

#[test]
fn what_templates_compute_is_counted_over_all_executors_of_a_section() {
    let busy = "{{ $a := repeat 100000 \"a\" }}{{ $b := regexMatch \"a*b\" $a }}deployItems: []";
    let executors = |count: usize| {
        let one = |at| format!("- {{name: e{at}, type: GoTemplate, template: '{busy}'}}\n");
        let all: String = (0..count).map(one).collect();
        blueprint(&format!("deployExecutions:\n{all}"))
    };
    let render = |count| executors(count).render_deploy_items(&Input::default());
    assert!(render(5).is_ok());
    let error = render(300).unwrap_err().to_string();
    assert!(error.contains("max_steps"), "{error}");
}

/// The number and the length of findings are limited: neither many of them nor long values of a schema become texts.
#[test]
fn what_schemas_find_is_little_however_much_there_is() {
    let names: Vec<String> = (0..5_000).map(|number| format!("n{number}")).collect();
    let long = "x".repeat(900_000);
    let empty = json!(vec![json!({}); 15_000]);
    for (schema, value) in [
        (json!({"items": {"required": names}}), empty.clone()),
        (json!({"items": {"const": long}}), empty.clone()),
        (
            json!({"items": {"enum": vec![long.clone(); 10]}}),
            empty.clone(),
        ),
        (
            json!({"items": {"not": {"anyOf": [{"const": long}, {}]}}}),
            empty,
        ),
    ] {
        let said = complete(&with_schema(&schema.to_string()), json!({"value": value}));
        let said = said.unwrap_err();
        let bytes: usize = said.iter().map(String::len).sum();
        assert!(said.len() <= 20 && bytes < 60_000, "{} {bytes}", said.len());
    }
}

/// What schemas cost is counted over all imports: large patterns, enumerations against many items, comparisons of all pairs.
#[test]
fn costly_schemas_are_refused_within_their_budget() {
    let long = "a".repeat(20_000);
    let numbers: Vec<usize> = (0..1_000).collect();
    let enumeration = json!({"items": {"allOf": [{"enum": numbers}, {"enum": numbers}]}});
    let many = json!(vec![999; 14_000]);
    let patterns: Vec<_> = (0..300)
        .map(|number| json!({"pattern": format!("((a{{1,100}}){{1,100}}b{number}|a*)$")}))
        .collect();
    let texts: Vec<_> = (0..2_000).map(|number| format!("{long}{number}")).collect();
    let table = [
        (json!({"allOf": patterns}), json!(long)),
        (enumeration, many),
        (json!({"uniqueItems": true}), json!(texts)),
        (
            json!({"patternProperties": {"(a{1,100}){1,100}b": {}}}),
            json!({long.clone(): 1}),
        ),
        (
            json!({"not": {"pattern": "(a{1,100}){1,100}b"}}),
            json!(long),
        ),
    ];
    for (schema, value) in table {
        let said = complete(&with_schema(&schema.to_string()), json!({"value": value}));
        let text = said.unwrap_err().join("; ");
        assert!(text.contains("too costly"), "{text:.300}");
    }
}
