//! The store's quota: what is refused when it is used up, what goes on, and how it heals.

use std::sync::Arc;

use http::Request;
use http_body_util::{BodyExt as _, Full};
use landform_apiserver::{ApiServer, Config, Identity, MASTERS, StoreQuota};
use landform_store::memory::MemoryStore;
use landform_store::{HistoryLimits, Store};
use serde_json::{Value, json};

use crate::harness::{Api, MAPS};

const MIB: usize = 1 << 20;

/// A server whose store may keep this many bytes, and a client that is no part of Landform.
async fn with_quota(bytes: u64) -> (Api, Api) {
    let quota = StoreQuota { bytes };
    let store = Arc::new(MemoryStore::with_limits(HistoryLimits {
        max_superseded_bytes: quota.history_bytes_max(),
        ..HistoryLimits::default()
    }));
    let config = Config {
        store_quota: Some(quota),
        ..Config::default()
    };
    let server = ApiServer::start(store.clone() as Arc<dyn Store>, config)
        .await
        .unwrap();
    let own = Api::of(server, store);
    let client = own.by(Identity::new("admin", [MASTERS]));
    (own, client)
}

fn large(name: &str, bytes: usize) -> Value {
    json!({"metadata": {"name": name}, "data": {"x": "x".repeat(bytes)}})
}

