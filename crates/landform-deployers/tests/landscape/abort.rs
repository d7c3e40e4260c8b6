//! Stopping what is in work (I4, I12).

use serde_json::{Value, json};

use crate::harness::{Landscape, OPERATION, contains, files, template, text};

/// An item that works until it is stopped, in an installation in an installation.
fn endless() -> Value {
    let inner = json!({"deployExecutions": template("items",
        "deployItems: [{name: endless, type: test.dev/recorder, config: {hold: true}}]")});
    json!({"subinstallations": [{"name": "inner", "blueprint": {"filesystem": files(inner)}}]})
}

pub(crate) async fn at_work() -> Landscape {
    let land = Landscape::new().await;
    land.install("root", endless(), json!({})).await;
    let inner = land.nested("root", "inner").await;
    land.until("Installation", &inner, |object| {
        object["status"]["executionRef"].is_object()
    })
    .await;
    let working = async {
        while !land
            .recorder
            .journal()
            .contains(&"write endless".to_owned())
        {
            tokio::task::yield_now().await;
        }
    };
    let patience = std::time::Duration::from_secs(20);
    tokio::time::timeout(patience, working).await.unwrap();
    land
}

#[tokio::test]
async fn i4_i12_nothing_is_written_to_a_target_after_an_abort() {
    let mut land = at_work().await;
    land.annotate("Installation", "root", OPERATION, "abort")
        .await;
    let aborted = land.phase("root", "Aborted").await;
    land.recorder.take();
    contains(
        text(&aborted["status"]["lastError"]["message"]),
        &["force-reconcile"],
    );
    let inner = land.nested("root", "inner").await;
    assert_eq!(
        land.get("Installation", &inner).await["status"]["phase"],
        "Aborted"
    );
    for kind in ["Installation", "Execution", "DeployItem"] {
        for object in land.list(kind).await {
            let annotations = &object["metadata"]["annotations"];
            assert!(annotations[OPERATION].is_null(), "{kind}: {annotations}");
        }
    }
    land.quiet().await;
    assert!(land.recorder.take().is_empty());

    // It stays so over a restart, without a write.
    let before = land.revision().await;
    land.restart().await;
    land.quiet().await;
    assert_eq!(land.revision().await, before);
    assert!(land.recorder.take().is_empty());

    // Force starts it again.
    land.annotate("Installation", "root", OPERATION, "force-reconcile")
        .await;
    land.phase("root", "Progressing").await;
    let working = async {
        while land.recorder.journal().len() < 2 {
            tokio::task::yield_now().await;
        }
    };
    let patience = std::time::Duration::from_secs(20);
    tokio::time::timeout(patience, working).await.unwrap();
    assert_eq!(
        land.recorder.take()[..2],
        ["deploy endless", "write endless"]
    );
}

#[tokio::test]
async fn i12_a_changed_spec_ends_an_abort_too() {
    let land = at_work().await;
    land.annotate("Installation", "root", OPERATION, "abort")
        .await;
    land.phase("root", "Aborted").await;
    let inner = json!({"deployExecutions": template("items",
        "deployItems: [{name: short, type: test.dev/recorder}]")});
    let spec =
        json!({"subinstallations": [{"name": "inner", "blueprint": {"filesystem": files(inner)}}]});
    let spec = crate::harness::spec(spec, json!({}));
    land.patch("Installation", "root", json!({"spec": spec}))
        .await;
    land.phase("root", "Succeeded").await;
}

#[tokio::test]
async fn i3_an_installation_at_work_can_be_aborted_and_deleted() {
    let land = at_work().await;
    land.annotate("Installation", "root", OPERATION, "abort")
        .await;
    land.phase("root", "Aborted").await;
    land.delete("Installation", "root").await;
    land.gone("Installation", "root").await;
    assert!(land.names("DeployItem").await.is_empty());
    assert_eq!(land.recorder.journal().last().unwrap(), "remove endless");
}
