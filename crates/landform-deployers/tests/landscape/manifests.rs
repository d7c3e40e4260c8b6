//! Landscaper's manifests as they are: what its users write, and what happens with it here.

use serde_json::{Value, json};

use crate::harness::{
    Landscape, OPERATION, contains, data_import, files, product, template, text, wiring,
};

/// Shows what is imported in the configuration of its item; `maybe` is optional, `detail` counts only with it.
fn with_optional() -> Value {
    json!({
        "imports": [
            data_import("size", json!({"type": "integer"})),
            {"name": "maybe", "required": false, "type": "data", "schema": {}, "imports": [
                data_import("detail", json!({"type": "string"})),
            ]},
            {"name": "place", "required": false, "type": "target", "targetType": "test.dev/place"},
        ],
        "deployExecutions": template("items", "deployItems: [{name: show, type: test.dev/recorder, config: {imports: {{ keys .imports | sortAlpha | toJson }}}}]"),
    })
}

async fn shown(land: &Landscape) -> Value {
    land.config("shop", "show").await["imports"].clone()
}

#[tokio::test]
async fn i13_an_optional_import_of_what_does_not_exist_is_absent_until_it_does() {
    let land = Landscape::new().await;
    land.data("size", json!(1)).await;
    let mut rest = wiring(&["size", "maybe", "detail"], &[]);
    rest["imports"]["targets"] = json!([{"name": "place", "target": "somewhere"}]);
    land.install("shop", with_optional(), rest).await;
    let shop = land.phase("shop", "Succeeded").await;
    assert_eq!(shown(&land).await, json!(["size"]));
    assert_eq!(shop["status"]["lastError"], Value::Null);
    assert_eq!(shop["status"]["waitingOn"], Value::Null);

    // The object appears: an update follows. What counts only with another one does so from then on.
    land.target("somewhere", json!({"at": "x"})).await;
    land.quiet().await;
    land.phase("shop", "Succeeded").await;
    assert_eq!(shown(&land).await, json!(["place", "size"]));
    land.data("maybe", json!("m")).await;
    let waiting = land
        .until("Installation", "shop", |shop| {
            shop["status"]["waitingOn"].is_array()
        })
        .await;
    let object = &waiting["status"]["waitingOn"][0]["object"];
    assert_eq!(object["name"], "detail", "{object}");
    land.data("detail", json!("d")).await;
    land.quiet().await;
    land.phase("shop", "Succeeded").await;
    assert_eq!(
        shown(&land).await,
        json!(["detail", "maybe", "place", "size"])
    );

    // It goes again, and with it what depends on it.
    land.delete("DataObject", "maybe").await;
    land.quiet().await;
    land.phase("shop", "Succeeded").await;
    assert_eq!(shown(&land).await, json!(["place", "size"]));
}

#[tokio::test]
async fn i14_an_optional_import_waits_for_a_sibling_that_exports_it() {
    let land = Landscape::new().await;
    land.data("size", json!(1)).await;
    land.install(
        "shop",
        with_optional(),
        wiring(&["size", "maybe", "detail"], &[]),
    )
    .await;
    land.phase("shop", "Succeeded").await;
    assert_eq!(shown(&land).await, json!(["size"]));
    // From now on somebody exports it, and waits itself.
    let mut exporter = product("giver", &["later"], &["value"]);
    exporter["imports"] = json!([data_import("later", json!({}))]);
    let rest = json!({
        "imports": {"data": [{"name": "later", "dataRef": "later"}]},
        "exports": {"data": [{"name": "value", "dataRef": "maybe"}]},
    });
    land.install("giver", exporter, rest).await;
    land.annotate("Installation", "shop", OPERATION, "reconcile")
        .await;
    land.until("Installation", "shop", |shop| {
        shop["status"]["phase"] == "PendingDependencies"
    })
    .await;
    land.data("detail", json!("d")).await;
    land.data("later", json!(1)).await;
    land.phase("giver", "Succeeded").await;
    land.quiet().await;
    land.phase("shop", "Succeeded").await;
    assert_eq!(shown(&land).await, json!(["detail", "maybe", "size"]));
}

