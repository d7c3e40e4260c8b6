//! What waits for what, and what a delete would do (G14, G15).

use http::Method;
use serde_json::{Value, json};

use crate::harness::World;

const VIEW: &str = "/apis/landform.dev/v1alpha1/deletion";

#[tokio::test]
async fn g15_a_deletion_names_its_blocker() {
    let mut world = World::start().await;
    world.make("a", &[]).await;
    world.make("b", &["a"]).await;
    world
        .make_held("c", &["b"], &["backup.example.com/hold"])
        .await;
    world.delete("a", None).await;
    world.left(&["a*", "b*", "c*"]).await;
    let all = world.read(VIEW).await;
    assert_eq!(all["waiting"], 3, "{all}");
    let one = world
        .read(&format!("{VIEW}/core/ConfigMap/default/a"))
        .await;
    assert_eq!(one["dependents"]["first"], json!(["ConfigMap default/b"]));
    let message = one["message"].as_str().unwrap();
    assert!(message.contains("waits for 1 dependent"), "{message}");
    assert!(
        message.contains("ConfigMap default/c is held by backup.example.com/hold"),
        "{message}"
    );
    assert!(
        message.contains("the controller of backup.example.com"),
        "{message}"
    );
    let last = world
        .read(&format!("{VIEW}/core/ConfigMap/default/c"))
        .await;
    assert_eq!(last["rule"], "G15");
    world.free("c", "backup.example.com/hold").await;
    world.left(&[]).await;
    assert_eq!(world.read(VIEW).await["waiting"], 0);
    assert_eq!(
        world
            .get(&format!("{VIEW}/core/ConfigMap/default/a"))
            .await
            .0,
        404
    );
}

#[tokio::test]
async fn g15_what_is_not_being_deleted_waits_for_nothing() {
    let mut world = World::start().await;
    world.make_held("a", &[], &["x.io/hold"]).await;
    world.barrier().await;
    let one = world
        .read(&format!("{VIEW}/core/ConfigMap/default/a"))
        .await;
    assert_eq!(one["message"], "ConfigMap default/a is not being deleted");
    assert_eq!(world.read(VIEW).await["items"], json!([]));
}

#[tokio::test]
async fn a_namespace_that_ends_shows_what_is_left_in_it() {
    let mut world = World::start().await;
    world.keep_house();
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}});
    world
        .send(Method::POST, "/api/v1/namespaces", &namespace)
        .await;
    // It leaves the namespace last, if it is there before the deletion.
    let account = "/api/v1/namespaces/team/serviceaccounts/default";
    world
        .until("the namespace's account", async || {
            (world.get(account).await.0 == 200).then_some(())
        })
        .await;
    let held = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "held", "finalizers": ["x.io/hold"]},
    });
    let path = "/api/v1/namespaces/team/configmaps";
    world.send(Method::POST, path, &held).await;
    world
        .send(Method::DELETE, "/api/v1/namespaces/team", &Value::Null)
        .await;
    let view = format!("{VIEW}/core/Namespace/-/team");
    let one_of = |resource| json!({"count": 1, "resource": resource});
    let content = json!([one_of("configmaps"), one_of("serviceaccounts")]);
    world
        .until("what is left in the namespace", async || {
            (world.get(&view).await.1["namespaceContent"] == content).then_some(())
        })
        .await;
    // The view is the collector's: it has to have seen the mark.
    world.barrier().await;
    let one = world.read(&view).await;
    let message = "it waits for what is in it: 1 configmaps, 1 serviceaccounts; ConfigMap team/held is held by x.io/hold, which the controller of x.io has to remove";
    assert_eq!(one["message"], message);
    assert_eq!(one["namespaceContent"], content);
}

fn lines(preview: &Value) -> Vec<String> {
    let line = |line: &Value| {
        let name = line["object"]["name"].as_str().unwrap();
        let depth = usize::try_from(line["depth"].as_u64().unwrap()).unwrap();
        format!(
            "{}{name} {}",
            "  ".repeat(depth),
            line["fate"].as_str().unwrap()
        )
    };
    preview["tree"]
        .as_array()
        .unwrap()
        .iter()
        .map(line)
        .collect()
}

#[tokio::test]
async fn g14_the_preview_shows_what_goes_what_is_shared_and_what_will_hold_it_up() {
    let mut world = World::start().await;
    world.make("a", &[]).await;
    world.make("other", &[]).await;
    world.make_held("b", &["a"], &["x.io/hold"]).await;
    world.make("c", &["b"]).await;
    world.make("shared", &["a", "other"]).await;
    world.barrier().await;
    let read = async |policy: &str| {
        world
            .read(&format!(
                "{VIEW}/preview/core/ConfigMap/default/a?policy={policy}"
            ))
            .await
    };
    let cascade = read("cascade").await;
    assert_eq!(
        lines(&cascade),
        ["a goes", "  b goes", "    c goes", "  shared goes"]
    );
    assert_eq!(
        cascade["goes"],
        json!({"count": 4, "byKind": {"configmaps": 4}})
    );
    assert_eq!(
        cascade["shared"][0]["otherOwners"],
        json!(["ConfigMap default/other"])
    );
    let blocker = cascade["blockers"][0]["message"].as_str().unwrap();
    assert!(
        blocker.contains("ConfigMap default/b will stay until x.io/hold"),
        "{blocker}"
    );
    for policy in ["background", "foreground"] {
        let preview = read(policy).await;
        let expected = [
            "a goes",
            "  shared losesReference",
            "  b goes",
            "    c goes",
        ];
        assert_eq!(lines(&preview), expected, "{policy}");
    }
    let orphan = read("orphan").await;
    assert_eq!(
        lines(&orphan),
        ["a goes", "  shared losesReference", "  b losesReference"]
    );
    assert_eq!(world.names().await.len(), 5, "a preview deletes nothing");
    let (code, _) = world
        .get(&format!("{VIEW}/preview/core/ConfigMap/default/a?policy=x"))
        .await;
    assert_eq!(code, 400);
}

#[tokio::test]
async fn the_metrics_count_what_went_and_show_what_waits() {
    let mut world = World::start().await;
    world.make("a", &[]).await;
    world.make("b", &["a"]).await;
    world.make_held("c", &["b"], &["x.io/hold"]).await;
    world.delete("a", None).await;
    world.left(&["a*", "b*", "c*"]).await;
    let text = world.text("/metrics").await;
    for line in [
        "landform_collector_waiting 3",
        "landform_collector_graph_edges 2",
        "landform_collector_queue_length 0",
        "landform_collector_marked_total 2",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} in {text}");
    }
    assert!(text.contains("landform_collector_oldest_waiting_seconds "));
}
