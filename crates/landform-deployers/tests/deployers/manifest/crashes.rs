//! Landform ends after each request in turn; what comes after a restart is always the same.

use futures::future::join_all;
use serde_json::{Value, json};

use super::applies::everything;
use super::{Both, deployers, map, spec};

/// What is at the target, without what differs from time to time.
async fn state(both: &Both) -> Value {
    let mut all = Vec::new();
    let kinds = [
        ("", "ConfigMap"),
        ("", "Namespace"),
        ("rbac.authorization.k8s.io", "ClusterRole"),
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
    ];
    for (group, kind) in kinds {
        let api = both.target.api(group, kind, None);
        for object in api.list(&Default::default()).await.unwrap() {
            let metadata = object.metadata;
            all.push(json!([
                kind,
                metadata.name,
                metadata.labels,
                object.data.get("data")
            ]));
        }
    }
    Value::Array(all)
}

/// Another state that `everything` leads to: one object changed, one gone, one new.
fn changed() -> Value {
    let mut config = everything();
    let manifests = config["manifests"].as_array_mut().unwrap();
    manifests[1]["manifest"]["data"] = json!({"a": "2"});
    manifests.remove(2);
    manifests.push(json!({"manifest": map("new", json!({"x": "1"}))}));
    config
}

/// How a story ends.
#[derive(Debug, PartialEq)]
struct End {
    deployed: Value,
    recorded: usize,
    removed: Value,
}

/// Deploys, changes and removes an item; the target is lost after so many requests of one of the steps, and
/// Landform starts anew before it is back. Whether it was lost at all.
async fn story(step: usize, cut_after: Option<usize>) -> (End, bool) {
    let mut both = Both::new().await;
    let mut was_cut = false;
    let mut end = End {
        deployed: Value::Null,
        recorded: 0,
        removed: Value::Null,
    };
    for number in 0..3 {
        let cut_after = cut_after.filter(|_| number == step);
        if let Some(requests) = cut_after {
            both.target.cut_after(both.target.requests() + requests);
        }
        match number {
            0 => both.world.hand_out("web", spec(&everything())).await,
            1 => {
                both.world
                    .patch("web", json!({"spec": {"config": changed()}}))
                    .await;
            }
            _ => both.world.delete("web").await,
        }
        if cut_after.is_some() {
            // It ends well, or with the error that the target is lost.
            let item = both.world.items();
            let ended = kube::runtime::wait::await_condition(
                item,
                "web",
                |item: Option<&kube::core::DynamicObject>| {
                    item.is_none_or(|item| {
                        let status = &item.data["status"];
                        status["lastError"].is_object()
                            || (status["phase"] == "Succeeded"
                                && number < 2
                                && status["observedGeneration"].as_i64()
                                    == item.metadata.generation)
                    })
                },
            );
            let ended = ended.await.unwrap();
            was_cut = ended.is_some_and(|item| item.data["status"]["lastError"].is_object());
            both.world.restart(deployers()).await;
            both.target.mend();
        }
        if number == 2 {
            both.world.until_gone("web").await;
            end.removed = state(&both).await;
            continue;
        }
        let item = both.world.until_phase("web", "Succeeded").await;
        end.deployed = state(&both).await;
        let resources = item.data["status"]["providerStatus"]["managedResources"].clone();
        let resources = resources.as_array().unwrap().iter();
        end.recorded = resources
            .filter(|entry| entry["resource"]["uid"].is_string())
            .count();
    }
    (end, was_cut)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_after_any_request_leads_to_the_same_end() {
    let (expected, _) = story(9, None).await;
    assert_eq!(expected.recorded, 5);
    for step in 0..3 {
        let (mut first, mut cuts) = (0, 0);
        loop {
            // Some at a time: each of them starts two servers.
            let stories = (first..first + 6).map(|requests| story(step, Some(requests)));
            let ends = join_all(stories).await;
            for (index, (end, _)) in ends.iter().enumerate() {
                assert_eq!(
                    *end,
                    expected,
                    "step {step}, lost after {} requests",
                    first + index
                );
            }
            cuts += ends.iter().filter(|(_, was_cut)| *was_cut).count();
            if ends.iter().any(|(_, was_cut)| !was_cut) {
                break;
            }
            first += 6;
        }
        assert!(cuts >= 10, "step {step} was disturbed only {cuts} times");
    }
}
