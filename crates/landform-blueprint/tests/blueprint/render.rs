//! What templates make: deploy items, nested installations, exports, state.

use landform_blueprint::{Blueprint, ExportValues, Input};
use serde_json::{Value, json};

use crate::{blueprint, files, given, input, target};

/// A blueprint with one deploy executor.
fn deploying(template: &str) -> Blueprint {
    let head = "imports:\n- {name: one, required: false, targetType: cluster}\n\
                - {name: many, required: false, type: targetList, targetType: cluster}\n- {name: data, required: false, schema: {}}\n\
                - {name: named, required: false, type: targetMap, targetType: cluster}\n\
                deployExecutions:\n- {name: main, type: GoTemplate, file: main.yaml}\n";
    let files = files(&[
        ("blueprint.yaml", head),
        ("main.yaml", template),
        ("dir/a.txt", "A"),
        ("dir/b/c.txt", "C"),
        ("part.yaml", "<{{ .x }}>"),
    ]);
    Blueprint::from_files(files).unwrap_or_else(|error| panic!("{error}"))
}

fn items(template: &str, imports: Value) -> Result<Value, String> {
    let rendered = deploying(template).render_deploy_items(&input(imports));
    rendered
        .map(|rendered| json!(rendered.value))
        .map_err(|error| error.to_string())
}

#[test]
fn deploy_items_with_targets() {
    let template = "deployItems:\n\
        - {name: a, type: t, target: {import: one}, config: {x: 1}, labels: {l: v}, timeout: 10m, updateOnChangeOnly: true}\n\
        - {name: b, type: t, target: {import: many, index: 1}, dependsOn: [a]}\n\
        - {name: c, type: t, target: {name: n, namespace: m}}\n- {name: d, type: t}\n";
    let imports = json!({"one": target("first"), "many": [target("second"), target("third")]});
    assert_eq!(
        items(template, imports).unwrap(),
        json!([
            {"name": "a", "type": "t", "target": {"name": "first", "namespace": "places"}, "config": {"x": 1},
             "labels": {"l": "v"}, "timeout": "10m", "updateOnChangeOnly": true},
            {"name": "b", "type": "t", "target": {"name": "third", "namespace": "places"}, "dependsOn": ["a"]},
            {"name": "c", "type": "t", "target": {"name": "n", "namespace": "m"}},
            {"name": "d", "type": "t"},
        ])
    );
    assert_eq!(
        items("deployitems: [{name: a, type: t}]", json!({})).unwrap()[0]["name"],
        "a"
    );
    assert_eq!(items("# nothing\n", json!({})).unwrap(), json!([]));
}

#[test]
fn deploy_items_go_to_targets_of_a_map_by_their_keys() {
    let template = "deployItems:\n{{ range $key, $target := .imports.named }}\
        - {name: item-{{ $key }}, type: t, target: {import: named, key: {{ $key }}}, config: {at: {{ $target.metadata.name }}}}\n{{ end }}";
    let imports = json!({"named": {"red": target("first"), "1": target("second")}});
    assert_eq!(
        items(template, imports).unwrap(),
        json!([
            {"name": "item-1", "type": "t", "target": {"name": "second", "namespace": "places"}, "config": {"at": "second"}},
            {"name": "item-red", "type": "t", "target": {"name": "first", "namespace": "places"}, "config": {"at": "first"}},
        ])
    );
}

#[test]
fn what_comes_from_an_absent_map_is_not_passed_on() {
    let definition = "imports:\n- {name: named, required: false, type: targetMap, targetType: cluster}\n- {name: one, required: false, targetType: cluster}\n- {name: two, targetType: cluster}\n\
        subinstallations:\n- name: sub\n  blueprint: {path: x}\n  imports:\n    targets:\n    - {name: a, targetMapRef: named}\n    - {name: b, target: \"named[red]\"}\n    - {name: c, targetMap: {x: one, y: two, z: \"named[blue]\"}}\n";
    let blueprint = blueprint(definition);
    let passed = |imports: Value| {
        let rendered = blueprint.render_subinstallations(&input(imports)).unwrap();
        json!(rendered.value[0].imports.targets)
    };
    assert_eq!(
        passed(json!({"two": target("t")})),
        json!([{"name": "c", "targetMap": {"y": "two"}}])
    );
    assert_eq!(
        passed(json!({"two": target("t"), "one": target("o"), "named": {"red": target("r")}})),
        json!([
            {"name": "a", "targetMapRef": "named"}, {"name": "b", "target": "named[red]"},
            {"name": "c", "targetMap": {"x": "one", "y": "two", "z": "named[blue]"}},
        ])
    );
}

