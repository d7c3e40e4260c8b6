//! What others change or take away below an installation is put right (I5b), and what a person made stays a person's (I40b).

use serde_json::{Value, json};

use crate::harness::{Landscape, OPERATION, product, text, wiring};
use crate::nested::sub;

const EXECUTION: &str = "Execution";
const NESTED: &str = "Installation";

/// A root with one item, and a nested installation that exports to it.
async fn root() -> (Landscape, String) {
    let land = Landscape::new().await;
    land.data("given", json!(1)).await;
    let mut blueprint = product("own", &["given"], &["out"]);
    blueprint["subinstallations"] = json!([sub(
        "leaf",
        product("show", &["given"], &["answer"]),
        wiring(&["given"], &["answer"]),
    )]);
    land.install("root", blueprint, wiring(&["given"], &["out"]))
        .await;
    land.phase("root", "Succeeded").await;
    land.quiet().await;
    let leaf = land.nested("root", "leaf").await;
    (land, leaf)
}

/// Everything that counts: specs, owners, labels and data, without versions, times and generations.
async fn content(land: &Landscape) -> Vec<Value> {
    let mut all = Vec::new();
    for kind in [NESTED, EXECUTION, "DeployItem", "DataObject"] {
        for object in land.list(kind).await {
            let metadata = &object["metadata"];
            let annotations = metadata["annotations"].as_object().into_iter().flatten();
            let annotations: Vec<_> = annotations
                .filter(|(key, _)| !key.ends_with("reconcile-time"))
                .collect();
            all.push(json!([
                kind,
                metadata["name"],
                metadata["labels"],
                metadata["ownerReferences"],
                annotations,
                object["spec"],
                object["data"],
                object["status"]["phase"],
            ]));
        }
    }
    all
}

#[tokio::test]
async fn i5b_what_others_change_below_an_installation_is_put_right() {
    let (mut land, leaf) = root().await;
    let well = content(&land).await;
    let exports: Vec<_> = land.list("DataObject").await;
    let of_execution = |name: &str| {
        let is_its = |found: &&Value| {
            found["metadata"]["ownerReferences"][0]["name"] == name
                && found["metadata"]["ownerReferences"][0]["kind"] == EXECUTION
        };
        let found = exports.iter().find(is_its).unwrap();
        text(&found["metadata"]["name"]).to_owned()
    };
    let collected = of_execution("root");
    let other = json!({"deployItems": [{"name": "own", "type": "test.dev/recorder", "config": {"imports": {"given": 55}}}]});
    let leaf = leaf.as_str();
    let changes = [
        (EXECUTION, "root", json!({"spec": other})),
        (EXECUTION, "root", json!({"spec": {"deployItems": []}})),
        (EXECUTION, leaf, json!({"spec": {"deployItems": []}})),
        (NESTED, leaf, json!({"spec": {"exports": null}})),
        (NESTED, leaf, json!({"metadata": {"ownerReferences": null}})),
        (
            NESTED,
            leaf,
            json!({"metadata": {"annotations": {"landscaper.gardener.cloud/subinstallation-name": null}, "ownerReferences": null}}),
        ),
        (
            EXECUTION,
            "root",
            json!({"metadata": {"ownerReferences": null}}),
        ),
        (
            "DataObject",
            collected.as_str(),
            json!({"data": {"own": {"value": 99}}}),
        ),
        ("DataObject", "out", json!({"data": 99})),
    ];
    for (kind, name, change) in &changes {
        land.patch(kind, name, change.clone()).await;
        land.quiet().await;
        if *change == json!({"metadata": {"ownerReferences": null}})
            || change["metadata"].is_object()
        {
            // Nothing tells the owner of it: the next look does.
            land.annotate(NESTED, "root", OPERATION, "reconcile").await;
            land.quiet().await;
        }
        assert_eq!(content(&land).await, well, "{kind} {name}: {change}");
    }
    // And when it happens while no process runs.
    for (kind, name, change) in &changes {
        land.stop().await;
        land.patch(kind, name, change.clone()).await;
        land.restart().await;
        land.quiet().await;
        if change["metadata"].is_object() {
            land.annotate(NESTED, "root", OPERATION, "reconcile").await;
            land.quiet().await;
        }
        assert_eq!(
            content(&land).await,
            well,
            "{kind} {name}, stopped: {change}"
        );
    }
    for (kind, name) in [
        ("DataObject", collected.as_str()),
        ("DataObject", "out"),
        (EXECUTION, "root"),
    ] {
        land.delete(kind, name).await;
        land.quiet().await;
        land.phase("root", "Succeeded").await;
        let out = land.get("DataObject", "out").await;
        assert_eq!(out["data"], "own", "{kind} {name}");
    }
    // Nothing of all this keeps it from going.
    land.patch(NESTED, leaf, json!({"metadata": {"ownerReferences": null}}))
        .await;
    land.delete(NESTED, "root").await;
    land.gone(NESTED, "root").await;
    for kind in [NESTED, EXECUTION, "DeployItem"] {
        assert!(land.names(kind).await.is_empty(), "{kind}");
    }
}

/// Labels and owner references, and what stands for labels in annotations.
fn nothing_said() -> Value {
    json!({"metadata": {
        "labels": null, "ownerReferences": null,
        "annotations": {"landscaper.gardener.cloud/subinstallation-name": null},
    }})
}

