//! Secrets in templates: whatever depends on one is found, and nothing else is masked.

use std::collections::BTreeMap;

use landform_blueprint::{
    Blueprint, Guarded, GuardedExportValues, GuardedItem, Input, Inputs, MASK, MappingKind,
    map_guarded, stand_in,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{blueprint, given};

/// Inputs of which one import is secret.
fn inputs(secret: Value, others: Value) -> Inputs {
    let mut imports = Guarded::plain(given(others));
    imports.insert("secret".into(), secret, json!(MASK));
    let values = imports.values.clone();
    Inputs::new(
        values,
        &imports.shown,
        &Guarded::default(),
        Input::default(),
    )
}

fn deploying(template: &str, engine: &str) -> Blueprint {
    let definition = json!({
        "kind": "Blueprint", "apiVersion": "landscaper.gardener.cloud/v1alpha1",
        "imports": [{"name": "secret", "type": "data", "schema": {}}, {"name": "host", "type": "data", "schema": {}, "required": false}],
        "exports": [{"name": "a", "type": "data", "schema": {}}, {"name": "b", "type": "data", "schema": {}}],
        "deployExecutions": [{"name": "d", "type": engine, "template": template}],
    });
    blueprint(&definition.to_string())
}

fn items(template: &str, secret: Value) -> Vec<GuardedItem> {
    let mut inputs = inputs(secret, json!({"host": "db.local"}));
    let (items, _) = deploying(template, "GoTemplate")
        .guarded_items(&mut inputs)
        .unwrap();
    items
}

fn refused(template: &str) -> String {
    let mut inputs = inputs(json!("canary-7f3a"), json!({"host": "db.local"}));
    let error = deploying(template, "GoTemplate").guarded_items(&mut inputs);
    error.unwrap_err().to_string()
}

const HEAD: &str = "deployItems: [{name: a, type: t, config: ";

#[test]
fn whatever_a_template_makes_of_a_secret_is_masked_and_nothing_else() {
    let template = r#"{url: "postgres://u:{{ .imports.secret }}@{{ .imports.host }}/", host: {{ .imports.host }},
        encoded: {{ b64enc .imports.secret }}, hashed: {{ sha256sum .imports.secret }}, port: 5432,
        list: [plain, "{{ .imports.secret | upper }}"], parts: {{ splitList "-" .imports.secret | toJson }}}}]"#;
    let found = items(&format!("{HEAD}{template}"), json!("canary-7f3a"));
    let shown = found[0].shown.as_ref().unwrap();
    let expected = json!({
        "url": MASK, "host": "db.local", "encoded": MASK, "hashed": MASK, "port": 5432,
        "list": ["plain", MASK], "parts": [MASK, MASK],
    });
    assert_eq!(*shown, expected);
    let config = found[0].item.config.as_ref().unwrap();
    assert_eq!(config["url"], "postgres://u:canary-7f3a@db.local/");
}

#[test]
fn an_item_without_a_secret_shows_all_of_its_configuration() {
    let found = items(&format!("{HEAD}{{a: 1}}}}]"), json!("canary"));
    assert_eq!(found[0].shown, None);
}

#[test]
fn a_subtree_whose_shape_depends_on_a_secret_is_masked_as_a_whole() {
    let template =
        format!("{HEAD}{{keys: {{ {{{{ .imports.secret }}}}: 1 }}, other: {{a: 1}}}}}}]");
    let found = items(&template, json!("canary"));
    let expected = json!({"keys": MASK, "other": {"a": 1}});
    assert_eq!(found[0].shown, Some(expected));
}

#[test]
fn what_a_template_can_do_with_no_stand_in_is_secret_as_a_whole() {
    let template = format!(
        "{{{{ if ne .imports.secret \"canary\" }}}}{{{{ fail \"no\" }}}}{{{{ end }}}}{HEAD}{{a: 1}}}}]"
    );
    let found = items(&template, json!("canary"));
    assert_eq!(found[0].shown, Some(json!(MASK)));
    assert_eq!(found[0].item.config, Some(json!({"a": 1})));
}