#[test]
fn e11_wrong_deploy_items_are_refused() {
    let table = [
        ("deployItems: {a: 1}", "deployItems: this has to be a list"),
        (
            "deployItems: [{type: t}]",
            "deployItems[0]: `name` is missing",
        ),
        (
            "deployItems: [{name: a}]",
            "deployItems[0]: `type` is missing",
        ),
        (
            "deployItems: [{name: a, type: t}, {name: a, type: t}]",
            "two deploy items \"a\"",
        ),
        (
            "deployItems: [{name: a, type: t, dependsOn: [x]}]",
            "the item \"a\" depends on \"x\", which is no item",
        ),
        (
            "deployItems: [{name: a, type: t, dependsOn: [b]}, {name: b, type: t, dependsOn: [a]}]",
            "in a cycle: a → b → a",
        ),
        (
            "deployItems: [{name: a, type: t, dependsOn: [a]}]",
            "in a cycle: a → a",
        ),
        (
            "deployItems: [{name: x, type: t, dependsOn: [a]}, {name: a, type: t, dependsOn: [b]}, {name: b, type: t, dependsOn: [a]}]",
            "a → b → a",
        ),
        (
            "deployItems: [{name: a, type: t, target: {import: none}}]",
            "no import \"none\"",
        ),
        (
            "deployItems: [{name: a, type: t, target: {import: one}}]",
            "the import \"one\" is not given",
        ),
        (
            "deployItems: [{name: a, type: t, target: {import: data}}]",
            "is data, and no target",
        ),
        (
            "deployItems: [{name: a, type: t, target: {import: many}}]",
            "the import \"many\" is not given",
        ),
        (
            "deployItems: [{name: a, type: t, target: {import: one, index: -1}}]",
            "a number from 0",
        ),
        (
            "deployItems: [{name: a, type: t, labels: {a: 1}}]",
            "labels have to be strings",
        ),
        ("deployItems: [", "output of deploy executor \"main\":"),
        (
            "deployItems:\n- name: {{ .imports.data.missing.x }}",
            "main.yaml:2:12: the field `x` can't be read",
        ),
        (
            "{{ getResource .cd \"name\" \"x\" }}",
            "the installation has no component descriptor that can be read",
        ),
        (
            "{{ getResourceContent .cd \"name\" \"x\" }}",
            "contents of components can't be read yet",
        ),
        ("{{ fail \"no way\" }}", "main.yaml:1:4: no way"),
    ];
    for (template, expected) in table {
        let error = items(template, json!({"data": {}})).expect_err(template);
        assert!(error.contains(expected), "{template}: {error}");
    }
    let imports = json!({"many": [target("a")], "one": target("b"), "named": {"red": target("c")}});
    for (template, expected) in [
        (
            "deployItems: [{name: a, type: t, target: {import: many}}]",
            "add `index`",
        ),
        (
            "deployItems: [{name: a, type: t, target: {import: many, index: 1}}]",
            "no such target",
        ),
        (
            "deployItems: [{name: a, type: t, target: {import: one, index: 0}}]",
            "is one target, and no list",
        ),
        (
            "deployItems: [{name: a, type: t, target: {import: one, key: red}}]",
            "is one target, and no map",
        ),
        (
            "deployItems: [{name: a, type: t, target: {import: many, key: red}}]",
            "is a list of targets: add `index`",
        ),
        (
            "deployItems: [{name: a, type: t, target: {import: named}}]",
            "is a map of targets: add `key`",
        ),
        (
            "deployItems: [{name: a, type: t, target: {import: named, index: 0}}]",
            "is a map of targets: add `key`",
        ),
        (
            "deployItems: [{name: a, type: t, target: {import: named, key: green}}]",
            "the import \"named\" has no such target",
        ),
        (
            "deployItems: [{name: a, type: t, target: {import: named, key: [red]}}]",
            "target.key: this has to be a key of the map",
        ),
        (
            "deployItems: [{name: a, type: t, target: {import: named, key: red, index: 0}}]",
            "write one of them",
        ),
    ] {
        let error = items(template, imports.clone()).expect_err(template);
        assert!(error.contains(expected), "{template}: {error}");
    }
}

