//! Reconcilers that go while their kind can't be reached: nothing is held by what is no more (R8).

use kube::ResourceExt as _;
use serde_json::json;

use super::server::HookServer;
use super::stage::Stage;

/// A stage whose toys `a` and `b` are held by the Reconciler `toys`.
async fn held(hook: &mut HookServer) -> Stage {
    let mut stage = Stage::with_url(&hook.url(), json!({"finalize": true})).await;
    for name in ["a", "b"] {
        stage.world.create(name, json!({})).await;
        hook.call_for(name).await.answer(json!({}));
        stage.success_of(name).await;
        let toy = stage.world.toys().get(name).await.unwrap();
        assert_eq!(toy.finalizers(), ["reconciler.landform.dev/toys"]);
    }
    stage
}

/// Waits until the Reconciler is gone.
async fn gone(stage: &mut Stage) {
    while stage.reconcilers().get_opt("toys").await.unwrap().is_some() {
        stage.end_of("toys").await;
    }
}

#[tokio::test]
async fn r8_a_deleted_reconciler_waits_until_objects_of_an_unserved_kind_are_let_go() {
    for restart in [false, true] {
        for marked_first in [false, true] {
            let mut hook = HookServer::start().await;
            let mut stage = held(&mut hook).await;
            stage.serve_toys(&[]).await;
            stage.standing("toys", "False", "KindNotServed").await;
            stage.delete(&stage.reconcilers(), "toys").await;
            if restart && marked_first {
                // Before it could say anything.
                stage = stage.restarted().await;
            }
            let message = stage.standing("toys", "False", "HoldsUnserved").await;
            assert_eq!(
                message,
                "it holds 2 objects of the kind Toy (the first is Toy default/a), and no version of toys.toys.landform.dev is served"
            );
            if restart && !marked_first {
                stage = stage.restarted().await;
            }
            stage.serve_toys(&["v1", "v2"]).await;
            gone(&mut stage).await;
            let toys = stage.world.toys();
            for name in ["a", "b"] {
                assert!(toys.get(name).await.unwrap().finalizers().is_empty());
                stage.delete(&toys, name).await;
                assert!(toys.get_opt(name).await.unwrap().is_none());
            }
        }
    }
}

#[tokio::test]
async fn r8_a_deleted_reconciler_lets_objects_go_by_any_version_that_is_served() {
    let mut hook = HookServer::start().await;
    let mut stage = held(&mut hook).await;
    stage.serve_toys(&["v2"]).await;
    stage.delete(&stage.reconcilers(), "toys").await;
    gone(&mut stage).await;
    stage.serve_toys(&["v1", "v2"]).await;
    let toy = stage.world.toys().get("a").await.unwrap();
    assert!(toy.finalizers().is_empty());
}

#[tokio::test]
async fn r8_a_deleted_reconciler_that_holds_nothing_waits_for_no_kind() {
    let mut hook = HookServer::start().await;
    // Nothing is held, of a kind that is not served and of one that does not exist.
    let mut stage = Stage::with_url(&hook.url(), json!({})).await;
    stage.world.create("a", json!({})).await;
    hook.call_for("a").await.answer(json!({}));
    stage.success_of("a").await;
    stage.serve_toys(&[]).await;
    stage.delete(&stage.reconcilers(), "toys").await;
    gone(&mut stage).await;

    let nowhere = json!({
        "for": {"group": "nowhere.example.com", "version": "v1", "kind": "Nothing"},
        "hook": {"url": hook.url()},
    });
    stage.reconciler("toys", nowhere).await;
    stage.standing("toys", "False", "KindNotFound").await;
    stage.delete(&stage.reconcilers(), "toys").await;
    gone(&mut stage).await;
}
