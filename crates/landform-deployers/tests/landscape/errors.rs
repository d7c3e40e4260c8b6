//! Mistakes that people make, and what they are told.

use serde_json::{Value, json};

use crate::harness::{Landscape, contains, data_import, product, spec, template, text, wiring};

#[tokio::test]
async fn i41_data_against_its_schema_is_refused_before_anything_is_deployed() {
    let land = Landscape::new().await;
    land.data("port", json!({"number": "many"})).await;
    let schema = json!({"type": "object", "properties": {"number": {"type": "integer"}}});
    let mut blueprint = product("web", &[], &[]);
    blueprint["imports"] = json!([data_import("port", schema)]);
    land.install("web", blueprint, wiring(&["port"], &[])).await;
    let failed = land.fails("web", &["port", "number", "integer"]).await;
    let condition = &failed["status"]["conditions"][0];
    assert_eq!(
        (text(&condition["type"]), text(&condition["status"])),
        ("ValidateImports", "False")
    );
    assert!(land.recorder.journal().is_empty());
    assert!(land.names("Execution").await.is_empty());

    // The data is made right: nobody need tell the installation.
    let right = json!({"data": {"number": 80}});
    land.patch("DataObject", "port", right).await;
    let right = land.phase("web", "Succeeded").await;
    assert_eq!(right["status"]["lastError"], Value::Null);
}

/// What each of them is when it is decoded counts, not its text.
#[tokio::test]
async fn i15_imports_that_are_too_large_together_are_refused_and_one_of_them_is_not() {
    let land = Landscape::new().await;
    land.data("maps", json!(vec![json!({"a": 1}); 50_000]))
        .await;
    let names: Vec<_> = (0..3).map(|number| format!("i{number}")).collect();
    for (installation, names) in [("one", &names[..1]), ("three", &names[..])] {
        let mut blueprint = product("web", &[], &[]);
        let declared = names.iter().map(|name| data_import(name, json!({})));
        blueprint["imports"] = declared.collect();
        let wired = names
            .iter()
            .map(|name| json!({"name": name, "dataRef": "maps"}));
        let wired: Value = wired.collect();
        land.install(installation, blueprint, json!({"imports": {"data": wired}}))
            .await;
    }
    land.phase("one", "Succeeded").await;
    let failed = land.fails("three", &["together", "1000000 cells"]).await;
    assert_eq!(
        text(&failed["status"]["lastError"]["reason"]),
        "ImportsTooLarge"
    );
    assert_eq!(land.names("Execution").await, ["one"]);

    // The data is made smaller: nobody need tell the installation.
    land.patch("DataObject", "maps", json!({"data": [{"a": 1}]}))
        .await;
    land.phase("three", "Succeeded").await;
}

#[tokio::test]
async fn i15_a_template_error_has_its_place() {
    let land = Landscape::new().await;
    let files = json!({
        "blueprint.yaml": json!({"deployExecutions": [
            {"name": "items", "type": "GoTemplate", "file": "deploy.yaml"},
        ]})
        .to_string(),
        "deploy.yaml": "deployItems:\n- name: {{ required \"a name is needed\" .imports.name }}\n",
    });
    let spec = json!({"blueprint": {"inline": {"filesystem": files}}});
    land.create("Installation", "web", json!({"spec": spec}))
        .await;
    land.fails("web", &["deploy.yaml:2:12"]).await;
    assert!(land.names("Execution").await.is_empty());
}

#[tokio::test]
async fn i15_spiff_a_missing_blueprint_and_a_missing_file_are_named() {
    let land = Landscape::new().await;
    let spiff = json!({"deployExecutions": [
        {"name": "dynamic", "type": "Spiff", "template": "deployItems: (( imports.none ))"},
    ]});
    land.install("spiff", spiff, json!({})).await;
    let pieces = ["dynamic", "deployItems: `imports.none` is not found"];
    land.fails("spiff", &pieces).await;
    let cases = [
        ("none", json!({}), "spec.blueprint is empty"),
        ("path", json!({"path": "shop"}), "--blueprints"),
        (
            "reference",
            json!({"ref": {"resourceName": "shop"}}),
            "shop",
        ),
        (
            "empty",
            json!({"inline": {"filesystem": {}}}),
            "blueprint.yaml",
        ),
    ];
    for (name, blueprint, piece) in cases {
        let spec = json!({"blueprint": blueprint});
        land.create("Installation", name, json!({"spec": spec}))
            .await;
        land.fails(name, &[piece]).await;
    }
    // One mistake after the other, in one installation, until it is right.
    land.patch(
        "Installation",
        "none",
        json!({"spec": spec(product("web", &[], &[]), json!({}))}),
    )
    .await;
    land.phase("none", "Succeeded").await;
}

