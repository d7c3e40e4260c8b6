//! Executors of type Spiff, written as Landscaper's documentation and tests write them.

use landform_blueprint::{Blueprint, ExportValues, Input, MappingKind, map_data};
use serde_json::{Value, json};

use crate::{files, given, input};

fn read(definition: &str) -> Blueprint {
    let files = files(&[
        ("blueprint.yaml", definition),
        ("VERSION", "0.0.1"),
        (
            "deploy.yaml",
            "deployItems:\n- name: file\n  type: t\n  config:\n    image: (( \"image:\" read(\"./VERSION\", \"text\") ))\n",
        ),
    ]);
    Blueprint::from_files(files).unwrap_or_else(|error| panic!("{error}"))
}

fn configs(definition: &str, imports: Value) -> Result<Value, String> {
    let input = Input {
        installation: json!({"name": "shop"}),
        ..input(imports)
    };
    let rendered = read(definition).render_deploy_items(&input);
    let rendered = rendered.map_err(|error| error.to_string())?;
    assert_eq!(rendered.warnings, []);
    let items = rendered.value.into_iter();
    Ok(items.map(|item| json!([item.name, item.config])).collect())
}

#[test]
fn deploy_items_from_a_text_a_structure_and_a_file() {
    let definition = r#"
deployExecutions:
- name: text
  type: Spiff
  template: |
    helper:
      <<<: (( &temporary ))
      image: (( imports.image.name ":" imports.image.version ))
    other: 1
    deployItems:
    - name: text
      type: t
      config:
        image: (( helper.image ))
        all: (( imports ))
- name: structure
  type: Spiff
  template:
    deployItems:
    - name: structure
      type: t
      config:
        image: (( "my-image:" imports.image.version ))
        size: (( imports.size || 3 ))
        of: (( __ctx.OUTER[0].installation.name ))
        tmp: (( parseOCIRef( "host:5000/a/b:1.0" ) ))
        reference: (( tmp[0] "@" tmp[1] ))
- {name: file, type: Spiff, file: deploy.yaml}
"#;
    let imports = json!({"image": {"name": "web", "version": "1.2"}});
    assert_eq!(
        configs(definition, imports.clone()).unwrap(),
        json!([
            ["text", {"image": "web:1.2", "all": imports}],
            ["structure", {
                "image": "my-image:1.2", "size": 3, "of": "shop",
                "tmp": ["host:5000/a/b", "1.0"], "reference": "host:5000/a/b@1.0",
            }],
            ["file", {"image": "image:0.0.1"}],
        ])
    );
}

#[test]
fn errors_show_the_place_in_the_file() {
    let definition = "deployExecutions:\n- name: a\n  type: Spiff\n  template: |\n    deployItems:\n    - name: (( imports.a.b ))\n      config: (( getResource(cd, \"name\", \"x\") ))\n";
    let error = configs(definition, json!({"a": {"secret": "canary"}})).unwrap_err();
    let lines = [
        "blueprint.yaml:6:16: deployItems[0].name: `imports.a.b` is not found",
        "blueprint.yaml:7:18: deployItems[0].config: the installation has no component descriptor that can be read: registries can't be yet, so write it under spec.componentDescriptor.inline",
    ];
    assert_eq!(error, lines.join("; "));
    let definition = "deployExecutions:\n- name: a\n  type: Spiff\n  template:\n    deployItems:\n    - name: '(( imports.a.b ))'\n";
    assert_eq!(
        configs(definition, json!({"a": {}})).unwrap_err(),
        "blueprint.yaml:6:17: deployItems[0].name: `imports.a.b` is not found"
    );
    let definition = "deployExecutions:\n- {name: a, type: Spiff, template: {deployItems: \"(( imports.a ))\"}}\n";
    assert_eq!(
        configs(definition, json!({"a": 1})).unwrap_err(),
        "output of deploy executor \"a\": deployItems: this has to be a list of deploy items"
    );
    let definition = "deployExecutions:\n- {name: a, type: Spiff, template: text}\n";
    assert_eq!(
        configs(definition, json!({})).unwrap_err(),
        "output of deploy executor \"a\": this has to be a map, and is a string"
    );
}

/// The example of Landscaper's page on blueprints.
#[test]
fn import_executions_bind_and_refuse() {
    let definition = r#"
importExecutions:
- name: check
  type: Spiff
  template:
    errors:
    - (( imports.prefix == imports.suffix ? "prefix and suffix must be different" :~~ ))
    - <<<: (( imports.errors || ~~ ))
    bindings:
      basename: tempfile
- name: compose
  type: Spiff
  template:
    bindings:
      <<<: (( imports ))
      compound: (( imports.prefix imports.basename imports.suffix ))
      pairs: (( valid( imports.map ) ? sum[imports.map|[]|s,k,v|-> s [{"key" = k, "value" = v}]] :~~ ))
"#;
    let run = |imports: Value| read(definition).run_import_executions(&input(imports));
    let bound = run(json!({"prefix": "/tmp/", "suffix": ".tmp", "map": {"a": 1}})).unwrap();
    assert_eq!(
        json!(bound.value),
        json!({
            "prefix": "/tmp/", "suffix": ".tmp", "map": {"a": 1}, "basename": "tempfile",
            "compound": "/tmp/tempfile.tmp", "pairs": [{"key": "a", "value": 1}],
        })
    );
    let refused = run(json!({"prefix": "x", "suffix": "x", "errors": ["more"]})).unwrap_err();
    let text = refused.to_string();
    assert!(
        text.contains("refuses the imports: prefix and suffix must be different"),
        "{text}"
    );
    assert!(text.contains("refuses the imports: more"), "{text}");
}

