//! What people see of it (R13), and that a kind can come and go while the engine runs (R14).

use std::sync::Arc;

use landform_api::GroupKind;
use landform_engine::view::{Filter, ReadingView, Relation, State};
use landform_engine::{Engine, EngineError, Failure};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::harness::{GROUP, Toys, World, add, key};

#[tokio::test(start_paused = true)]
async fn r13_everybody_sees_who_runs_who_waits_on_whom_and_what_happened() {
    let world = World::new().await;
    let gate = Arc::new(Semaphore::new(0));
    let let_go = gate.clone();
    let mut running = world.engine(Toys::new(move |context| {
        let gate = let_go.clone();
        Box::pin(async move {
            let permit = context.or_cancelled(gate.acquire()).await?;
            permit
                .map_err(|error| Failure::Transient(error.to_string()))?
                .forget();
            add(context).await
        })
    }));
    world.create("b", json!({"value": 1, "refs": ["a"]})).await;
    world.create("a", json!({"value": 1})).await;
    running.wait_for("start a").await;
    let engine = &running.engine;
    let filter = Filter {
        kind: Some("toy".into()),
        limit: 10,
        ..Filter::default()
    };
    let (objects, more) = engine.objects(filter.clone()).await.unwrap();
    assert_eq!((objects.len(), more), (2, 0));
    assert_eq!(
        (objects[0].state, objects[1].state),
        (State::Running, State::Pending)
    );
    assert!(
        objects[0]
            .running_since
            .as_deref()
            .unwrap()
            .starts_with("2027-01-15T")
    );
    assert_eq!(objects[1].waiting_on[0].relation, Relation::Ref);
    assert_eq!(objects[1].waiting_on[0].object.name, "a");
    let pending = Filter {
        state: State::parse("pending"),
        ..filter
    };
    assert_eq!(engine.objects(pending).await.unwrap().0.len(), 1);
    assert!(engine.object(key("c")).await.unwrap().is_none());
    let summary = engine.summary().await.unwrap();
    assert_eq!(summary.running, 1);
    let toys = summary
        .kinds
        .iter()
        .find(|kind| kind.kind == "Toy")
        .unwrap();
    assert_eq!(
        (toys.objects, toys.reconciled, toys.state),
        (2, true, ReadingView::Watching)
    );
    assert!(world.metric("landform_engine_running 1"));
    let none = |_: &str| None;
    let path = ["objects", GROUP, "Toy", "default", "b"];
    let read = engine.read(&path, &none).await.unwrap().unwrap();
    assert_eq!(read["object"]["state"], "Pending");
    assert_eq!(read["object"]["waitingOn"][0]["name"], "a");
    let state = |key: &str| (key == "state").then(|| "running".to_owned());
    let read = engine.read(&["objects"], &state).await.unwrap().unwrap();
    assert_eq!(read["items"].as_array().unwrap().len(), 1);
    let read = engine.read(&["graph"], &none).await.unwrap().unwrap();
    let edges = read["items"].as_array().unwrap();
    assert_eq!((edges.len(), &read["more"]), (1, &json!(0)));
    assert_eq!(
        (&edges[0]["from"]["name"], &edges[0]["to"]["name"]),
        (&json!("b"), &json!("a"))
    );
    assert_eq!(engine.read(&["nothing"], &none).await.unwrap(), None);
    let wrong = |_: &str| Some("many".to_owned());
    let error = engine.read(&["trace"], &wrong).await.unwrap_err();
    assert_eq!(error.to_string(), "limit=many: must be a number");
    gate.add_permits(10);
    running.until_silent().await;
    let trace = running.engine.trace(Some(key("a")), 10).await.unwrap();
    let said: Vec<_> = trace
        .iter()
        .rev()
        .map(|entry| entry.event.to_string())
        .collect();
    assert_eq!(said[0], "queued: appeared");
    assert!(
        said[1].starts_with("started run ") && said[1].ends_with(": appeared"),
        "{said:?}"
    );
    assert!(said.last().unwrap().ends_with(": succeeded"), "{said:?}");
    assert!(world.metric("landform_engine_runs_total{kind=\"Toy\",result=\"succeeded\"} 2"));
}

#[tokio::test(start_paused = true)]
async fn r14_a_kind_is_registered_in_one_line_and_can_go_and_come_again() {
    let world = World::new().await;
    world.create("a", json!({"value": 1})).await;
    let engine = Engine::builder(world.client.clone()).start().unwrap();
    engine.register(Arc::new(Toys::adding())).await.unwrap();
    let seen = || async { world.status("a").await["value"].as_i64() };
    crate::harness::eventually("it runs", || async { seen().await == Some(1) }).await;
    let kind = GroupKind {
        group: GROUP.into(),
        kind: "Toy".into(),
    };
    engine.unregister(&kind).await.unwrap();
    world.update("a", json!({"value": 2})).await;
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    assert_eq!(seen().await, Some(1), "nobody reconciles it");
    engine.register(Arc::new(Toys::adding())).await.unwrap();
    crate::harness::eventually("it runs again", || async { seen().await == Some(2) }).await;
    engine.stop(std::time::Duration::from_secs(1)).await;
    assert_eq!(engine.unregister(&kind).await, Err(EngineError::Stopped));
}

#[tokio::test(start_paused = true)]
async fn r14_what_landform_reconciles_itself_is_not_taken_over() {
    let world = World::new().await;
    let running = world.engine(Toys::adding());
    let taken = running.engine.register(Arc::new(Toys::adding())).await;
    assert!(matches!(taken, Err(EngineError::Fixed(_))));
    let twice = Engine::builder(world.client.clone())
        .reconciler(Toys::adding())
        .reconciler(Toys::adding())
        .start();
    assert!(twice.is_err());
}