#[test]
fn output_that_is_no_yaml_is_reported_without_it() {
    let data = json!({"data": "canary: [canary\ncanary: 'canary\n- canary"});
    for template in [
        "{{ .imports.data }}",
        "a: 1\na: [{{ .imports.data }}",
        "x: *{{ .imports.data }}",
        "deployItems: {{ .imports.data | quote }}",
    ] {
        let error = items(template, data.clone()).expect_err(template);
        assert!(!error.contains("canary"), "{error}");
    }
}

#[test]
fn functions_of_blueprints() {
    let value = |template: &str| {
        let text =
            format!("deployItems: [{{name: a, type: t, config: {{{{ {template} | toJson }}}}}}]");
        items(&text, json!({"data": {"x": 5}})).map(|items| items[0]["config"].clone())
    };
    assert_eq!(value("readFile \"dir/a.txt\"").unwrap(), "A");
    assert_eq!(value("readFile \"/dir/../dir/b/c.txt\"").unwrap(), "C");
    assert_eq!(
        value("readDir \"dir\"").unwrap(),
        json!([{"IsDir": false, "Name": "a.txt"}, {"IsDir": true, "Name": "b"}])
    );
    assert_eq!(value("include \"part.yaml\" .imports.data").unwrap(), "<5>");
    assert_eq!(
        value("parseOCIRef \"host:5000/myrepo/myimage:1.0.0\"").unwrap(),
        json!(["host:5000/myrepo/myimage", "1.0.0"])
    );
    assert_eq!(value("ociRefRepo \"a/b@sha256:12\"").unwrap(), "a/b");
    assert_eq!(value("ociRefRepo \"a/b:1@sha256:12\"").unwrap(), "a/b");
    assert_eq!(value("ociRefVersion \"a:2\"").unwrap(), "2");
    for (template, expected) in [
        ("readFile \"../x\"", "no such file"),
        ("readFile \"none\"", "no such file"),
        ("readDir \"none\"", "no such directory"),
        ("ociRefRepo \"host:5000/a\"", "no OCI reference"),
        ("include \"none\" .", "no such file"),
    ] {
        assert!(
            value(template).unwrap_err().contains(expected),
            "{template}"
        );
    }
}

#[test]
fn executors_run_in_order_and_keep_their_state() {
    let blueprint = blueprint(
        "deployExecutions:\n- name: first\n  type: GoTemplate\n  template: |\n    state: {n: {{ if .state }}{{ add1 .state.n }}{{ else }}1{{ end }}}\n    \
         deployItems: [{name: a, type: t}]\n- name: second\n  type: GoTemplate\n  template: |\n    deployItems: [{name: b, type: t}]\n",
    );
    let first = blueprint.render_deploy_items(&Input::default()).unwrap();
    let names: Vec<_> = first.value.iter().map(|item| item.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(json!(first.state), json!({"deploy/first": {"n": 1}}));
    let state =
        given(json!({"deploy/first": {"n": 1}, "deploy/second": "kept", "export/first": "other"}));
    let again = blueprint
        .render_deploy_items(&Input {
            state,
            ..Input::default()
        })
        .unwrap();
    assert_eq!(
        json!(again.state),
        json!({"deploy/first": {"n": 2}, "deploy/second": "kept"})
    );
    assert_eq!(again.value, first.value);
}

#[test]
fn import_executions_add_or_refuse() {
    let blueprint = blueprint(
        "imports:\n- {name: a, schema: {}}\nimportExecutions:\n- name: one\n  type: GoTemplate\n  template: |\n    bindings: {b: {{ add1 .imports.a }}}\n\
         - name: two\n  type: GoTemplate\n  template: |\n    bindings: {c: {{ add1 .imports.b }}}\n    {{- if gt .imports.a 5 }}\n    errors: [too large]\n    {{- end }}\n",
    );
    let rendered = blueprint
        .run_import_executions(&input(json!({"a": 1})))
        .unwrap();
    assert_eq!(json!(rendered.value), json!({"a": 1, "b": 2, "c": 3}));
    let error = blueprint
        .run_import_executions(&input(json!({"a": 6})))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("the import executor \"two\" refuses the imports: too large"),
        "{error}"
    );
}

