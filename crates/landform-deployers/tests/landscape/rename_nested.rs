//! Renamed roots in which others are nested, while all is well and while it is not (R15).

use std::sync::Arc;

use futures::StreamExt as _;
use kube::runtime::{WatchStreamExt as _, watcher};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::harness::{Landscape, data_import, spec, template, wiring};
use crate::nested::sub;
use crate::rename::rename;

/// One item that ends in the phase that it imports, and exports what it imports with its own letter.
fn link(letter: &str) -> Value {
    let items = format!(
        "deployItems:\n- name: {letter}\n  type: {{{{ .imports.kind }}}}\n  config: {{phase: {{{{ .imports.phase }}}}, export: {{value: {{{{ .imports.value }}}}{letter}}}}}\n"
    );
    json!({
        "imports": [
            data_import("value", json!({"type": "string"})),
            data_import("phase", json!({"type": "string"})),
            data_import("kind", json!({"type": "string"})),
        ],
        "exports": [data_import("value", json!({"type": "string"}))],
        "deployExecutions": template("items", &items),
        "exportExecutions": template("exports", &format!("exports: {{value: {{{{ .values.deployitems.{letter}.value }}}}}}")),
    })
}

/// Passes a value through two nested installations, the second of which imports from the first.
fn chain() -> Value {
    let wired = |from: &str, to: &str| {
        json!({
            "imports": {"data": [
                {"name": "value", "dataRef": from},
                {"name": "phase", "dataRef": "phase"}, {"name": "kind", "dataRef": "kind"},
            ]},
            "exports": {"data": [{"name": "value", "dataRef": to}]},
        })
    };
    json!({
        "imports": [
            data_import("value", json!({"type": "string"})),
            data_import("phase", json!({"type": "string", "enum": ["Succeeded", "Failed"]})),
            data_import("kind", json!({"type": "string"})),
        ],
        "exports": [data_import("value", json!({"type": "string"}))],
        "subinstallations": [
            sub("a", link("a"), wired("value", "between")),
            sub("b", link("b"), wired("between", "end")),
        ],
        "exportExecutions": template("exports", "exports: {value: {{ .values.dataobjects.end }}}"),
    })
}

fn outside(from: &str, to: &str) -> Value {
    json!({
        "imports": {"data": [
            {"name": "value", "dataRef": from},
            {"name": "phase", "dataRef": "phase"}, {"name": "kind", "dataRef": "kind"},
        ]},
        "exports": {"data": [{"name": "value", "dataRef": to}]},
    })
}

/// Given values, and chains of chains: the first takes `v0` and gives `v1`, and so on.
async fn chains(names: &[&str], kind: &str) -> Landscape {
    let land = Landscape::new().await;
    land.data("v0", json!("x")).await;
    land.data("phase", json!("Succeeded")).await;
    land.data("kind", json!(kind)).await;
    for (at, name) in names.iter().enumerate() {
        let wired = outside(&format!("v{at}"), &format!("v{}", at + 1));
        land.install(name, chain(), wired).await;
    }
    for name in names {
        land.phase(name, "Succeeded").await;
    }
    land.quiet().await;
    land.recorder.take();
    land
}

/// Phases that installations are seen in from now on.
fn watch_phases(land: &Landscape) -> Arc<Mutex<Vec<String>>> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (api, notes) = (land.api("Installation"), seen.clone());
    tokio::spawn(async move {
        let mut watch = std::pin::pin!(watcher(api, watcher::Config::default()).applied_objects());
        while let Some(Ok(object)) = watch.next().await {
            let phase = &object.data["status"]["phase"];
            let error = &object.data["status"]["lastError"]["message"];
            let name = object.metadata.name.unwrap_or_default();
            notes.lock().push(format!("{name} {phase} {error}"));
        }
    });
    seen
}

async fn settled(land: &Landscape, name: &str, phase: &str) -> Value {
    let found = land
        .until("Installation", name, |found| {
            let annotations = &found["metadata"]["annotations"];
            found["status"]["phase"] == phase && annotations["landform.dev/renamed-from"].is_null()
        })
        .await;
    land.quiet().await;
    found
}

async fn everything_goes(land: &Landscape, names: &[&str]) {
    for name in names {
        land.delete("Installation", name).await;
    }
    for name in names {
        land.gone("Installation", name).await;
    }
    land.quiet().await;
    for kind in ["Installation", "Execution", "DeployItem"] {
        land.left(kind, &[]).await;
    }
    land.left("DataObject", &["kind", "phase", "v0"]).await;
}

