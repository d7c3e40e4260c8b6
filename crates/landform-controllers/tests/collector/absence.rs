//! When an owner counts as absent: after a live read by its uid that found nothing, and not before (G12b).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use http::Method;
use landform_store::memory::MemoryStore;
use serde_json::{Value, json};

use crate::boxes::{BOXES, DEFINITION, make_box, owned, reference, serve, with_boxes};
use crate::faults::{Faulty, LAG};
use crate::harness::{MAPS, World};

const VIEW: &str = "/apis/landform.dev/v1alpha1/deletion";

#[tokio::test]
async fn g12b_a_definition_that_is_served_no_more_takes_nothing_with_it() {
    let mut world = World::start().await;
    with_boxes(&world).await;
    let owner = make_box(&world, "box", &[]).await;
    owned(&world, "child", &[&owner]).await;
    world.make("holder", &[]).await;
    let references = world.references(&["holder"]).await;
    make_box(&world, "inner", references.as_array().unwrap()).await;
    world.barrier().await;
    serve(&world, false).await;
    world.left(&["child", "holder"]).await;
    for (policy, what) in [("cascade", "stay"), ("orphan", "keep its reference")] {
        let path = format!("{VIEW}/preview/core/ConfigMap/default/holder?policy={policy}");
        let preview = world.read(&path).await;
        let expected = format!("Box default/inner will {what} until a version of boxes.");
        let message = preview["blockers"][0]["message"].as_str();
        assert!(
            message.is_some_and(|message| message.starts_with(&expected)),
            "{preview:#}"
        );
    }
    // What owns an object that can't be reached waits for it, and says so.
    world.delete("holder", None).await;
    world.left(&["child", "holder*"]).await;
    let path = format!("{VIEW}/core/ConfigMap/default/holder");
    let shown = world.read(&path).await.to_string();
    assert!(
        shown.contains("Box default/inner can't be reached"),
        "{shown}"
    );
    serve(&world, true).await;
    world.left(&["child"]).await;
    assert_eq!(world.get(&format!("{BOXES}/inner")).await.0, 404);
    assert_eq!(world.get(&format!("{BOXES}/box")).await.0, 200);
    world
        .send(Method::DELETE, &format!("{BOXES}/box"), &Value::Null)
        .await;
    world.left(&[]).await;
}

#[tokio::test]
async fn g10_g12b_a_collector_that_starts_while_a_kind_is_not_served_knows_its_objects() {
    let mut world = World::on(Arc::new(MemoryStore::new())).await;
    with_boxes(&world).await;
    let owner = make_box(&world, "box", &[]).await;
    owned(&world, "child", &[&owner]).await;
    world.make("keeper", &[]).await;
    let references = world.references(&["keeper"]).await;
    make_box(&world, "kept", references.as_array().unwrap()).await;
    serve(&world, false).await;
    world.collect();
    world.left(&["child", "keeper"]).await;
    // It can't be let go of now, so that its owner waits.
    world.delete("keeper", Some("Orphan")).await;
    world.left(&["child", "keeper*"]).await;
    let path = format!("{VIEW}/core/ConfigMap/default/keeper");
    let shown = world.read(&path).await.to_string();
    assert!(
        shown.contains("Box default/kept can't be reached"),
        "{shown}"
    );
    serve(&world, true).await;
    world.left(&["child"]).await;
    let kept = world.read(&format!("{BOXES}/kept")).await;
    assert_eq!(kept["metadata"].get("ownerReferences"), None, "{kept}");
    world
        .send(Method::DELETE, &format!("{BOXES}/box"), &Value::Null)
        .await;
    world.left(&[]).await;
}

#[tokio::test]
async fn g12b_an_owner_of_a_kind_that_is_defined_nowhere_is_unknown_and_said_to_be() {
    let mut world = World::start().await;
    let owner = json!({
        "apiVersion": "example.com/v1", "kind": "Box", "metadata": {"name": "box", "uid": "some-uid"},
    });
    owned(&world, "child", &[&owner]).await;
    world.left(&["child"]).await;
    let shown = world.read(VIEW).await;
    let unknown = &shown["unknownOwners"][0];
    assert_eq!(unknown["uid"], "some-uid", "{shown}");
    assert_eq!(unknown["dependents"], 1);
    let message = unknown["message"].as_str().unwrap();
    assert!(
        message.contains("its kind Box of example.com/v1 is not served"),
        "{message}"
    );
    let one = world
        .read(&format!("{VIEW}/core/ConfigMap/default/child"))
        .await;
    assert_eq!(&one["unknownOwners"][0], unknown);
    with_boxes(&world).await;
    world.left(&[]).await;
    let shown = world.read(VIEW).await;
    assert_eq!(shown["unknownOwners"], json!([]), "{shown}");
}

