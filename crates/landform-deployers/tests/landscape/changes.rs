//! Who runs when something changes, and who doesn't.

use serde_json::{Value, json};

use crate::harness::{Landscape, OPERATION, files, product, text, wiring};

/// One that imports one thing of each kind.
async fn importer() -> Landscape {
    let land = Landscape::new().await;
    land.data("number", json!(1)).await;
    land.target("place", json!({"at": "here"})).await;
    land.create("Secret", "access", json!({"stringData": {"token": "a"}}))
        .await;
    land.create("ConfigMap", "settings", json!({"data": {"colour": "red"}}))
        .await;
    let rest = json!({"imports": {
        "data": [
            {"name": "number", "dataRef": "number"},
            {"name": "token", "secretRef": {"name": "access", "key": "token"}},
            {"name": "settings", "configMapRef": {"name": "settings"}},
        ],
        "targets": [{"name": "place", "target": "place"}],
    }});
    let mut blueprint = product("show", &["number", "token", "settings"], &[]);
    let place = json!({"name": "place", "type": "target", "targetType": "test.dev/place"});
    blueprint["imports"].as_array_mut().unwrap().push(place);
    land.install("one", blueprint, rest).await;
    land.phase("one", "Succeeded").await;
    land.quiet().await;
    land
}

#[tokio::test]
async fn i13_each_kind_of_import_triggers_its_importer() {
    let land = importer().await;
    let changes = [
        (
            "DataObject",
            "number",
            json!({"data": 2}),
            "/number",
            json!(2),
        ),
        (
            "Secret",
            "access",
            json!({"stringData": {"token": "b"}}),
            "/token",
            json!("b"),
        ),
        (
            "ConfigMap",
            "settings",
            json!({"data": {"colour": "blue"}}),
            "/settings/colour",
            json!("blue"),
        ),
        (
            "Target",
            "place",
            json!({"spec": {"config": {"at": "there"}}}),
            "/place/spec/config/at",
            json!("there"),
        ),
    ];
    for (kind, name, patch, pointer, value) in changes {
        land.recorder.take();
        land.patch(kind, name, patch).await;
        land.quiet().await;
        land.phase("one", "Succeeded").await;
        let imports = land.config("one", "show").await["imports"].clone();
        assert_eq!(imports.pointer(pointer), Some(&value), "{kind}");
        assert_eq!(land.recorder.take(), ["deploy show"], "{kind}");
    }
}

#[tokio::test]
async fn i13_what_changes_nothing_that_is_imported_does_nothing() {
    let land = importer().await;
    land.recorder.take();
    let label = json!({"metadata": {"labels": {"seen": "yes"}}});
    let other_key = json!({"stringData": {"unused": "x"}});
    let changes = [
        ("DataObject", "number", label.clone()),
        ("Target", "place", label.clone()),
        ("ConfigMap", "settings", label.clone()),
        ("Secret", "access", other_key),
        ("Installation", "one", label),
    ];
    for (kind, name, patch) in changes {
        let before: u64 = land.revision().await.parse().unwrap();
        land.patch(kind, name, patch).await;
        land.quiet().await;
        let after: u64 = land.revision().await.parse().unwrap();
        assert_eq!(after - before, 1, "only the change of the {kind} itself");
    }
    assert!(land.recorder.journal().is_empty());
}

/// A chain of two and a nested one beside it.
async fn settled() -> Landscape {
    let land = Landscape::new().await;
    land.install("db", product("db", &[], &["host"]), wiring(&[], &["host"]))
        .await;
    land.install(
        "web",
        product("web", &["host"], &[]),
        wiring(&["host"], &[]),
    )
    .await;
    let inner = json!({
        "name": "inner", "blueprint": {"filesystem": files(product("inner", &["host"], &[]))},
        "imports": {"data": [{"name": "host", "dataRef": "host"}]},
    });
    let mut outer = product("outer", &["host"], &[]);
    outer["subinstallations"] = json!([inner]);
    land.install("outer", outer, wiring(&["host"], &[])).await;
    for name in ["db", "web", "outer"] {
        land.phase(name, "Succeeded").await;
    }
    land.quiet().await;
    land
}

