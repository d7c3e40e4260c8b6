//! The cases that the collector of seed 004 holds, and the rules one by one.

use http::Method;
use serde_json::{Value, json};

use crate::harness::{MAPS, World};

#[tokio::test]
async fn g6_g8_three_layers_go_bottom_up() {
    let mut world = World::start().await;
    world.make("a", &[]).await;
    world.make("b", &["a"]).await;
    world.make("c", &["b"]).await;
    let start = world.revision();
    world.delete("a", None).await;
    world.left(&[]).await;
    let mut log = world.store.watch_all(start).unwrap();
    let mut gone = Vec::new();
    while gone.len() < 3 {
        for event in log.next().await.unwrap() {
            let name = event.record.key.name.to_string();
            if event.kind == landform_store::EventKind::Deleted && !name.contains("barrier") {
                gone.push(name);
            }
        }
    }
    assert_eq!(gone, ["default/c", "default/b", "default/a"]);
}

#[tokio::test]
async fn g6_only_what_is_below_goes() {
    let mut world = World::start().await;
    for (name, owners) in [
        ("a", &[][..]),
        ("b", &["a"]),
        ("c", &["a"]),
        ("d", &["b"]),
        ("e", &["c"]),
    ] {
        world.make(name, owners).await;
    }
    world.delete("b", None).await;
    world.left(&["a", "c", "e"]).await;
}

#[tokio::test]
async fn g6_a_diamond_is_legal() {
    let mut world = World::start().await;
    for (name, owners) in [
        ("a", &[][..]),
        ("b", &["a"]),
        ("c", &["a"]),
        ("d", &["b", "c"]),
    ] {
        world.make(name, owners).await;
    }
    world.delete("a", None).await;
    world.left(&[]).await;
}

#[tokio::test]
async fn g7_g15_an_owner_waits_for_three_dependents_with_finalizers_of_their_own() {
    let mut world = World::start().await;
    world.make("owner", &[]).await;
    for name in ["x", "y", "z"] {
        world.make_held(name, &["owner"], &["x.io/hold"]).await;
    }
    world.delete("owner", None).await;
    world.left(&["owner*", "x*", "y*", "z*"]).await;
    world.free("x", "x.io/hold").await;
    world.free("z", "x.io/hold").await;
    world.left(&["owner*", "y*"]).await;
    world.free("y", "x.io/hold").await;
    world.left(&[]).await;
}

#[tokio::test]
async fn g7_an_object_without_dependents_goes_and_one_with_a_foreign_finalizer_waits_for_it() {
    let mut world = World::start().await;
    world.make("free", &[]).await;
    world.make_held("held", &[], &["x.io/hold"]).await;
    world.delete("free", None).await;
    world.delete("held", None).await;
    world.left(&["held*"]).await;
    let held = world.read(&format!("{MAPS}/held")).await;
    assert_eq!(
        held["metadata"]["finalizers"],
        json!(["x.io/hold"]),
        "its own is gone"
    );
}

#[tokio::test]
async fn g9_a_dependent_that_is_moved_away_stays_with_its_own_dependents() {
    let mut world = World::start().await;
    world.make("a", &[]).await;
    world.make("b", &[]).await;
    world.make_held("blocker", &["a"], &["x.io/hold"]).await;
    world.make("child", &["a"]).await;
    world.make("grandchild", &["child"]).await;
    assert_eq!(world.own("child", &["b"]).await, 200);
    world.delete("a", None).await;
    world
        .left(&["a*", "b", "blocker*", "child", "grandchild"])
        .await;
    // The last dependent of a marked owner is moved away: the old owner is looked at again.
    assert_eq!(world.own("blocker", &["b"]).await, 200);
    world.left(&["b", "blocker*", "child", "grandchild"]).await;
}

#[tokio::test]
async fn g10_a_collector_that_starts_later_finishes_what_was_begun() {
    let store = std::sync::Arc::new(landform_store::memory::MemoryStore::new());
    let mut world = World::on(store).await;
    world.make("a", &[]).await;
    world.make("b", &["a"]).await;
    world.make("orphan", &["!ghost"]).await;
    world.make("stays", &[]).await;
    world.make("fine", &["stays"]).await;
    world.delete("a", None).await;
    assert_eq!(world.names().await.len(), 5, "nobody collects yet");
    world.collect();
    world.left(&["fine", "stays"]).await;
}

#[tokio::test]
async fn g12_an_owner_that_never_was_or_has_another_uid_makes_an_orphan() {
    let mut world = World::start().await;
    world.make("namesake", &[]).await;
    world.make("ghost", &["!namesake"]).await;
    world.make("half", &["namesake", "!nobody"]).await;
    world.left(&["half", "namesake"]).await;
    let half = world.read(&format!("{MAPS}/half")).await;
    let owners = half["metadata"]["ownerReferences"].as_array().unwrap();
    assert_eq!(owners.len(), 1, "it lost the reference that leads nowhere");
}

#[tokio::test]
async fn g12_an_owner_of_a_kind_that_nobody_serves_may_exist() {
    let mut world = World::start().await;
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "ownerReferences": [
            {"apiVersion": "unknown.io/v1", "kind": "Thing", "name": "t", "uid": "u"},
        ]},
    });
    assert_eq!(world.send(Method::POST, MAPS, &object).await.0, 201);
    world.left(&["a"]).await;
}

#[tokio::test]
async fn g12_an_owner_in_another_namespace_counts_as_absent() {
    let mut world = World::start().await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}});
    world
        .send(Method::POST, "/api/v1/namespaces", &namespace)
        .await;
    world.make("owner", &[]).await;
    let mut object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "far"}});
    object["metadata"]["ownerReferences"] = world.references(&["owner"]).await;
    let path = "/api/v1/namespaces/team/configmaps";
    assert_eq!(world.send(Method::POST, path, &object).await.0, 201);
    world
        .until("the end of the far one", async || {
            (world.get(&format!("{path}/far")).await.0 == 404).then_some(())
        })
        .await;
    world.left(&["owner"]).await;
}