async fn readyz(api: &Api, path: &str) -> (u16, String) {
    let request = Request::builder()
        .uri(path)
        .body(Full::new(bytes::Bytes::new()))
        .unwrap();
    let response = api.server.answer(request).await;
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (code, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn a_store_that_is_full_refuses_what_grows_and_heals_by_deletes() {
    let (own, client) = with_quota(32 * MIB as u64).await;
    assert_eq!(readyz(&own, "/readyz").await, (200, "ok".into()));
    let mut created = 0;
    let refused = loop {
        let name = format!("m{created}");
        let answer = client.post(MAPS, large(&name, MIB - 100)).await;
        if answer.code != 201 {
            break answer;
        }
        created += 1;
        assert!(created < 32, "never refused");
    };
    assert_eq!(created, 25, "32 MiB less an eighth, less a tenth of that");
    let (code, reason, message) = refused.failed();
    assert_eq!((code, reason), (507, "InsufficientStorage"));
    assert!(message.contains("--store-quota"), "{message}");

    let (code, text) = readyz(&own, "/readyz").await;
    assert_eq!(code, 503);
    assert!(text.contains("[+]disk ok"), "{text}");
    assert!(text.contains("[-]store-quota failed"), "{text}");
    assert_eq!(readyz(&own, "/livez").await.0, 200);
    assert_eq!(readyz(&own, "/readyz/disk").await.0, 200);
    assert_eq!(readyz(&own, "/readyz?exclude=store-quota").await.0, 200);
    let metrics = client.get("/metrics").await.bytes;
    let metrics = String::from_utf8(metrics.to_vec()).unwrap();
    assert!(metrics.contains("landform_store_quota_bytes 33554432"));

    let mut filled = 0;
    let rest = |number: usize| client.post(MAPS, large(&format!("rest{number}"), 10_000));
    while rest(filled).await.code == 201 {
        filled += 1;
    }

    // A client can't eat the reserve by what it writes to objects that are being deleted; Landform can say how far it is.
    let held = json!({"metadata": {"finalizers": ["example.com/held"]}});
    let two = format!("{MAPS}/m1");
    own.patch(&two, "merge", held).await.ok();
    let said = json!({"metadata": {"annotations": {"progress": "x".repeat(20_000)}}});
    assert_eq!(client.patch(&two, "merge", said.clone()).await.code, 507);
    let background = format!("{two}?propagationPolicy=Background");
    client.delete(&background).await.ok();
    assert_eq!(client.patch(&two, "merge", said.clone()).await.code, 507);
    own.patch(&two, "merge", said).await.ok();

    // Growing is refused, shrinking and Landform's own writes go on, deletes too.
    let (one, small) = (format!("{MAPS}/m0"), format!("{MAPS}/rest0"));
    let more = json!({"metadata": {"annotations": {"a": "x".repeat(20_000)}}});
    let answers = [
        client.patch(&one, "merge", more.clone()).await.code,
        own.patch(&one, "merge", more).await.code,
        own.patch(&small, "merge", json!({"data": {"y": "x".repeat(20_000)}}))
            .await
            .code,
        client
            .patch(&one, "merge", json!({"data": {"x": null}}))
            .await
            .code,
    ];
    assert_eq!(answers, [507, 200, 507, 200]);
    for number in 2..4 {
        let path = format!("{MAPS}/m{number}?propagationPolicy=Background");
        client.delete(&path).await.ok();
    }
    let free = json!({"metadata": {"finalizers": null}});
    client.patch(&two, "merge", free).await.ok();
    assert_eq!(client.get(&two).await.code, 404);
    assert_eq!(readyz(&own, "/readyz").await, (200, "ok".into()));
    client.post(MAPS, large("again", MIB - 100)).await.ok();
}

#[tokio::test]
async fn a_rename_is_held_to_the_quota_too() {
    let (own, client) = with_quota(MIB as u64).await;
    // A longer name of the owner stands in all that it owns.
    let owner = client.post(MAPS, json!({"metadata": {"name": "o"}})).await;
    let uid = owner.ok()["metadata"]["uid"].clone();
    let reference = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": uid});
    for number in 0..100 {
        let owned =
            json!({"metadata": {"name": format!("m{number}"), "ownerReferences": [reference]}});
        client.post(MAPS, owned).await.ok();
    }
    let mut bytes = 100_000;
    let mut filled = 0;
    while bytes > 100 {
        let name = format!("fill{filled}");
        match client.post(MAPS, large(&name, bytes)).await.code {
            201 => filled += 1,
            _ => bytes /= 2,
        }
    }
    let rename = |from: &str, to: &str| {
        let (client, path) = (client.clone(), format!("{MAPS}/{from}/rename"));
        let body = json!({"kind": "Rename", "name": to});
        async move { client.post(&path, body).await }
    };
    let long = "o".repeat(200);
    let refused = rename("o", &long).await;
    assert_eq!(refused.failed().0, 507);
    assert_eq!(client.get(&format!("{MAPS}/{long}")).await.code, 404);
    // Landform has a reserve, and what becomes smaller is always taken.
    let body = json!({"kind": "Rename", "name": long});
    own.post(&format!("{MAPS}/o/rename"), body).await.ok();
    rename(&long, "p").await.ok();
    let owned = client.get(&format!("{MAPS}/m7")).await.ok();
    assert_eq!(owned["metadata"]["ownerReferences"][0]["name"], "p");
}

#[tokio::test]
async fn the_last_of_the_reserve_is_for_objects_that_are_being_deleted() {
    let (own, client) = with_quota(MIB as u64).await;
    let held = json!({"finalizers": ["example.com/held"]});
    let mut names = Vec::new();
    for number in 0..16 {
        let name = format!("m{number}");
        let mut object = large(&name, 0);
        object["metadata"]["finalizers"] = held["finalizers"].clone();
        client.post(MAPS, object).await.ok();
        names.push(format!("{MAPS}/{name}"));
    }
    let mut bytes = 100_000;
    let mut filled = 0;
    while bytes > 100 {
        // What Landform makes is held to what clients may use.
        let maker = if filled % 2 == 0 { &client } else { &own };
        match maker
            .post(MAPS, large(&format!("fill{filled}"), bytes))
            .await
            .code
        {
            201 => filled += 1,
            _ => bytes /= 2,
        }
    }
    let said = json!({"metadata": {"annotations": {"progress": "x".repeat(10_000)}}});
    let mut refused = Vec::new();
    for name in &names {
        if own.patch(name, "merge", said.clone()).await.code == 507 {
            refused.push(name);
        }
    }
    assert!((8..16).contains(&refused.len()), "{refused:?}");
    let last = refused[0];
    let background = format!("{last}?propagationPolicy=Background");
    client.delete(&background).await.ok();
    assert_eq!(client.patch(last, "merge", said.clone()).await.code, 507);
    own.patch(last, "merge", said).await.ok();
}

#[tokio::test]
async fn writes_at_once_do_not_overrun_the_quota() {
    let (_, client) = with_quota(16 * MIB as u64).await;
    let posts = (0..40).map(|number| {
        let client = client.clone();
        async move {
            let name = format!("m{number}");
            client.post(MAPS, large(&name, MIB - 100)).await.code
        }
    });
    let codes = futures::future::join_all(posts).await;
    let created = codes.iter().filter(|code| **code == 201).count();
    assert_eq!(created, 12);
    assert!(codes.iter().all(|code| matches!(code, 201 | 507)));
}