#[tokio::test]
async fn nested_installations_get_no_import_that_their_parent_has_not() {
    let land = Landscape::new().await;
    let leaf = json!({
        "imports": [
            {"name": "inner", "required": false, "type": "data", "schema": {}},
            {"name": "innerDetail", "required": false, "type": "data", "schema": {}},
        ],
        "deployExecutions": template("items", "deployItems: [{name: show, type: test.dev/recorder, config: {imports: {{ toJson .imports }}}}]"),
    });
    let root = json!({
        "imports": [{"name": "foo", "required": false, "type": "data", "schema": {}, "imports": [
            data_import("bar", json!({})),
        ]}],
        "subinstallations": [{
            "name": "leaf", "blueprint": {"filesystem": files(leaf)},
            "imports": {"data": [{"name": "inner", "dataRef": "foo"}, {"name": "innerDetail", "dataRef": "bar"}]},
        }],
    });
    land.install("root", root, wiring(&["foo", "bar"], &[]))
        .await;
    land.phase("root", "Succeeded").await;
    let leaf = land.nested("root", "leaf").await;
    assert_eq!(land.config(&leaf, "show").await, json!({"imports": {}}));
    land.data("bar", json!("b")).await;
    land.data("foo", json!("f")).await;
    land.quiet().await;
    land.phase("root", "Succeeded").await;
    assert_eq!(
        land.config(&leaf, "show").await,
        json!({"imports": {"inner": "f", "innerDetail": "b"}})
    );
}

#[tokio::test]
async fn a_repeated_key_is_warned_about_in_the_status_and_by_an_event() {
    let land = Landscape::new().await;
    let blueprint = json!({
        "exports": [data_import("color", json!({}))],
        "deployExecutions": template("items", "deployItems:\n- name: one\n  type: test.dev/recorder\n  config:\n    secret: canary-1\n    secret: canary-2\n"),
        "exportExecutions": template("exports", "exports:\n  color: red\n  color: blue\n"),
    });
    let rest = json!({"exports": {"data": [{"name": "color", "dataRef": "color"}]}});
    land.install("twice", blueprint, rest).await;
    let twice = land.phase("twice", "Succeeded").await;
    assert_eq!(
        land.config("twice", "one").await,
        json!({"secret": "canary-2"})
    );
    assert_eq!(land.get("DataObject", "color").await["data"], "blue");
    let warnings = twice["status"]["warnings"].as_array().unwrap();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    contains(
        text(&warnings[0]),
        &[
            "output of deploy executor \"items\":6:5",
            "deployItems[0].config.secret",
        ],
    );
    contains(
        text(&warnings[1]),
        &["output of export executor", "exports.color"],
    );
    land.quiet().await;
    let events = land.list("Event").await;
    for warning in warnings {
        let event = events.iter().find(|event| event["message"] == *warning);
        let event = event.unwrap();
        assert_eq!(event["type"], "Warning");
        assert!(!text(warning).contains("canary"), "{warning}");
    }
    // It stays as long as it is so, over updates too, and is told once.
    land.annotate("Installation", "twice", OPERATION, "force-reconcile")
        .await;
    land.quiet().await;
    let again = land.phase("twice", "Succeeded").await;
    assert_eq!(&again["status"]["warnings"], &twice["status"]["warnings"]);
    let told = land.events("twice").await;
    let told = told
        .iter()
        .filter(|event| event.contains("deployItems[0].config.secret"));
    assert_eq!(told.count(), 1);
    // And goes with its reason.
    let right = json!({
        "exports": [data_import("color", json!({}))],
        "exportExecutions": template("exports", "exports: {color: green}"),
    });
    let spec = json!({"spec": {"blueprint": {"inline": {"filesystem": files(right)}}}});
    land.patch("Installation", "twice", spec).await;
    land.quiet().await;
    let right = land.phase("twice", "Succeeded").await;
    assert_eq!(right["status"]["warnings"], Value::Null);
}

