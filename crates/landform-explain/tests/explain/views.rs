//! Trees, graphs and histories through the API, and as text and pictures.

use landform_explain::graph::Graph;
use landform_explain::render;
use landform_explain::tree::Forest;
use serde_json::{Value, json};
use time::OffsetDateTime;

use crate::harness::{FINE, World, normal, product, wiring};

async fn shop() -> World {
    let world = World::new().await;
    world
        .install("db", product(&[], &["url"], FINE), wiring(&[], &["url"]))
        .await;
    world
        .install("web", product(&["url"], &[], FINE), wiring(&["url"], &[]))
        .await;
    world.phase("Installation", "web", "Succeeded").await;
    world
}

#[tokio::test]
async fn a_tree_shows_who_owns_whom() {
    let world = shop().await;
    let label = json!({"metadata": {"labels": {"landform.dev/project": "shop"}}});
    world.patch("Installation", "web", label).await;
    world.phase("Installation", "web", "Succeeded").await;
    let path = "tree/landscaper.gardener.cloud/Installation/default/web";
    for path in [path, "tree?project=shop"] {
        let forest: Forest = serde_json::from_value(world.view(path).await).unwrap();
        let mut text = normal(&render::tree(&forest, OffsetDateTime::UNIX_EPOCH));
        text = text.replace(" 0s", "");
        let expected = "\
Installation/web Succeeded
└─ Execution/web Succeeded
   ├─ DataObject/exports (pkmqkrv…)
   └─ DeployItem/web-main-##### Succeeded
      └─ Secret/web-main-#####-export
";
        assert_eq!(text, expected, "{path}");
    }
    let all: Forest = serde_json::from_value(world.view("tree?namespace=default").await).unwrap();
    let names: Vec<&str> = all
        .items
        .iter()
        .map(|item| item.object.name.as_str())
        .collect();
    assert_eq!(names, ["db", "web"]);
    let none: Forest = serde_json::from_value(world.view("tree?namespace=none").await).unwrap();
    assert_eq!(
        render::tree(&none, OffsetDateTime::UNIX_EPOCH),
        "There is nothing.\n"
    );
}

#[tokio::test]
async fn a_graph_shows_who_imports_what_from_whom() {
    let world = shop().await;
    world
        .install("ops", product(&["key"], &[], FINE), wiring(&["key"], &[]))
        .await;
    world
        .phase("Installation", "ops", "PendingDependencies")
        .await;
    let graph: Graph = serde_json::from_value(world.view("graph?namespace=default").await).unwrap();
    let expected = "\
DataObject/key missing
Installation/db Succeeded
Installation/ops PendingDependencies
└─ key from DataObject/key missing
Installation/web Succeeded
└─ url from Installation/db Succeeded
";
    assert_eq!(render::graph_text(&graph), expected);
    let dot = render::graph_dot(&graph);
    let edge = "\"Installation.landscaper.gardener.cloud/default/db\" -> \"Installation.landscaper.gardener.cloud/default/web\" [label=\"url\"];";
    assert!(dot.contains(edge), "{dot}");
    let mermaid = render::graph_mermaid(&graph);
    assert!(mermaid.contains("n1 -->|\"url\"| n3"), "{mermaid}");
    let svg = render::graph_svg(&graph);
    assert!(
        svg.starts_with("<svg ") && svg.ends_with("</svg>\n"),
        "{svg}"
    );
    assert_eq!(svg.matches("<title>").count(), 4);
    assert!(svg.contains(">url</text>") && svg.contains("Installation/web"));
}

#[tokio::test]
async fn a_history_has_the_phases_of_an_object() {
    let world = World::new().await;
    world
        .install("web", product(&["port"], &[], FINE), wiring(&["port"], &[]))
        .await;
    world
        .phase("Installation", "web", "PendingDependencies")
        .await;
    let path = "history/landscaper.gardener.cloud/Installation/default/web";
    let has = |items: &Value, phase: &str| {
        let items = items.as_array().unwrap();
        items.iter().any(|item| item["to"] == phase)
    };
    let seen = async |phase: &str| {
        while !has(&world.view(path).await["items"], phase) {
            tokio::task::yield_now().await;
        }
    };
    seen("PendingDependencies").await;
    world.make("DataObject", "port", json!({"data": 80})).await;
    world.phase("Installation", "web", "Succeeded").await;
    seen("Succeeded").await;
    let history = world.view(path).await;
    let items = history["items"].as_array().unwrap();
    let mut before = Value::Null;
    for item in items {
        assert_eq!(item["from"], before, "{items:#?}");
        before = item["to"].clone();
    }
    assert_eq!(before, "Succeeded");
    let pending = items
        .iter()
        .find(|item| item["to"] == "PendingDependencies")
        .unwrap();
    assert!(pending["time"].as_str().unwrap().ends_with('Z'));
}

#[tokio::test]
async fn what_can_not_be_explained_is_refused_with_a_reason() {
    let world = World::new().await;
    let read = async |path: &str| {
        let request = http::Request::get(format!("/apis/landform.dev/v1alpha1/{path}"));
        let answer = world
            .client
            .request::<Value>(request.body(Vec::new()).unwrap());
        answer.await.unwrap_err().to_string()
    };
    let absent = read("why/landscaper.gardener.cloud/Installation/default/ghost").await;
    assert!(
        absent.contains("Installation/ghost doesn't exist"),
        "{absent}"
    );
    let kind = read("why/example.com/Ghost/default/ghost").await;
    assert!(kind.contains("the API knows no kind Ghost"), "{kind}");
}
