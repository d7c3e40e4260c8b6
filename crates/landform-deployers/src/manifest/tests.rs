//! Tables and properties of the pure parts: configuration, order, inventory and what is written.

use std::time::Duration;

use landform_api::schedule::Schedule;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::change::{self, Item, change, creation};
use super::configuration::{Configuration, Operator, Policy, Strategy as UpdateStrategy};
use super::inventory::{Entry, Inventory};
use super::object::{ObjectName, Rank};

const ITEM: Item<'_> = Item {
    name: "web",
    uid: "item-uid",
};

fn map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
}

fn read(config: Value) -> Result<Configuration, crate::DeployError> {
    Configuration::read(Some(&config))
}

#[test]
fn a_full_configuration_is_understood() {
    let configuration = read(json!({
        "apiVersion": "manifest.deployer.landscaper.gardener.cloud/v1alpha2",
        "kind": "ProviderConfiguration",
        "updateStrategy": "mergeOverwrite",
        "readinessChecks": {
            "disableDefault": true,
            "timeout": "2m",
            "custom": [
                {
                    "name": "one",
                    "timeout": "none",
                    "resourceSelector": [
                        {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a", "namespace": "n"},
                    ],
                    "requirements": [
                        {"jsonPath": ".status.a", "operator": "In", "values": [{"value": 1}]},
                        {"jsonPath": ".status.b", "operator": "!"},
                    ],
                },
                {
                    "name": "two",
                    "resourceSelector": {"kind": "Pod", "name": "a"},
                    "labelSelector": {"apiVersion": "v1", "kind": "Pod", "matchLabels": {"a": "b"}},
                    "requirements": [{"jsonPath": "status", "operator": "exists"}],
                },
                {
                    "name": "three", "disabled": true,
                    "resourceSelector": [{"kind": "Pod", "name": "a"}],
                    "requirements": [{"jsonPath": "status", "operator": "exists"}],
                },
            ],
        },
        "deleteTimeout": "90s",
        "manifests": [
            {"manifest": map("a")},
            {"policy": "keep", "manifest": map("b")},
            {"policy": "immutable", "manifest": {
                "apiVersion": "v1", "kind": "List", "items": [map("c"), map("d")],
            }},
        ],
        "exports": {"defaultTimeout": "1m", "exports": [
            {"key": "a", "jsonPath": ".data.a"},
            {
                "key": "b", "jsonPath": ".secrets[0]", "timeout": "10s",
                "fromResource": {"apiVersion": "v1", "kind": "ServiceAccount", "name": "s"},
                "fromObjectRef": {"apiVersion": "v1", "kind": "Secret", "jsonPath": ".data.x"},
            },
        ]},
        "continuousReconcile": {"every": "1h"},
        "somethingNew": true,
    }))
    .unwrap();
    let policies = configuration.manifests.iter();
    let policies: Vec<_> = policies.map(|manifest| manifest.policy).collect();
    let expected = [
        Policy::Manage,
        Policy::Keep,
        Policy::Immutable,
        Policy::Immutable,
    ];
    assert_eq!(policies, expected);
    assert_eq!(configuration.strategy, UpdateStrategy::MergeOverwrite);
    assert_eq!(configuration.delete_timeout, Duration::from_secs(90));
    assert!(!configuration.readiness.default_checks);
    let checks = &configuration.readiness.custom;
    assert_eq!(checks.len(), 2, "one is disabled");
    assert_eq!(checks[0].requirements[0].operator, Operator::In);
    assert_eq!(checks[0].requirements[1].operator, Operator::DoesNotExist);
    assert_eq!(checks[1].timeout, Duration::from_secs(120));
    assert!(checks[1].labels.is_some() && checks[1].objects.len() == 1);
    assert_eq!(configuration.exports[0].timeout, Duration::from_secs(60));
    assert_eq!(configuration.exports[1].timeout, Duration::from_secs(10));
    let every = Schedule::Every(Duration::from_secs(3600));
    assert_eq!(configuration.schedule, Some(every));
    assert_eq!(configuration.unknown, ["spec.config.somethingNew"]);
}

#[test]
fn the_first_version_has_plain_manifests() {
    let version = "manifest.deployer.landscaper.gardener.cloud/v1alpha1";
    let config =
        json!({"apiVersion": version, "kind": "ProviderConfiguration", "manifests": [map("a")]});
    let configuration = read(config).unwrap();
    assert_eq!(configuration.manifests[0].value, map("a"));
    assert_eq!(configuration.manifests[0].policy, Policy::Manage);
}

#[test]
fn what_is_wrong_is_named_by_its_field_and_not_repeated() {
    for (config, expected) in [
        (json!(["canary"]), "spec.config: must be a map"),
        (
            json!({"apiVersion": "canary/v1"}),
            "spec.config: must be a ProviderConfiguration",
        ),
        (
            json!({"kind": "canary"}),
            "spec.config: must be a ProviderConfiguration",
        ),
        (
            json!({"kubeconfig": "canary"}),
            "spec.config.kubeconfig: isn't taken",
        ),
        (
            json!({"updateStrategy": "canary"}),
            "spec.config.updateStrategy: must be",
        ),
        (
            json!({"manifests": "canary"}),
            "spec.config.manifests: must be a list",
        ),
        (
            json!({"manifests": ["canary"]}),
            "spec.config.manifests[0]: must be a map",
        ),
        (
            json!({"manifests": [{"policy": "keep"}]}),
            "manifests[0].manifest: is missing",
        ),
        (
            json!({"manifests": [{"policy": "canary", "manifest": {}}]}),
            "spec.config.manifests[0].policy: must be manage",
        ),
        (
            json!({"deleteTimeout": "canary"}),
            "spec.config.deleteTimeout: must be",
        ),
        (
            json!({"readinessChecks": {"custom": [{"name": "x"}]}}),
            "readinessChecks.custom[0].resourceSelector: or labelSelector",
        ),
        (
            json!({"exports": {"exports": [{"key": "a", "jsonPath": ".a["}]}}),
            "exports.exports[0].jsonPath: at character",
        ),
        (
            json!({"continuousReconcile": {}}),
            "continuousReconcile: must have either",
        ),
        (
            json!({"continuousReconcile": {"cron": "canary"}}),
            "continuousReconcile.cron: must have five fields",
        ),
        (
            json!({"continuousReconcile": {"every": "0s"}}),
            "continuousReconcile.every: must be at least 1s",
        ),
    ] {
        let error = read(config).unwrap_err();
        assert!(error.message.contains(expected), "{error}");
        assert!(!error.message.contains("canary"), "{error}");
        assert!(error.is_fatal());
    }
}

#[test]
fn a_broken_configuration_still_says_how_long_to_wait_for_deletions() {
    let timeout = |config: Value| Configuration::delete_timeout_of(Some(&config)).as_secs();
    assert_eq!(timeout(json!({"manifests": 5, "deleteTimeout": "7s"})), 7);
    assert_eq!(timeout(json!({"deleteTimeout": 7})), 180);
    assert_eq!(timeout(json!("x")), 180);
}

fn name(api_version: &str, kind: &str, namespace: Option<&str>, name: &str) -> ObjectName {
    ObjectName {
        api_version: api_version.into(),
        kind: kind.into(),
        namespace: namespace.map(str::to_owned),
        name: name.into(),
    }
}

fn entry(object: ObjectName) -> Entry {
    Entry {
        policy: Policy::Manage,
        object,
        uid: Some("u".into()),
    }
}

#[test]
fn definitions_come_first_and_what_is_in_namespaces_last() {
    let definition = name(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        None,
        "d",
    );
    let table = [
        (definition, Rank::Definition),
        (name("v1", "Namespace", None, "n"), Rank::Namespace),
        (name("x.io/v1", "Namespace", None, "n"), Rank::Cluster),
        (
            name("rbac.authorization.k8s.io/v1", "ClusterRole", None, "r"),
            Rank::Cluster,
        ),
        (name("v1", "ConfigMap", Some("n"), "m"), Rank::Namespaced),
    ];
    let mut inventory = Inventory::default();
    for (object, rank) in table.iter().rev() {
        assert_eq!(object.rank(), *rank, "{object}");
        inventory.put(entry(object.clone()));
    }
    let ranks = inventory.entries.iter().map(|entry| entry.object.rank());
    let ranks: Vec<_> = ranks.collect();
    assert!(ranks.is_sorted(), "{ranks:?}");
}

#[test]
fn an_inventory_is_read_as_it_was_written_and_as_landscaper_wrote_it() {
    let mut inventory = Inventory {
        target: Some("t".into()),
        ..Inventory::default()
    };
    inventory.put(entry(name("v1", "ConfigMap", Some("n"), "a")));
    inventory.put(Entry {
        policy: Policy::Keep,
        object: name("v1", "Namespace", None, "n"),
        uid: None,
    });
    assert_eq!(Inventory::read(Some(&inventory.write())), inventory);
    let theirs = json!({"managedResources": [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "namespace": "n"},
        {"policy": "keep", "resource": {"apiVersion": "v1", "kind": "Pod", "name": "b"}},
        {"policy": "keep"},
    ]});
    let read = Inventory::read(Some(&theirs));
    let objects: Vec<_> = read
        .entries
        .iter()
        .map(|entry| entry.object.to_string())
        .collect();
    assert_eq!(objects, ["ConfigMap n/a", "Pod b"]);
    // Another version is the same object.
    let beta = name("apps/v1beta1", "Deployment", Some("n"), "a");
    assert!(beta.same_object(&name("apps/v1", "Deployment", Some("n"), "a")));
    assert!(!beta.same_object(&name("v1", "Deployment", Some("n"), "a")));
}