#[tokio::test]
async fn i40_names_that_no_object_can_have_work_at_the_root() {
    let land = Landscape::new().await;
    let mut exporter = product("giver", &[], &["value"]);
    exporter["exports"] = json!([
        data_import("value", json!({})),
        {"name": "place", "type": "target", "targetType": "test.dev/place"},
    ]);
    exporter["exportExecutions"] = template(
        "exports",
        "exports: {value: v1, place: {type: test.dev/place, config: {at: p1}}}",
    );
    let rest = json!({"exports": {
        "data": [{"name": "value", "dataRef": "myIngressClass"}],
        "targets": [{"name": "place", "target": "my_place"}],
    }});
    let taker = json!({
        "imports": [
            data_import("class", json!({})),
            {"name": "place", "type": "target", "targetType": "test.dev/place"},
        ],
        "deployExecutions": template("items", "deployItems: [{name: show, type: test.dev/recorder, target: {import: place}, config: {class: {{ .imports.class }}, at: {{ .imports.place.spec.config.at }}}}]"),
    });
    let imports = json!({"imports": {
        "data": [{"name": "class", "dataRef": "myIngressClass"}],
        "targets": [{"name": "place", "target": "my_place"}],
    }});
    land.install("taker", taker, imports).await;
    land.install("giver", exporter, rest).await;
    let taker = land.phase("taker", "Succeeded").await;
    assert_eq!(
        land.config("taker", "show").await,
        json!({"class": "v1", "at": "p1"})
    );
    assert_eq!(taker["status"]["imports"][0]["dataRef"], "myIngressClass");
    // The name is the one that Landscaper computes; the label has the key.
    let data = land
        .get("DataObject", "dole6tby5kerlxruq2n2efxiql6onp3h")
        .await;
    let label = "data.landscaper.gardener.cloud/key";
    assert_eq!(data["metadata"]["labels"][label], "myIngressClass");
    for name in ["taker", "giver"] {
        land.delete("Installation", name).await;
        land.gone("Installation", name).await;
    }
    land.quiet().await;
    assert_eq!(land.names("DataObject").await, [""; 0]);
}

#[tokio::test]
async fn a_context_called_default_exists_where_installations_are() {
    let land = Landscape::new().await;
    assert_eq!(land.names("Context").await, [""; 0]);
    land.install("shop", product("web", &[], &[]), json!({}))
        .await;
    land.phase("shop", "Succeeded").await;
    assert_eq!(land.names("Context").await, ["default"]);
    // What people write into it stays.
    let settings = json!({
        "repositoryContext": {"type": "ociRegistry", "baseUrl": "example.org/x"}, "useOCM": true,
        "ocmConfig": {"name": "ocm"}, "registryPullSecrets": [{"name": "pull"}],
        "configurations": {"config.example.org": {"any": ["thing"]}},
        "componentVersionOverwrites": "overwrites",
        "verificationSignatures": {"mine": {"publicKeySecretReference": {"name": "key"}}},
    });
    land.patch("Context", "default", settings.clone()).await;
    land.annotate("Installation", "shop", OPERATION, "force-reconcile")
        .await;
    land.quiet().await;
    let context = land.get("Context", "default").await;
    for (field, value) in settings.as_object().unwrap() {
        assert_eq!(&context[field], value, "{field}");
    }
}