#[test]
fn spiff_is_looked_through_too() {
    let template = "deployItems:\n- name: a\n  type: t\n  config:\n    url: (( \"u:\" imports.secret ))\n    host: (( imports.host ))\n";
    let mut inputs = inputs(json!("canary-7f3a"), json!({"host": "db.local"}));
    let (items, _) = deploying(template, "Spiff")
        .guarded_items(&mut inputs)
        .unwrap();
    let expected = json!({"url": MASK, "host": "db.local"});
    assert_eq!(items[0].shown, Some(expected));
}

#[test]
fn only_a_configuration_may_depend_on_a_secret() {
    let failing = "{{ if ne .imports.secret \"canary-7f3a\" }}{{ fail \"no\" }}{{ end }}";
    for (rest, field) in [
        ("{name: \"x{{ .imports.secret }}\", type: t}", "`name`"),
        ("{name: a, type: \"{{ .imports.secret }}\"}", "`type`"),
        (
            "{name: a, type: t, target: {name: \"{{ .imports.secret }}\"}}",
            "`target.name`",
        ),
        (
            "{name: a, type: t, labels: {l: \"{{ .imports.secret }}\"}}",
            "`labels.l`",
        ),
    ] {
        for before in ["", failing] {
            let error = refused(&format!("{before}deployItems: [{rest}]"));
            assert!(
                error.contains(field) && error.contains("only `config` may"),
                "{error}"
            );
            assert!(!error.contains("canary"), "{error}");
        }
    }
    let error = refused(
        "deployItems: [{name: a, type: t}{{ if eq .imports.secret \"canary-7f3a\" }}, {name: b, type: t}{{ end }}]",
    );
    assert!(error.contains("how many deploy items"), "{error}");
}

#[test]
fn nested_installations_get_secrets_by_imports_alone() {
    let template = "subinstallations: [{name: n, blueprint: {path: p}, importDataMappings: {url: \"u:{{ .imports.secret }}\"}}]";
    let definition = json!({
        "imports": [{"name": "secret", "type": "data", "schema": {}}],
        "subinstallationExecutions": [{"name": "d", "type": "GoTemplate", "template": template}],
    });
    let read = blueprint(&definition.to_string());
    let mut inputs = inputs(json!("canary"), json!({}));
    let error = read.guarded_subinstallations(&mut inputs).unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("\"n\": `importDataMappings.url`") && error.contains("`imports.data`"),
        "{error}"
    );
    assert!(!error.contains("canary"));
}

#[test]
fn bindings_mappings_state_and_exports_stay_secret() {
    let definition = json!({
        "imports": [{"name": "secret", "type": "data", "schema": {}}],
        "exports": [
            {"name": "url", "type": "data", "schema": {}}, {"name": "port", "type": "data", "schema": {}},
            {"name": "token", "type": "data", "schema": {}, "secret": true}, {"name": "made", "type": "data", "schema": {}},
        ],
        "importExecutions": [{"name": "i", "type": "GoTemplate", "template":
            "bindings: {dsn: \"db:{{ .imports.secret }}\", size: 3}"}],
        "deployExecutions": [{"name": "d", "type": "GoTemplate", "template":
            "state: {kept: \"{{ b64enc .imports.dsn }}\", count: 1}\ndeployItems: [{name: a, type: t, config: {dsn: \"{{ .imports.dsn }}\", size: 3}}]"}],
        "exportExecutions": [{"name": "e", "type": "GoTemplate", "template":
            "exports: {url: \"x{{ .imports.dsn }}\", port: 5432, token: abc, made: \"{{ .values.deployitems.a.key }}\"}"}],
    });
    let read = blueprint(&definition.to_string());
    let mut inputs = inputs(json!("canary"), json!({}));
    read.bind(&mut inputs).unwrap();
    let imports = inputs.imports();
    assert_eq!(imports.shown("dsn"), Some(&json!(MASK)));
    assert_eq!(imports.shown("size"), Some(&json!(3)));
    let (items, _) = read.guarded_items(&mut inputs).unwrap();
    assert_eq!(items[0].shown, Some(json!({"dsn": MASK, "size": 3})));
    let state = inputs.state();
    let expected = json!({"kept": MASK, "count": 1});
    assert_eq!(state.shown("deploy/d"), Some(&expected));
    let mut values = GuardedExportValues::default();
    values
        .deploy_items
        .insert("a".into(), json!({"key": "k1"}), json!({"key": MASK}));
    let (exports, _) = read.guarded_exports(&mut inputs, &values).unwrap();
    assert_eq!(exports.values["url"], json!("xdb:canary"));
    let shown: BTreeMap<_, _> = exports
        .values
        .keys()
        .map(|name| (name.as_str(), exports.shown(name).cloned().unwrap()))
        .collect();
    let expected = BTreeMap::from([
        ("url", json!(MASK)),
        ("port", json!(5432)),
        ("token", json!(MASK)),
        ("made", json!(MASK)),
    ]);
    assert_eq!(shown, expected);
    let mappings = given(json!({"x": {"a": "{{ .exports.url }}", "b": "{{ .exports.port }}"}}));
    let mapped = map_guarded(MappingKind::Exports, &mappings, &exports).unwrap();
    assert_eq!(mapped.shown("x"), Some(&json!({"a": MASK, "b": 5432})));
}

