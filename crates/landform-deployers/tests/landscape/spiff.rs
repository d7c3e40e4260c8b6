//! A landscape whose blueprints and data mappings are written for Spiff.

use serde_json::{Value, json};

use crate::harness::{Landscape, data_import, files};

fn executor(name: &str, template: Value) -> Value {
    json!([{"name": name, "type": "Spiff", "template": template}])
}

/// Shows what it imports, and how often it was rendered; exports what its item exports.
fn leaf() -> Value {
    json!({
        "imports": [
            data_import("size", json!({"type": "integer"})),
            data_import("label", json!({"type": "string"})),
        ],
        "exports": [data_import("answer", json!({"type": "object"}))],
        "deployExecutions": executor("items", json!({
            "kept": {"<<<": "(( &state ))", "first": "(( imports.size ))"},
            "deployItems": [{
                "name": "show",
                "type": "test.dev/recorder",
                "config": {
                    "size": "(( imports.size ))",
                    "first": "(( .kept.first ))",
                    "text": "(( \"size \" imports.size \" of \" imports.label ))",
                    "class": "(( imports.size > 10 ? \"large\" :\"small\" ))",
                    "extra": "(( imports.extra || ~~ ))",
                    "export": {"answer": "(( map[[1 .. imports.size]|x|->x * x] ))"},
                },
            }],
        })),
        "exportExecutions": executor("exports", json!({
            "exports": {"answer": {"squares": "(( values.deployitems.show.answer ))"}},
        })),
    })
}

/// Makes a leaf by an executor; imports and exports are mapped on the way.
fn root() -> Value {
    // The nested blueprint is a text: nothing in it is an expression of the parent.
    let inner = json!({
        "name": "leaf",
        "blueprint": {"filesystem": files(leaf())},
        "imports": {"data": [
            {"name": "number", "dataRef": "number"}, {"name": "label", "dataRef": "label"},
        ]},
        // Escaped: they are for the nested installation, not for this template.
        "importDataMappings": {"size": "((! number.count + 1 ))"},
        "exports": {"data": [{"name": "last", "dataRef": "last"}]},
        "exportDataMappings": {"last": {"of": "((! answer.squares[-1] ))", "all": "((! exports.answer ))"}},
    });
    json!({
        "imports": [data_import("number", json!({"type": "object"}))],
        "exports": [data_import("result", json!({}))],
        "importExecutions": executor("bind", json!({
            "errors": ["(( imports.number.count < 0 ? \"the count must not be negative\" :~~ ))"],
            "bindings": {"label": "(( imports.number.name \"(extended)\" ))"},
        })),
        "subinstallationExecutions": executor("inner", json!({"subinstallations": [inner]})),
        "exportExecutions": executor("exports", json!({
            "exports": {"result": "(( values.dataobjects.last ))"},
        })),
    })
}

#[tokio::test]
async fn i15_i41_executions_and_data_mappings_in_spiff_give_what_they_say() {
    let land = Landscape::new().await;
    land.data("number", json!({"count": 2, "name": "apples"}))
        .await;
    let rest = json!({
        "imports": {"data": [{"name": "given", "dataRef": "number"}]},
        "importDataMappings": {"number": {"<<<": "(( given ))", "unit": "piece"}},
        "exports": {"data": [{"name": "text", "dataRef": "text"}]},
        "exportDataMappings": {"text": "(( join(\",\", result.all.squares) \"/\" exports.result.of ))"},
    });
    land.install("root", root(), rest).await;
    land.phase("root", "Succeeded").await;
    let leaf = land.nested("root", "leaf").await;
    assert_eq!(
        land.config(&leaf, "show").await,
        json!({
            "size": 3, "first": 3, "text": "size 3 of apples(extended)", "class": "small",
            "export": {"answer": [1, 4, 9]},
        })
    );
    assert_eq!(land.get("DataObject", "text").await["data"], "1,4,9/9");

    // An import changes: everything follows but the state.
    let more = json!({"data": {"count": 10, "name": "pears"}});
    land.patch("DataObject", "number", more).await;
    land.quiet().await;
    land.phase("root", "Succeeded").await;
    let shown = land.config(&leaf, "show").await;
    assert_eq!(
        (&shown["size"], &shown["first"], &shown["class"]),
        (&json!(11), &json!(3), &json!("large"))
    );
    let text = land.get("DataObject", "text").await["data"].clone();
    assert_eq!(text, "1,4,9,16,25,36,49,64,81,100,121/121");

    // The blueprint's own check refuses the next change, and nothing of it is deployed.
    let wrong = json!({"data": {"count": -1, "name": "pears"}});
    land.patch("DataObject", "number", wrong).await;
    land.fails("root", &["the count must not be negative"])
        .await;
    assert_eq!(land.config(&leaf, "show").await["size"], 11);
}

#[tokio::test]
async fn i15_a_mapping_that_leads_nowhere_is_named_without_its_values() {
    let land = Landscape::new().await;
    land.data("number", json!({"count": "canary"})).await;
    let rest = json!({
        "imports": {"data": [{"name": "given", "dataRef": "number"}]},
        "importDataMappings": {"number": {"a": ["(( given.nothing ))"]}},
    });
    land.install("root", root(), rest).await;
    let failed = land
        .fails(
            "root",
            &["importDataMappings.number.a[0]: `given.nothing` is not found"],
        )
        .await;
    assert!(!failed["status"].to_string().contains("canary"));
    // It is made right.
    let right = json!({"spec": {"importDataMappings": {"number": {"a": null, "count": 1, "name": "(( given.count ))"}}}});
    land.patch("Installation", "root", right).await;
    land.phase("root", "Succeeded").await;
    let leaf = land.nested("root", "leaf").await;
    assert_eq!(
        land.config(&leaf, "show").await["text"],
        "size 2 of canary(extended)"
    );
}
