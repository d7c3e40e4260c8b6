//! A store that is full of what installations made: nothing goes round in circles, and they can be deleted.

use kube::api::PostParams;
use serde_json::{Value, json};

use crate::harness::{Landscape, spec, template, text};

const MIB: u64 = 1 << 20;
const ROOTS: usize = 8;

/// Some items with a large configuration, or a large state of the template.
fn large(state: bool) -> Value {
    let items = if state {
        "state: {a: {{ repeat 500000 \"a\" | quote }}}\ndeployItems: [{name: a, type: test.dev/recorder, config: {}}]\n"
    } else {
        ITEMS
    };
    json!({"deployExecutions": template("items", items)})
}

const ITEMS: &str = "deployItems:\n{{- range $i := until 10 }}\n- {name: \"i{{ $i }}\", type: test.dev/recorder, \
                 config: {given: {{ repeat 30000 \"a\" | quote }}}}\n{{- end }}\n";

/// Waits until one of the objects tells that there is no room.
async fn told(land: &Landscape) {
    let told = async {
        loop {
            for kind in ["Installation", "Execution"] {
                let all = land.list(kind).await;
                let full = |object: &Value| {
                    let beside = &object["metadata"]["annotations"]["landform.dev/error"];
                    let texts = [&object["status"]["lastError"]["message"], beside];
                    texts
                        .iter()
                        .any(|told| text(told).contains("the store is full"))
                };
                if all.iter().any(full) {
                    return;
                }
            }
            land.active().await;
        }
    };
    let told = tokio::time::timeout(std::time::Duration::from_secs(20), told).await;
    if told.is_err() {
        let all = [
            land.list("Installation").await,
            land.list("Execution").await,
        ];
        let all = all.iter().flatten();
        let all: Vec<_> = all
            .map(|object| object.to_string().replace("aa", ""))
            .collect();
        panic!("the store is never full: {all:#?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c6_installations_that_filled_the_store_rest_and_can_be_deleted() {
    for state in [false, true] {
        fill_and_delete(large(state)).await;
    }
}

async fn fill_and_delete(large: Value) {
    let land = Landscape::with_room(4 * MIB).await;
    let spec = spec(large.clone(), json!({}));
    for number in 0..ROOTS {
        let root = json!({
            "apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Installation",
            "metadata": {"name": format!("root{number}")}, "spec": spec,
        });
        let root = serde_json::from_value(root).unwrap();
        // The last ones may find no room themselves.
        let api = land.api("Installation");
        drop(api.create(&PostParams::default(), &root).await);
    }
    told(&land).await;
    land.rests().await;
    let before: u64 = land.revision().await.parse().unwrap();
    let roots = land.names("Installation").await;
    assert!(roots.len() > 3, "{roots:?}");
    for root in &roots {
        land.delete("Installation", root).await;
    }
    for kind in ["Installation", "Execution", "DeployItem"] {
        land.left(kind, &[]).await;
    }
    let after: u64 = land.revision().await.parse().unwrap();
    assert!(after - before < 3_000, "{} writes", after - before);
    // There is room again.
    land.install("again", large, json!({})).await;
    land.phase("again", "Succeeded").await;
}