#[test]
fn a_secret_part_of_an_import_leaves_the_rest_of_it_to_be_seen() {
    let mut imports = Guarded::default();
    let value = json!({"user": "app", "password": "canary", "port": 5432});
    let shown = json!({"user": "app", "password": MASK, "port": 5432});
    imports.insert("secret".into(), value, shown);
    let values = imports.values.clone();
    let mut inputs = Inputs::new(
        values,
        &imports.shown,
        &Guarded::default(),
        Input::default(),
    );
    let template = format!(
        "{HEAD}{{user: {{{{ .imports.secret.user }}}}, all: {{{{ toJson .imports.secret }}}}}}}}]"
    );
    let (items, _) = deploying(&template, "GoTemplate")
        .guarded_items(&mut inputs)
        .unwrap();
    let expected = json!({"user": "app", "all": {"user": "app", "password": MASK, "port": 5432}});
    assert_eq!(items[0].shown, Some(expected));
}

const CANARY: &str = "CANARY-7f3a-x";

/// All that a blueprint with this template says about a canary: errors and warnings.
fn said(template: &str, engine: &str) -> Vec<String> {
    let mut inputs = inputs(json!(CANARY), json!({"host": "db.local"}));
    match deploying(template, engine).guarded_items(&mut inputs) {
        Ok((_, warnings)) => warnings.iter().map(ToString::to_string).collect(),
        Err(error) => error.problems.iter().map(ToString::to_string).collect(),
    }
}

