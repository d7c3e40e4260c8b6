//! Watches: exact, ordered, resumable (C5); bookmarks, initial events, selectors, slow clients.

use std::time::Duration;

use landform_apiserver::Config;
use landform_store::Store as _;
use serde_json::json;

use crate::harness::{Api, MAPS, map};

#[tokio::test]
async fn c5_a_watch_delivers_every_change_once_in_order() {
    let api = Api::without_background(Config::default()).await;
    let start = api.get(MAPS).await.ok()["metadata"]["resourceVersion"].clone();
    let mut watch = api
        .watch(&format!(
            "{MAPS}?resourceVersion={}",
            start.as_str().unwrap()
        ))
        .await;
    api.post(MAPS, map("a")).await.ok();
    for n in 0..20 {
        api.patch(
            &format!("{MAPS}/a"),
            "merge",
            json!({"data": {"n": n.to_string()}}),
        )
        .await
        .ok();
    }
    api.delete(&format!("{MAPS}/a?propagationPolicy=Background"))
        .await
        .ok();
    assert_eq!(watch.next_name().await, "ADDED a");
    let mut last = 0;
    for n in 0..20 {
        let (type_, object) = watch.next().await.unwrap();
        assert_eq!(
            (type_.as_str(), &object["data"]["n"]),
            ("MODIFIED", &json!(n.to_string()))
        );
        let version: u64 = object["metadata"]["resourceVersion"]
            .as_str()
            .unwrap()
            .parse()
            .unwrap();
        assert!(version > last);
        last = version;
    }
    assert_eq!(watch.next_name().await, "DELETED a");
}

#[tokio::test]
async fn c5_a_watch_resumes_from_any_version_in_the_history() {
    let api = Api::without_background(Config::default()).await;
    let mut versions = Vec::new();
    for n in 0..10 {
        let made = api.post(MAPS, map(&format!("m{n}"))).await.ok();
        versions.push(
            made["metadata"]["resourceVersion"]
                .as_str()
                .unwrap()
                .to_owned(),
        );
    }
    for (n, version) in versions.iter().enumerate().take(9) {
        let mut watch = api
            .watch(&format!("{MAPS}?resourceVersion={version}"))
            .await;
        for next in n + 1..10 {
            assert_eq!(watch.next_name().await, format!("ADDED m{next}"));
        }
    }
}

#[tokio::test]
async fn c5_a_version_before_the_history_gets_410() {
    let api = Api::without_background(Config::default()).await;
    let old = api.post(MAPS, map("a")).await.ok()["metadata"]["resourceVersion"].clone();
    api.post(MAPS, map("b")).await.ok();
    api.post(MAPS, map("c")).await.ok();
    api.store.compact(api.store.revision()).await.unwrap();
    let old = old.as_str().unwrap();
    // In the stream, as Kubernetes does: kube-rs would ask for the same version for ever otherwise.
    let mut watch = api.watch(&format!("{MAPS}?resourceVersion={old}")).await;
    let (type_, object) = watch.next().await.unwrap();
    assert_eq!(
        (
            watch.code,
            type_.as_str(),
            &object["code"],
            &object["reason"]
        ),
        (200, "ERROR", &json!(410), &json!("Expired"))
    );
    assert_eq!(watch.next().await, None);
    let answer = api
        .get(&format!(
            "{MAPS}?resourceVersion={old}&resourceVersionMatch=Exact"
        ))
        .await;
    assert_eq!((answer.failed().0, answer.failed().1), (410, "Expired"));
}

#[tokio::test]
async fn c5_a_watcher_that_falls_out_of_the_history_is_told_so_and_blocks_nobody() {
    let api = Api::without_background(Config::default()).await;
    let start = api.store.revision();
    let mut slow = api.watch(&format!("{MAPS}?resourceVersion={start}")).await;
    // It reads nothing while others write.
    for n in 0..50 {
        api.post(MAPS, map(&format!("m{n}"))).await.ok();
    }
    api.store.compact(api.store.revision()).await.unwrap();
    let (type_, object) = slow.next().await.unwrap();
    assert_eq!(
        (type_.as_str(), &object["code"], &object["reason"]),
        ("ERROR", &json!(410), &json!("Expired"))
    );
    assert_eq!(slow.next().await, None);
}

#[tokio::test]
async fn without_a_version_a_watch_begins_with_what_is_there() {
    let api = Api::without_background(Config::default()).await;
    api.post(MAPS, map("a")).await.ok();
    for version in ["", "&resourceVersion=0"] {
        let mut watch = api.watch(&format!("{MAPS}?x=y{version}")).await;
        assert_eq!(watch.next_name().await, "ADDED a");
    }
}

#[tokio::test]
async fn initial_events_end_with_a_marked_bookmark() {
    let api = Api::without_background(Config::default()).await;
    api.post(MAPS, map("a")).await.ok();
    let query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut watch = api.watch(&format!("{MAPS}?{query}")).await;
    assert_eq!(watch.next_name().await, "ADDED a");
    let (type_, bookmark) = watch.next().await.unwrap();
    assert_eq!(type_, "BOOKMARK");
    assert_eq!(bookmark["kind"], "ConfigMap");
    assert_eq!(
        bookmark["metadata"]["annotations"]["k8s.io/initial-events-end"],
        "true"
    );
    assert_eq!(
        bookmark["metadata"]["resourceVersion"],
        api.store.revision().to_string()
    );
    api.post(MAPS, map("b")).await.ok();
    assert_eq!(watch.next_name().await, "ADDED b");
    let refused = api.watch(&format!("{MAPS}?sendInitialEvents=true")).await;
    assert_eq!(refused.code, 422);
}

