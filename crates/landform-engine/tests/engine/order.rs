//! Who runs when: order, cancellation, cycles, deletes and renames (R3–R9).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use kube::ResourceExt as _;
use kube::api::{Patch, PatchParams};
use landform_api::GroupVersionKind;
use landform_engine::{Context, Engine, Failure, Order, Outcome, Reconciler};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::harness::{GROUP, Toys, World, add, config_maps, eventually, key};

/// A chain c → b → a.
async fn chain(world: &World) {
    world.create("c", json!({"value": 4, "refs": ["b"]})).await;
    world.create("b", json!({"value": 2, "refs": ["a"]})).await;
    world.create("a", json!({"value": 1})).await;
}

#[tokio::test(start_paused = true)]
async fn r2_r4_t1_a_chain_runs_from_the_top_and_each_sees_what_is_above_it() {
    let world = World::new().await;
    chain(&world).await;
    let mut running = world.engine(Toys::adding());
    assert_eq!(running.starts().await, ["a", "b", "c"]);
    assert_eq!(world.status("c").await["value"], 7);
    world.update("a", json!({"value": 10})).await;
    assert_eq!(running.starts().await, ["a", "b", "c"]);
    assert_eq!(world.status("c").await["value"], 16);
}

/// Runs of one toy wait until they are let go or cancelled; all others add.
async fn gated(context: &Context, name: &str, gate: &Semaphore) -> Result<Outcome, Failure> {
    if &*context.key().name == name {
        let permit = context.or_cancelled(gate.acquire()).await?;
        permit
            .map_err(|error| Failure::Transient(error.to_string()))?
            .forget();
    }
    add(context).await
}

fn gated_toys(name: &'static str, gate: &Arc<Semaphore>) -> Toys {
    let gate = gate.clone();
    Toys::new(move |context| {
        let gate = gate.clone();
        Box::pin(async move { gated(context, name, &gate).await })
    })
}

#[tokio::test(start_paused = true)]
async fn r6_t3_a_change_above_cancels_what_runs_below_and_all_run_in_order() {
    let world = World::new().await;
    chain(&world).await;
    let gate = Arc::new(Semaphore::new(0));
    let mut running = world.engine(gated_toys("c", &gate));
    running.wait_for("start c").await;
    world.update("a", json!({"value": 3})).await;
    running.wait_for("cancel c").await;
    gate.add_permits(1);
    let happened = running.until_silent().await;
    let expected = [
        "end c", "start a", "end a", "start b", "end b", "start c", "end c",
    ];
    assert_eq!(happened, expected);
    assert_eq!(world.status("c").await["value"], 9);
}

#[tokio::test(start_paused = true)]
async fn r4_t4_a_change_below_does_not_cancel_what_runs_above() {
    let world = World::new().await;
    chain(&world).await;
    let gate = Arc::new(Semaphore::new(0));
    let mut running = world.engine(gated_toys("b", &gate));
    running.wait_for("start b").await;
    world.update("c", json!({"value": 5})).await;
    assert!(running.until_silent().await.is_empty());
    gate.add_permits(1);
    assert_eq!(running.until_silent().await, ["end b", "start c", "end c"]);
}

#[tokio::test(start_paused = true)]
async fn r5_somebody_elses_change_cancels_and_an_own_one_does_not() {
    let world = World::new().await;
    let gate = Arc::new(Semaphore::new(0));
    let mut running = world.engine(gated_toys("a", &gate));
    world.create("a", json!({"value": 1})).await;
    running.wait_for("start a").await;
    world.update("a", json!({"value": 2})).await;
    running.wait_for("cancel a").await;
    gate.add_permits(1);
    assert_eq!(running.until_silent().await, ["end a", "start a", "end a"]);
    assert_eq!(world.status("a").await["value"], 2);
}

#[tokio::test(start_paused = true)]
async fn r5_t11_a_run_that_writes_its_own_spec_and_status_goes_on_and_is_not_repeated() {
    let world = World::new().await;
    let mut running = world.engine(Toys::new(|context| {
        Box::pin(async move {
            let patch = kube::api::Patch::Merge(json!({"spec": {"value": 9}}));
            let name = &*context.key().name;
            context
                .api()
                .patch(name, &kube::api::PatchParams::default(), &patch)
                .await?;
            context.write_status(&json!({"value": 9})).await?;
            // What the watch shows meanwhile comes before the end.
            context.sleep(Duration::from_millis(50)).await?;
            Ok(Outcome::Done)
        })
    }));
    world.create("a", json!({"value": 1})).await;
    world.create("b", json!({"value": 1, "refs": ["a"]})).await;
    let happened = running.until_silent().await;
    assert_eq!(happened, ["start a", "end a", "start b", "end b"]);
}

