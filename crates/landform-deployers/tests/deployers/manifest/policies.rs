//! What each policy does with an object, and objects of others.

use serde_json::json;

use super::{Both, map, maps, message, with_policy};

#[tokio::test]
async fn somebody_elses_object_is_not_taken_over_and_nothing_is_written() {
    for policy in ["manage", "keep", "immutable"] {
        let both = Both::new().await;
        both.target.make_map("a", json!({"theirs": "1"})).await;
        let mut config = with_policy(policy, json!({"x": "1"}));
        let other = json!({"manifest": map("b", json!({}))});
        config["manifests"].as_array_mut().unwrap().insert(0, other);
        let item = both.deploy("web", config, "Failed").await;
        let text = message(&item);
        assert!(text.contains("ConfigMap default/a"), "{text}");
        assert!(text.contains("landform.dev/adopt"), "{text}");
        assert_eq!(both.target.writes(), [""; 0]);
        both.remove("web").await;
        assert_eq!(both.target.map("a").await, Some(json!({"theirs": "1"})));
    }
}

#[tokio::test]
async fn an_object_of_another_item_is_somebody_elses() {
    let both = Both::new().await;
    both.deploy("one", maps(&[("a", json!({"x": "1"}))]), "Succeeded")
        .await;
    let item = both
        .deploy("two", maps(&[("a", json!({"x": "2"}))]), "Failed")
        .await;
    assert!(
        message(&item).contains("a deploy item called one"),
        "{}",
        message(&item)
    );
    both.remove("two").await;
    assert_eq!(both.target.map("a").await, Some(json!({"x": "1"})));
}

#[tokio::test]
async fn the_annotation_adopt_takes_an_object_over() {
    let both = Both::new().await;
    both.target.make_map("a", json!({"theirs": "1"})).await;
    let mut config = with_policy("manage", json!({"x": "1"}));
    config["manifests"][0]["manifest"]["metadata"]["annotations"] =
        json!({"landform.dev/adopt": "true"});
    both.deploy("web", config, "Succeeded").await;
    assert_eq!(
        both.target.map("a").await,
        Some(json!({"theirs": "1", "x": "1"}))
    );
    both.remove("web").await;
    assert_eq!(both.target.map("a").await, None);
}

#[tokio::test]
async fn fallback_looks_at_the_live_object() {
    let both = Both::new().await;
    both.target.make_map("a", json!({"theirs": "1"})).await;
    // The manifest claims to be the item's; that says nothing about the object that is there.
    let mut config = with_policy("fallback", json!({"x": "1"}));
    config["manifests"][0]["manifest"]["metadata"]["labels"] =
        json!({"manifest.deployer.landscaper.gardener.cloud/deployitem": "web"});
    let item = both.deploy("web", config.clone(), "Succeeded").await;
    assert_eq!(both.target.map("a").await, Some(json!({"theirs": "1"})));
    let resources = &item.data["status"]["providerStatus"]["managedResources"];
    assert_eq!(*resources, json!([]));
    // When it goes, ours comes, and goes with the item.
    both.target.delete_map("a").await;
    both.again("web", "Succeeded").await;
    assert_eq!(both.target.map("a").await, Some(json!({"x": "1"})));
    config["manifests"][0]["manifest"]["data"] = json!({"x": "2"});
    both.change("web", config, "Succeeded").await;
    assert_eq!(both.target.map("a").await, Some(json!({"x": "2"})));
    both.remove("web").await;
    assert_eq!(both.target.map("a").await, None);
}

#[tokio::test]
async fn keep_updates_and_never_deletes() {
    let both = Both::new().await;
    both.deploy("web", with_policy("keep", json!({"x": "1"})), "Succeeded")
        .await;
    both.change("web", with_policy("keep", json!({"x": "2"})), "Succeeded")
        .await;
    assert_eq!(both.target.map("a").await, Some(json!({"x": "2"})));
    both.change("web", maps(&[]), "Succeeded").await;
    assert_eq!(both.target.map("a").await, Some(json!({"x": "2"})));
    both.deploy("two", with_policy("keep", json!({})), "Failed")
        .await;
    both.remove("web").await;
    assert_eq!(both.target.map("a").await, Some(json!({"x": "2"})));
}

#[tokio::test]
async fn immutable_creates_and_deletes_and_never_updates() {
    let both = Both::new().await;
    both.deploy(
        "web",
        with_policy("immutable", json!({"x": "1"})),
        "Succeeded",
    )
    .await;
    both.change(
        "web",
        with_policy("immutable", json!({"x": "2"})),
        "Succeeded",
    )
    .await;
    assert_eq!(both.target.map("a").await, Some(json!({"x": "1"})));
    both.remove("web").await;
    assert_eq!(both.target.map("a").await, None);
}

#[tokio::test]
async fn ignore_does_nothing_and_lets_go_of_what_was_managed() {
    let both = Both::new().await;
    both.deploy("web", with_policy("ignore", json!({"x": "1"})), "Succeeded")
        .await;
    assert_eq!(both.target.map("a").await, None);
    both.change("web", with_policy("manage", json!({"x": "1"})), "Succeeded")
        .await;
    both.change("web", with_policy("ignore", json!({"x": "2"})), "Succeeded")
        .await;
    assert_eq!(both.target.map("a").await, Some(json!({"x": "1"})));
    both.remove("web").await;
    assert_eq!(both.target.map("a").await, Some(json!({"x": "1"})));
}

#[tokio::test]
async fn an_object_that_was_replaced_by_somebody_is_not_deleted() {
    let both = Both::new().await;
    both.deploy(
        "web",
        maps(&[("a", json!({})), ("b", json!({}))]),
        "Succeeded",
    )
    .await;
    both.target.delete_map("a").await;
    both.target.make_map("a", json!({"theirs": "1"})).await;
    both.remove("web").await;
    assert_eq!(both.target.map("a").await, Some(json!({"theirs": "1"})));
    assert_eq!(both.target.map("b").await, None);
}