#[tokio::test]
async fn a_restart_makes_not_one_write_when_all_has_succeeded() {
    let mut land = settled().await;
    land.recorder.take();
    let before = land.revision().await;
    land.restart().await;
    land.quiet().await;
    assert_eq!(land.revision().await, before);
    assert!(land.recorder.journal().is_empty());
    // The one that was started does work.
    land.annotate("Installation", "web", OPERATION, "reconcile")
        .await;
    land.phase("web", "Succeeded").await;
}

#[tokio::test]
async fn i4_operations_are_done_once_and_their_annotations_go() {
    let land = settled().await;
    land.recorder.take();
    land.annotate("Installation", "db", OPERATION, "reconcile")
        .await;
    land.phase("db", "Succeeded").await;
    land.quiet().await;
    assert!(land.recorder.take().is_empty(), "nothing has changed");
    land.annotate("Installation", "outer", OPERATION, "force-reconcile")
        .await;
    land.phase("outer", "Succeeded").await;
    land.quiet().await;
    let mut journal = land.recorder.take();
    journal.sort();
    assert_eq!(journal, ["deploy inner", "deploy outer"]);
    for kind in ["Installation", "Execution", "DeployItem"] {
        for object in land.list(kind).await {
            let annotations = &object["metadata"]["annotations"];
            assert!(annotations[OPERATION].is_null(), "{kind}: {annotations}");
            assert_eq!(object["status"]["phase"], "Succeeded");
        }
    }
}

#[tokio::test]
async fn i1_an_ignored_installation_is_left_alone_until_it_isnt() {
    let land = settled().await;
    land.recorder.take();
    land.annotate(
        "Installation",
        "web",
        "landscaper.gardener.cloud/ignore",
        "true",
    )
    .await;
    let mut changed = product("web", &["host"], &[]);
    changed["deployExecutions"] = crate::harness::template(
        "items",
        "deployItems: [{name: changed, type: test.dev/recorder}]",
    );
    let spec = json!({"spec": {"blueprint": {"inline": {"filesystem": files(changed)}}}});
    land.patch("Installation", "web", spec).await;
    land.quiet().await;
    assert!(land.recorder.journal().is_empty());
    let unignored =
        json!({"metadata": {"annotations": {"landscaper.gardener.cloud/ignore": null}}});
    land.patch("Installation", "web", unignored).await;
    land.phase("web", "Succeeded").await;
    land.quiet().await;
    let mut journal = land.recorder.take();
    journal.sort();
    assert_eq!(journal, ["deploy changed", "remove web"]);
}

#[tokio::test]
async fn e8_an_item_that_fails_is_told_at_the_root_and_the_fix_reaches_it() {
    let land = Landscape::new().await;
    let item = |phase: &str| {
        let text = format!(
            "deployItems: [{{name: it, type: landscaper.gardener.cloud/mock, config: {{phase: {phase}}}}}]"
        );
        let inner = json!({"deployExecutions": crate::harness::template("items", &text)});
        json!({"subinstallations": [{"name": "inner", "blueprint": {"filesystem": files(inner)}}]})
    };
    land.install("root", item("Failed"), json!({})).await;
    let failed = land.phase("root", "Failed").await;
    let message = text(&failed["status"]["lastError"]["message"]);
    assert!(message.contains("told to fail"), "{message}");
    let fixed = crate::harness::spec(item("Succeeded"), json!({}));
    land.patch("Installation", "root", json!({"spec": fixed}))
        .await;
    let right = land.phase("root", "Succeeded").await;
    assert_eq!(right["status"]["lastError"], Value::Null);
}