#[tokio::test(start_paused = true)]
async fn r7_a_cycle_is_told_to_its_members_at_once_and_they_run_when_it_is_broken() {
    let world = World::new().await;
    let mut running = world.engine(Toys::adding());
    world.create("a", json!({"value": 1, "refs": ["b"]})).await;
    running.wait_for("end a").await;
    world.create("b", json!({"value": 1, "refs": ["a"]})).await;
    let happened = running.until_silent().await;
    assert_eq!(happened, ["cyclic a", "cyclic b"]);
    let cycle = "Toy.toys.landform.dev default/a → Toy.toys.landform.dev default/b → \
                 Toy.toys.landform.dev default/a";
    for name in ["a", "b"] {
        assert_eq!(world.status(name).await["error"], cycle);
        let view = running.engine.object(key(name)).await.unwrap().unwrap();
        assert_eq!(view.cycle.as_deref(), Some(cycle));
    }
    world.update("b", json!({"refs": []})).await;
    let happened = running.until_silent().await;
    let expected = [
        "unbound a",
        "unbound b",
        "start b",
        "end b",
        "start a",
        "end a",
    ];
    assert_eq!(happened, expected);
}

#[tokio::test(start_paused = true)]
async fn r7_a_run_that_writes_after_the_cycle_was_told_does_not_have_the_last_word() {
    let world = World::new().await;
    let gate = Arc::new(Semaphore::new(0));
    let let_go = gate.clone();
    let mut running = world.engine(Toys::new(move |context| {
        let gate = let_go.clone();
        Box::pin(async move {
            // It doesn't look whether it was cancelled.
            let permit = gate.acquire().await;
            permit
                .map_err(|error| Failure::Transient(error.to_string()))?
                .forget();
            let status = json!({"status": {"error": "late"}});
            let name = context.key().name.to_string();
            let (api, params, patch) =
                (context.api(), PatchParams::default(), Patch::Merge(status));
            api.patch_status(&name, &params, &patch).await?;
            Ok(Outcome::Done)
        })
    }));
    world.create("a", json!({"value": 1, "refs": ["b"]})).await;
    running.wait_for("start a").await;
    world.create("b", json!({"value": 1, "refs": ["a"]})).await;
    running.wait_for("cyclic b").await;
    gate.add_permits(1);
    running.until_silent().await;
    let cycle = running.engine.object(key("a")).await.unwrap().unwrap();
    let cycle = cycle.cycle.unwrap();
    eventually("it is told again", || async {
        world.status("a").await["error"] == cycle.as_str()
    })
    .await;
}

/// Toys whose deletes take until the semaphore lets them go.
fn held_deletes(order: Order) -> (Toys, Arc<Semaphore>) {
    let gate = Arc::new(Semaphore::new(0));
    let let_go = gate.clone();
    let toys = Toys::new(move |context| {
        let gate = let_go.clone();
        Box::pin(async move {
            if context.deleting() {
                let permit = context.or_cancelled(gate.acquire()).await?;
                permit
                    .map_err(|error| Failure::Transient(error.to_string()))?
                    .forget();
                return Ok(Outcome::Done);
            }
            add(context).await
        })
    });
    let toys = Toys {
        finalizer: Some("toys.landform.dev/held"),
        order,
        ..toys
    };
    (toys, gate)
}

