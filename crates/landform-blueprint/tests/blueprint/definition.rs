//! What is said about a definition that is wrong.

use landform_blueprint::{Blueprint, ValueKind};

use crate::{blueprint, files, problems, read};

/// Definitions with the problem that has to be among those reported.
const WRONG: &[(&str, &str)] = &[
    (
        "kind: Other",
        "blueprint.yaml:1:7: kind: this has to be `Blueprint`",
    ),
    (
        "[1]",
        "blueprint.yaml:1:1: this has to be a map, and is a list",
    ),
    (
        "imports: 3",
        "imports: this has to be a list, and is an integer",
    ),
    (
        "imports:\n- schema: {}",
        "blueprint.yaml:2:3: imports[0]: `name` is missing",
    ),
    ("imports:\n- name: a", "imports[0]: `schema` is missing"),
    (
        "imports:\n- {name: a, type: target}",
        "imports[0]: `targetType` is missing",
    ),
    (
        "imports:\n- {name: a, type: strange}",
        "imports[0].type: this has to be `data`, `target`, `targetList` or `targetMap`",
    ),
    (
        "imports:\n- {name: a, type: componentDescriptor}",
        "component descriptors are not supported yet",
    ),
    (
        "imports:\n- {name: a, schema: {}}\n- {name: a, schema: {}}",
        "there are two imports \"a\"",
    ),
    (
        "imports:\n- {name: a, schema: {}, required: maybe}",
        "imports[0].required: this has to be true or false",
    ),
    (
        "imports:\n- {name: a, schema: {}, default: 3}",
        "imports[0].default: this has to be a map",
    ),
    (
        "imports:\n- {name: a, schema: {}, default: {}}",
        "`value` is missing",
    ),
    (
        "imports:\n- name: a\n  schema: {}\n  imports: [{name: b, schema: {}}]",
        "write `required: false`",
    ),
    (
        "imports:\n- name: a\n  schema:\n    $ref: local://none",
        "blueprint.yaml:4:11: imports[0].schema.$ref: there is no type \"none\"",
    ),
    (
        "imports:\n- {name: a, schema: {$ref: \"blueprint://none.json\"}}",
        "the blueprint has no file",
    ),
    (
        "imports:\n- {name: a, schema: {$ref: \"cd://resources/x\"}}",
        "component descriptors are not supported yet",
    ),
    (
        "imports:\n- {name: a, schema: {$ref: \"https://example.org\"}}",
        "only `#/…`",
    ),
    (
        "imports:\n- {name: a, schema: {$ref: \"#/definitions/x\"}}",
        "there is nothing at",
    ),
    (
        "imports:\n- {name: a, schema: {type: text}}",
        "imports[0].schema.type: this has to be one of string",
    ),
    (
        "imports:\n- {name: a, schema: {pattern: \"(?=x)\"}}",
        "no pattern that is known here",
    ),
    (
        "exports:\n- {name: a, type: targetList, targetType: t}",
        "can't be exported",
    ),
    (
        "exports:\n- {name: a, type: targetMap, targetType: t}",
        "maps of targets can't be exported",
    ),
    (
        "imports:\n- {name: a, type: targetMap}",
        "imports[0]: `targetType` is missing",
    ),
    (
        "exports:\n- {name: a, schema: {}}\n- {name: a, schema: {}}",
        "there are two exports",
    ),
    (
        "deployExecutions:\n- {name: a, type: Jinja, template: x}",
        "deployExecutions[0].type: this has to be `GoTemplate` or `Spiff`",
    ),
    (
        "deployExecutions:\n- {name: a, template: x}",
        "`type` is missing",
    ),
    (
        "deployExecutions:\n- {name: a, type: GoTemplate}",
        "`file` or `template` is missing",
    ),
    (
        "deployExecutions:\n- {name: a, type: GoTemplate, file: x, template: y}",
        "exclude each other",
    ),
    (
        "deployExecutions:\n- {name: a, type: GoTemplate, template: {a: 1}}",
        "a Go template is a text",
    ),
    (
        "deployExecutions:\n- {name: a, type: GoTemplate, file: none}",
        "names a file that is not there: none",
    ),
    (
        "deployExecutions:\n- name: a\n  type: GoTemplate\n  template: |\n    x: 1\n    y: {{ nope }}",
        "blueprint.yaml:6:11: there is no function `nope`",
    ),
    (
        "deployExecutions:\n- name: a\n  type: Spiff\n  template: |\n    x: 1\n    z: (( a && b ))",
        "blueprint.yaml:6:13: z: dynaml has no `&&`",
    ),
    (
        "deployExecutions:\n- name: a\n  type: Spiff\n  template:\n    x:\n    - 1\n    - (( [1 ))",
        "blueprint.yaml:7:13: x[1]: the bracket is not closed here",
    ),
    ("subinstallations:\n- file: none", "there is no file none"),
    (
        "subinstallations:\n- {name: a, blueprint: {ref: \"cd://x\"}}",
        "component descriptors are not supported yet",
    ),
    ("subinstallations:\n- {name: a}", "`blueprint` is missing"),
    (
        "subinstallations:\n- {name: a, blueprint: {path: x}}\n- {name: a, blueprint: {path: x}}",
        "two nested installations \"a\"",
    ),
    ("a: [", "blueprint.yaml:"),
];

