//! What patches leave behind: whatever is answered with a success can be read, listed, changed and deleted.
//!
//! Patches are made at random and from adversarial shapes (deep, wide, copies of copies), and looked at by their
//! results: depth, size, and what the server can do with them afterwards.

use http::Method;
use landform_api::Budget;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::harness::{Answer, Api, DEFINITIONS, MAPS, WIDGETS, map, widgets};

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const TABLE: [(&str, &str); 1] = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];

/// A value: small and random, or of a shape that costs.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z$./~]{0,8}".prop_map(Value::from),
    ];
    let small = leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key(), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    });
    let deep = (1_usize..150, any::<bool>()).prop_map(|(levels, lists)| {
        (0..levels).fold(json!(1), |inner, _| {
            if lists {
                json!([inner])
            } else {
                json!({ "a": inner })
            }
        })
    });
    let wide = (1_usize..3_000).prop_map(|count| {
        let fields: Map<String, Value> = (0..count).map(|n| (format!("k{n}"), json!(n))).collect();
        Value::from(fields)
    });
    let long = (1_usize..200_000).prop_map(|length| json!("x".repeat(length)));
    prop_oneof![6 => small, 2 => deep, 1 => wide, 1 => long]
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(vec![
            "spec", "data", "a", "metadata", "labels", "annotations", "finalizers", "ownerReferences", "status",
            "template", "containers", "name", "$patch", "$setElementOrder/containers", "$deleteFromPrimitiveList/finalizers",
        ]).prop_map(str::to_owned),
        1 => "[a-z]{1,4}",
    ]
}

fn pointer() -> impl Strategy<Value = String> {
    let part = prop_oneof![3 => key(), 1 => Just("0".to_owned()), 1 => Just("-".to_owned())];
    prop::collection::vec(part, 0..5).prop_map(|parts| {
        parts
            .iter()
            .map(|part| format!("/{}", part.replace('~', "~0").replace('/', "~1")))
            .collect()
    })
}

fn json_patch() -> impl Strategy<Value = Value> {
    let operation = prop_oneof![
        4 => (pointer(), value()).prop_map(|(path, value)| json!({"op": "add", "path": path, "value": value})),
        1 => (pointer(), value()).prop_map(|(path, value)| json!({"op": "replace", "path": path, "value": value})),
        1 => pointer().prop_map(|path| json!({"op": "remove", "path": path})),
        2 => (pointer(), pointer()).prop_map(|(from, path)| json!({"op": "copy", "from": from, "path": path})),
        1 => (pointer(), pointer()).prop_map(|(from, path)| json!({"op": "move", "from": from, "path": path})),
    ];
    let random = prop::collection::vec(operation, 1..6).prop_map(Value::from);
    // What is there is copied into itself, at its deepest place or beside it.
    let bomb = (
        prop::sample::select(vec!["/spec", "/data"]),
        1_u32..40,
        any::<bool>(),
    )
        .prop_map(|(root, turns, deep)| {
            let mut patch = vec![json!({"op": "add", "path": root, "value": {"a": {"a": {}}}})];
            let mut levels = 2;
            for turn in 0..turns {
                let (from, path) = if deep {
                    (
                        format!("{root}/a"),
                        format!("{root}{}", "/a".repeat(levels + 1)),
                    )
                } else {
                    (root.to_owned(), format!("{root}/b{turn}"))
                };
                patch.push(json!({"op": "copy", "from": from, "path": path}));
                levels = (levels * 2).min(50_000);
            }
            Value::from(patch)
        });
    prop_oneof![3 => random, 1 => bomb]
}

fn merge_patch() -> impl Strategy<Value = Value> {
    let fields = prop::collection::btree_map(key(), value(), 0..4);
    fields.prop_map(|map| Value::Object(map.into_iter().collect()))
}

fn patch() -> impl Strategy<Value = (&'static str, Value)> {
    prop_oneof![
        json_patch().prop_map(|patch| ("json", patch)),
        merge_patch().prop_map(|patch| ("merge", patch)),
        merge_patch().prop_map(|patch| ("strategic-merge", patch)),
    ]
}

/// Built-in kinds and one that may hold anything, each with an object.
async fn world() -> Api {
    let api = Api::start().await;
    let mut definition = widgets();
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"] =
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    api.post(DEFINITIONS, definition).await.ok();
    api
}

async fn objects(api: &Api) {
    let deployment = json!({"metadata": {"name": "a"}, "spec": {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "a", "image": "b"}]}},
    }});
    for (path, object) in [
        (MAPS, map("a")),
        (DEPLOYMENTS, deployment),
        (
            WIDGETS,
            json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {}}),
        ),
    ] {
        api.post(path, object).await.ok();
    }
}

#[track_caller]
fn proper(answer: &Answer, what: &str) {
    assert!(
        answer.code < 500,
        "{what}: {} {}",
        answer.code,
        answer.value
    );
}

/// Everything that must work, whatever a patch has left.
async fn usable(api: &Api, path: &str) {
    let one = format!("{path}/a");
    let read = api.get(&one).await;
    if read.code == 404 {
        // A patch may take the last finalizer of an object that is being deleted.
        return;
    }
    let stored = read.ok();
    let size = Budget::OBJECT.check(&stored);
    assert!(size.is_ok(), "{path}: {size:?}");
    assert_eq!(api.get(path).await.code, 200);
    assert_eq!(api.send(Method::GET, path, &TABLE, "").await.code, 200);
    assert_eq!(api.send(Method::GET, &one, &TABLE, "").await.code, 200);
    let label = json!({"metadata": {"labels": {"seen": "yes"}}});
    let changed = api.patch(&one, "merge", label).await;
    assert_eq!(changed.code, 200, "{path}: {}", changed.value);
}

async fn removed(api: &Api, path: &str) {
    let one = format!("{path}/a");
    let code = api.delete(&one).await.code;
    assert!([200, 202, 404].contains(&code), "DELETE {one}: {code}");
    let free = json!({"metadata": {"finalizers": null}});
    proper(&api.patch(&one, "merge", free).await, "the last finalizer");
    api.gone(&one).await;
}

/// Each case is many requests, so a few are enough in CI; `PROPTEST_CASES` asks for more.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(24)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    /// A success leaves an object that the server can do everything with; nothing is answered 500.
    #[test]
    fn what_a_patch_leaves_can_be_used_and_deleted(patches in prop::collection::vec(patch(), 1..6)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let api = world().await;
            objects(&api).await;
            for path in [MAPS, DEPLOYMENTS, WIDGETS] {
                for (form, patch) in &patches {
                    for query in ["?dryRun=All", ""] {
                        let answer = api.patch(&format!("{path}/a{query}"), form, patch.clone()).await;
                        proper(&answer, form);
                        if answer.code < 300 {
                            prop_assert!(Budget::OBJECT.check(&answer.value).is_ok(), "{} {}", path, form);
                        }
                    }
                    usable(&api, path).await;
                }
                removed(&api, path).await;
            }
            Ok(())
        })?;
    }
}