#[tokio::test]
async fn i14_a_missing_import_is_waited_for_and_named() {
    let land = Landscape::new().await;
    land.install(
        "web",
        product("web", &["port"], &[]),
        wiring(&["port"], &[]),
    )
    .await;
    let waiting = land.phase("web", "PendingDependencies").await;
    land.quiet().await;
    let status = &waiting["status"];
    assert_eq!(
        status["waitingOn"][0]["object"],
        json!({"kind": "DataObject", "namespace": "default", "name": "port"})
    );
    assert_eq!(status["waitingOn"][0]["rule"], "I14");
    contains(text(&status["lastError"]["message"]), &["port"]);
    assert_eq!(land.events("web").await.len(), 1);
    land.data("port", json!(80)).await;
    let right = land.phase("web", "Succeeded").await;
    assert_eq!(right["status"]["waitingOn"], Value::Null);
    assert_eq!(right["status"]["lastError"], Value::Null);

    // Secrets and ConfigMaps, and keys in them.
    let rest = json!({"imports": {"data": [
        {"name": "port", "secretRef": {"name": "access", "key": "port"}},
        {"name": "host", "configMapRef": {"name": "access", "key": "host"}},
    ]}});
    land.install("api", product("api", &["port", "host"], &[]), rest)
        .await;
    let waiting = land.phase("api", "PendingDependencies").await;
    let message = text(&waiting["status"]["lastError"]["message"]);
    contains(message, &["Secret access", "ConfigMap access"]);
    land.create("ConfigMap", "access", json!({"data": {"host": "db"}}))
        .await;
    land.create("Secret", "access", json!({"stringData": {"user": "me"}}))
        .await;
    land.until("Installation", "api", |object| {
        let message = text(&object["status"]["lastError"]["message"]);
        message.contains("no key \"port\"") && !message.contains("ConfigMap")
    })
    .await;
    land.patch("Secret", "access", json!({"stringData": {"port": "5432"}}))
        .await;
    land.phase("api", "Succeeded").await;
    let imports = &land.config("api", "api").await["imports"];
    assert_eq!(imports, &json!({"port": 5432, "host": "db"}));
}

#[tokio::test]
async fn i40_i40b_of_two_siblings_that_export_one_name_the_second_is_told() {
    let land = Landscape::new().await;
    for name in ["one", "two"] {
        land.install(name, product(name, &[], &["url"]), wiring(&[], &["url"]))
            .await;
    }
    land.phase("one", "Succeeded").await;
    let second = land.phase("two", "Failed").await;
    let error = &second["status"]["lastError"];
    contains(text(&error["message"]), &["one", "url"]);
    land.quiet().await;
    // One gives way, and the other goes on by itself.
    let spec = json!({"spec": {"exports": {"data": [{"name": "url", "dataRef": "second"}]}}});
    land.patch("Installation", "two", spec).await;
    land.phase("two", "Succeeded").await;
    land.phase("one", "Succeeded").await;
    assert_eq!(land.get("DataObject", "url").await["data"], "one");
    assert_eq!(land.get("DataObject", "second").await["data"], "two");
}