#[test]
fn nested_installations_and_exports() {
    let definition = r#"
imports: [{name: names, schema: {}}]
exports: [{name: urls, schema: {}}, {name: place, targetType: cluster}]
subinstallationExecutions:
- name: sub
  type: Spiff
  template:
    subinstallations: (( map[imports.names|each|->*template] ))
    template:
      <<<: (( &template &temporary ))
      name: (( each ))
      blueprint: {path: (( "blueprints/" each ))}
exportExecutions:
- name: exports
  type: Spiff
  template:
    exports:
      urls: (( values.deployitems.[*].url [ values.dataobjects.extra || "none" ] ))
      place: (( values.targets.below.spec ))
"#
    .replace(
        "{path: (( \"blueprints/\" each ))}",
        "{path: '(( \"blueprints/\" each ))'}",
    );
    let blueprint = read(&definition);
    let input = input(json!({"names": ["a", "b"]}));
    let nested = blueprint.render_subinstallations(&input).unwrap().value;
    let paths: Vec<_> = nested
        .iter()
        .map(|sub| json!([sub.name, sub.blueprint.path]))
        .collect();
    assert_eq!(
        json!(paths),
        json!([["a", "blueprints/a"], ["b", "blueprints/b"]])
    );
    let values = ExportValues {
        deploy_items: given(json!({"x": {"url": "http://x"}, "w": {"url": "http://w"}})),
        targets: given(json!({"below": {"spec": {"type": "cluster"}}})),
        ..ExportValues::default()
    };
    let exports = blueprint.render_exports(&input, &values).unwrap().value;
    assert_eq!(
        json!(exports),
        json!({"urls": ["http://w", "http://x", "none"], "place": {"type": "cluster"}})
    );
}

/// As Landscaper's test of state: what was there first stays, and a counter counts.
#[test]
fn state_is_kept_for_each_executor() {
    let definition = r#"
deployExecutions:
- name: one
  type: Spiff
  template: |
    state:
      <<<: (( &state ))
      version: (( imports.version ))
    runs: (( &state( ( merge || 0 ) + 1 ) ))
    deployItems:
    - name: init
      type: t
      config: (( "image:" .state.version "-" runs ))
- name: two
  type: Spiff
  template:
    deployItems: []
"#;
    let blueprint = read(definition);
    let mut seen: Input = input(json!({"version": "0.0.1"}));
    for (version, expected) in [("0.0.1", "image:0.0.1-1"), ("0.0.2", "image:0.0.1-2")] {
        seen.imports = given(json!({"version": version}));
        let rendered = blueprint.render_deploy_items(&seen).unwrap();
        assert_eq!(json!(rendered.value[0].config), expected);
        seen.state.extend(rendered.state);
    }
    assert_eq!(
        json!(seen.state),
        json!({"deploy/one": {"state": {"version": "0.0.1"}, "runs": 2}})
    );
}

#[test]
fn words_that_others_take_for_booleans_are_warned_about() {
    let definition = "deployExecutions:\n- name: a\n  type: Spiff\n  template: |\n    deployItems: []\n    x: yes\n";
    let warnings = read(definition).warnings;
    let texts: Vec<_> = warnings.iter().map(ToString::to_string).collect();
    assert_eq!(texts.len(), 1, "{texts:?}");
    assert!(
        texts[0].starts_with("blueprint.yaml:6:8: \"yes\" is a boolean in YAML 1.1"),
        "{texts:?}"
    );
}

/// The YAML behind a heading of the page on blueprints.
fn documented(heading: &str) -> Vec<Value> {
    let page = include_str!("../../../../docs/blueprints.md");
    let section = page.split(&format!("\n## {heading}\n")).nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let blocks = section.split("```yaml\n").skip(1);
    let blocks = blocks.map(|block| block.split("```").next().unwrap());
    let parsed = blocks.map(|text| landform_yaml::parse_one(text, &landform_yaml::Budget::FILE));
    parsed.map(Result::unwrap).collect()
}

#[test]
fn the_documentation_says_what_is_so() {
    let [executor, state] = documented("Spiff").try_into().unwrap();
    let imports = json!({"image": "web", "version": 2, "replicas": 5});
    let found = configs(&executor.to_string(), imports).unwrap();
    let expected = json!({"image": "web:2", "replicas": 5, "class": "large"});
    assert_eq!(found, json!([["web", expected]]));
    let definition =
        json!({"deployExecutions": [{"name": "a", "type": "Spiff", "template": state}]});
    let mut seen = input(json!({}));
    for version in [1, 2] {
        seen.imports = given(json!({"version": version}));
        let rendered = read(&definition.to_string()).render_deploy_items(&seen);
        seen.state = rendered.unwrap().state;
    }
    assert_eq!(
        json!(seen.state),
        json!({"deploy/a": {"state": {"first": 1}, "runs": 2}})
    );

    let [mappings] = documented("Data mappings").try_into().unwrap();
    let data = given(json!({"host": "h", "port": 80, "base": {"a": 1}, "nodes": 2}));
    let mappings = given(mappings["importDataMappings"].clone());
    let mapped = map_data(MappingKind::Imports, &mappings, &data).unwrap();
    assert_eq!(
        json!(mapped),
        json!({
            "url": "https://h:80", "settings": {"a": 1, "size": 4}, "text": "2 nodes", "fixed": ["a", "b"],
        })
    );
}