#[tokio::test]
async fn r15_a_root_with_a_chain_inside_is_renamed_again_and_again() {
    let land = chains(&["root"], "test.dev/recorder").await;
    land.install(
        "reader",
        crate::harness::product("read", &["v1"], &[]),
        wiring(&["v1"], &[]),
    )
    .await;
    land.phase("reader", "Succeeded").await;
    land.quiet().await;
    land.recorder.take();
    let phases = watch_phases(&land);
    let long = "x".repeat(253);
    let mut name = "root".to_owned();
    for to in ["top", &long, "root", "one", "two"] {
        rename(&land.client, "Installation", &name, to).await;
        name = to.to_owned();
        // The last two follow each other at once.
        if to != "one" {
            let found = settled(&land, to, "Succeeded").await;
            assert!(found["status"]["lastError"].is_null(), "{found}");
            assert_eq!(land.names("Execution").await.len(), 3);
            assert_eq!(land.get("DataObject", "v1").await["data"], "xab");
        }
    }
    assert_eq!(land.recorder.take(), [""; 0], "nothing is deployed again");
    let failed = |line: &&String| line.contains("Failed") || line.contains("no value");
    let phases = phases.lock().clone();
    assert_eq!(phases.iter().find(failed), None, "{phases:#?}");

    land.patch("DataObject", "v0", json!({"data": "y"})).await;
    land.until("DataObject", "v1", |data| data["data"] == "yab")
        .await;
    land.quiet().await;
    assert_eq!(
        land.config("reader", "read").await["imports"],
        json!({"v1": "yab"})
    );
    everything_goes(&land, &["reader", &name]).await;
}

#[tokio::test]
async fn r15_roots_that_import_from_each_other_are_renamed_together() {
    for restarts in [false, true] {
        let mut land = chains(&["a", "b", "c"], "test.dev/recorder").await;
        assert_eq!(land.get("DataObject", "v3").await["data"], "xababab");
        let phases = watch_phases(&land);
        if restarts {
            land.stop().await;
        }
        for (from, to) in [("b", "middle"), ("a", "b"), ("c", "a")] {
            rename(&land.client, "Installation", from, to).await;
        }
        if restarts {
            land.restart().await;
        }
        for name in ["b", "middle", "a"] {
            settled(&land, name, "Succeeded").await;
        }
        assert_eq!(land.recorder.take(), [""; 0], "nothing is deployed again");
        let failed = |line: &&String| line.contains("Failed") || line.contains("no value");
        let phases = phases.lock().clone();
        assert_eq!(phases.iter().find(failed), None, "{phases:#?}");
        land.patch("DataObject", "v0", json!({"data": "y"})).await;
        land.until("DataObject", "v3", |data| data["data"] == "yababab")
            .await;
        land.quiet().await;
        everything_goes(&land, &["b", "middle", "a"]).await;
    }
}

#[tokio::test]
async fn r15_a_root_is_renamed_while_it_is_failed_and_goes_on_when_it_is_corrected() {
    // Because of an item below, and because of an import that doesn't fit.
    for (phase, because) in [("Failed", "told to fail"), ("Never", "phase")] {
        let land = chains(&["root"], "landscaper.gardener.cloud/mock").await;
        land.patch("DataObject", "phase", json!({"data": phase}))
            .await;
        land.phase("root", "Failed").await;
        land.quiet().await;
        rename(&land.client, "Installation", "root", "top").await;
        settled(&land, "top", "Failed").await;
        let top = land.get("Installation", "top").await;
        let error = top["status"]["lastError"]["message"].to_string();
        assert!(error.contains(because), "{top:#}");
        land.patch("DataObject", "phase", json!({"data": "Succeeded"}))
            .await;
        land.patch("DataObject", "v0", json!({"data": "y"})).await;
        settled(&land, "top", "Succeeded").await;
        land.until("DataObject", "v1", |data| data["data"] == "yab")
            .await;
        everything_goes(&land, &["top"]).await;
    }
}

#[tokio::test]
async fn r15_a_failed_root_goes_under_its_new_name() {
    let land = chains(&["root"], "landscaper.gardener.cloud/mock").await;
    land.patch("DataObject", "phase", json!({"data": "Failed"}))
        .await;
    land.phase("root", "Failed").await;
    rename(&land.client, "Installation", "root", "top").await;
    everything_goes(&land, &["top"]).await;
}

#[tokio::test]
async fn i11b_one_that_imports_what_it_exports_fails_its_parent() {
    let land = Landscape::new().await;
    for name in ["v0", "phase", "kind"] {
        land.data(name, json!("Succeeded")).await;
    }
    let mut broken = chain();
    broken["subinstallations"][0]["exports"]["data"][0]["dataRef"] = json!("value");
    land.install("root", broken, outside("v0", "v1")).await;
    let root = land.phase("root", "Failed").await;
    let error = root["status"]["lastError"]["message"].to_string();
    assert!(error.contains("circle"), "{error}");
    land.patch(
        "DataObject",
        "kind",
        json!({"data": "landscaper.gardener.cloud/mock"}),
    )
    .await;
    let spec = spec(chain(), outside("v0", "v1"));
    land.patch("Installation", "root", json!({"spec": spec}))
        .await;
    land.phase("root", "Succeeded").await;
    everything_goes(&land, &["root"]).await;
}