#[test]
fn nested_installations() {
    let definition = "imports:\n- {name: given, schema: {}}\n- {name: maybe, required: false, schema: {}}\n\
        subinstallations:\n- file: /nested/one.yaml\n- name: two\n  blueprint: {filesystem: {blueprint.yaml: \"\"}}\n  imports:\n    data:\n    - {name: x, dataRef: given}\n    - {name: y, dataRef: maybe}\n    \
        targets:\n    - {name: t, targets: [p, q]}\n  exports:\n    data: [{name: e, dataRef: out}]\n  exportDataMappings: {e: 1}\n\
        subinstallationExecutions:\n- name: main\n  type: GoTemplate\n  template: |\n    subinstallations:\n    - {name: three-{{ .imports.given }}, blueprint: {path: some/where}}\n";
    let one = "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: InstallationTemplate\nname: one\nblueprint: {path: x}\n";
    let blueprint = Blueprint::from_files(files(&[
        ("blueprint.yaml", definition),
        ("nested/one.yaml", one),
    ]))
    .unwrap();
    let rendered = blueprint
        .render_subinstallations(&input(json!({"given": 1})))
        .unwrap();
    let names: Vec<_> = rendered
        .value
        .iter()
        .map(|template| template.name.as_str())
        .collect();
    assert_eq!(names, ["one", "two", "three-1"]);
    // What comes from the optional import that is not given is not passed on.
    let two = json!(rendered.value[1]);
    assert_eq!(
        two["imports"]["data"],
        json!([{"name": "x", "dataRef": "given"}])
    );
    assert_eq!(
        two["imports"]["targets"],
        json!([{"name": "t", "targets": ["p", "q"]}])
    );
    let spec = rendered.value[1]
        .clone()
        .into_spec(Some("shared".to_owned()));
    assert_eq!(spec.exports.data[0].data_ref, "out");
    let all = blueprint
        .render_subinstallations(&input(json!({"given": 1, "maybe": 2})))
        .unwrap();
    assert_eq!(all.value[1].imports.data.len(), 2);
}

#[test]
fn exports_see_values_and_later_ones_win() {
    let blueprint = blueprint(
        "exports:\n- {name: a, schema: {type: string}}\nexportExecutions:\n- name: one\n  type: GoTemplate\n  template: |\n    exports: {a: x, b: {{ .values.deployitems.item.port }}}\n\
         - name: two\n  type: GoTemplate\n  template: |\n    exports: {a: {{ .values.dataobjects.host }}/{{ .values.targets.t.metadata.name }}}\n",
    );
    let values = ExportValues {
        deploy_items: given(json!({"item": {"port": 80}})),
        data_objects: given(json!({"host": "h"})),
        targets: given(json!({"t": target("place")})),
    };
    let rendered = blueprint
        .render_exports(&Input::default(), &values)
        .unwrap();
    assert_eq!(json!(rendered.value), json!({"a": "h/place", "b": 80}));
    assert_eq!(blueprint.check_exports(&rendered.value).len(), 1);
}

#[test]
fn export_templates_see_values_at_the_top_level_and_under_values() {
    let blueprint = blueprint(
        "exports:\n- {name: a, schema: {}}\nexportExecutions:\n- name: one\n  type: GoTemplate\n  template: |\n    exports:\n      \
         a: [{{ .deployitems.item.port }}, {{ .dataobjects.host }}, {{ .targets.t.metadata.name }}]\n      \
         same: {{ and (eq (toJson .deployitems) (toJson .values.deployitems)) (eq (toJson .dataobjects) (toJson .values.dataobjects)) (eq (toJson .targets) (toJson .values.targets)) }}\n",
    );
    let values = ExportValues {
        deploy_items: given(json!({"item": {"port": 80}})),
        data_objects: given(json!({"host": "h"})),
        targets: given(json!({"t": target("place")})),
    };
    let rendered = blueprint.render_exports(&Input::default(), &values);
    let seen = json!({"a": [80, "h", "place"], "same": true});
    assert_eq!(json!(rendered.unwrap().value), seen);
    // Where nothing is exported there are empty maps, so that templates can range over them.
    let empty = crate::blueprint(
        "exportExecutions:\n- name: one\n  type: GoTemplate\n  template: |\n    exports: {n: {{ add (len .deployitems) (len .dataobjects) (len .targets) }}}\n",
    );
    let rendered = empty.render_exports(&Input::default(), &ExportValues::default());
    assert_eq!(json!(rendered.unwrap().value), json!({"n": 0}));
}
