//! Processes end and begin, watches break (R2, R12).

use std::sync::Arc;
use std::time::Duration;

use landform_apiserver::Config;
use landform_engine::Outcome;
use landform_store::Store as _;
use parking_lot::Mutex;
use serde_json::json;

use crate::harness::{PausedClock, Toys, World};

const PATIENCE: Duration = Duration::from_secs(5);

#[tokio::test(start_paused = true)]
async fn r2_after_a_restart_everything_is_looked_at_once_and_nothing_is_written() {
    let world = World::new().await;
    for number in 0..10 {
        let refs = if number == 0 {
            json!([])
        } else {
            json!([format!("t{}", number - 1)])
        };
        world
            .create(&format!("t{number}"), json!({"value": 1, "refs": refs}))
            .await;
    }
    let mut running = world.engine(Toys::adding());
    assert_eq!(running.starts().await.len(), 10);
    running.engine.stop(PATIENCE).await;
    let before = world.store.revision();
    let world = World {
        registry: prometheus::Registry::new(),
        ..world
    };
    let mut running = world.engine(Toys::adding());
    let starts = running.starts().await;
    let expected: Vec<_> = (0..10).map(|number| format!("t{number}")).collect();
    assert_eq!(starts, expected);
    assert_eq!(
        world.store.revision(),
        before,
        "nothing had changed, nothing was written"
    );
}

#[tokio::test(start_paused = true)]
async fn r12_a_time_that_was_asked_for_survives_a_restart() {
    let world = World::new().await;
    let times = Arc::new(Mutex::new(Vec::new()));
    let toys = |first: Outcome| {
        let log = times.clone();
        Toys::new(move |context| {
            let (log, first) = (log.clone(), first.clone());
            Box::pin(async move {
                let minute = (context.now_ms() - PausedClock::START_MS) / 60_000;
                log.lock()
                    .push((minute, context.retrigger_at_ms().is_some()));
                Ok(first)
            })
        })
    };
    let mut running = world.engine(toys(Outcome::Recheck(Duration::from_secs(3600))));
    world.create("a", json!({})).await;
    running.wait_for("end a").await;
    running.engine.stop(PATIENCE).await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    let world = World {
        registry: prometheus::Registry::new(),
        ..world
    };
    let mut running = world.engine(toys(Outcome::Done));
    running.wait_for("end a").await;
    running.wait_for("end a").await;
    assert_eq!(*times.lock(), [(0, false), (10, true), (60, true)]);
    running.until_silent().await;
    let annotations = world.toys().get("a").await.unwrap().metadata.annotations;
    assert_eq!(annotations.unwrap_or_default().len(), 0, "it is over");
}

#[tokio::test(start_paused = true)]
async fn r2_a_watch_that_ends_is_resumed_without_a_run() {
    let config = Config {
        watch_timeout: Duration::from_secs(1),
        ..Config::default()
    };
    let world = World::with(config).await;
    let mut running = world.engine(Toys::adding());
    world.create("a", json!({"value": 1})).await;
    assert_eq!(running.starts().await, ["a"]);
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert!(running.starts().await.is_empty());
    world.update("a", json!({"value": 2})).await;
    assert_eq!(running.starts().await, ["a"]);
}

#[tokio::test(start_paused = true)]
async fn r2_a_watch_that_fell_out_of_the_history_is_listed_anew_without_a_run_too_many() {
    let config = Config {
        watch_timeout: Duration::from_secs(1),
        ..Config::default()
    };
    let world = World::with(config).await;
    let mut running = world.engine(Toys::adding());
    for name in ["a", "b", "c"] {
        world.create(name, json!({"value": 1})).await;
    }
    running.until_silent().await;
    for _ in 0..20 {
        // Whoever resumes after this must list anew.
        world.create_map("noise", "1").await;
        world
            .maps()
            .delete("noise", &kube::api::DeleteParams::background())
            .await
            .unwrap();
        world.store.compact(world.store.revision()).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert!(running.starts().await.is_empty());
    world.update("b", json!({"value": 2})).await;
    world.store.compact(world.store.revision()).await.unwrap();
    assert_eq!(running.starts().await, ["b"]);
}
