//! Renamed installations: what was deployed stays, and everything that leads to them by name follows (R15).

use kube::Client;
use serde_json::{Value, json};

use crate::harness::{Landscape, product, wiring};
use crate::nested::three_levels;

pub(crate) async fn rename(client: &Client, kind: &str, from: &str, to: &str) -> Value {
    let plural = format!("{}s", kind.to_lowercase());
    let path = format!(
        "/apis/landscaper.gardener.cloud/v1alpha1/namespaces/default/{plural}/{from}/rename"
    );
    let body = json!({"kind": "Rename", "name": to}).to_string();
    let request = http::Request::post(path).body(body.into_bytes()).unwrap();
    client.request(request).await.unwrap()
}

fn uids(objects: &[Value]) -> Vec<String> {
    let mut uids: Vec<_> = objects
        .iter()
        .map(|object| object["metadata"]["uid"].as_str().unwrap().to_owned())
        .collect();
    uids.sort();
    uids
}

#[tokio::test]
async fn r15_a_renamed_installation_keeps_all_that_is_below_it() {
    let mut land = three_levels().await;
    land.quiet().await;
    land.recorder.take();
    let mut before = Vec::new();
    for kind in ["Installation", "Execution", "DeployItem"] {
        before.push(uids(&land.list(kind).await));
    }
    let data_objects = land.names("DataObject").await.len();
    rename(&land.client, "Installation", "root", "top").await;
    // Also by an engine that has not seen it happen.
    land.restart().await;
    let top = land.phase("top", "Succeeded").await;
    land.quiet().await;

    let mut after = Vec::new();
    for kind in ["Installation", "Execution", "DeployItem"] {
        after.push(uids(&land.list(kind).await));
    }
    assert_eq!(before, after);
    assert_eq!(
        land.recorder.take(),
        [""; 0],
        "nothing was deployed or removed"
    );
    let annotations = &top["metadata"]["annotations"];
    let after = land.get("Installation", "top").await;
    assert!(
        after["metadata"]["annotations"]["landform.dev/renamed-from"].is_null(),
        "{annotations}"
    );
    let middle = land.nested("top", "middle").await;
    let nested = land.get("Installation", &middle).await;
    let parent = &nested["metadata"]["labels"]["landscaper.gardener.cloud/encompassed-by"];
    assert_eq!(parent, "top");
    assert_eq!(
        land.names("DataObject").await.len(),
        data_objects,
        "nothing is left behind"
    );

    // It goes on as if it had always had that name.
    land.patch("DataObject", "number", json!({"data": 30}))
        .await;
    land.until("DataObject", "result", |object| {
        object["data"] == "answer 61!"
    })
    .await;
    land.phase("top", "Succeeded").await;
    land.delete("Installation", "top").await;
    land.gone("Installation", "top").await;
    land.quiet().await;
    assert_eq!(land.names("DeployItem").await, [""; 0]);
    assert_eq!(land.names("DataObject").await, ["number"]);
}

#[tokio::test]
async fn r15_an_execution_follows_its_installation_and_importers_go_on() {
    let land = Landscape::new().await;
    land.install("a", product("a", &[], &["x"]), wiring(&[], &["x"]))
        .await;
    land.install("b", product("b", &["x"], &[]), wiring(&["x"], &[]))
        .await;
    land.phase("b", "Succeeded").await;
    land.quiet().await;
    land.recorder.take();
    let item = land.list("DeployItem").await;
    rename(&land.client, "Installation", "a", "c").await;
    land.phase("c", "Succeeded").await;
    land.quiet().await;
    land.phase("b", "Succeeded").await;

    assert_eq!(land.names("Execution").await, ["b", "c"]);
    assert_eq!(uids(&land.list("DeployItem").await), uids(&item));
    let managed = |items: Vec<Value>| {
        let label = "execution.landscaper.gardener.cloud/managed-by";
        let mut names: Vec<_> = items
            .iter()
            .map(|item| {
                item["metadata"]["labels"][label]
                    .as_str()
                    .unwrap()
                    .to_owned()
            })
            .collect();
        names.sort();
        names
    };
    assert_eq!(managed(land.list("DeployItem").await), ["b", "c"]);
    let x = land.get("DataObject", "x").await;
    assert_eq!(x["metadata"]["ownerReferences"][0]["name"], "c");
    assert_eq!(
        x["metadata"]["labels"]["data.landscaper.gardener.cloud/source"],
        "Inst.c"
    );
    assert_eq!(
        land.recorder.take(),
        [""; 0],
        "nothing was deployed or removed"
    );

    // A new one may have the former name.
    land.install("a", product("a", &[], &["y"]), wiring(&[], &["y"]))
        .await;
    land.phase("a", "Succeeded").await;
    assert_eq!(land.names("Execution").await, ["a", "b", "c"]);
}

#[tokio::test]
async fn r15b_installations_that_change_names_take_their_executions_along() {
    // With an engine that sees each rename, and with one that sees only what they led to.
    for restarts in [false, true] {
        let mut land = Landscape::new().await;
        for name in ["a", "b", "c"] {
            land.install(name, product(name, &[], &[name]), wiring(&[], &[name]))
                .await;
            land.phase(name, "Succeeded").await;
        }
        land.quiet().await;
        land.recorder.take();
        let items = uids(&land.list("DeployItem").await);
        let mut owners = std::collections::BTreeMap::new();
        for name in ["a", "b", "c"] {
            let found = land.get("Execution", name).await;
            let owner = land.get("Installation", name).await;
            owners.insert(
                owner["metadata"]["uid"].to_string(),
                found["metadata"]["uid"].clone(),
            );
        }
        if restarts {
            land.stop().await;
        }
        // A circle, one request after the other, as projects rename.
        for (from, to) in [("a", "parked"), ("c", "a"), ("b", "c"), ("parked", "b")] {
            rename(&land.client, "Installation", from, to).await;
        }
        if restarts {
            land.restart().await;
        }
        for name in ["a", "b", "c"] {
            land.until("Installation", name, |found| {
                let annotations = &found["metadata"]["annotations"];
                found["status"]["phase"] == "Succeeded"
                    && annotations["landform.dev/renamed-from"].is_null()
            })
            .await;
        }
        land.quiet().await;
        assert_eq!(land.names("Execution").await, ["a", "b", "c"]);
        for name in ["a", "b", "c"] {
            let execution = land.get("Execution", name).await;
            let owner = land.get("Installation", name).await;
            let expected = &owners[&owner["metadata"]["uid"].to_string()];
            assert_eq!(execution["metadata"]["uid"], *expected, "{name}");
        }
        assert_eq!(uids(&land.list("DeployItem").await), items);
        assert_eq!(land.recorder.take(), [""; 0], "nothing is deployed again");
    }
}
