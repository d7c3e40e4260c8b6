//! Letting what is in work come to an end without waiting for it (I4), and correcting it then.

use serde_json::{Value, json};

use crate::abort::at_work;
use crate::harness::{Landscape, OPERATION, contains, files, spec, template, text};

const WITHOUT_UNINSTALL: &str = "landscaper.gardener.cloud/delete-without-uninstall";

fn error(object: &Value) -> &str {
    text(&object["status"]["lastError"]["message"])
}

#[tokio::test]
async fn i4_an_interrupt_fails_what_is_in_work_and_it_can_be_corrected() {
    let mut land = at_work().await;
    land.annotate("Installation", "root", OPERATION, "interrupt")
        .await;
    let failed = land.phase("root", "Failed").await;
    land.recorder.take();
    contains(error(&failed), &["interrupted on request", "reconcile"]);
    for kind in ["Installation", "Execution", "DeployItem"] {
        for object in land.list(kind).await {
            let annotations = &object["metadata"]["annotations"];
            assert!(annotations[OPERATION].is_null(), "{kind}: {annotations}");
        }
    }
    let items = land.list("DeployItem").await;
    assert_eq!(items[0]["status"]["phase"], "Failed");
    contains(error(&items[0]), &["interrupted on request"]);

    // It stays so over a restart, without a write to anything.
    land.quiet().await;
    let before = land.revision().await;
    land.restart().await;
    land.quiet().await;
    assert_eq!(land.revision().await, before);
    assert!(land.recorder.take().is_empty());

    let inner = json!({"deployExecutions": template("items",
        "deployItems: [{name: short, type: test.dev/recorder}]")});
    let corrected =
        json!({"subinstallations": [{"name": "inner", "blueprint": {"filesystem": files(inner)}}]});
    let corrected = json!({"spec": spec(corrected, json!({}))});
    land.patch("Installation", "root", corrected).await;
    land.phase("root", "Succeeded").await;
    assert!(land.recorder.journal().contains(&"deploy short".to_owned()));
}

#[tokio::test]
async fn i4_i16b_what_was_interrupted_runs_again_by_reconcile() {
    let land = at_work().await;
    land.annotate("Installation", "root", OPERATION, "interrupt")
        .await;
    land.phase("root", "Failed").await;
    land.recorder.take();
    land.annotate("Installation", "root", OPERATION, "reconcile")
        .await;
    land.phase("root", "Progressing").await;
    let items = land.names("DeployItem").await;
    land.until("DeployItem", &items[0], |item| {
        item["status"]["phase"] == "Init" || item["status"]["phase"] == "Progressing"
    })
    .await;
}

#[tokio::test]
async fn i4_an_interrupt_does_not_wait_for_a_deployer_that_lives_elsewhere() {
    let land = Landscape::new().await;
    let blueprint = json!({"deployExecutions": template("items",
        "deployItems: [{name: far, type: test.dev/elsewhere}]")});
    land.install("root", blueprint, json!({})).await;
    let execution = |object: &Value| object["status"]["deployItemRefs"].is_array();
    land.until("Execution", "root", execution).await;
    let item = land.names("DeployItem").await.remove(0);
    // Its deployer has taken it up, and says nothing more.
    let taken =
        json!({"metadata": {"annotations": {"landscaper.gardener.cloud/reconcile-time": null}}});
    land.patch("DeployItem", &item, taken).await;
    land.annotate("Installation", "root", OPERATION, "interrupt")
        .await;
    let failed = land.phase("root", "Failed").await;
    contains(error(&failed), &["interrupted"]);
    let item = land.get("DeployItem", &item).await;
    assert_eq!(item["status"]["phase"], "Failed");
}

#[tokio::test]
async fn i4_an_interrupt_ends_the_wait_for_an_import_until_it_is_there() {
    let land = Landscape::new().await;
    let blueprint = crate::harness::product("shop", &["port"], &[]);
    let rest = crate::harness::wiring(&["port"], &[]);
    land.install("shop", blueprint, rest).await;
    land.phase("shop", "PendingDependencies").await;
    land.annotate("Installation", "shop", OPERATION, "interrupt")
        .await;
    land.phase("shop", "Failed").await;
    land.quiet().await;
    assert_eq!(
        land.get("Installation", "shop").await["status"]["phase"],
        "Failed"
    );
    land.data("port", json!(1)).await;
    land.phase("shop", "Succeeded").await;
}

#[tokio::test]
async fn i4_what_has_succeeded_is_not_interrupted() {
    let land = Landscape::new().await;
    land.install("shop", crate::harness::product("shop", &[], &[]), json!({}))
        .await;
    land.phase("shop", "Succeeded").await;
    land.annotate("Installation", "shop", OPERATION, "interrupt")
        .await;
    let after = land.phase("shop", "Succeeded").await;
    assert!(after["status"]["lastError"].is_null());
    assert_eq!(land.recorder.take(), ["deploy shop"]);
}

#[tokio::test]
async fn i35b_an_interrupt_ends_a_removal_that_hangs() {
    let land = Landscape::new().await;
    land.install("shop", crate::harness::product("shop", &[], &[]), json!({}))
        .await;
    land.phase("shop", "Succeeded").await;
    land.recorder.hang_removal();
    land.delete("Installation", "shop").await;
    land.recorder.removing().await;
    land.annotate("Installation", "shop", OPERATION, "interrupt")
        .await;
    let failed = land.phase("shop", "Failed").await;
    contains(error(&failed), &["could not be removed", "interrupted"]);
    land.annotate("Installation", "shop", WITHOUT_UNINSTALL, "true")
        .await;
    land.gone("Installation", "shop").await;
}
