//! Maps of targets: imported at the root, passed on to nested installations, and composed of single targets.

use serde_json::{Value, json};

use crate::harness::{Landscape, data_import, files, template, text, wiring};

fn map_import(name: &str) -> Value {
    json!({"name": name, "type": "targetMap", "targetType": "test.dev/place"})
}

fn target_import(name: &str) -> Value {
    json!({"name": name, "type": "target", "targetType": "test.dev/place"})
}

/// One item for each target of the map `places`.
fn painter() -> Value {
    json!({
        "imports": [map_import("places")],
        "deployExecutions": template("items", r#"
deployItems:
{{ range $key, $target := .imports.places }}
- name: paint-{{ $key }}
  type: test.dev/recorder
  target: {import: places, key: {{ $key }}}
  config: {at: {{ $target.spec.config.at }}}
{{ end }}
"#),
    })
}

fn sub(name: &str, blueprint: Value, imports: Value) -> Value {
    json!({"name": name, "blueprint": {"filesystem": files(blueprint)}, "imports": imports})
}

/// The items of an execution: name, target, configuration.
async fn items(landscape: &Landscape, execution: &str) -> Vec<(String, String, Value)> {
    let prefix = "execution.landscaper.gardener.cloud";
    let mut items: Vec<_> = landscape
        .list("DeployItem")
        .await
        .into_iter()
        .filter(|item| item["metadata"]["labels"][format!("{prefix}/managed-by")] == execution)
        .map(|item| {
            let name = text(&item["metadata"]["labels"][format!("{prefix}/name")]).to_owned();
            let target = text(&item["spec"]["target"]["name"]).to_owned();
            (name, target, item["spec"]["config"]["at"].clone())
        })
        .collect();
    items.sort_by(|a, b| a.0.cmp(&b.0));
    items
}

fn item(name: &str, target: &str, at: &str) -> (String, String, Value) {
    (name.to_owned(), target.to_owned(), json!(at))
}

#[tokio::test]
async fn i13_each_target_of_a_map_has_its_item_and_a_change_of_one_reaches_that_item() {
    let landscape = Landscape::new().await;
    for (name, at) in [("east", "e1"), ("west", "w1"), ("north", "n1")] {
        landscape.target(name, json!({"at": at})).await;
    }
    let map = json!({"red": "east", "blue": "west"});
    let rest = json!({"imports": {"targets": [{"name": "places", "targetMap": map}]}});
    landscape.install("wall", painter(), rest).await;
    let wall = landscape.phase("wall", "Succeeded").await;
    assert_eq!(
        items(&landscape, "wall").await,
        [
            item("paint-blue", "west", "w1"),
            item("paint-red", "east", "e1")
        ]
    );
    let recorded = &wall["status"]["imports"][0];
    assert_eq!(recorded["type"], "targetMap");
    assert_eq!(recorded["targetMap"]["red"]["target"], "east");
    let before = recorded["targetMap"]["red"]["configGeneration"].clone();
    assert!(before.is_string(), "{recorded}");

    // One target changes: an update follows, without an annotation.
    landscape
        .patch("Target", "east", json!({"spec": {"config": {"at": "e2"}}}))
        .await;
    let wall = landscape
        .until("Installation", "wall", |wall| {
            let red = &wall["status"]["imports"][0]["targetMap"]["red"];
            red["configGeneration"] != before && wall["status"]["phase"] == "Succeeded"
        })
        .await;
    assert_eq!(
        items(&landscape, "wall").await,
        [
            item("paint-blue", "west", "w1"),
            item("paint-red", "east", "e2")
        ]
    );
    let blue = &wall["status"]["imports"][0]["targetMap"]["blue"];
    assert_eq!(blue["target"], "west");

    // Another key, and another target under a key that was there.
    let map = json!({"red": "north", "green": "west"});
    landscape
        .patch(
            "Installation",
            "wall",
            json!({"spec": {"imports": {"targets": [{"name": "places", "targetMap": map}]}}}),
        )
        .await;
    landscape.quiet().await;
    landscape.phase("wall", "Succeeded").await;
    assert_eq!(
        items(&landscape, "wall").await,
        [
            item("paint-green", "west", "w1"),
            item("paint-red", "north", "n1")
        ]
    );
}

#[tokio::test]
async fn i14_a_map_waits_for_each_of_its_targets() {
    let landscape = Landscape::new().await;
    landscape.target("east", json!({"at": "e1"})).await;
    let map = json!({"red": "east", "blue": "west"});
    let rest = json!({"imports": {"targets": [{"name": "places", "targetMap": map}]}});
    landscape.install("wall", painter(), rest).await;
    let waiting = landscape
        .until("Installation", "wall", |wall| {
            wall["status"]["waitingOn"].is_array()
        })
        .await;
    let waiting = &waiting["status"]["waitingOn"];
    assert_eq!(waiting[0]["object"]["name"], "west", "{waiting}");
    assert_eq!(landscape.names("DeployItem").await, [""; 0]);
    landscape.target("west", json!({"at": "w1"})).await;
    landscape.phase("wall", "Succeeded").await;
    assert_eq!(items(&landscape, "wall").await.len(), 2);
}

#[tokio::test]
async fn i40_nested_installations_reach_maps_and_single_targets_of_maps_and_lists() {
    let landscape = Landscape::new().await;
    for (name, at) in [("east", "e1"), ("west", "w1")] {
        landscape.target(name, json!({"at": at})).await;
    }
    let one = json!({
        "imports": [target_import("place")],
        "deployExecutions": template("items", "deployItems: [{name: one, type: test.dev/recorder, target: {import: place}, config: {at: {{ .imports.place.spec.config.at }}}}]"),
    });
    let middle = json!({
        "imports": [map_import("all")],
        "subinstallations": [sub("inner", painter(), json!({"targets": [{"name": "places", "targetMapRef": "all"}]}))],
    });
    let root = json!({
        "imports": [
            map_import("clusters"),
            {"name": "row", "type": "targetList", "targetType": "test.dev/place"},
            target_import("single"),
        ],
        "subinstallations": [
            sub("middle", middle, json!({"targets": [{"name": "all", "targetMapRef": "clusters"}]})),
            sub("red", one.clone(), json!({"targets": [{"name": "place", "target": "clusters[red]"}]})),
            sub("second", one, json!({"targets": [{"name": "place", "target": "row[1]"}]})),
            sub("composed", painter(), json!({"targets": [
                {"name": "places", "targetMap": {"a": "single", "b": "clusters[blue]"}},
            ]})),
        ],
    });
    let rest = json!({"imports": {"targets": [
        {"name": "clusters", "targetMap": {"red": "east", "blue": "west"}},
        {"name": "row", "targets": ["west", "east"]}, {"name": "single", "target": "east"},
    ]}});
    landscape.install("top", root, rest).await;
    landscape.phase("top", "Succeeded").await;
    let configurations = async |at: &str| {
        let middle = landscape.nested("top", "middle").await;
        let inner = landscape.nested(&middle, "inner").await;
        let shown = |items: Vec<(String, String, Value)>| -> Vec<(String, Value)> {
            items.into_iter().map(|(name, _, at)| (name, at)).collect()
        };
        let red = landscape.nested("top", "red").await;
        let second = landscape.nested("top", "second").await;
        let composed = landscape.nested("top", "composed").await;
        let pair = |name: &str, at: &str| (name.to_owned(), json!(at));
        assert_eq!(
            shown(items(&landscape, &inner).await),
            [pair("paint-blue", "w1"), pair("paint-red", at)]
        );
        assert_eq!(shown(items(&landscape, &red).await), [pair("one", at)]);
        assert_eq!(shown(items(&landscape, &second).await), [pair("one", at)]);
        assert_eq!(
            shown(items(&landscape, &composed).await),
            [pair("paint-a", at), pair("paint-b", "w1")]
        );
    };
    configurations("e1").await;
    // Labels say which element of which map a target is, as in Landscaper.
    let targets = landscape.list("Target").await;
    let label = "data.landscaper.gardener.cloud";
    let element = targets.iter().find(|target| {
        let labels = &target["metadata"]["labels"];
        labels[format!("{label}/targetmapkey")] == "red"
            && labels[format!("{label}/context")] == "Inst.top"
    });
    let element = element.unwrap();
    assert_eq!(
        element["metadata"]["labels"][format!("{label}/key")],
        "clusters"
    );

    // A target of the map changes: it reaches all that are nested.
    landscape
        .patch("Target", "east", json!({"spec": {"config": {"at": "e2"}}}))
        .await;
    landscape.quiet().await;
    landscape.phase("top", "Succeeded").await;
    configurations("e2").await;

    // A key that is added at the root reaches those that import the whole map, and one that goes too.
    landscape.target("north", json!({"at": "n1"})).await;
    let imports = |map: Value| {
        json!({"spec": {"imports": {"targets": [
            {"name": "clusters", "targetMap": map},
            {"name": "row", "targets": ["west", "east"]}, {"name": "single", "target": "east"},
        ]}}})
    };
    let middle = landscape.nested("top", "middle").await;
    let inner = landscape.nested(&middle, "inner").await;
    for (map, expected) in [
        (
            json!({"red": "east", "blue": "west", "green": "north"}),
            vec!["paint-blue", "paint-green", "paint-red"],
        ),
        (
            json!({"red": "east", "blue": "west"}),
            vec!["paint-blue", "paint-red"],
        ),
    ] {
        landscape.patch("Installation", "top", imports(map)).await;
        landscape.quiet().await;
        landscape.phase("top", "Succeeded").await;
        let items = items(&landscape, &inner).await;
        let names: Vec<_> = items.iter().map(|(name, _, _)| name.as_str()).collect();
        assert_eq!(names, expected);
    }
    // The target of the nested map is gone with its key, the one that it was made from is not.
    let targets = landscape.list("Target").await;
    let green = targets
        .iter()
        .find(|target| target["metadata"]["labels"][format!("{label}/targetmapkey")] == "green");
    assert_eq!(green, None);

    landscape.delete("Installation", "top").await;
    landscape.gone("Installation", "top").await;
    landscape.quiet().await;
    assert_eq!(landscape.names("Target").await, ["east", "north", "west"]);
    assert_eq!(landscape.names("DeployItem").await, [""; 0]);
}

#[tokio::test]
async fn i17_siblings_that_export_targets_come_before_the_map_that_imports_them() {
    let landscape = Landscape::new().await;
    landscape.data("size", json!(1)).await;
    let exporter = |at: &str| {
        json!({
            "imports": [data_import("size", json!({"type": "integer"}))],
            "exports": [target_import("out")],
            "exportExecutions": template("exports", &format!(
                "exports: {{out: {{type: test.dev/place, config: {{at: {at}-{{{{ .imports.size }}}}}}}}}}"
            )),
        })
    };
    let map = json!({"red": "made-red", "blue": "made-blue"});
    let rest = json!({"imports": {"targets": [{"name": "places", "targetMap": map}]}});
    landscape.install("wall", painter(), rest).await;
    for color in ["red", "blue"] {
        let mut rest = wiring(&["size"], &[]);
        rest["exports"] = json!({"targets": [{"name": "out", "target": format!("made-{color}")}]});
        landscape.install(color, exporter(color), rest).await;
    }
    let wall = landscape.phase("wall", "Succeeded").await;
    let red = &wall["status"]["imports"][0]["targetMap"]["red"];
    assert_eq!(red["sourceRef"]["name"], "red", "{red}");
    assert_eq!(
        items(&landscape, "wall").await,
        [
            item("paint-blue", "made-blue", "blue-1"),
            item("paint-red", "made-red", "red-1")
        ]
    );
    landscape
        .patch("DataObject", "size", json!({"data": 2}))
        .await;
    landscape.quiet().await;
    landscape.phase("wall", "Succeeded").await;
    assert_eq!(
        items(&landscape, "wall").await,
        [
            item("paint-blue", "made-blue", "blue-2"),
            item("paint-red", "made-red", "red-2")
        ]
    );
    // An exporter of a map's target can't go while the map imports it (I30).
    landscape.delete("Installation", "red").await;
    let red = landscape
        .until("Installation", "red", |red| {
            !red["metadata"]["deletionTimestamp"].is_null()
                && red["status"]["lastError"]["message"].is_string()
        })
        .await;
    assert!(
        text(&red["status"]["lastError"]["message"]).contains("wall"),
        "{red}"
    );
    assert!(
        landscape
            .names("Target")
            .await
            .contains(&"made-red".to_owned())
    );
}

#[tokio::test]
async fn an_installation_that_says_it_is_nested_in_itself_stops_nothing() {
    let landscape = Landscape::new().await;
    let label = json!({"landscaper.gardener.cloud/encompassed-by": "loop"});
    let imports = json!({"targets": [
        {"name": "a", "targetMapRef": "a"}, {"name": "b", "targetListRef": "b"},
    ]});
    let mut spec = crate::harness::spec(json!({}), json!({}));
    spec["imports"] = imports;
    landscape
        .create(
            "Installation",
            "loop",
            json!({"metadata": {"labels": label}, "spec": spec}),
        )
        .await;
    landscape.target("east", json!({"at": "e1"})).await;
    let rest = json!({"imports": {"targets": [{"name": "places", "targetMap": {"red": "east"}}]}});
    landscape.install("wall", painter(), rest).await;
    landscape.phase("wall", "Succeeded").await;
}

#[tokio::test]
async fn i15_a_target_that_is_left_out_goes_after_what_was_deployed_there() {
    let land = Landscape::new().await;
    for name in ["east", "west"] {
        land.target(name, json!({"at": name})).await;
    }
    let passed = json!({"targets": [{"name": "places", "targetMapRef": "places"}]});
    let wall =
        |nested: Value| json!({"imports": [map_import("places")], "subinstallations": nested});
    let nested = || json!([sub("inner", painter(), passed.clone())]);
    let places =
        |map: Value| json!({"imports": {"targets": [{"name": "places", "targetMap": map}]}});
    land.install(
        "wall",
        wall(nested()),
        places(json!({"red": "east", "blue": "west"})),
    )
    .await;
    land.phase("wall", "Succeeded").await;
    land.recorder.take();
    let steps = [
        (nested(), json!({"blue": "west"}), "remove paint-red", 3),
        (json!([]), json!({"blue": "west"}), "remove paint-blue", 2),
    ];
    for (nested, map, removed, targets) in steps {
        let spec = crate::harness::spec(wall(nested), places(map));
        let mut spec = json!({"spec": spec});
        spec["spec"]["imports"]["targets"][0]["targetMap"]["red"] = Value::Null;
        land.patch("Installation", "wall", spec).await;
        land.until("Installation", "wall", |object| {
            object["status"]["phase"] == "Succeeded"
                && object["status"]["observedGeneration"] == object["metadata"]["generation"]
        })
        .await;
        land.quiet().await;
        let journal = land.recorder.take();
        assert!(journal.contains(&removed.to_owned()), "{journal:?}");
        assert_eq!(land.names("Target").await.len(), targets, "{removed}");
    }
}
