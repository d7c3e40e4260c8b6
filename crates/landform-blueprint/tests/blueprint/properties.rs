//! Whatever the definition and the values: no panic.

use landform_blueprint::{Blueprint, FileLimits, Files, Input};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{files, read};

fn line() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "imports:",
        "exports:",
        "- name: a",
        "  schema: {}",
        "  schema:",
        "    type: string",
        "    $ref: local://t",
        "localTypes: {t: {$ref: \"local://t\"}}",
        "  type: target",
        "  targetType: x",
        "  required: no",
        "  default: {value: y}",
        "  imports:",
        "  - name: b",
        "deployExecutions:",
        "  type: GoTemplate",
        "  template: |",
        "    deployItems: [{name: {{ .imports.a }}}]",
        "    {{ range",
        "subinstallations:",
        "  blueprint: {path: x}",
        "- file: x",
        "exportExecutions:",
        "- {}",
        "- []",
        "  - 1",
        "kind: Blueprint",
    ])
    .prop_map(str::to_owned)
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z$#/]{0,6}".prop_map(Value::from),
    ];
    let word = prop::sample::select(vec![
        "type",
        "properties",
        "items",
        "$ref",
        "anyOf",
        "not",
        "enum",
        "required",
        "minimum",
        "a",
    ]);
    leaf.prop_recursive(4, 32, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(word.clone().prop_map(str::to_owned), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_definition_is_read_or_refused(text in "\\PC*") {
        let _ = read(&text);
    }

    #[test]
    fn nearly_right_definitions_do_no_harm(lines in prop::collection::vec(line(), 0..30), value in json_value()) {
        if let Ok(blueprint) = read(&lines.join("\n")) {
            let given = [("a".to_owned(), value)].into();
            if let Ok(imports) = blueprint.complete_imports(&given) {
                let input = Input { imports, ..Input::default() };
                let _ = blueprint.render_deploy_items(&input);
                let _ = blueprint.render_subinstallations(&input);
            }
        }
    }

    #[test]
    fn any_schema_meets_any_value(schema in json_value(), value in json_value()) {
        let definition = json!({"imports": [{"name": "a", "schema": schema}]}).to_string();
        if let Ok(blueprint) = Blueprint::from_files(files(&[("blueprint.yaml", &definition)])) {
            let _ = blueprint.complete_imports(&[("a".to_owned(), value)].into());
        }
    }

    #[test]
    fn any_bytes_are_an_archive_or_not(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let _ = Files::from_tar(&bytes, &FileLimits::default());
    }
}