#[tokio::test]
async fn g7_g12b_a_namespace_that_ends_takes_along_what_is_not_served() {
    let mut world = World::start().await;
    world.keep_house();
    with_boxes(&world).await;
    let objects = "/api/v1/namespaces/ns/configmaps";
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}});
    let (code, _) = world
        .send(Method::POST, "/api/v1/namespaces", &namespace)
        .await;
    assert_eq!(code, 201);
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner"}});
    let (_, owner) = world.send(Method::POST, objects, &owner).await;
    let inner = json!({
        "apiVersion": "example.com/v1", "kind": "Box",
        "metadata": {"name": "inner", "ownerReferences": [reference(&owner)]},
    });
    let boxes = "/apis/example.com/v1/namespaces/ns/boxes";
    let (code, inner) = world.send(Method::POST, boxes, &inner).await;
    assert_eq!(code, 201, "{inner}");
    world.barrier().await;
    serve(&world, false).await;
    // The owner waits for what can't be reached, and the namespace for the owner.
    world
        .send(Method::DELETE, &format!("{objects}/owner"), &Value::Null)
        .await;
    world
        .send(Method::DELETE, "/api/v1/namespaces/ns", &Value::Null)
        .await;
    world
        .until("the end of the namespace", async || {
            let (code, _) = world.get("/api/v1/namespaces/ns").await;
            (code == 404).then_some(())
        })
        .await;
    serve(&world, true).await;
    let uid = inner["metadata"]["uid"].as_str().unwrap();
    let found = world
        .read(&format!("/apis/landform.dev/v1alpha1/uids/{uid}"))
        .await;
    assert_eq!(found["exists"], false, "{found}");
}

#[tokio::test]
async fn g12_g12b_objects_that_go_with_their_definition_while_it_is_not_served_are_gone() {
    let mut world = World::start().await;
    world.keep_house();
    with_boxes(&world).await;
    let owner = make_box(&world, "box", &[]).await;
    owned(&world, "child", &[&owner]).await;
    world.barrier().await;
    serve(&world, false).await;
    world.left(&["child"]).await;
    world.send(Method::DELETE, DEFINITION, &Value::Null).await;
    world.left(&[]).await;
}

/// A world in which the collector sees what happens to config maps late, one event at a time.
async fn lagging() -> World {
    let mut world = World::on(Arc::new(MemoryStore::new())).await;
    let service = Faulty::new(world.service(), 1);
    service.faults.lags.store(true, Ordering::SeqCst);
    world.collect_with(kube::Client::new(service, "default"));
    world
}

async fn rename(world: &World, from: &str, to: &str) {
    let rename = json!({"kind": "Rename", "name": to});
    let path = format!("{MAPS}/{from}/rename");
    let (code, answer) = world.send(Method::POST, &path, &rename).await;
    assert_eq!(code, 200, "{answer}");
}

#[tokio::test(start_paused = true)]
async fn g12b_g16_a_child_that_is_made_while_its_owner_is_renamed_stays() {
    let mut world = lagging().await;
    let secrets = "/api/v1/namespaces/default/secrets";
    world.make("owner", &[]).await;
    world.barrier().await;
    let references = world.references(&["owner"]).await;
    rename(&world, "owner", "renamed").await;
    // The child is seen at every moment of the rename: before, between and after its events.
    let mut paths = Vec::new();
    for number in 0..20 {
        let child = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": format!("child-{number}"), "ownerReferences": references},
        });
        assert_eq!(world.send(Method::POST, secrets, &child).await.0, 201);
        paths.push(format!("{secrets}/child-{number}"));
        tokio::time::sleep(LAG / 5).await;
    }
    world.left(&["renamed"]).await;
    for path in &paths {
        assert_eq!(world.get(path).await.0, 200, "{path}");
    }
    world.delete("renamed", None).await;
    world.left(&[]).await;
    for path in paths {
        assert_eq!(world.get(&path).await.0, 404, "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn g7_g13_a_dependent_that_is_renamed_holds_its_owner_all_the_time() {
    let mut world = lagging().await;
    let secrets = "/api/v1/namespaces/default/secrets";
    let owner = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "owner"}});
    let (_, owner) = world.send(Method::POST, secrets, &owner).await;
    owned(&world, "child", &[&owner]).await;
    world.barrier().await;
    rename(&world, "child", "renamed").await;
    // The former name is gone for the collector, the new one has not come.
    tokio::time::sleep(LAG * 5 / 2).await;
    let path = format!("{secrets}/owner?propagationPolicy=Orphan");
    world.send(Method::DELETE, &path, &Value::Null).await;
    world.left(&["renamed"]).await;
    let child = world.read(&format!("{MAPS}/renamed")).await;
    assert_eq!(
        child["metadata"].get("ownerReferences"),
        None,
        "it was let go"
    );
    assert_eq!(world.get(&format!("{secrets}/owner")).await.0, 404);
}

