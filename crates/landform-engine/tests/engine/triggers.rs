//! What brings a run, and what does not (R2, R10, R11, R12).

use std::sync::Arc;
use std::time::Duration;

use kube::api::{Patch, PatchParams};
use landform_engine::{Outcome, Reason};
use parking_lot::Mutex;
use serde_json::json;

use crate::harness::{PausedClock, Toys, World, add, key};

#[tokio::test(start_paused = true)]
async fn r2_spec_and_refs_bring_a_run_and_status_labels_and_strangers_do_not() {
    let world = World::new().await;
    let mut running = world.engine(Toys::adding());
    world.create("a", json!({"value": 1})).await;
    assert_eq!(running.starts().await, ["a"]);
    let toys = world.toys();
    let status = Patch::Merge(json!({"status": {"note": "by hand"}}));
    toys.patch_status("a", &PatchParams::default(), &status)
        .await
        .unwrap();
    let labels = Patch::Merge(json!({"metadata": {"labels": {"x": "y"}}}));
    toys.patch("a", &PatchParams::default(), &labels)
        .await
        .unwrap();
    world.create_map("stranger", "1").await;
    assert!(running.starts().await.is_empty());
    world.update("a", json!({"value": 2})).await;
    assert_eq!(running.starts().await, ["a"]);
    world.update("a", json!({"refs": ["missing"]})).await;
    assert_eq!(running.starts().await, ["a"]);
    running.engine.ask(key("a"));
    assert_eq!(running.starts().await, ["a"]);
    world.delete("a").await;
    assert!(
        running.starts().await.is_empty(),
        "it was gone at once: nothing holds it"
    );
}

#[tokio::test(start_paused = true)]
async fn r10_a_snapshot_stays_as_it_was_and_the_object_can_be_read_meanwhile() {
    let world = World::new().await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = seen.clone();
    let mut running = world.engine(Toys::new(move |context| {
        let log = log.clone();
        Box::pin(async move {
            context.write_status(&json!({"value": "at work"})).await?;
            let label = Patch::Merge(json!({"metadata": {"labels": {"by": "another"}}}));
            let name = &*context.key().name;
            let now = context
                .api()
                .patch(name, &PatchParams::default(), &label)
                .await?;
            log.lock().push((context.object().data.clone(), now.data));
            Ok(Outcome::Done)
        })
    }));
    world.create("a", json!({"value": 1})).await;
    running.wait_for("end a").await;
    let (snapshot, now) = seen.lock().pop().unwrap();
    assert_eq!(snapshot, json!({"spec": {"value": 1}}));
    assert_eq!(now["status"]["value"], "at work");
}

#[tokio::test(start_paused = true)]
async fn r11_a_missing_object_of_another_kind_is_waited_for_by_watching() {
    let world = World::new().await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = seen.clone();
    let mut running = world.engine(Toys::new(move |context| {
        let log = log.clone();
        Box::pin(async move {
            let map = context.refs()[0].object.as_ref();
            log.lock()
                .push(map.map(|map| map.data["data"]["v"].clone()));
            add(context).await
        })
    }));
    world.create("a", json!({"maps": ["settings"]})).await;
    assert_eq!(running.starts().await, ["a"]);
    world.create_map("settings", "1").await;
    assert_eq!(running.starts().await, ["a"]);
    let change = Patch::Merge(json!({"data": {"v": "2"}}));
    world
        .maps()
        .patch("settings", &PatchParams::default(), &change)
        .await
        .unwrap();
    assert_eq!(running.starts().await, ["a"]);
    world
        .maps()
        .delete("settings", &kube::api::DeleteParams::background())
        .await
        .unwrap();
    assert_eq!(running.starts().await, ["a"]);
    assert_eq!(
        *seen.lock(),
        [None, Some(json!("1")), Some(json!("2")), None]
    );
}

#[tokio::test(start_paused = true)]
async fn r2_r12_a_time_that_a_run_asked_for_brings_the_next_one() {
    let world = World::new().await;
    let times = Arc::new(Mutex::new(Vec::new()));
    let log = times.clone();
    let mut running = world.engine(Toys::new(move |context| {
        let log = log.clone();
        Box::pin(async move {
            log.lock().push((
                (context.now_ms() - PausedClock::START_MS) / 60_000,
                context.reason(),
            ));
            Ok(Outcome::Recheck(Duration::from_secs(600)))
        })
    }));
    world.create("a", json!({})).await;
    for _ in 0..3 {
        running.wait_for("end a").await;
    }
    let expected = [
        (0, Reason::Appeared),
        (10, Reason::Retrigger),
        (20, Reason::Retrigger),
    ];
    assert_eq!(*times.lock(), expected);
}

#[tokio::test(start_paused = true)]
async fn r2_a_kind_that_is_defined_later_is_reconciled_from_then_on() {
    let world = World::new().await;
    let definitions =
        kube::core::GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let definitions = kube::core::ApiResource::from_gvk(&definitions);
    let definitions: kube::Api<kube::core::DynamicObject> =
        kube::Api::all_with(world.client.clone(), &definitions);
    let name = "toys.toys.landform.dev";
    let mut definition = definitions.get(name).await.unwrap();
    definitions
        .delete(name, &kube::api::DeleteParams::background())
        .await
        .unwrap();
    let mut running = world.engine(Toys::adding());
    assert!(running.until_silent().await.is_empty());
    definition.metadata = kube::core::ObjectMeta {
        name: Some(name.into()),
        ..kube::core::ObjectMeta::default()
    };
    definition.data["status"] = json!(null);
    definitions
        .create(&kube::api::PostParams::default(), &definition)
        .await
        .unwrap();
    world.create("a", json!({"value": 1})).await;
    assert_eq!(running.starts().await, ["a"]);
    definitions
        .delete(name, &kube::api::DeleteParams::background())
        .await
        .unwrap();
    running.until_silent().await;
    assert!(
        running.engine.object(key("a")).await.unwrap().is_none(),
        "gone with its kind"
    );
}

#[tokio::test(start_paused = true)]
async fn r10_a_status_can_be_written_back_to_what_it_was_within_one_run() {
    let world = World::new().await;
    let mut running = world.engine(Toys::new(|context| {
        Box::pin(async move {
            let phases = ["Ready", "Working", "Ready"];
            for phase in phases {
                context.write_status(&json!({"phase": phase})).await?;
            }
            Ok(Outcome::Done)
        })
    }));
    world.create("a", json!({})).await;
    running.until_silent().await;
    running.engine.ask(key("a"));
    running.wait_for("end a").await;
    assert_eq!(world.status("a").await, json!({"phase": "Ready"}));
}