/// As a server would have it after a creation: with fields of its own.
fn created(wanted: &Value) -> Value {
    let mut live = creation(wanted);
    live["metadata"]["uid"] = json!("u");
    live["metadata"]["resourceVersion"] = json!("1");
    live
}

#[test]
fn each_strategy_changes_what_it_may() {
    let old = change::wanted(
        &json!({"kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"keep": "1", "drop": "1"}}),
        Some("n"),
        ITEM,
    );
    let mut live = created(&old);
    live["data"]["theirs"] = json!("1");
    live["data"]["keep"] = json!("drifted");
    let new = change::wanted(
        &json!({"kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"keep": "1", "new": "1"}}),
        Some("n"),
        ITEM,
    );
    for (strategy, expected) in [
        (
            UpdateStrategy::Update,
            json!({"keep": "1", "new": "1", "drop": null}),
        ),
        (
            UpdateStrategy::Patch,
            json!({"keep": "1", "new": "1", "drop": null}),
        ),
        (
            UpdateStrategy::MergeOverwrite,
            json!({"keep": "1", "new": "1"}),
        ),
        (UpdateStrategy::Merge, json!({"new": "1"})),
    ] {
        let change = change(strategy, &new, &live).unwrap();
        assert_eq!(change["data"], expected, "{strategy:?}");
    }
}

#[test]
fn secrets_are_compared_as_servers_keep_them() {
    let manifest = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"},
        "data": {"a": "aGVs\n bG8="}, "stringData": {"b": "hello"},
    });
    let wanted = change::wanted(&manifest, Some("n"), ITEM);
    assert_eq!(wanted["data"], json!({"a": "aGVsbG8=", "b": "aGVsbG8="}));
    assert_eq!(wanted.get("stringData"), None);
    assert_eq!(
        change(UpdateStrategy::Update, &wanted, &created(&wanted)),
        None
    );
    assert!(!creation(&wanted)["metadata"].to_string().contains("aGVs"));
}

#[test]
fn what_only_servers_write_is_not_wanted() {
    let manifest = json!({
        "kind": "A", "status": {"x": 1},
        "metadata": {
            "name": "a", "uid": "x", "resourceVersion": "5", "creationTimestamp": null,
            "annotations": {"landform.dev/adopt": "true", "mine": "1"},
        },
    });
    let wanted = change::wanted(&manifest, None, ITEM);
    let expected = json!({
        "kind": "A",
        "metadata": {
            "name": "a",
            "labels": {"manifest.deployer.landscaper.gardener.cloud/deployitem": "web"},
            "annotations": {"landform.dev/deploy-item": "item-uid", "mine": "1"},
        },
    });
    assert_eq!(wanted, expected);
    assert!(change::adopts(&manifest) && !change::adopts(&wanted));
    let long = "x".repeat(64);
    let item = Item {
        name: &long,
        ..ITEM
    };
    let labels = &change::wanted(&manifest, None, item)["metadata"]["labels"];
    assert_eq!(
        labels["manifest.deployer.landscaper.gardener.cloud/deployitem"],
        "item-uid"
    );
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        (0..3_i64).prop_map(Value::from),
        "[ab]".prop_map(Value::from),
        Just(Value::Null),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[abc]", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// RFC 7386, for the test.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (name, value) in patch {
        if value.is_null() {
            target.as_object_mut().unwrap().remove(name);
        } else {
            merge(&mut target[name.as_str()], value);
        }
    }
}

proptest! {
    #[test]
    fn an_object_is_written_once_and_then_left_alone(
        old in any_json(), new in any_json(), theirs in any_json(), which in 0..4_usize
    ) {
        let strategies = [
            UpdateStrategy::Update, UpdateStrategy::Patch, UpdateStrategy::Merge, UpdateStrategy::MergeOverwrite,
        ];
        let strategy = strategies[which];
        let manifest = |spec: &Value| json!({"kind": "A", "metadata": {"name": "a"}, "spec": spec});
        let old = change::wanted(&manifest(&old), None, ITEM);
        let new = change::wanted(&manifest(&new), None, ITEM);
        let mut live = created(&old);
        prop_assert_eq!(change(strategy, &old, &live), None, "just created");
        live["theirs"] = theirs;
        if let Some(patch) = change(strategy, &new, &live) {
            merge(&mut live, &patch);
        }
        prop_assert_eq!(change(strategy, &new, &live), None, "just written");
    }

    #[test]
    fn no_configuration_panics(config in any_json(), manifests in any_json(), exports in any_json()) {
        let _ = read(json!({"manifests": manifests, "exports": exports, "readinessChecks": config}));
        let _ = read(config.clone());
        Inventory::read(Some(&json!({"managedResources": config})));
    }
}