#[tokio::test(start_paused = true)]
async fn g7_g13_an_owner_does_not_go_before_a_dependent_that_no_watch_has_shown() {
    for policy in ["Cascade", "Foreground"] {
        let mut world = lagging().await;
        let secrets = "/api/v1/namespaces/default/secrets";
        let owner = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "owner"}});
        let (_, owner) = world.send(Method::POST, secrets, &owner).await;
        world.barrier().await;
        let child = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": "child", "ownerReferences": [reference(&owner)], "finalizers": ["x.io/hold"],
            },
        });
        assert_eq!(world.send(Method::POST, MAPS, &child).await.0, 201);
        let path = format!("{secrets}/owner?propagationPolicy={policy}");
        world.send(Method::DELETE, &path, &Value::Null).await;
        world.left(&["child*"]).await;
        let path = format!("{secrets}/owner");
        assert_eq!(world.get(&path).await.0, 200, "{policy}: it waits");
        world.free("child", "x.io/hold").await;
        world.left(&[]).await;
        world
            .until("the end of the owner", async || {
                (world.get(&path).await.0 == 404).then_some(())
            })
            .await;
    }
}

#[tokio::test]
async fn g12b_one_question_is_asked_for_an_owner_however_many_it_owns() {
    let mut world = World::on(Arc::new(MemoryStore::new())).await;
    let service = Faulty::new(world.service(), 1);
    let faults = service.faults.clone();
    world.collect_with(kube::Client::new(service, "default"));
    world.make("owner", &[]).await;
    for turn in 0..100 {
        world.make(&format!("child-{turn}"), &["owner"]).await;
    }
    world.barrier().await;
    let before = faults.questions.load(Ordering::SeqCst);
    world.delete("owner", Some("Background")).await;
    world
        .until("the end of all children", async || {
            let left = world.names().await;
            (!left.iter().any(|name| name.starts_with("child"))).then_some(())
        })
        .await;
    assert_eq!(faults.questions.load(Ordering::SeqCst) - before, 1);
}

#[tokio::test]
async fn g12b_a_cluster_without_an_index_of_uids_is_asked_by_name() {
    let mut world = World::on(Arc::new(MemoryStore::new())).await;
    with_boxes(&world).await;
    let owner = make_box(&world, "box", &[]).await;
    owned(&world, "child", &[&owner]).await;
    let service = Faulty::new(world.service(), 1);
    let faults = service.faults.clone();
    faults.without_uids.store(true, Ordering::SeqCst);
    world.collect_with(kube::Client::new(service, "default"));
    world.make("living", &[]).await;
    world.make("half", &["living", "!nobody"]).await;
    world.make("namesake", &["!living"]).await;
    world.left(&["child", "half", "living"]).await;
    serve(&world, false).await;
    world.left(&["child", "half", "living"]).await;
    world.delete("living", Some("Background")).await;
    world.left(&["child"]).await;
    serve(&world, true).await;
    world.left(&["child"]).await;
    let path = format!("{BOXES}/box?propagationPolicy=Background");
    world.send(Method::DELETE, &path, &Value::Null).await;
    world.left(&[]).await;
    assert!(faults.questions.load(Ordering::SeqCst) > 0);
}

#[tokio::test]
async fn g13_what_an_object_carries_decides_about_its_dependents_when_no_policy_is_named() {
    let mut world = World::start().await;
    // As Kubernetes: `orphan` keeps them, whether the object is deleted itself or goes with its owner.
    world.make("top", &[]).await;
    world.make_held("keeps", &["top"], &["orphan"]).await;
    world.make("kept", &["keeps"]).await;
    world.make_held("alone", &[], &["orphan"]).await;
    world.make("left", &["alone"]).await;
    world.barrier().await;
    world.delete("alone", None).await;
    world.delete("top", None).await;
    world.left(&["kept", "left"]).await;
    for name in ["kept", "left"] {
        let object = world.read(&format!("{MAPS}/{name}")).await;
        assert_eq!(object["metadata"].get("ownerReferences"), None);
    }
    // A policy that is named counts.
    world.make_held("other", &[], &["orphan"]).await;
    world.make("goes", &["other"]).await;
    world.delete("other", Some("Cascade")).await;
    world.left(&["kept", "left"]).await;
}