/// Whoever may write in one namespace holds nothing in another, with whatever policy it is deleted.
#[tokio::test]
async fn g12_what_refers_to_an_owner_in_another_namespace_does_not_hold_it() {
    let world = World::start().await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}});
    world
        .send(Method::POST, "/api/v1/namespaces", &namespace)
        .await;
    for policy in ["", "Foreground", "Background", "Orphan"] {
        let name = format!("owner{}", policy.to_lowercase());
        world.make(&name, &[]).await;
        let mut references = world.references(&[name.as_str()]).await;
        references[0]["blockOwnerDeletion"] = json!(true);
        let holder = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": format!("far-{name}"), "finalizers": ["x.io/held"], "ownerReferences": references},
        });
        let path = "/api/v1/namespaces/team/configmaps";
        assert_eq!(world.send(Method::POST, path, &holder).await.0, 201);
        let options = match policy {
            "" => json!({}),
            policy => {
                json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": policy})
            }
        };
        let owner = format!("{MAPS}/{name}");
        world.send(Method::DELETE, &owner, &options).await;
        world
            .until("the end of the owner", async || {
                (world.get(&owner).await.0 == 404).then_some(())
            })
            .await;
    }
}

#[tokio::test]
async fn g12_a_cluster_scoped_owner_owns_what_is_in_a_namespace() {
    let mut world = World::start().await;
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r"}});
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let (code, role) = world.send(Method::POST, roles, &role).await;
    assert_eq!(code, 201, "{role}");
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "ownerReferences": [{
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "name": "r",
            "uid": role["metadata"]["uid"],
        }]},
    });
    assert_eq!(world.send(Method::POST, MAPS, &object).await.0, 201);
    world.left(&["a"]).await;
    world
        .send(Method::DELETE, &format!("{roles}/r"), &Value::Null)
        .await;
    world.left(&[]).await;
}

/// Stores a cycle of two, which the API would refuse.
async fn cycle(world: &World) {
    use landform_store::{Bucket, Compare, Key, Op, RangeQuery, Txn};
    world.make("a", &[]).await;
    world.make("b", &["a"]).await;
    let query = RangeQuery {
        bucket: Bucket::new("configmaps"),
        prefix: "default/a".into(),
        after: None,
        limit: None,
        at: None,
    };
    let found = world.store.range(query).await.unwrap();
    let mut object: Value = serde_json::from_slice(&found.records[0].value).unwrap();
    object["metadata"]["ownerReferences"] = world.references(&["b"]).await;
    let key = Key::new(&Bucket::new("configmaps"), "default/a");
    let put = Op::Put(object.to_string().into());
    world
        .store
        .commit(Txn::one(key, Compare::Any, put))
        .await
        .unwrap();
}

#[tokio::test]
async fn g11_objects_that_form_a_cycle_are_reported_and_can_be_deleted() {
    for policy in [None, Some("Foreground"), Some("Background"), Some("Orphan")] {
        let store = std::sync::Arc::new(landform_store::memory::MemoryStore::new());
        let mut world = World::on(store).await;
        cycle(&world).await;
        world.collect();
        world
            .until("an Event about the cycle", async || {
                let events = world.read("/api/v1/namespaces/default/events").await;
                let told = |event: &Value| {
                    let text = event["message"].as_str().unwrap_or_default();
                    event["reason"] == "OwnerCycle" && text.contains("ConfigMap default/b")
                };
                events["items"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .any(told)
                    .then_some(())
            })
            .await;
        assert_eq!(world.names().await.len(), 2, "nothing was deleted");
        world.delete("a", policy).await;
        let left: &[&str] = if policy == Some("Orphan") {
            &["b"]
        } else {
            &[]
        };
        world.left(left).await;
    }
}

#[tokio::test]
async fn g4_a_fault_free_run_writes_each_object_at_most_twice() {
    let mut world = World::start().await;
    world.make("root", &[]).await;
    let mut objects = 1;
    for one in 0..5 {
        let middle = format!("m{one}");
        world.make(&middle, &["root"]).await;
        objects += 1;
        for two in 0..5 {
            world.make(&format!("{middle}-{two}"), &[&middle]).await;
            objects += 1;
        }
    }
    world.barrier().await;
    let start = world.revision();
    world.delete("root", None).await;
    world
        .until("the end of the root", async || {
            (world.get(&format!("{MAPS}/root")).await.0 == 404).then_some(())
        })
        .await;
    let mut log = world.store.watch_all(start).unwrap();
    let mut writes = std::collections::BTreeMap::<String, usize>::new();
    while !writes.contains_key("default/root")
        || writes.len() < objects
        || writes["default/root"] < 2
    {
        for event in log.next().await.unwrap() {
            if event.record.key.bucket.as_str() == "configmaps" {
                *writes.entry(event.record.key.name.to_string()).or_default() += 1;
            }
        }
    }
    assert!(writes.values().all(|count| *count <= 2), "{writes:?}");
}

#[tokio::test]
async fn g1_an_owner_learns_nothing_of_its_dependents_by_itself() {
    let world = World::start().await;
    let before = world.make("owner", &[]).await;
    let child = world.make("child", &["owner"]).await;
    assert_eq!(child["metadata"]["ownerReferences"][0]["name"], "owner");
    let after = world.read(&format!("{MAPS}/owner")).await;
    assert_eq!(after, before, "it was not written, and lists nobody");
}
