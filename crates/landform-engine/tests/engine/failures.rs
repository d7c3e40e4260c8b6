//! Errors, panics and pauses (R2, R12).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use k8s_openapi::api::core::v1::Event;
use landform_engine::{Failure, Outcome};
use parking_lot::Mutex;
use serde_json::json;

use crate::harness::{Toys, World, add, eventually, key};

#[tokio::test(start_paused = true)]
async fn r12_errors_back_off_and_a_change_resets_them() {
    let world = World::new().await;
    let times = Arc::new(Mutex::new(Vec::new()));
    let log = times.clone();
    let mut running = world.engine(Toys::new(move |context| {
        let log = log.clone();
        Box::pin(async move {
            log.lock().push(context.now_ms());
            Err(Failure::Transient("no disk".into()))
        })
    }));
    world.create("a", json!({})).await;
    for _ in 0..12 {
        running.wait_for("end a").await;
    }
    let pauses =
        |times: &[u64]| -> Vec<u64> { times.windows(2).map(|pair| pair[1] - pair[0]).collect() };
    for (failures, pause) in pauses(&times.lock()).into_iter().enumerate() {
        let full = (1000_u64 << failures).min(300_000);
        assert!(
            (full / 2..=full + 50).contains(&pause),
            "{failures}: {pause} ms"
        );
    }
    let view = running.engine.object(key("a")).await.unwrap().unwrap();
    assert_eq!(view.last_error.as_deref(), Some("no disk"));
    assert!(view.next_run.is_some());
    times.lock().clear();
    world.update("a", json!({"value": 2})).await;
    running.wait_for("end a").await;
    running.wait_for("end a").await;
    assert!(
        pauses(&times.lock())[0] <= 1050,
        "it begins anew: {:?}",
        times.lock()
    );
}

#[tokio::test(start_paused = true)]
async fn r2_r12_t10_dependents_run_although_what_they_refer_to_failed() {
    let world = World::new().await;
    let mut running = world.engine(Toys::new(|context| {
        Box::pin(async move {
            if &*context.key().name == "a" {
                return Err(Failure::Invalid("a person must look at it".into()));
            }
            add(context).await
        })
    }));
    world.create("a", json!({"value": 1})).await;
    running.until_silent().await;
    world.create("b", json!({"value": 2, "refs": ["a"]})).await;
    assert_eq!(running.starts().await, ["b"]);
    running.engine.ask(key("a"));
    assert_eq!(
        running.starts().await,
        ["a", "b"],
        "and nothing is tried again by itself"
    );
    let view = running.engine.object(key("a")).await.unwrap().unwrap();
    assert_eq!(
        (view.last_error.as_deref(), view.next_run),
        (Some("a person must look at it"), None)
    );
    let events: kube::Api<Event> = kube::Api::default_namespaced(world.client.clone());
    eventually("the Event is counted", || async {
        let events = events
            .list(&kube::api::ListParams::default())
            .await
            .unwrap()
            .items;
        let failed = events
            .iter()
            .find(|event| event.reason.as_deref() == Some("ReconcileFailed"));
        failed.is_some_and(|event| {
            let message = event.message.as_deref() == Some("a person must look at it");
            message && event.count == Some(2) && event.involved_object.name.as_deref() == Some("a")
        })
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn r12_a_panic_is_an_error_of_its_object_alone() {
    let world = World::new().await;
    let panics = Arc::new(AtomicUsize::new(1));
    let left = panics.clone();
    let mut running = world.engine(Toys::new(move |context| {
        let left = left.clone();
        Box::pin(async move {
            let first = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                left.checked_sub(1)
            });
            assert!(
                &*context.key().name != "a" || first.is_err(),
                "the roof is on fire"
            );
            add(context).await
        })
    }));
    world.create("a", json!({"value": 1})).await;
    running.wait_for("end a").await;
    let view = running.engine.object(key("a")).await.unwrap().unwrap();
    assert_eq!(
        view.last_error.as_deref(),
        Some("the reconciler panicked: the roof is on fire")
    );
    world.create("b", json!({"value": 2})).await;
    running.wait_for("end b").await;
    running.wait_for("end a").await;
    assert_eq!(world.status("a").await["value"], 1, "and is tried again");
    assert_eq!(world.status("b").await["value"], 2);
}

#[tokio::test(start_paused = true)]
async fn r12_a_conflict_is_tried_again_soon_and_nobody_is_told() {
    let world = World::new().await;
    let conflicts = Arc::new(AtomicUsize::new(2));
    let left = conflicts.clone();
    let mut running = world.engine(Toys::new(move |_| {
        let left = left.clone();
        Box::pin(async move {
            match left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                left.checked_sub(1)
            }) {
                Ok(_) => Err(Failure::Conflict("somebody was faster".into())),
                Err(_) => Ok(Outcome::Done),
            }
        })
    }));
    world.create("a", json!({})).await;
    assert_eq!(running.starts().await, ["a", "a", "a"]);
    let events: kube::Api<Event> = kube::Api::default_namespaced(world.client.clone());
    let events = events
        .list(&kube::api::ListParams::default())
        .await
        .unwrap();
    assert!(events.items.is_empty());
}
