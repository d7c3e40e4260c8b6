//! What keeps an object where it is: others that import from it, and the annotation by which it is left alone.

use serde_json::json;

use crate::harness::{FINE, World, product, wiring};

const IGNORE: &str = "landscaper.gardener.cloud/ignore";

#[tokio::test]
async fn i31_a_deletion_and_a_newcomer_that_wait_for_each_other_name_the_newcomer() {
    let world = World::new().await;
    let importer = || product(&["url"], &[], FINE);
    world
        .install("db", product(&[], &["url"], FINE), wiring(&[], &["url"]))
        .await;
    world
        .install("web", importer(), wiring(&["url"], &[]))
        .await;
    world.phase("Installation", "web", "Succeeded").await;
    world.delete("Installation", "db").await;
    let waits_for = |object: &serde_json::Value, name: &str| {
        let waits = object["status"]["waitingOn"].as_array();
        waits
            .into_iter()
            .flatten()
            .any(|wait| wait["object"]["name"] == name)
    };
    world
        .until("Installation", "db", |db| waits_for(db, "web"))
        .await;
    world
        .install("late", importer(), wiring(&["url"], &[]))
        .await;
    world
        .until("Installation", "late", |late| waits_for(late, "db"))
        .await;
    world.delete("Installation", "web").await;
    world
        .until("Installation", "db", |db| {
            waits_for(db, "late") && !waits_for(db, "web")
        })
        .await;
    for asked in ["db", "late"] {
        let said = world.why("Installation", asked).await;
        let advice = "→ delete Installation/late first, or change its imports, so that Installation/db can go";
        assert!(said.contains(advice), "{said}");
        assert_eq!(said.matches('→').count(), 1, "{said}");
        assert!(!said.contains("finalizer"), "{said}");
    }
    world.delete("Installation", "late").await;
    world.until_gone("Installation", "db").await;
}

#[tokio::test]
async fn i1_one_that_is_ignored_names_the_annotation_until_that_is_removed() {
    let world = World::new().await;
    world
        .install("db", product(&[], &[], FINE), json!({}))
        .await;
    world.phase("Installation", "db", "Succeeded").await;
    let note = |value| json!({"metadata": {"annotations": {IGNORE: value}}});
    world.patch("Installation", "db", note(Some("true"))).await;
    let expected = "\
Installation/db is Succeeded since TIME

Root cause
  Installation/db: it is Succeeded and has the annotation landscaper.gardener.cloud/ignore: Landform leaves it alone, whatever changes
  Ignored, since TIME, rule I1
  → remove the annotation; Landform goes on by itself then: kubectl annotate installation db -n default landscaper.gardener.cloud/ignore-
";
    world.says("Installation", "db", expected).await;
    world.patch("Installation", "db", note(None::<&str>)).await;
    let well = "Installation/db is Succeeded since TIME; nothing is wrong with it\n";
    world.says("Installation", "db", well).await;
}
