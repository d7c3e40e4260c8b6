//! Names that no object and no label can have: what has them is deployed, changed, exported, imported and deleted like
//! anything else.

use std::collections::BTreeMap;

use futures::{StreamExt as _, stream};
use landform_api::landscaper::names;
use serde_json::{Value, json};

use crate::harness::{Landscape, data_import, files, spec, template, text};

/// What things are called in a landscape.
#[derive(Clone, Debug)]
struct Called {
    root: String,
    nested: String,
    item: String,
    /// Where data is in its context.
    data: String,
    /// Under which name blueprints import and export.
    import: String,
    target: String,
    /// A key of a map of targets.
    key: String,
    executor: String,
}

impl Default for Called {
    fn default() -> Self {
        let name = |text: &str| text.to_owned();
        Self {
            root: name("root"),
            nested: name("inner"),
            item: name("item"),
            data: name("data"),
            import: name("value"),
            target: name("place"),
            key: name("red"),
            executor: name("items"),
        }
    }
}

type Level = (&'static str, fn(&mut Called, &str));

/// Where a name can be anything.
const LEVELS: [Level; 7] = [
    ("nested", |called, name| name.clone_into(&mut called.nested)),
    ("item", |called, name| name.clone_into(&mut called.item)),
    ("data", |called, name| name.clone_into(&mut called.data)),
    ("import", |called, name| name.clone_into(&mut called.import)),
    ("target", |called, name| name.clone_into(&mut called.target)),
    ("key", |called, name| name.clone_into(&mut called.key)),
    ("executor", |called, name| {
        name.clone_into(&mut called.executor);
    }),
];

/// An item that shows what it is given, and exports it.
fn item(called: &Called, rest: &str) -> String {
    format!(
        "- name: {name}\n  type: test.dev/recorder\n  {rest}\n  config: {{given: {value}, export: {{value: {value}}}}}\n",
        name = json!(called.item),
        value = format_args!("{{{{ index .imports {} | toJson }}}}", json!(called.import)),
    )
}

fn exports(called: &Called, from: &str, name: &str, field: &str) -> Value {
    let text = format!(
        "exports: {{{}: {{{{ index .values.{from} {} {field} | toJson }}}}}}",
        json!(called.import),
        json!(name),
    );
    template(&called.executor, &text)
}

/// Deploys what it imports, and something after it.
fn inner(called: &Called) -> Value {
    let items = format!(
        "state: {{noted: {{{{ default \"first\" \"again\" }}}}}}\ndeployItems:\n{}- name: after\n  type: test.dev/recorder\n  dependsOn: [{}]\n",
        item(called, "target: {import: place}"),
        json!(called.item),
    );
    json!({
        "imports": [
            data_import(&called.import, json!({})),
            {"name": "place", "type": "target", "targetType": "test.dev/place"},
        ],
        "exports": [data_import(&called.import, json!({}))],
        "deployExecutions": template(&called.executor, &items),
        "exportExecutions": exports(called, "deployitems", &called.item, "\"value\""),
    })
}

fn outer(called: &Called) -> Value {
    let places = names::element_key("places", &called.key);
    let nested = json!({
        "name": called.nested,
        "blueprint": {"filesystem": files(inner(called))},
        "imports": {
            "data": [{"name": called.import, "dataRef": called.import}],
            "targets": [{"name": "place", "target": places}],
        },
        "exports": {"data": [{"name": called.import, "dataRef": called.data}]},
    });
    json!({
        "imports": [
            data_import(&called.import, json!({})),
            {"name": "places", "type": "targetMap", "targetType": "test.dev/place"},
        ],
        "exports": [data_import(&called.import, json!({}))],
        "subinstallations": [nested],
        "deployExecutions": template(&called.executor, &format!("deployItems:\n{}", item(called, "labels: {a: b}"))),
        "exportExecutions": exports(called, "dataobjects", &called.data, ""),
    })
}

fn reader(called: &Called) -> Value {
    let items = Called {
        item: "read".to_owned(),
        ..called.clone()
    };
    json!({
        "imports": [data_import(&called.import, json!({}))],
        "deployExecutions": template("items", &format!("deployItems:\n{}", item(&items, "labels: {a: b}"))),
    })
}

/// What each item is given, by execution and the name that its blueprint gives it.
async fn deployed(land: &Landscape) -> BTreeMap<(String, String), Value> {
    let mut all = BTreeMap::new();
    for execution in land.list("Execution").await {
        let refs = execution["status"]["deployItemRefs"].as_array().cloned();
        for found in refs.unwrap_or_default() {
            let item = land.get("DeployItem", text(&found["ref"]["name"])).await;
            let whose = text(&execution["metadata"]["name"]).to_owned();
            let name = text(&found["name"]).to_owned();
            all.insert((whose, name), item["spec"]["config"]["given"].clone());
        }
    }
    all
}

#[track_caller]
fn is_deployed(found: &BTreeMap<(String, String), Value>, called: &Called, value: &str) {
    let mut given: Vec<_> = found
        .iter()
        .map(|((_, item), given)| (item.as_str(), given.clone()))
        .collect();
    given.sort_by(|a, b| (a.0, a.1.as_str()).cmp(&(b.0, b.1.as_str())));
    let mut wanted = vec![
        ("after", Value::Null),
        (called.item.as_str(), json!(value)),
        (called.item.as_str(), json!(value)),
        ("read", json!(value)),
    ];
    wanted.sort_by(|a, b| (a.0, a.1.as_str()).cmp(&(b.0, b.1.as_str())));
    assert_eq!(given, wanted, "{called:?}");
}

/// A landscape comes up, changes and goes, whatever things are called.
async fn lives(called: &Called) {
    let mut land = Landscape::new().await;
    let place = names::data_name(None, &called.target);
    land.target(&place, json!({"at": "home"})).await;
    land.data("input", json!("one")).await;
    let wired = json!({
        "imports": {
            "data": [{"name": called.import, "dataRef": "input"}],
            "targets": [{"name": "places", "targetMap": {called.key.as_str(): called.target}}],
        },
        "exports": {"data": [{"name": called.import, "dataRef": called.data}]},
    });
    land.install(&called.root, outer(called), wired).await;
    let wired = json!({"imports": {"data": [{"name": called.import, "dataRef": called.data}]}});
    land.install("reader", reader(called), wired).await;
    land.phase("reader", "Succeeded").await;
    land.quiet().await;
    is_deployed(&deployed(&land).await, called, "one");
    let mut journal = land.recorder.take();
    let place_of = |what: &str| journal.iter().position(|line| line == what);
    let first = place_of(&format!("deploy {}", called.item));
    assert!(first.is_some(), "{called:?}: {journal:?}");
    journal.sort();
    assert_eq!(journal.len(), 4, "{called:?}: {journal:?}");

    // One that knows only what is stored finds all of it again.
    land.restart().await;
    land.quiet().await;
    assert_eq!(land.recorder.take(), [""; 0], "{called:?}");
    land.patch("DataObject", "input", json!({"data": "two"}))
        .await;
    let export = names::data_name(None, &called.data);
    land.until("DataObject", &export, |object| object["data"] == "two")
        .await;
    land.quiet().await;
    land.phase("reader", "Succeeded").await;
    is_deployed(&deployed(&land).await, called, "two");
    let root = land.phase(&called.root, "Succeeded").await;
    assert!(root["status"]["lastError"].is_null(), "{called:?}: {root}");

    let nested = land.nested(&called.root, &called.nested).await;
    land.recorder.take();
    for name in ["reader", called.root.as_str()] {
        land.delete("Installation", name).await;
    }
    land.gone("Installation", &called.root).await;
    land.gone("Installation", &nested).await;
    land.quiet().await;
    let journal = land.recorder.take();
    let removed = journal.iter().filter(|line| line.starts_with("remove "));
    assert_eq!(removed.count(), 4, "{called:?}: {journal:?}");
    for kind in ["Installation", "Execution", "DeployItem", "Secret"] {
        land.left(kind, &[]).await;
    }
    land.left("DataObject", &["input"]).await;
    land.left("Target", &[&place]).await;
    land.stop().await;
}

async fn all_live(cases: Vec<Called>) {
    let cases = stream::iter(&cases);
    cases
        .for_each_concurrent(4, |called| async move { lives(called).await })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn i15_names_that_no_object_can_have_live_at_every_level() {
    let long = "x".repeat(64);
    let names = ["my_Item", long.as_str()];
    let mut cases = Vec::new();
    for (_, set) in LEVELS {
        for name in names {
            let mut called = Called::default();
            set(&mut called, name);
            cases.push(called);
        }
    }
    all_live(cases).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn i15_any_name_lives_at_all_levels_at_once() {
    let names = [
        "-x_".to_owned(),
        "Ümläut and space/slash: {}".to_owned(),
        "a.b..c".to_owned(),
        "Y".repeat(300),
        format!("{}.{}", "a".repeat(60), "-".repeat(60)),
    ];
    let cases = names.iter().map(|name| {
        let mut called = Called::default();
        for (_, set) in LEVELS {
            set(&mut called, name);
        }
        // What it imports and what it exports are two things in one context.
        called.import.push_str(" in");
        called
    });
    all_live(cases.collect()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn i15_an_installation_may_have_the_longest_name() {
    let dotted = format!("{}.{}", "a".repeat(57), "b".repeat(120));
    // Cut after 58 characters, this ends in a dash; after 200 too.
    let dashed = format!("{}-{}-c", "a".repeat(57), "-".repeat(193));
    let roots = ["x".repeat(64), "x".repeat(253), dotted, dashed];
    let cases = roots.into_iter().map(|root| Called {
        root,
        item: "my_Item".to_owned(),
        nested: "Inner_one".to_owned(),
        ..Called::default()
    });
    all_live(cases.collect()).await;
}

/// An item of a person, without an execution, exports too.
#[tokio::test]
async fn e12_an_item_with_the_longest_name_exports() {
    let land = Landscape::new().await;
    for length in [246, 253] {
        let name = "x".repeat(length);
        let config = json!({"export": {"value": 1}});
        let spec = json!({"type": "test.dev/recorder", "config": config});
        land.create("DeployItem", &name, json!({"spec": spec}))
            .await;
        let now = "2026-01-01T00:00:00Z";
        land.annotate(
            "DeployItem",
            &name,
            "landscaper.gardener.cloud/reconcile-time",
            now,
        )
        .await;
        let item = land
            .until("DeployItem", &name, |item| {
                item["status"]["phase"] == "Succeeded"
            })
            .await;
        let secret = text(&item["status"]["exportRef"]["name"]);
        assert!(land.names("Secret").await.contains(&secret.to_owned()));
    }
    assert_eq!(land.names("Secret").await.len(), 2);
}

#[tokio::test]
async fn e11_an_item_with_a_comma_in_its_name_is_refused() {
    let land = Landscape::new().await;
    let items = "deployItems: [{name: 'a,b', type: test.dev/recorder}]";
    let blueprint = json!({"deployExecutions": template("items", items)});
    land.install("app", blueprint, json!({})).await;
    land.fails("app", &["deployItems[0].name", "comma"]).await;
    assert_eq!(land.names("DeployItem").await, [""; 0]);
    let better = json!({"deployExecutions": template("items", &items.replace("a,b", "a+b"))});
    land.patch(
        "Installation",
        "app",
        json!({"spec": spec(better, json!({}))}),
    )
    .await;
    land.phase("app", "Succeeded").await;
}