#[tokio::test]
async fn a_missing_context_is_named_and_waited_for_and_passed_on_when_it_is_there() {
    let land = Landscape::new().await;
    let root = json!({"subinstallations": [{
        "name": "sub", "blueprint": {"filesystem": files(product("web", &[], &[]))},
    }]});
    land.install("shop", root, json!({"context": "shared"}))
        .await;
    let waiting = land
        .until("Installation", "shop", |shop| {
            shop["status"]["lastError"]["message"].is_string()
        })
        .await;
    let status = &waiting["status"];
    assert_eq!(status["phase"], "PendingDependencies");
    contains(
        text(&status["lastError"]["message"]),
        &["Context shared", "spec.context", "doesn't exist"],
    );
    assert_eq!(status["waitingOn"][0]["object"]["kind"], "Context");
    assert_eq!(land.names("DeployItem").await, [""; 0]);

    land.create("Context", "shared", json!({})).await;
    let shop = land.phase("shop", "Succeeded").await;
    assert_eq!(shop["status"]["lastError"], Value::Null);
    let items = land.list("DeployItem").await;
    assert_eq!(items[0]["spec"]["context"], "shared");
    // What is deployed stays as it is when the Context goes, and can be deleted.
    land.delete("Context", "shared").await;
    land.quiet().await;
    assert_eq!(
        land.get("Installation", "shop").await["status"]["phase"],
        "Succeeded"
    );
    land.delete("Installation", "shop").await;
    land.gone("Installation", "shop").await;
}

#[tokio::test]
async fn an_inline_component_descriptor_is_what_templates_see() {
    let land = Landscape::new().await;
    let component = json!({"inline": {"meta": {"schemaVersion": "v2"}, "component": {
        "name": "example.org/shop", "version": "v1",
        "resources": [{"name": "image", "access": {"imageReference": "example.org/image:1"}}],
    }}});
    let blueprint = json!({
        "deployExecutions": template("items", "deployItems: [{name: show, type: test.dev/recorder, config: {image: {{ (getResource .cd \"name\" \"image\").access.imageReference }}, of: {{ .componentDescriptorDef.inline.component.name }}, all: {{ len .components.components }}}}]"),
    });
    land.install(
        "shop",
        blueprint.clone(),
        json!({"componentDescriptor": component}),
    )
    .await;
    land.phase("shop", "Succeeded").await;
    assert_eq!(
        land.config("shop", "show").await,
        json!({"image": "example.org/image:1", "of": "example.org/shop", "all": 1})
    );
    let reference = json!({"ref": {"componentName": "example.org/shop", "version": "v1"}});
    land.install(
        "elsewhere",
        blueprint,
        json!({"componentDescriptor": reference}),
    )
    .await;
    land.fails(
        "elsewhere",
        &["registries can't be", "spec.componentDescriptor.inline"],
    )
    .await;
}

#[tokio::test]
async fn export_templates_see_what_is_imported_beside_what_is_nested() {
    let land = Landscape::new().await;
    land.data("base", json!("b")).await;
    land.target("somewhere", json!({"at": "x"})).await;
    let leaf = product("leaf", &[], &["value"]);
    let root = json!({
        "imports": [
            data_import("base", json!({})),
            {"name": "place", "type": "target", "targetType": "test.dev/place"},
        ],
        "exports": [data_import("all", json!({}))],
        "subinstallations": [{
            "name": "leaf", "blueprint": {"filesystem": files(leaf)},
            "exports": {"data": [{"name": "value", "dataRef": "inner"}]},
        }],
        "exportExecutions": template("exports", "exports: {all: [{{ .dataobjects.base }}, {{ .dataobjects.inner }}, {{ .targets.place.spec.config.at }}]}"),
    });
    let rest = json!({
        "imports": {
            "data": [{"name": "base", "dataRef": "base"}],
            "targets": [{"name": "place", "target": "somewhere"}],
        },
        "exports": {"data": [{"name": "all", "dataRef": "all"}]},
    });
    land.install("root", root, rest).await;
    land.phase("root", "Succeeded").await;
    let all = land.get("DataObject", "all").await;
    assert_eq!(all["data"], json!(["b", "leaf", "x"]));
}