#[tokio::test]
async fn i5b_what_says_whose_an_object_is_is_put_right_at_once() {
    let (mut land, leaf) = root().await;
    let well = content(&land).await;
    let items = land.names("DeployItem").await;
    let mut all = vec![(EXECUTION, "root".to_owned())];
    all.push((EXECUTION, leaf.clone()));
    all.extend(items.iter().map(|item| ("DeployItem", item.clone())));
    let owners = || json!({"metadata": {"ownerReferences": null}});
    let labels = || json!({"metadata": {"labels": null}});
    for (kind, name) in &all {
        for change in [owners(), labels(), nothing_said()] {
            land.recorder.take();
            land.patch(kind, name, change.clone()).await;
            land.quiet().await;
            assert_eq!(content(&land).await, well, "{kind} {name}: {change}");
            assert!(land.recorder.take().is_empty(), "nothing is deployed again");
        }
        land.stop().await;
        land.patch(kind, name, nothing_said()).await;
        land.restart().await;
        land.quiet().await;
        assert_eq!(content(&land).await, well, "{kind} {name}, stopped");
    }
    // What is deleted later is noticed, however deep it is.
    for item in items {
        land.patch("DeployItem", &item, nothing_said()).await;
        land.quiet().await;
        land.delete("DeployItem", &item).await;
        land.until("DeployItem", &item, |object| {
            object["status"]["phase"] == "Succeeded"
                && object["metadata"]["deletionTimestamp"].is_null()
        })
        .await;
    }
    land.quiet().await;
    assert_eq!(content(&land).await, well);
}

#[tokio::test]
async fn i5b_an_item_whose_export_is_gone_is_asked_to_export_again() {
    let (land, _) = root().await;
    let items = land.list("DeployItem").await;
    let own = items.iter().find(|item| {
        item["metadata"]["labels"]["execution.landscaper.gardener.cloud/name"] == "own"
    });
    let secret = text(&own.unwrap()["status"]["exportRef"]["name"]).to_owned();
    land.delete("Secret", &secret).await;
    land.annotate(EXECUTION, "root", OPERATION, "reconcile")
        .await;
    land.until("Secret", &secret, |found| !found.is_null())
        .await;
    land.quiet().await;
    let found = land.phase("root", "Succeeded").await;
    assert!(found["status"]["lastError"].is_null(), "{found:#}");
}

#[tokio::test]
async fn i5b_an_export_that_others_edited_is_not_believed_when_it_is_collected_again() {
    let (land, _) = root().await;
    let well = content(&land).await;
    let items = land.list("DeployItem").await;
    let own = items.iter().find(|item| {
        item["metadata"]["labels"]["execution.landscaper.gardener.cloud/name"] == "own"
    });
    let secret = text(&own.unwrap()["status"]["exportRef"]["name"]).to_owned();
    let before = land.get("Secret", &secret).await["data"].clone();
    // {"value": 666}
    let edited = json!({"data": {"config": "eyJ2YWx1ZSI6IDY2Nn0="}});
    land.patch("Secret", &secret, edited).await;
    let exports = land.list("DataObject").await;
    let collected = exports.iter().find(|found| {
        found["metadata"]["ownerReferences"][0]["kind"] == EXECUTION
            && found["metadata"]["ownerReferences"][0]["name"] == "root"
    });
    let collected = text(&collected.unwrap()["metadata"]["name"]).to_owned();
    land.delete("DataObject", &collected).await;
    land.until("Secret", &secret, |found| found["data"] == before)
        .await;
    land.until("DataObject", &collected, |found| !found.is_null())
        .await;
    land.quiet().await;
    land.phase("root", "Succeeded").await;
    land.quiet().await;
    assert_eq!(content(&land).await, well);
}

#[tokio::test]
async fn i40b_a_newcomer_that_names_a_persons_object_fails_alone_and_can_go() {
    let land = Landscape::new().await;
    land.data("cfg", json!(5)).await;
    land.install("i", product("show", &["cfg"], &[]), wiring(&["cfg"], &[]))
        .await;
    land.phase("i", "Succeeded").await;
    land.install("c", product("make", &[], &["cfg"]), wiring(&[], &["cfg"]))
        .await;
    land.fails("c", &["cfg", "is not this installation's"])
        .await;
    land.patch("DataObject", "cfg", json!({"data": 6})).await;
    land.quiet().await;
    land.phase("i", "Succeeded").await;
    assert_eq!(land.config("i", "show").await["imports"], json!({"cfg": 6}));
    land.delete(NESTED, "c").await;
    land.gone(NESTED, "c").await;
    assert_eq!(land.get("DataObject", "cfg").await["data"], 6);
}

#[tokio::test]
async fn i40b_a_name_that_a_person_gives_up_is_taken_without_being_asked() {
    let land = Landscape::new().await;
    land.data("cfg", json!(5)).await;
    land.install("c", product("make", &[], &["cfg"]), wiring(&[], &["cfg"]))
        .await;
    land.fails("c", &["cfg", "is not this installation's: delete it"])
        .await;
    land.quiet().await;
    land.delete("DataObject", "cfg").await;
    land.phase("c", "Succeeded").await;
    assert_eq!(land.get("DataObject", "cfg").await["data"], "make");
}