#[test]
fn wrong_definitions_are_explained() {
    let mut missed = Vec::new();
    for (definition, expected) in WRONG {
        let found = problems(read(definition));
        if !found.iter().any(|problem| problem.contains(expected)) {
            missed.push(format!(
                "{definition}\n  expected {expected}\n  found {found:#?}"
            ));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn a_blueprint_has_its_definition() {
    let found = problems(Blueprint::from_files(files(&[("other.yaml", "")])));
    assert_eq!(
        found,
        ["blueprint.yaml: the file is missing: a blueprint has it at its root"]
    );
}

#[test]
fn types_are_inferred() {
    let blueprint = blueprint(
        "imports:\n- {name: a, targetType: t}\n- {name: b, schema: {}}\n- {name: c, type: targetList, targetType: t}\n- {name: d, type: targetMap, targetType: t}",
    );
    let kinds = blueprint
        .definition
        .imports
        .iter()
        .map(|import| match import.kind {
            ValueKind::Data { .. } => "data",
            ValueKind::Target { .. } => "target",
            ValueKind::TargetList { .. } => "targetList",
            ValueKind::TargetMap { .. } => "targetMap",
        });
    let kinds: Vec<_> = kinds.collect();
    assert_eq!(kinds, ["target", "data", "targetList", "targetMap"]);
}

#[test]
fn words_of_yaml_1_1_are_read_as_written_and_warned_about() {
    let blueprint = blueprint(
        "imports:\n- name: y\n  required: no\n  schema: {enum: [on, \"off\", true]}\nunknown: 1\n",
    );
    let import = &blueprint.definition.imports[0];
    assert_eq!((import.name.as_str(), import.required), ("y", false));
    assert_eq!(
        import.kind,
        ValueKind::Data {
            schema: serde_json::json!({"enum": ["on", "off", true]})
        }
    );
    let warnings: Vec<_> = blueprint.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings.len(), 4, "{warnings:#?}");
    assert!(
        warnings[0].starts_with("blueprint.yaml:2:9: \"y\" is a boolean in YAML 1.1"),
        "{warnings:#?}"
    );
    assert!(
        warnings[3].contains("unknown: this field is not known"),
        "{warnings:#?}"
    );
}

#[test]
fn executors_without_a_name_are_called_by_their_place() {
    let blueprint = blueprint(
        "deployExecutions:\n- {type: GoTemplate, template: \"deployItems: [{name: a, type: t}]\"}\n- {type: GoTemplate, template: \"state: {n: 1}\"}\n",
    );
    let rendered = blueprint.render_deploy_items(&landform_blueprint::Input::default());
    let rendered = rendered.unwrap();
    assert_eq!(rendered.value.len(), 1);
    let states: Vec<_> = rendered.state.keys().map(String::as_str).collect();
    assert_eq!(states, ["deploy/1"]);
    assert_eq!(blueprint.warnings.len(), 2, "{:?}", blueprint.warnings);
    assert!(
        problems(read(
            "deployExecutions:\n- {name: \"\", type: GoTemplate, template: x}"
        ))[0]
            .contains("must not be empty")
    );
}