#[test]
fn no_message_that_a_template_brings_about_holds_what_was_made_of_a_secret() {
    let item = |rest: &str| format!("deployItems: [{{name: a, type: t, {rest}}}]");
    let only_real = |rest: &str| {
        format!("{{{{ if eq .imports.secret \"{CANARY}\" }}}}{rest}{{{{ end }}}}deployItems: []")
    };
    let secret = "{{ .imports.secret }}";
    // The template, and what is left of the message.
    let cases = [
        (
            item(&format!("target: {{import: \"{secret}\"}}")),
            "target.import: the blueprint has no import \"(secret)\"",
        ),
        (
            item(&format!("dependsOn: [\"{secret}\"]")),
            "the item \"a\" depends on \"(secret)\", which is no item",
        ),
        (
            item(&format!("\"{secret}\": 1")),
            "deployItems[0].(secret): this field is not known",
        ),
        (
            item("\"{{ b64enc .imports.secret }}\": 1"),
            "deployItems[0].(secret): this field is not known",
        ),
        (
            format!("\"{secret}\": 1\n\"{secret}\": 2\ndeployItems: []"),
            "(secret): this key is given more than once",
        ),
        (
            format!(
                "deployItems:\n- {{name: \"{secret}\", type: t}}\n- {{name: \"{secret}\", type: t}}"
            ),
            "there are two deploy items \"(secret)\"",
        ),
        (
            item(&format!("labels: {{\"{secret}\": 1}}")),
            "labels have to be strings",
        ),
        ("{{ fail .imports.secret }}".to_owned(), "(secret)"),
        (
            "{{ fail (print \"the password \" .imports.secret \" is too short\") }}".to_owned(),
            "the password (secret) is too short",
        ),
        (
            "{{ fail (sha256sum .imports.secret) }}".to_owned(),
            "(secret)",
        ),
        (
            "{{ fail \"the password is too short\" }}".to_owned(),
            "the password is too short",
        ),
        (
            only_real("{{ fail \"CANARY is what it begins with\" }}"),
            "depends on a secret",
        ),
        (only_real("\"CANARY\": 1\n"), "depends on a secret"),
    ];
    for (template, expected) in cases {
        let said = said(&template, "GoTemplate");
        assert!(!said.is_empty(), "{template}");
        for text in &said {
            assert!(
                !text.contains("CANARY") && !text.contains("Q0FOQVJZ") && !text.contains("7f3a"),
                "{template}: {text}"
            );
        }
        assert!(
            said.iter().any(|text| text.contains(expected)),
            "{template}: {said:?}"
        );
    }
    for expression in [
        "error(imports.secret)",
        "parse(imports.secret \": [\")",
        "format(\"%d\", imports.secret)",
        "read(imports.secret)",
        "imports[imports.secret]",
        "split_match(\"(\" imports.secret, \"a\")",
        "error(\"it is \" imports.secret)",
    ] {
        let said = said(
            &format!("deployItems: []\nx: '(( {expression} ))'\n"),
            "Spiff",
        );
        assert!(!said.is_empty(), "{expression}");
        assert!(!said.concat().contains("CANARY"), "{expression}: {said:?}");
    }
}

#[test]
fn names_of_imports_and_exports_do_not_depend_on_secrets() {
    let definition = json!({
        "imports": [{"name": "secret", "type": "data", "schema": {}}],
        "importExecutions": [{"name": "i", "type": "GoTemplate", "template":
            "bindings: {\"{{ .imports.secret }}\": 1}\nerrors: []"}],
        "exportExecutions": [{"name": "e", "type": "GoTemplate", "template":
            "exports: {\"{{ .imports.secret }}\": 1}"}],
    });
    let read = blueprint(&definition.to_string());
    let mut inputs = inputs(json!(CANARY), json!({}));
    let errors = [
        read.bind(&mut inputs.clone()).unwrap_err(),
        read.guarded_exports(&mut inputs, &GuardedExportValues::default())
            .unwrap_err(),
    ];
    for error in errors {
        let error = error.to_string();
        assert!(
            error.contains("depend on a secret") && !error.contains("CANARY"),
            "{error}"
        );
    }
}

#[test]
fn errors_of_import_executors_and_mappings_hold_no_secret() {
    let definition = json!({
        "imports": [{"name": "secret", "type": "data", "schema": {}}],
        "importExecutions": [{"name": "i", "type": "GoTemplate", "template":
            "errors: [\"the password {{ .imports.secret }} is bad\"]"}],
    });
    let mut inputs = inputs(json!(CANARY), json!({}));
    let error = blueprint(&definition.to_string())
        .bind(&mut inputs)
        .unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("refuses the imports: the password (secret) is bad"),
        "{error}"
    );
    let mut data = Guarded::default();
    data.insert("x".into(), json!(CANARY), json!(MASK));
    for value in [
        "{{ fail .imports.x }}",
        "(( error(x) ))",
        "(( \"a\" x + 1 ))",
    ] {
        let mappings = given(json!({"m": value}));
        let error = map_guarded(MappingKind::Imports, &mappings, &data).unwrap_err();
        assert!(!error.to_string().contains("CANARY"), "{error}");
    }
}

