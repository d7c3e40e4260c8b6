//! Nested installations in a circle, as a watcher sees them: no phase that isn't so, not even for a moment (I11b, R7).

use std::collections::BTreeMap;

use futures::{StreamExt as _, TryStreamExt as _};
use kube::ResourceExt as _;
use kube::api::{WatchEvent, WatchParams};
use serde_json::{Value, json};

use crate::harness::{Landscape, data_import, product, spec, template, wiring};
use crate::nested::sub;

const NESTED: &str = "Installation";

/// The spec of a root in which `a` and `b` import from each other, or `a` from the root.
fn root(closed: bool) -> Value {
    let of_a = if closed { "z" } else { "given" };
    let blueprint = json!({
        "imports": [data_import("given", json!({}))],
        "exports": [data_import("out", json!({}))],
        "subinstallations": [
            sub("a", product("a", &[of_a], &["y"]), wiring(&[of_a], &["y"])),
            sub("b", product("b", &["y"], &["z"]), wiring(&["y"], &["z"])),
        ],
        "exportExecutions": template("exports", "exports: {out: {{ .values.dataobjects.z }}}"),
    });
    spec(blueprint, wiring(&["given"], &["out"]))
}

/// The phases that a watcher has seen since a revision, by the name of the installation.
async fn phases_since(land: &Landscape, revision: &str) -> BTreeMap<String, Vec<String>> {
    let api = land.api(NESTED);
    let now = land.list(NESTED).await;
    let last = now
        .iter()
        .map(|found| found["metadata"]["resourceVersion"].as_str().unwrap());
    let last: u64 = last.map(|text| text.parse().unwrap()).max().unwrap();
    let mut phases: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let watch = api.watch(&WatchParams::default(), revision).await.unwrap();
    let mut watch = watch.boxed();
    while let Some(event) = watch.try_next().await.unwrap() {
        let (WatchEvent::Added(object) | WatchEvent::Modified(object)) = event else {
            continue;
        };
        let phase = object.data["status"]["phase"].as_str().unwrap_or("none");
        let name = object.name_any();
        let name = name.split('-').next().unwrap().to_owned();
        let seen = phases.entry(name).or_default();
        if seen.last().is_none_or(|last| last != phase) {
            seen.push(phase.to_owned());
        }
        let version = object.resource_version().unwrap();
        if version.parse::<u64>().unwrap() >= last {
            break;
        }
    }
    phases
}

#[tokio::test]
async fn i11b_r7_those_in_a_new_circle_fail_once() {
    for _ in 0..5 {
        let land = Landscape::new().await;
        land.data("given", json!(1)).await;
        let before = land.revision().await;
        land.create(NESTED, "root", json!({"spec": root(true)}))
            .await;
        land.phase("root", "Failed").await;
        land.quiet().await;
        let phases = phases_since(&land, &before).await;
        for (name, seen) in &phases {
            let failed = seen.iter().position(|phase| phase == "Failed");
            assert_eq!(failed, Some(seen.len() - 1), "{name}: {seen:?}");
        }

        let before = land.revision().await;
        land.patch(NESTED, "root", json!({"spec": root(false)}))
            .await;
        land.phase("root", "Succeeded").await;
        land.quiet().await;
        let phases = phases_since(&land, &before).await;
        for (name, seen) in &phases {
            let begun = seen.iter().skip_while(|phase| *phase == "Failed");
            assert!(
                !begun.into_iter().any(|phase| phase == "Failed"),
                "{name}: {seen:?}"
            );
        }
    }
}