#[tokio::test(start_paused = true)]
async fn bookmarks_come_regularly_and_before_the_end_even_without_events() {
    let api = Api::without_background(Config::default()).await;
    let start = api.store.revision();
    let watch = api
        .watch(&format!(
            "{MAPS}?resourceVersion={start}&allowWatchBookmarks=true&timeoutSeconds=150"
        ))
        .await;
    // A change of another resource moves the revision on, not the events.
    api.post(
        "/api/v1/namespaces",
        json!({"metadata": {"name": "elsewhere"}}),
    )
    .await
    .ok();
    let events = watch.rest().await;
    let types: Vec<&str> = events.iter().map(|(type_, _)| type_.as_str()).collect();
    assert_eq!(types, ["BOOKMARK"], "one, since nothing moved after it");
    assert_eq!(
        events[0].1["metadata"]["resourceVersion"],
        api.store.revision().to_string()
    );
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_after_the_time_it_asked_for() {
    let api = Api::without_background(Config::default()).await;
    let began = tokio::time::Instant::now();
    let watch = api
        .watch(&format!(
            "{MAPS}?resourceVersion={}&timeoutSeconds=7",
            api.store.revision()
        ))
        .await;
    assert_eq!(watch.rest().await, []);
    assert_eq!(began.elapsed().as_secs(), 7);
}

#[tokio::test]
async fn a_selector_sees_objects_come_and_go() {
    let api = Api::without_background(Config::default()).await;
    let mut watch = api
        .watch(&format!(
            "{MAPS}?labelSelector=on&resourceVersion={}",
            api.store.revision()
        ))
        .await;
    api.post(MAPS, map("a")).await.ok();
    let path = format!("{MAPS}/a");
    api.patch(&path, "merge", json!({"metadata": {"labels": {"on": "1"}}}))
        .await
        .ok();
    api.patch(&path, "merge", json!({"data": {"a": "2"}}))
        .await
        .ok();
    let gone = api
        .patch(&path, "merge", json!({"metadata": {"labels": null}}))
        .await
        .ok();
    api.patch(&path, "merge", json!({"data": {"a": "3"}}))
        .await
        .ok();
    api.patch(&path, "merge", json!({"metadata": {"labels": {"on": "1"}}}))
        .await
        .ok();
    assert_eq!(watch.next_name().await, "ADDED a");
    assert_eq!(watch.next_name().await, "MODIFIED a");
    let (type_, object) = watch.next().await.unwrap();
    assert_eq!(type_, "DELETED");
    assert_eq!(
        object["metadata"]["labels"],
        json!({"on": "1"}),
        "as the client last knew it"
    );
    assert_eq!(
        object["metadata"]["resourceVersion"],
        gone["metadata"]["resourceVersion"]
    );
    assert_eq!(watch.next_name().await, "ADDED a");
}

#[tokio::test]
async fn one_object_is_watched_by_its_name_alone() {
    let api = Api::without_background(Config::default()).await;
    let mut by_field = api
        .watch(&format!("{MAPS}?fieldSelector=metadata.name%3Da"))
        .await;
    let mut by_path = api.watch(&format!("{MAPS}/a")).await;
    for name in ["a2", "b", "a"] {
        api.post(MAPS, map(name)).await.ok();
    }
    assert_eq!(by_field.next_name().await, "ADDED a");
    assert_eq!(by_path.next_name().await, "ADDED a");
}

#[tokio::test]
async fn a_table_watch_sends_its_columns_once() {
    let api = Api::without_background(Config::default()).await;
    let accept = "application/json;as=Table;g=meta.k8s.io;v=v1";
    let mut watch = api
        .watch_as(
            &format!("{MAPS}?resourceVersion={}", api.store.revision()),
            accept,
        )
        .await;
    api.post(MAPS, map("a")).await.ok();
    api.post(MAPS, map("b")).await.ok();
    let (_, first) = watch.next().await.unwrap();
    assert_eq!(first["kind"], "Table");
    assert_eq!(first["columnDefinitions"][0]["name"], "Name");
    assert_eq!(first["rows"][0]["cells"][0], "a");
    let (_, second) = watch.next().await.unwrap();
    assert_eq!(second["columnDefinitions"], json!([]));
    assert_eq!(second["rows"][0]["cells"][0], "b");
}

#[tokio::test]
async fn a_thousand_watchers_get_the_same_bytes_once_encoded() {
    let api = Api::without_background(Config::default()).await;
    let start = api.store.revision();
    let mut watches = Vec::new();
    for _ in 0..1000 {
        watches.push(api.watch(&format!("{MAPS}?resourceVersion={start}")).await);
    }
    api.post(MAPS, map("a")).await.ok();
    for watch in &mut watches {
        assert_eq!(watch.next_name().await, "ADDED a");
    }
}

#[tokio::test]
async fn a_stopping_server_ends_its_watches() {
    let api = Api::without_background(Config::default()).await;
    let mut watch = api
        .watch(&format!("{MAPS}?resourceVersion={}", api.store.revision()))
        .await;
    api.server.stop();
    assert_eq!(
        tokio::time::timeout(Duration::from_secs(10), watch.next())
            .await
            .unwrap(),
        None
    );
    assert_eq!(api.watch(MAPS).await.code, 503);
}