#[test]
fn a_schema_that_refuses_a_secret_names_only_fields_that_it_knows() {
    let schemas = [
        json!({"type": "object", "additionalProperties": false, "properties": {"known": {"type": "integer"}}}),
        json!({"type": "object", "additionalProperties": {"type": "integer"}}),
        json!({"type": "object", "patternProperties": {"^C": {"type": "integer"}}}),
        json!({"type": "object", "propertyNames": {"maxLength": 2}}),
        json!({"properties": {"known": {"additionalProperties": false}}}),
    ];
    let value = json!({CANARY: "a", "known": {"CANARY2": "b"}});
    for schema in schemas {
        let definition = json!({
            "imports": [{"name": "secret", "type": "data", "schema": schema}],
            "exports": [{"name": "secret", "type": "data", "schema": schema}],
        });
        let read = blueprint(&definition.to_string());
        let mut secret = Guarded::default();
        secret.insert("secret".into(), value.clone(), json!(MASK));
        let of_imports = read.complete_guarded(&secret).unwrap_err();
        for problem in of_imports
            .iter()
            .chain(&read.check_guarded_exports(&secret))
        {
            let text = problem.to_string();
            assert!(!text.contains("CANARY"), "{schema}: {text}");
        }
        // What is no secret is named.
        let plain = Guarded::plain(secret.values.clone());
        let texts: Vec<_> = read.complete_guarded(&plain).unwrap_err();
        assert!(
            texts.iter().any(|text| text.to_string().contains("CANARY")),
            "{schema}"
        );
        let mut part = Guarded::default();
        part.insert(
            "secret".into(),
            value.clone(),
            json!({CANARY: MASK, "known": {"CANARY2": MASK}}),
        );
        let texts: Vec<_> = read.complete_guarded(&part).unwrap_err();
        assert!(
            texts.iter().any(|text| text.to_string().contains("CANARY")),
            "{schema}"
        );
    }
}

/// What templates do to texts; each keeps enough of a text to tell it from its stand-in.
const FUNCTIONS: [&str; 10] = [
    "b64enc",
    "sha256sum",
    "upper",
    "lower",
    "trim",
    "printf \"x-%s-y\"",
    "quote",
    "repeat 2",
    "replace \"-\" \"+\"",
    "toJson",
];

proptest! {
    /// A chain of functions over a secret is found, wherever in the output it stands; beside it nothing is masked.
    #[test]
    fn no_use_of_a_secret_is_missed(
        secret in "[a-z]{1,3}[a-zA-Z0-9@:/-]{0,12}",
        chain in prop::collection::vec(prop::sample::select(&FUNCTIONS[..]), 0..4),
        plain in prop::collection::vec(prop::sample::select(&FUNCTIONS[..]), 0..4),
    ) {
        let piped = |of: &str, chain: &[&str]| {
            let chain: String = chain.iter().map(|function| format!(" | {function}")).collect();
            format!("{{{{ .imports.{of}{chain} | toJson }}}}")
        };
        let template = format!(
            "{HEAD}{{list: [{{a: {0}, b: {1}}}, {1}], c: {{ d: {0} }}}}}}]",
            piped("secret", &chain), piped("host", &plain)
        );
        let found = items(&template, json!(secret));
        let shown = found[0].shown.clone().unwrap_or_default();
        let config = found[0].item.config.clone().unwrap_or_default();
        prop_assert_eq!(&shown["list"][0]["a"], MASK);
        prop_assert_eq!(&shown["c"]["d"], MASK);
        prop_assert_eq!(&shown["list"][0]["b"], &config["list"][0]["b"]);
        prop_assert_eq!(&shown["list"][1], &config["list"][1]);
    }

    /// A stand-in is another value of the same form.
    #[test]
    fn a_stand_in_has_the_form_of_the_real_value(text in "\\PC{1,20}", number in any::<i64>(), float in -1e9..1e9_f64) {
        let twin = stand_in(&json!(text), &json!(MASK));
        let twin = twin.as_str().unwrap_or_default();
        if text != MASK {
            prop_assert_ne!(twin, text.as_str());
        }
        prop_assert_eq!(twin.chars().count(), text.chars().count());
        for number in [json!(number), json!(float)] {
            let twin = stand_in(&number, &json!(MASK));
            prop_assert!(twin.is_number());
            prop_assert_ne!(twin, number);
        }
        prop_assert_eq!(stand_in(&json!([true, null, ""]), &json!(MASK)), json!([true, null, ""]));
    }
}