#[tokio::test(start_paused = true)]
async fn r8b_a_delete_of_the_related_order_holds_back_its_relatives_alone() {
    let world = World::new().await;
    let (toys, gate) = held_deletes(Order::Related);
    let mut running = world.engine(toys);
    let owner = world.create("owner", json!({"value": 1})).await;
    let going = world
        .create("going", json!({"value": 1, "provides": ["name"]}))
        .await;
    for (name, owner) in [("going", &owner), ("owned", &going)] {
        if name == "owned" {
            world.create(name, json!({"value": 1})).await;
        }
        let reference = json!([{
            "apiVersion": format!("{GROUP}/v1"), "kind": "Toy",
            "name": owner.name_any(), "uid": owner.uid().unwrap(),
        }]);
        let patch = Patch::Merge(json!({"metadata": {"ownerReferences": reference}}));
        let toys = world.toys();
        toys.patch(name, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }
    world
        .create("dependent", json!({"value": 1, "refs": ["going"]}))
        .await;
    world.create("other", json!({"value": 1})).await;
    world.create("heir", json!({"value": 1})).await;
    running.until_silent().await;
    world.delete("going").await;
    running.wait_for("start going").await;
    for name in ["owner", "owned", "dependent", "other"] {
        world.update(name, json!({"value": 2})).await;
    }
    world
        .update("heir", json!({"value": 2, "provides": ["name"]}))
        .await;
    assert_eq!(running.until_silent().await, ["start other", "end other"]);
    gate.add_permits(1);
    let mut after = running.starts().await;
    after.sort();
    assert_eq!(after, ["dependent", "heir", "owned", "owner"]);
}

#[tokio::test(start_paused = true)]
async fn r8b_a_delete_of_a_free_kind_holds_back_nobody() {
    let world = World::new().await;
    let (toys, _gate) = held_deletes(Order::Free);
    let mut running = world.engine(toys);
    world.create("a", json!({"value": 1})).await;
    world.create("b", json!({"value": 1})).await;
    running.until_silent().await;
    world.delete("a").await;
    running.wait_for("start a").await;
    world.update("b", json!({"value": 2})).await;
    assert_eq!(running.until_silent().await, ["start b", "end b"]);
}

#[tokio::test(start_paused = true)]
async fn r8b_a_delete_that_failed_is_tried_again_beside_the_others() {
    let world = World::new().await;
    let (first, tried) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
    let fail = first.clone();
    let toys = Toys::new(move |context| {
        let (fail, tried) = (fail.clone(), tried.clone());
        Box::pin(async move {
            if !context.deleting() {
                return add(context).await;
            }
            if tried.fetch_add(1, Ordering::SeqCst) > 0 {
                // It hangs.
                return context.or_cancelled(std::future::pending()).await;
            }
            let permit = context.or_cancelled(fail.acquire()).await?;
            permit.unwrap().forget();
            Err(Failure::Transient("not yet".into()))
        })
    });
    let toys = Toys {
        finalizer: Some("toys.landform.dev/held"),
        ..toys
    };
    let mut running = world.engine(toys);
    world.create("a", json!({"value": 1})).await;
    world.create("b", json!({"value": 1})).await;
    running.until_silent().await;
    world.delete("a").await;
    running.wait_for("start a").await;
    world.update("b", json!({"value": 2})).await;
    assert!(running.until_silent().await.is_empty(), "its first run");
    first.add_permits(1);
    running.wait_for("start b").await;
    running.wait_for("start a").await;
    world.update("b", json!({"value": 3})).await;
    running.wait_for("start b").await;
}

#[tokio::test(start_paused = true)]
async fn r8_deletes_run_before_ordinary_runs_and_the_object_is_held_until_they_are_done() {
    let world = World::new().await;
    let (toys, gate) = held_deletes(Order::Strict);
    let mut running = world.engine(toys);
    world.create("a", json!({"value": 1})).await;
    world.create("b", json!({"value": 1})).await;
    running.until_silent().await;
    world.delete("a").await;
    running.wait_for("start a").await;
    world.update("b", json!({"value": 2})).await;
    assert!(
        running.until_silent().await.is_empty(),
        "b waits for the delete of a"
    );
    assert!(
        world.toys().get_opt("a").await.unwrap().is_some(),
        "a is held"
    );
    gate.add_permits(1);
    assert_eq!(running.until_silent().await, ["end a", "start b", "end b"]);
    assert!(world.toys().get_opt("a").await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn r8_r2_a_renamed_object_is_told_its_former_name_until_it_has_succeeded() {
    let world = World::new().await;
    let failing = Arc::new(AtomicUsize::new(1));
    let fail = failing.clone();
    let mut running = world.engine(Toys::new(move |context| {
        let fail = fail.clone();
        Box::pin(async move {
            let Some(former) = context.former_name() else {
                return add(context).await;
            };
            if fail
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                    left.checked_sub(1)
                })
                .is_ok()
            {
                return Err(Failure::Transient("not yet".into()));
            }
            context.write_status(&json!({"was": former})).await?;
            Ok(Outcome::Done)
        })
    }));
    world.create("old", json!({"value": 1})).await;
    running.until_silent().await;
    world.delete("old").await;
    world
        .create_with(
            "new",
            json!({"landform.dev/renamed-from": "old"}),
            json!({"value": 1}),
        )
        .await;
    eventually("the rename is told", || async {
        world.status("new").await["was"] == "old"
    })
    .await;
    eventually("the note is removed", || async {
        let annotations = world.toys().get("new").await.unwrap().metadata.annotations;
        !annotations
            .unwrap_or_default()
            .contains_key("landform.dev/renamed-from")
    })
    .await;
    running.until_silent().await;
    running.engine.ask(key("new"));
    running.wait_for("end new").await;
    assert_eq!(
        world.status("new").await["value"],
        1,
        "no former name any more"
    );
}

#[tokio::test(start_paused = true)]
async fn r9_a_run_that_ignores_its_cancellation_is_shown_and_blocks_nobody_unrelated() {
    let world = World::new().await;
    let gate = Arc::new(Semaphore::new(0));
    let stubborn = gate.clone();
    let toys = Toys::new(move |context| {
        let gate = stubborn.clone();
        Box::pin(async move {
            if &*context.key().name == "a" {
                let permit = gate.acquire().await;
                permit
                    .map_err(|error| Failure::Transient(error.to_string()))?
                    .forget();
            }
            add(context).await
        })
    });
    let mut running = world.engine(Toys { limit: 1, ..toys });
    world.create("a", json!({"value": 1})).await;
    running.wait_for("start a").await;
    world.update("a", json!({"value": 2})).await;
    running.wait_for("stuck a").await;
    world.create("b", json!({"value": 3})).await;
    running.wait_for("end b").await;
    let view = running.engine.object(key("a")).await.unwrap().unwrap();
    assert_eq!(view.state, landform_engine::view::State::Stuck);
    assert_eq!(view.cancelled.as_deref(), Some("changed"));
    assert!(world.metric("landform_engine_ignored_cancellations_total{kind=\"Toy\"} 1"));
    assert!(world.metric("landform_engine_stuck 1"));
    gate.add_permits(2);
    assert_eq!(running.until_silent().await, ["end a", "start a", "end a"]);
    assert_eq!(world.status("a").await["value"], 2);
    assert!(world.metric("landform_engine_stuck 0"));
}

#[tokio::test(start_paused = true)]
async fn r3_no_more_of_a_kind_run_at_once_than_it_wants_and_none_twice() {
    let world = World::new().await;
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (count, peak) = (now.clone(), most.clone());
    let toys = Toys::new(move |context| {
        let (now, most) = (count.clone(), peak.clone());
        Box::pin(async move {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            let result = context.sleep(Duration::from_millis(100)).await;
            now.fetch_sub(1, Ordering::SeqCst);
            result.map(|()| Outcome::Done)
        })
    });
    for number in 0..20 {
        world.create(&format!("t{number}"), json!({})).await;
    }
    let mut running = world.engine(Toys { limit: 3, ..toys });
    assert_eq!(running.starts().await.len(), 20);
    assert_eq!(most.load(Ordering::SeqCst), 3);
}

#[tokio::test(start_paused = true)]
async fn r9_runs_of_one_kind_that_take_long_leave_places_to_others() {
    let world = World::new().await;
    let begun = Arc::new(Semaphore::new(0));
    let note = begun.clone();
    let slow = Toys::new(move |context| {
        note.add_permits(1);
        Box::pin(context.or_cancelled(std::future::pending()))
    });
    let (sender, mut entries) = tokio::sync::mpsc::unbounded_channel();
    let engine = Engine::builder(world.client.clone()).runs_at_once(2);
    let engine = engine.reconciler(slow).reconciler(Maps(sender)).start();
    let _engine = engine.unwrap();
    for name in ["a", "b", "c"] {
        world.create(name, json!({})).await;
    }
    let _both = begun.acquire_many(2).await.unwrap();
    world.create_map("m", "1").await;
    let ran = async { while entries.recv().await.as_deref() != Some("m") {} };
    tokio::time::timeout(Duration::from_secs(60), ran)
        .await
        .unwrap();
}

/// Tells of every run of a ConfigMap.
struct Maps(tokio::sync::mpsc::UnboundedSender<String>);

impl Reconciler for Maps {
    fn kind(&self) -> GroupVersionKind {
        config_maps()
    }

    fn reconcile<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<Outcome, Failure>> {
        let _ = self.0.send(context.key().name.to_string());
        Box::pin(async { Ok(Outcome::Done) })
    }
}
