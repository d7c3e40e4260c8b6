//! Installations in installations: imports go down, exports come up.

use serde_json::{Value, json};

use crate::harness::{Landscape, OPERATION, data_import, files, product, template, text, wiring};

/// A nested installation as blueprints write it.
pub(crate) fn sub(name: &str, blueprint: Value, mut rest: Value) -> Value {
    rest["name"] = name.into();
    rest["blueprint"] = json!({"filesystem": files(blueprint)});
    rest
}

/// A leaf that shows all it sees in the configuration of its item, and exports `answer` and a target.
fn leaf() -> Value {
    json!({
        "imports": [
            data_import("size", json!({"type": "integer"})),
            data_import("label", json!({"type": "string"})),
            {"name": "place", "type": "target", "targetType": "test.dev/place"},
            {"name": "places", "type": "targetList", "targetType": "test.dev/place"},
        ],
        "exports": [
            data_import("answer", json!({"type": "integer"})),
            {"name": "reached", "type": "target", "targetType": "test.dev/place"},
        ],
        "deployExecutions": template("items", r#"
deployItems:
- name: show
  type: test.dev/recorder
  target: {import: places, index: 1}
  config:
    size: {{ .imports.size }}
    label: {{ .imports.label }}
    place: {{ .imports.place.spec.config.at }}
    places: [{{ range .imports.places }}{{ .spec.config.at }},{{ end }}]
    export: {answer: {{ add .imports.size 1 }}}
"#),
        "exportExecutions": template("exports", r#"
exports:
  answer: {{ .values.deployitems.show.answer }}
  reached:
    type: test.dev/place
    config: {at: leaf-{{ .imports.size }}}
"#),
    })
}

/// Passes what it imports on to a leaf, doubled, and its answer up, as text.
fn middle() -> Value {
    let inner = json!({
        "imports": {
            "data": [{"name": "number", "dataRef": "number"}, {"name": "label", "dataRef": "label"}],
            "targets": [
                {"name": "place", "target": "place"},
                {"name": "places", "targetListRef": "places"},
            ],
        },
        "importDataMappings": {"size": "{{ mul .imports.number 2 }}"},
        "exports": {
            "data": [{"name": "shown", "dataRef": "shown"}],
            "targets": [{"name": "reached", "target": "reached"}],
        },
        "exportDataMappings": {"shown": "answer {{ .exports.answer }}"},
    });
    json!({
        "imports": [
            data_import("number", json!({"type": "integer"})),
            data_import("label", json!({"type": "string"})),
            {"name": "place", "type": "target", "targetType": "test.dev/place"},
            {"name": "places", "type": "targetList", "targetType": "test.dev/place"},
        ],
        "exports": [
            data_import("shown", json!({"type": "string"})),
            {"name": "reached", "type": "target", "targetType": "test.dev/place"},
        ],
        "subinstallations": [sub("leaf", leaf(), inner)],
        "exportExecutions": template("exports", r#"
exports:
  shown: {{ .values.dataobjects.shown }}
  reached: {{ .values.targets.reached | toJson }}
"#),
    })
}

/// Gives a middle what it needs, from an executor; `label` is bound by an import execution.
fn root() -> Value {
    let inner = json!({
        "imports": {
            "data": [{"name": "number", "dataRef": "number"}, {"name": "label", "dataRef": "label"}],
            "targets": [
                {"name": "place", "target": "place"},
                {"name": "places", "targetListRef": "everywhere"},
            ],
        },
        "exports": {
            "data": [{"name": "shown", "dataRef": "below"}],
            "targets": [{"name": "reached", "target": "below"}],
        },
    });
    let list = json!({"subinstallations": [sub("middle", middle(), inner)]}).to_string();
    // What is in the nested blueprint is for templates further down.
    let list = list.replace("{{", "{{ \"{{\" }}");
    json!({
        "imports": [
            data_import("number", json!({"type": "integer"})),
            {"name": "place", "type": "target", "targetType": "test.dev/place"},
            {"name": "everywhere", "type": "targetList", "targetType": "test.dev/place"},
        ],
        "exports": [
            data_import("result", json!({"type": "string"})),
            {"name": "reached", "type": "target", "targetType": "test.dev/place"},
        ],
        "importExecutions": template("bind", "bindings: {label: number-{{ .imports.number }}}"),
        "subinstallationExecutions": template("inner", &list),
        "exportExecutions": template("exports", r#"
exports:
  result: {{ .values.dataobjects.below }}!
  reached: {{ .values.targets.below | toJson }}
"#),
    })
}

pub(crate) async fn three_levels() -> Landscape {
    let land = Landscape::new().await;
    land.data("number", json!(20)).await;
    land.target("here", json!({"at": "here"})).await;
    land.target("there", json!({"at": "there"})).await;
    let rest = json!({
        "imports": {
            "data": [{"name": "number", "dataRef": "number"}],
            "targets": [
                {"name": "place", "target": "here"},
                {"name": "everywhere", "targets": ["here", "there"]},
            ],
        },
        "exports": {
            "data": [{"name": "result", "dataRef": "result"}],
            "targets": [{"name": "reached", "target": "reached"}],
        },
    });
    land.install("root", root(), rest).await;
    land.phase("root", "Succeeded").await;
    land
}

#[tokio::test]
async fn i40_imports_go_down_three_levels_and_exports_come_up() {
    let land = three_levels().await;
    assert_eq!(land.get("DataObject", "result").await["data"], "answer 41!");
    let reached = land.get("Target", "reached").await;
    assert_eq!(reached["spec"]["config"]["at"], "leaf-40");
    let middle = land.nested("root", "middle").await;
    let leaf = land.nested(&middle, "leaf").await;
    let shown = land.config(&leaf, "show").await;
    assert_eq!(
        (&shown["size"], &shown["label"], &shown["place"]),
        (&json!(40), &json!("number-20"), &json!("here"))
    );
    assert_eq!(shown["places"], json!(["here", "there"]));
}

#[tokio::test]
async fn i13_changes_at_the_root_go_down_three_levels_by_themselves() {
    let land = three_levels().await;
    land.patch("DataObject", "number", json!({"data": 30}))
        .await;
    land.until("DataObject", "result", |object| {
        object["data"] == "answer 61!"
    })
    .await;
    land.phase("root", "Succeeded").await;
    let middle = land.nested("root", "middle").await;
    let leaf = land.nested(&middle, "leaf").await;
    assert_eq!(land.config(&leaf, "show").await["label"], "number-30");

    // A target of a list that the leaf reaches through two others.
    let moved = json!({"spec": {"config": {"at": "elsewhere"}}});
    land.patch("Target", "there", moved).await;
    let moved = |object: &Value| {
        let status = object["status"]["phase"] == "Succeeded";
        let items = object["status"]["observedGeneration"] == object["metadata"]["generation"];
        status && items
    };
    land.quiet().await;
    land.until("Installation", &leaf, moved).await;
    let shown = land.config(&leaf, "show").await;
    assert_eq!(shown["places"], json!(["here", "elsewhere"]));

    // The list gets longer at the root.
    land.target("far", json!({"at": "far"})).await;
    let longer = json!({"spec": {"imports": {"targets": [
        {"name": "place", "target": "far"},
        {"name": "everywhere", "targets": ["far", "there", "here"]},
    ]}}});
    land.patch("Installation", "root", longer).await;
    land.phase("root", "Succeeded").await;
    land.quiet().await;
    let shown = land.config(&leaf, "show").await;
    assert_eq!(shown["places"], json!(["far", "elsewhere", "here"]));
    assert_eq!(shown["place"], "far");
}

/// Counts its updates, in a state of its own.
fn counter() -> Value {
    json!({
        "imports": [data_import("seed", json!({}))],
        "deployExecutions": template("count", r#"
state: {runs: {{ add1 (dig "runs" 0 (default (dict) .state)) }}}
deployItems:
- name: count
  type: test.dev/recorder
  config: {runs: {{ add1 (dig "runs" 0 (default (dict) .state)) }}, seed: {{ .imports.seed }}}
"#),
    })
}

#[tokio::test]
async fn i15_template_state_is_kept_for_each_installation() {
    let land = Landscape::new().await;
    for name in ["a", "b"] {
        land.data(&format!("seed-{name}"), json!(1)).await;
        let rest =
            json!({"imports": {"data": [{"name": "seed", "dataRef": format!("seed-{name}")}]}});
        land.install(name, counter(), rest).await;
        land.phase(name, "Succeeded").await;
    }
    land.patch("DataObject", "seed-a", json!({"data": 2})).await;
    land.quiet().await;
    land.phase("a", "Succeeded").await;
    assert_eq!(
        land.config("a", "count").await,
        json!({"runs": 2, "seed": 2})
    );
    assert_eq!(
        land.config("b", "count").await,
        json!({"runs": 1, "seed": 1})
    );
}

/// Shows what optional, defaulted and conditional imports give.
fn choosy() -> Value {
    json!({
        "imports": [
            {"name": "size", "type": "data", "required": false, "default": {"value": 3},
             "schema": {"type": "integer"}},
            {"name": "backup", "type": "data", "required": false, "schema": {"type": "string"},
             "imports": [data_import("password", json!({"type": "string"}))]},
        ],
        "deployExecutions": template("items", r#"
deployItems:
- name: show
  type: test.dev/recorder
  config: {{ toJson (dict "imports" .imports) }}
"#),
    })
}

#[tokio::test]
async fn i41_optional_defaulted_and_conditional_imports() {
    let land = Landscape::new().await;
    land.install("shop", choosy(), json!({})).await;
    land.phase("shop", "Succeeded").await;
    let shown = land.config("shop", "show").await;
    assert_eq!(shown["imports"]["size"], 3);

    // With the one the other is needed.
    land.data("backup", json!("nightly")).await;
    let half = json!({"spec": wiring(&["backup"], &[])});
    land.patch("Installation", "shop", half).await;
    let failed = land.fails("shop", &["password"]).await;
    assert_eq!(
        text(&failed["status"]["lastError"]["operation"]),
        "ValidateImports"
    );
    land.data("password", json!("secret")).await;
    let whole = json!({"spec": wiring(&["backup", "password"], &[])});
    land.patch("Installation", "shop", whole).await;
    land.phase("shop", "Succeeded").await;
    land.quiet().await;
    let shown = land.config("shop", "show").await;
    assert_eq!(
        (&shown["imports"]["backup"], &shown["imports"]["password"]),
        (&json!("nightly"), &json!("secret"))
    );
}

/// One nested installation for each name that is imported.
fn family() -> Value {
    let child = json!({"deployExecutions": template("items",
        "deployItems: [{name: one, type: test.dev/recorder}]")})
    .to_string();
    let list = format!(
        "subinstallations:\n{{{{- range .imports.children }}}}\n- name: {{{{ . }}}}\n  blueprint: {{filesystem: {{blueprint.yaml: {}}}}}\n{{{{- end }}}}\n",
        Value::String(child)
    );
    json!({
        "imports": [data_import("children", json!({"type": "array"}))],
        "subinstallationExecutions": template("children", &list),
    })
}

#[tokio::test]
async fn i15_nested_installations_come_and_go_in_one_change() {
    let land = Landscape::new().await;
    land.data("children", json!(["anna", "bert"])).await;
    land.install("family", family(), wiring(&["children"], &[]))
        .await;
    land.phase("family", "Succeeded").await;
    let bert = land.nested("family", "bert").await;
    let uid = land.get("Installation", &bert).await["metadata"]["uid"].clone();
    land.recorder.take();
    let changed = json!({"data": ["bert", "carl"]});
    land.patch("DataObject", "children", changed).await;
    land.quiet().await;
    let family = land.phase("family", "Succeeded").await;
    let refs = family["status"]["installationRefs"].as_array().unwrap();
    let names: Vec<_> = refs.iter().map(|found| text(&found["name"])).collect();
    assert_eq!(names, ["bert", "carl"]);
    assert_eq!(land.names("Installation").await.len(), 3);
    assert_eq!(
        land.get("Installation", &bert).await["metadata"]["uid"],
        uid
    );
    let mut journal = land.recorder.take();
    journal.sort();
    assert_eq!(journal, ["deploy one", "remove one"]);
}

#[tokio::test]
async fn i11b_i18_one_that_was_triggered_and_can_not_be_updated_has_failed_and_so_has_its_parent() {
    let land = Landscape::new().await;
    let mut picky = product("two", &["x"], &[]);
    picky["imports"][0]["schema"] = json!({"type": "integer"});
    let nested = |second: Value| {
        json!({"subinstallations": [
            sub("one", product("one", &[], &["x"]), wiring(&[], &["x"])),
            sub("two", second, wiring(&["x"], &[])),
        ]})
    };
    land.install("root", nested(picky), json!({})).await;
    let failed = land.phase("root", "Failed").await;
    let error = text(&failed["status"]["lastError"]["message"]);
    assert!(error.contains("has to be an integer"), "{error}");
    let second = land.nested("root", "two").await;
    // A person asks again: it fails again, and that is the end of it.
    land.annotate("Installation", &second, OPERATION, "reconcile")
        .await;
    land.until("Installation", &second, |object| {
        object["metadata"]["annotations"][OPERATION].is_null()
    })
    .await;
    land.phase("root", "Failed").await;
    let spec = crate::harness::spec(nested(product("two", &["x"], &[])), json!({}));
    land.patch("Installation", "root", json!({"spec": spec}))
        .await;
    land.phase("root", "Succeeded").await;
}

#[tokio::test]
async fn i11b_i18_a_circle_that_imports_from_one_outside_of_it_fails_its_parent() {
    let land = Landscape::new().await;
    let nested = |imports: &[&str]| {
        json!({"subinstallations": [
            sub("one", product("one", &[], &["a"]), wiring(&[], &["a"])),
            sub("two", product("two", imports, &["b"]), wiring(imports, &["b"])),
            sub("three", product("three", &["b"], &["c"]), wiring(&["b"], &["c"])),
        ]})
    };
    land.install("root", nested(&["a", "c"]), json!({})).await;
    let failed = land.phase("root", "Failed").await;
    let error = text(&failed["status"]["lastError"]["message"]);
    assert!(error.contains("circle"), "{error}");
    // What is asked of one in a circle can't be done, and holds nothing up.
    let second = land.nested("root", "two").await;
    land.annotate("Installation", &second, OPERATION, "reconcile")
        .await;
    land.quiet().await;
    land.phase("root", "Failed").await;
    let spec = crate::harness::spec(nested(&["a"]), json!({}));
    land.patch("Installation", "root", json!({"spec": spec}))
        .await;
    land.phase("root", "Succeeded").await;
}
