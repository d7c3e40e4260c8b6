//! Operator versions that are created in any order (O10, O12, O16).

use serde_json::{Value, json};

use crate::harness::{World, contains};
use crate::operator::{after, version};
use crate::record::Record;

const ORDERS: [[usize; 3]; 6] = [
    [0, 1, 2],
    [0, 2, 1],
    [1, 0, 2],
    [1, 2, 0],
    [2, 0, 1],
    [2, 1, 0],
];

fn chain() -> [Value; 3] {
    [
        version("etcd", "1.0.0", json!({})),
        after("etcd", "1.0.0", "2.0.0", json!({})),
        after("etcd", "2.0.0", "3.0.0", json!({})),
    ]
}

async fn only(world: &World, name: &str) {
    world.phase(name, "Succeeded").await;
    for other in ["etcd.v1.0.0", "etcd.v2.0.0", "etcd.v3.0.0"] {
        if other != name {
            world.gone("OperatorVersion", other).await;
        }
    }
    world.quiet().await;
    assert_eq!(world.names("OperatorVersion").await, [name]);
    assert_eq!(world.names("Execution").await, [name]);
}

/// The names of versions in the order in which they began to be installed.
fn begun(record: &Record) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for event in record.events() {
        let name = event.name().to_owned();
        if event.object["status"]["begun"] == true && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o12_o16_a_chain_ends_with_its_head_when_all_are_there_at_once_in_any_order() {
    for order in ORDERS {
        let world = World::new().await;
        let record = Record::of(world.api("OperatorVersion")).await;
        let chain = chain();
        for place in order {
            world.create(chain[place].clone()).await;
        }
        only(&world, "etcd.v3.0.0").await;
        let operator = world.get("ConfigMap", "etcd-operator").await;
        assert_eq!(operator["data"]["version"], "3.0.0", "{order:?}");
        let maps = world.names("ConfigMap").await;
        let left = maps
            .iter()
            .any(|name| name == "etcd-1.0.0" || name == "etcd-2.0.0");
        assert!(!left, "{order:?}: {maps:?}");
        // 1 ← 2 ← 3 without skips: 3 never comes right after 1.
        let begun = begun(&record);
        let place = |name: &str| begun.iter().position(|found| found == name);
        if place("etcd.v1.0.0").is_some() {
            assert!(
                place("etcd.v2.0.0") < place("etcd.v3.0.0"),
                "{order:?}: {begun:?}"
            );
            assert!(place("etcd.v2.0.0").is_some(), "{order:?}: {begun:?}");
        }
        world.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o12_o16_a_chain_ends_with_its_head_when_each_waits_for_the_one_before_to_settle() {
    for order in ORDERS {
        let world = World::new().await;
        let chain = chain();
        for place in order {
            world.create(chain[place].clone()).await;
            world.quiet().await;
        }
        only(&world, "etcd.v3.0.0").await;
        world.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o12_a_version_is_skipped_when_an_edge_allows_it() {
    let edges = [
        json!({"skips": ["etcd.v1.0.0"]}),
        json!({"skipRange": ">=1.0.0 <3.0.0"}),
        json!({"replaces": ">=1.0.0 <3.0.0"}),
    ];
    for edge in edges {
        let world = World::new().await;
        world.create(version("etcd", "1.0.0", json!({}))).await;
        world.phase("etcd.v1.0.0", "Succeeded").await;
        let record = Record::of(world.api("OperatorVersion")).await;
        world.create(version("etcd", "3.0.0", edge.clone())).await;
        only(&world, "etcd.v3.0.0").await;
        assert!(begun(&record).contains(&"etcd.v3.0.0".to_owned()), "{edge}");
        world.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o12_without_an_edge_nothing_replaces_what_runs_and_nothing_goes_down() {
    let world = World::new().await;
    world.create(version("etcd", "2.0.0", json!({}))).await;
    world.phase("etcd.v2.0.0", "Succeeded").await;
    world.create(version("etcd", "3.0.0", json!({}))).await;
    world
        .create(version("etcd", "1.0.0", json!({"skipRange": "<9.0.0"})))
        .await;
    let higher = world.phase("etcd.v3.0.0", "Pending").await;
    assert_eq!(higher["status"]["reason"], "NoPath");
    contains(&higher["status"]["message"], &["doesn't replace 2.0.0"]);
    let lower = world.phase("etcd.v1.0.0", "Pending").await;
    assert_eq!(lower["status"]["reason"], "Downgrade");
    world.quiet().await;
    let running = world.phase("etcd.v2.0.0", "Succeeded").await;
    assert_eq!(running["status"]["higher"]["version"], "3.0.0");
    assert_eq!(world.names("Execution").await, ["etcd.v2.0.0"]);
}