#[tokio::test]
async fn i40_a_cycle_of_siblings_is_told_to_each_and_runs_when_it_is_broken() {
    let land = Landscape::new().await;
    let names = ["a", "b", "c"];
    for (at, name) in names.iter().enumerate() {
        let from = names[(at + 2) % 3];
        land.install(
            name,
            product(name, &[from], &[name]),
            wiring(&[from], &[name]),
        )
        .await;
    }
    for name in names {
        let told = land
            .until("Installation", name, |object| {
                let codes = &object["status"]["lastError"]["codes"];
                object["status"]["phase"] == "Failed"
                    && codes == &json!(["ERR_CYCLIC_DEPENDENCIES"])
            })
            .await;
        let message = text(&told["status"]["lastError"]["message"]);
        contains(message, &["in a circle", "a", "b", "c"]);
    }
    assert!(land.recorder.journal().is_empty());
    let broken = spec(product("a", &[], &["a"]), wiring(&[], &["a"]));
    let mut broken = json!({"spec": broken});
    broken["spec"]["imports"] = json!({"data": []});
    land.patch("Installation", "a", broken).await;
    for name in names {
        let right = land.phase(name, "Succeeded").await;
        assert_eq!(right["status"]["lastError"], Value::Null);
    }
    assert_eq!(land.recorder.take(), ["deploy a", "deploy b", "deploy c"]);
}

#[tokio::test]
async fn i17_exports_that_are_missing_undeclared_or_wrong_are_refused() {
    let land = Landscape::new().await;
    let mut missing = product("web", &[], &["url"]);
    missing["exportExecutions"] = template("exports", "exports: {}");
    land.install("missing", missing, wiring(&[], &["url"]))
        .await;
    land.fails("missing", &["url"]).await;

    land.install(
        "undeclared",
        product("web", &[], &[]),
        json!({"exports": {"data": [{"name": "nothing", "dataRef": "some"}]}}),
    )
    .await;
    land.fails("undeclared", &["nothing"]).await;

    let mut wrong = product("web", &[], &["number"]);
    wrong["exports"][0]["schema"] = json!({"type": "integer"});
    land.install("wrong", wrong, wiring(&[], &["number"])).await;
    let failed = land.fails("wrong", &["number", "integer"]).await;
    let message = text(&failed["status"]["lastError"]["message"]);
    assert!(!message.contains("web"), "no value is shown: {message}");
    let names = land.names("DataObject").await;
    for name in ["url", "some", "number"] {
        assert!(!names.iter().any(|found| found == name), "{name}");
    }
}

#[tokio::test]
async fn i17_a_data_object_of_somebody_else_is_never_taken_over() {
    let land = Landscape::new().await;
    land.data("url", json!("mine")).await;
    land.install("web", product("web", &[], &["url"]), wiring(&[], &["url"]))
        .await;
    land.fails("web", &["url", "not this installation's"]).await;
    assert_eq!(land.get("DataObject", "url").await["data"], "mine");
    // It goes, and the installation goes on when it is asked to.
    land.delete("DataObject", "url").await;
    land.annotate(
        "Installation",
        "web",
        crate::harness::OPERATION,
        "reconcile",
    )
    .await;
    land.phase("web", "Succeeded").await;
    assert_eq!(land.get("DataObject", "url").await["data"], "web");
    // A foreign one stays when the installation goes.
    land.delete("Installation", "web").await;
    land.gone("DataObject", "url").await;
}

#[tokio::test]
async fn e11_dependencies_of_items_on_unknown_ones_and_cycles_are_refused() {
    let land = Landscape::new().await;
    let cases = [
        (
            "unknown",
            "[{name: a, type: test.dev/recorder, dependsOn: [ghost]}]",
            "ghost",
        ),
        (
            "cycle",
            "[{name: a, type: test.dev/recorder, dependsOn: [b]}, {name: b, type: test.dev/recorder, dependsOn: [a]}]",
            "a",
        ),
    ];
    for (name, items, piece) in cases {
        let blueprint =
            json!({"deployExecutions": template("items", &format!("deployItems: {items}"))});
        land.install(name, blueprint, json!({})).await;
        land.fails(name, &[piece]).await;
    }
    // An execution that somebody wrote by hand has no blueprint that was checked.
    let items = json!([
        {"name": "a", "type": "test.dev/recorder", "dependsOn": ["b"]},
        {"name": "b", "type": "test.dev/recorder", "dependsOn": ["a"]},
    ]);
    land.create(
        "Execution",
        "by-hand",
        json!({"spec": {"deployItems": items}}),
    )
    .await;
    let failed = land
        .until("Execution", "by-hand", |object| {
            object["status"]["phase"] == "Failed"
        })
        .await;
    contains(text(&failed["status"]["lastError"]["message"]), &["a", "b"]);
    assert!(land.recorder.journal().is_empty());
    assert!(land.names("DeployItem").await.is_empty());
}
